"""The physical blocks: which are free, in what order they are handed out, and how many tables list each.

Knows nothing about sequences, tokens or cached content. The free queue is a doubly linked ring threaded
through two flat integer arrays, so taking from the front, adding at either end, and taking one from the
middle are each O(1) a block:

    ring    [end] -> 4 -> 0 -> 7 -> [end]        next[end] is handed out first
"""

from collections.abc import Iterable, Iterator, Sequence

from pagesim.core.types import BlockId


class BlockPool:
    """The only writer of reference counts and of the free queue. A block is free exactly when its count is 0."""

    __slots__ = ("_end", "_next", "_prev", "num_free", "ref_counts")

    def __init__(self, num_blocks: int, order: Sequence[BlockId] | None = None) -> None:
        """``order`` is the initial free queue (default 0, 1, 2, ...), each block once; ValueError if it is not."""
        queue = range(num_blocks) if order is None else order
        if order is not None and sorted(order) != list(range(num_blocks)):
            raise ValueError(f"order must list each block from 0 to {num_blocks - 1} once")
        self._end = num_blocks
        self._next = [num_blocks] * (num_blocks + 1)
        self._prev = [num_blocks] * (num_blocks + 1)
        self.ref_counts = [0] * num_blocks
        self.num_free = 0
        self.put_back(queue)

    @property
    def num_blocks(self) -> int:
        return self._end

    def free_queue(self) -> Iterator[BlockId]:
        """Free blocks, the one to be taken next first."""
        block = self._next[self._end]
        while block != self._end:
            yield block
            block = self._next[block]

    def take(self, count: int) -> list[BlockId]:
        """Take ``count`` blocks from the front, each with count 1. The caller made sure that enough are free."""
        assert count <= self.num_free
        following, ref_counts = self._next, self.ref_counts
        block = following[self._end]
        taken = []
        for _ in range(count):
            ref_counts[block] = 1
            taken.append(block)
            block = following[block]
        following[self._end] = block
        self._prev[block] = self._end
        self.num_free -= count
        return taken

    def share(self, blocks: Iterable[BlockId]) -> None:
        """One more table lists each of these; a free one leaves the middle of the queue."""
        ref_counts = self.ref_counts
        for block in blocks:
            if not ref_counts[block]:
                before, after = self._prev[block], self._next[block]
                self._next[before], self._prev[after] = after, before
                self.num_free -= 1
            ref_counts[block] += 1

    def drop(self, blocks: Iterable[BlockId]) -> list[BlockId]:
        """One table fewer lists each; returns, in the order given, those that nobody lists now.

        They are in no queue until ``put_front`` or ``put_back`` is called with them.
        """
        ref_counts = self.ref_counts
        unheld = []
        for block in blocks:
            count = ref_counts[block] - 1
            ref_counts[block] = count
            if not count:
                unheld.append(block)
        return unheld

    def put_front(self, blocks: Sequence[BlockId]) -> None:
        """Make these the first to be taken, in the order given."""
        self._splice(self._end, blocks, self._next[self._end])

    def put_back(self, blocks: Sequence[BlockId]) -> None:
        """Make these the last to be taken, in the order given."""
        self._splice(self._prev[self._end], blocks, self._end)

    def _splice(self, before: int, blocks: Sequence[BlockId], after: int) -> None:
        following, preceding = self._next, self._prev
        last = before
        for block in blocks:
            following[last] = block
            preceding[block] = last
            last = block
        following[last] = after
        preceding[after] = last
        self.num_free += len(blocks)
