"""Where to put a run of slots in one arena: the ``Placer`` protocol, first fit and best fit.

Knows nothing about sequences, tokens or how much to reserve. A *run* is a ``range`` of consecutive
slot numbers that somebody holds, a *hole* one that nobody holds. ``Buddy``, the third placer, is in
buddy.py. Algorithms: Knuth, The Art of Computer Programming, volume 1, section 2.5.
"""

from abc import ABC, abstractmethod
from bisect import bisect_left
from typing import Protocol

from pagesim.core.errors import InputError, PagesimError


class NotGrantedError(PagesimError):
    """A run was released that was never granted, or is back already. No state was changed."""


class Placer(Protocol):
    """Who hands out the slots 0 to ``num_slots - 1``. The only writer of holes and granted runs."""

    @property
    def num_slots(self) -> int: ...

    @property
    def num_free(self) -> int:
        """Slots in holes."""
        ...

    @property
    def largest_hole(self) -> int:
        """Length of the longest run that ``place`` could grant now; 0 when nothing is free."""
        ...

    @property
    def largest_ever(self) -> int:
        """Length of the longest run that ``place`` could grant if nothing were held."""
        ...

    def footprint(self, num_slots: int) -> int:
        """Length of the run that ``place(num_slots)`` grants if it can: a buddy rounds up."""
        ...

    def fits_now(self, num_slots: int) -> bool: ...

    def could_ever_fit(self, num_slots: int) -> bool: ...

    def holes(self) -> list[range]:
        """All holes in address order."""
        ...

    def place(self, num_slots: int) -> range | None:
        """Grant ``footprint(num_slots)`` slots; ``None``: no hole is that long, nothing changed."""
        ...

    def release(self, run: range) -> None:
        """Take back a whole run that ``place`` granted. Raises NotGrantedError."""
        ...


def checked_arena(num_slots: int) -> int:
    """``num_slots`` itself where an arena can have that size. Raises InputError."""
    if num_slots < 1:
        raise InputError(f"an arena of {num_slots:,} slots was asked for; give at least 1")
    return num_slots


def take_back(granted: dict[int, range], run: range) -> range:
    """Strike ``run`` off ``granted`` (keyed by first slot), return it. Raises NotGrantedError."""
    if granted.get(run.start) != run:
        raise NotGrantedError(
            f"slots {run.start:,} to {run.stop - 1:,} are not a run granted and still held; "
            "release each run once, whole, as place returned it"
        )
    return granted.pop(run.start)


class _HolePlacer(ABC):
    """Maximal holes in address order, joined as runs come back; a rule says which hole to cut.

    ``_starts`` and ``_lengths`` are parallel and sorted by address. A run is cut from a hole's low
    end. Finding a hole costs a scan of ``_lengths``, everything else a binary search.
    """

    def __init__(self, num_slots: int) -> None:
        self._num_slots = checked_arena(num_slots)
        self._num_free = num_slots
        self._starts = [0]
        self._lengths = [num_slots]
        self._granted: dict[int, range] = {}

    @abstractmethod
    def _choose(self, num_slots: int) -> int | None:
        """Index of the hole to cut ``num_slots`` from; ``None``: none is long enough."""

    @property
    def num_slots(self) -> int:
        return self._num_slots

    @property
    def num_free(self) -> int:
        return self._num_free

    @property
    def largest_hole(self) -> int:
        return max(self._lengths, default=0)

    @property
    def largest_ever(self) -> int:
        return self._num_slots

    def footprint(self, num_slots: int) -> int:
        return num_slots

    def fits_now(self, num_slots: int) -> bool:
        return num_slots <= self._num_free and num_slots <= self.largest_hole

    def could_ever_fit(self, num_slots: int) -> bool:
        return num_slots <= self._num_slots

    def holes(self) -> list[range]:
        return [
            range(start, start + length)
            for start, length in zip(self._starts, self._lengths, strict=True)
        ]

    def place(self, num_slots: int) -> range | None:
        assert num_slots >= 1, f"a run has at least 1 slot, not {num_slots}"
        index = self._choose(num_slots)
        if index is None:
            return None
        start = self._starts[index]
        if self._lengths[index] == num_slots:
            del self._starts[index], self._lengths[index]
        else:
            self._starts[index] += num_slots
            self._lengths[index] -= num_slots
        run = range(start, start + num_slots)
        self._granted[start] = run
        self._num_free -= num_slots
        return run

    def release(self, run: range) -> None:
        run = take_back(self._granted, run)
        self._num_free += len(run)
        starts, lengths = self._starts, self._lengths
        index = bisect_left(starts, run.start)
        joins_left = index > 0 and starts[index - 1] + lengths[index - 1] == run.start
        joins_right = index < len(starts) and starts[index] == run.stop
        if joins_left and joins_right:
            lengths[index - 1] += len(run) + lengths[index]
            del starts[index], lengths[index]
        elif joins_left:
            lengths[index - 1] += len(run)
        elif joins_right:
            starts[index] = run.start
            lengths[index] += len(run)
        else:
            starts.insert(index, run.start)
            lengths.insert(index, len(run))


class FirstFit(_HolePlacer):
    """The lowest hole that is long enough."""

    def _choose(self, num_slots: int) -> int | None:
        for index, length in enumerate(self._lengths):
            if length >= num_slots:
                return index
        return None


class BestFit(_HolePlacer):
    """The shortest hole that is long enough; among equals the lowest."""

    def _choose(self, num_slots: int) -> int | None:
        fitting = [length for length in self._lengths if length >= num_slots]
        return self._lengths.index(min(fitting)) if fitting else None
