"""Learning machinery without content: typed answers, progress, learners' code run and checked.

What is asked and taught lives in ``pagesim_lessons``.
"""
