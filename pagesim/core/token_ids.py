"""Lazy token ids for prompts whose words nobody knows: only how many there are, or which parts are
shared.

Knows nothing about requests, traces or blocks in memory. The ids from 0 to 2**63 - 1 are split in
two halves that never meet: ids below ``FIRST_FRESH_ID`` name content that may be shared (a trace's
hash id ``h`` stands for the tokens ``h * 512`` and on), ids from there on are handed out once each
by ``FreshIds``.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import overload

FIRST_FRESH_ID = 2**62
MAX_TOKEN_ID = 2**63 - 1


class FreshIds:
    """Hands out token ids that nobody else has, in rising order: the only writer of what is used
    up."""

    __slots__ = ("_next",)

    def __init__(self, first: int = FIRST_FRESH_ID) -> None:
        self._next = first

    def take(self, num_tokens: int) -> range:
        """The next ``num_tokens`` unused ids. OverflowError where none are left; nothing is taken
        then."""
        stop = self._next + num_tokens
        if stop > MAX_TOKEN_ID + 1:
            raise OverflowError(
                f"{num_tokens} fresh token ids asked for, none are left above {self._next}"
            )
        ids = range(self._next, stop)
        self._next = stop
        return ids


class ChainedRanges(Sequence[int]):
    """Ranges of step 1, one after another, read as one sequence and never written out.

    Costs 16 bytes a range; empty ranges are dropped and neighbours that continue each other become
    one, so that two chains are equal exactly when their token ids are. A slice of step 1 stays
    lazy: a ``range`` where it lies within one range, else a shorter chain. ValueError for a range
    of another step.
    """

    __slots__ = ("_ends", "_starts")

    def __init__(self, ranges: Iterable[range]) -> None:
        starts, ends = array("q"), array("q")
        length, follower = 0, None
        for part in ranges:
            if part.step != 1:
                raise ValueError(f"{part!r} has a step other than 1")
            if not part:
                continue
            length += len(part)
            if part.start == follower:
                ends[-1] = length
            else:
                starts.append(part.start)
                ends.append(length)
            follower = part.stop
        self._starts = starts  # token id each range starts with
        self._ends = ends  # position just behind each range

    def ranges(self) -> Iterator[range]:
        """The ranges themselves, longest runs joined."""
        position = 0
        for start, end in zip(self._starts, self._ends, strict=True):
            yield range(start, start + end - position)
            position = end

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[int]:
        return chain.from_iterable(self.ranges())

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[int]: ...
    def __getitem__(self, index: int | slice) -> int | Sequence[int]:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                return tuple(self[position] for position in range(start, stop, step))
            return self._part(start, stop)
        position = index + len(self) if index < 0 else index
        if not 0 <= position < len(self):
            raise IndexError(f"position {index} in a chain of {len(self)} token ids")
        which = bisect_right(self._ends, position)
        return self._offset(which) + position

    def _part(self, start: int, stop: int) -> Sequence[int]:
        if start >= stop:
            return range(0)
        ends = self._ends
        which = bisect_right(ends, start)
        offset = self._offset(which)
        if stop <= ends[which]:
            return range(offset + start, offset + stop)
        return ChainedRanges(self._parts(which, start, stop))

    def _parts(self, which: int, start: int, stop: int) -> Iterator[range]:
        while start < stop:
            end = min(self._ends[which], stop)
            offset = self._offset(which)
            yield range(offset + start, offset + end)
            start = end
            which += 1

    def _offset(self, which: int) -> int:
        """What to add to a position within range number ``which`` to get its token id (may be below
        0)."""
        return self._starts[which] - (self._ends[which - 1] if which else 0)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ChainedRanges):
            return NotImplemented
        return self._starts == other._starts and self._ends == other._ends

    def __hash__(self) -> int:
        return hash((self._starts.tobytes(), self._ends.tobytes()))

    def __repr__(self) -> str:
        return f"ChainedRanges([{', '.join(map(repr, self.ranges()))}])"
