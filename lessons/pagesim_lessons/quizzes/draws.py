"""A problem's own random stream.

Built on ``Random(text).random()`` alone. Of Python's generator only two things are promised to stay as they are in
later versions: how a text becomes a seed, and what ``random()`` gives for it. ``choice``, ``shuffle``, ``sample`` and
``randrange`` are not, so none of them is used here. Nothing is shared with other topics, seeds or runs.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")
MOST_ATTEMPTS = 5_000


class Draws:
    """``key`` is a text: the same one, the same draws, in every process."""

    def __init__(self, key: str) -> None:
        self._random = Random(key)

    def whole(self, low: int, high: int) -> int:
        """A whole number from ``low`` to ``high``, both included."""
        return low + int(self._random.random() * (high - low + 1))

    def chance(self, percent: int) -> bool:
        """True in so many cases of a hundred."""
        return self.whole(1, 100) <= percent

    def one_of(self, things: Sequence[T]) -> T:
        return things[self.whole(0, len(things) - 1)]

    def shuffled(self, things: Sequence[T]) -> list[T]:
        mixed = list(things)
        for last in range(len(mixed) - 1, 0, -1):
            other = self.whole(0, last)
            mixed[last], mixed[other] = mixed[other], mixed[last]
        return mixed

    def some_of(self, things: Sequence[T], count: int) -> list[T]:
        """So many different ones, in any order."""
        return self.shuffled(things)[:count]


def first_good(draws: Draws, attempt: Callable[[Draws], T | None]) -> T:
    """The first attempt that comes to something: problems that are too easy, or do not fit, are drawn again."""
    for _ in range(MOST_ATTEMPTS):
        found = attempt(draws)
        if found is not None:
            return found
    raise AssertionError(f"{MOST_ATTEMPTS} attempts came to nothing")
