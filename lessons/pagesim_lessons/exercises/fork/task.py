"""Fork: a second sequence with the same blocks, and counts that say who still needs them.

Several samples of one prompt begin with the same tokens, so with the same K and V. A fork copies none of that: the
child gets a table of its own that lists its parent's blocks. From then on a block may be in several tables, and nobody
may give it back while another table lists it. So each block has a count, of the tables that list it:

                    tables                        counts of the blocks 0 1 2 3 4        free_blocks
    start(0, 2)     0: [0, 1]                                          1 1 0 0 0        2 3 4
    fork(0, 1)      0: [0, 1]     1: [0, 1]                            2 2 0 0 0        2 3 4
    grow(1)         0: [0, 1]     1: [0, 1, 2]                         2 2 1 0 0        3 4
    free(0)         1: [0, 1, 2]                                       1 1 1 0 0        3 4
    free(1)                                                            0 0 0 0 0        3 4 2 1 0

    before free(0):    would_free(0) == 0     would_free(1) == 1

The count of a block that is given back is 0, and the block is free exactly then. ``would_free`` tells beforehand how
much would come back: who looks for a sequence to push out of memory wants to know, and to end one of two forks gives
hardly anything.

Here all blocks are full, and nobody writes into them. What happens to one that is not is the next exercise.
``start`` and ``grow`` are ready. Write ``fork``, ``free`` and ``would_free``. The checks look at the attributes, so
leave them their names and meanings.
"""

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

    # -- to be written ---------------------------------------------------------------------------------------

    def fork(self, parent: int, child: int) -> None:
        """Begin ``child`` with the blocks of ``parent``, without taking any. ``child`` has no table before."""
        raise NotImplementedError

    def free(self, seq: int) -> None:
        """End a sequence: it has no table any more, and those of its blocks that no other table lists are free.

        They may come back in any order. Raises KeyError, and changes nothing, if the sequence has no table.
        """
        raise NotImplementedError

    def would_free(self, seq: int) -> int:
        """How many blocks ``free(seq)`` would give back now. Changes nothing. Only called if it has a table."""
        raise NotImplementedError
