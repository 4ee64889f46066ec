"""Allocate and free, solved: count first, then take; and turn the table round when it comes back."""

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

    def allocate(self, seq: int, num_tokens: int) -> bool:
        """Give the sequence a table with as many blocks as its tokens need (at least one token), and say True.

        The blocks are taken from the left of ``free_blocks``, and the table lists them in the order in which they were
        taken. Returns False, and changes nothing, if fewer are free. Not called for a sequence that has a table.
        """
        num_blocks = -(-num_tokens // self.block_size)  # rounded up, without floats
        if num_blocks > len(self.free_blocks):
            return False
        self.tables[seq] = [self.free_blocks.popleft() for _ in range(num_blocks)]
        return True

    def free(self, seq: int) -> None:
        """End a sequence: it has no table any more, and its blocks go to the right of ``free_blocks``.

        The last block of the table goes first, the first one last. Raises KeyError, and changes nothing, if the
        sequence has no table.
        """
        table = self.tables.pop(seq)  # raises KeyError before anything is changed
        self.free_blocks.extend(reversed(table))
