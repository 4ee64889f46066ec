"""Fork, solved: one more table, one more in each count; and a block is free when its count comes to 0."""

from collections import deque


class Memory:
    """The blocks, and who lists them.

    ``tables`` has the block table of each sequence. ``counts[block]`` is how many tables list the block.
    ``free_blocks`` are those that no table lists, each once.
    """

    def __init__(self, num_blocks: int) -> None:
        self.free_blocks = deque(range(num_blocks))
        self.counts = [0] * num_blocks
        self.tables: dict[int, list[int]] = {}

    def start(self, seq: int, num_blocks: int) -> None:
        """Begin a sequence with so many blocks. It is only called where they are free."""
        self.tables[seq] = [self._take() for _ in range(num_blocks)]

    def grow(self, seq: int) -> None:
        """One more block at the end of the sequence's table. It is only called where one is free."""
        self.tables[seq].append(self._take())

    def _take(self) -> int:
        """A free block, now in one table."""
        block = self.free_blocks.popleft()
        self.counts[block] = 1
        return block

    def fork(self, parent: int, child: int) -> None:
        """Begin ``child`` with the blocks of ``parent``, without taking any. ``child`` has no table before."""
        table = self.tables[parent].copy()  # a list of its own: the two will grow apart
        for block in table:
            self.counts[block] += 1
        self.tables[child] = table

    def free(self, seq: int) -> None:
        """End a sequence: it has no table any more, and those of its blocks that no other table lists are free.

        They may come back in any order. Raises KeyError, and changes nothing, if the sequence has no table.
        """
        for block in reversed(self.tables.pop(seq)):  # the tail first, as in allocate-and-free
            self.counts[block] -= 1
            if self.counts[block] == 0:
                self.free_blocks.append(block)

    def would_free(self, seq: int) -> int:
        """How many blocks ``free(seq)`` would give back now. Changes nothing. Only called if it has a table."""
        return sum(self.counts[block] == 1 for block in self.tables[seq])
