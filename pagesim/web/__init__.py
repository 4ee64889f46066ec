"""A recorded run as a page that stands for itself: ``bundle`` packs the run, ``player/`` shows it, ``export_html``
makes one file of both.
"""
