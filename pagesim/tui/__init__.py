"""The viewer: a Textual application that holds cursors, moves them, and asks views to draw.

It knows logs and folds, never a manager.
"""
