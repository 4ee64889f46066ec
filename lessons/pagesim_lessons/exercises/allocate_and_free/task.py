"""Allocate and free: give a sequence the blocks for its tokens, and take them back.

A block has ``block_size`` slots, and a token needs one. A block is handed out whole, so the last one of a sequence may
be only partly filled. A block table lists the blocks of a sequence, in the order of its tokens; the blocks may lie
anywhere. ``free_blocks`` is the free list of the exercise before: taken from its left end, given back at its right
end. With blocks of 4:

                       free_blocks     tables
                       4 0 2 5 1
    allocate(7, 10)    5 1             7: [4, 0, 2]     10 tokens: 4 + 4 + 2
    allocate(8, 9)     5 1             7: [4, 0, 2]     gives False: 3 blocks are needed, 2 are free
    allocate(8, 8)                     7: [4, 0, 2]     8: [5, 1]
    free(7)            2 0 4           8: [5, 1]

All or nothing: attention reads all of a sequence in every step, so a sequence with some of its blocks could not run,
and would only hold what others need. And the tail first: what is at the left end is taken, and overwritten, first. The
beginning of a sequence is what others are the most likely to have in common with it (Lesson 7), so it is to stay
longest.
"""

from collections import deque


class Memory:
    """The blocks, and who has them.

    ``tables`` has the block table of each sequence. ``free_blocks`` are those that no table lists, each once, the next
    to be taken first. The checks look at both, so leave them their names and meanings.
    """

    def __init__(self, num_blocks: int, block_size: int) -> None:
        self.block_size = block_size
        self.free_blocks = deque(range(num_blocks))
        self.tables: dict[int, list[int]] = {}

    # -- to be written ---------------------------------------------------------------------------------------

    def allocate(self, seq: int, num_tokens: int) -> bool:
        """Give the sequence a table with as many blocks as its tokens need (at least one token), and say True.

        The blocks are taken from the left of ``free_blocks``, and the table lists them in the order in which they were
        taken. Returns False, and changes nothing, if fewer are free. Not called for a sequence that has a table.
        """
        raise NotImplementedError

    def free(self, seq: int) -> None:
        """End a sequence: it has no table any more, and its blocks go to the right of ``free_blocks``.

        The last block of the table goes first, the first one last. Raises KeyError, and changes nothing, if the
        sequence has no table.
        """
        raise NotImplementedError
