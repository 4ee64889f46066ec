"""Twice: a task so small that only what goes wrong around it takes time.

1 -> 2
2 -> 4
3 -> 6
"""


def twice(number: int) -> int:
    """Two times the number."""
    raise NotImplementedError
