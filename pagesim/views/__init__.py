"""Pictures of runs as values: rich renderables for a terminal, SVG or HTML export and notebooks.

Views know reports and maps, never a manager, and print nothing themselves.
"""
