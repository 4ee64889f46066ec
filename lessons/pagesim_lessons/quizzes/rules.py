"""Rules that problems state, in one wording. Knows nothing about a problem's numbers."""

from pagesim_lessons.quizzes.problem import Drawn
from pagesim_lessons.quizzes.script import Pool
from pagesim_lessons.quizzes.wording import ids


def free_list(pool: Pool) -> Drawn:
    """The pool as a problem gives it."""
    return Drawn(
        (
            f"blocks      {len(pool.free)}, each of {pool.block_size} slots",
            f"free list   {ids(pool.free)}   (front first)",
        )
    )


def taking(pool: Pool) -> str:
    """Where blocks come from and where they go to."""
    if pool.caching:
        return (
            "Blocks are taken from the front of the free list. When a request ends, its blocks come free one by one, "
            "the last of its table first. Those without cached content go to the front of the free list, in the order "
            "in which they came free, so the first of them is the next to be taken; those with cached content go to "
            "the back, in that order, too."
        )
    place = "front" if pool.to_front else "back"
    return (
        "Blocks are taken from the front of the free list. When a request ends, those of its blocks that nobody else "
        f"lists go to the {place} of the free list; there the last block of its table stands before the others, in "
        "reverse order of the table. A request takes a block only when a token needs it."
    )
