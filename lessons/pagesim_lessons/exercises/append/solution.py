"""Append, solved: blocks first, for all of the tokens, then one token after the other into its slot."""

from collections import deque


class Memory:
    """The slots, and whose they are.

    ``slots`` has the token that was written last into each slot, and 0 where there was none; block b has the slots from
    b x block_size on. ``tables`` has the block table of each sequence, and ``lengths`` its number of tokens.
    ``free_blocks`` are those that no table lists.
    """

    def __init__(self, num_blocks: int, block_size: int) -> None:
        self.block_size = block_size
        self.free_blocks = deque(range(num_blocks))
        self.slots = [0] * (num_blocks * block_size)
        self.tables: dict[int, list[int]] = {}
        self.lengths: dict[int, int] = {}

    def start(self, seq: int) -> None:
        """Begin a sequence, without any token, and so without any block."""
        self.tables[seq] = []
        self.lengths[seq] = 0

    def free(self, seq: int) -> None:
        """End a sequence. What is in its slots stays there, until somebody else writes."""
        self.free_blocks.extend(reversed(self.tables.pop(seq)))
        del self.lengths[seq]

    def append(self, seq: int, tokens: list[int]) -> bool:
        """Write these tokens (at least one) into the next slots of the sequence, and say True.

        Afterwards the table has just the blocks that its tokens need; those that it had before stay where they are.
        Any free blocks may be taken. Returns False, and changes nothing, if too few are free for all of the tokens.
        """
        table, length = self.tables[seq], self.lengths[seq]
        blocks_needed = -(-(length + len(tokens)) // self.block_size)
        new_blocks = blocks_needed - len(table)  # 0 where the last block has room for all
        if new_blocks > len(self.free_blocks):
            return False
        table.extend([self.free_blocks.popleft() for _ in range(new_blocks)])
        for position, token in enumerate(tokens, start=length):
            self.slots[self._slot(seq, position)] = token
        self.lengths[seq] = length + len(tokens)
        return True

    def read(self, seq: int) -> list[int]:
        """All tokens of the sequence, in order, as the slots have them now."""
        return [self.slots[self._slot(seq, position)] for position in range(self.lengths[seq])]

    def _slot(self, seq: int, position: int) -> int:
        """Slot mapping, as in the first exercise."""
        logical_block, offset = divmod(position, self.block_size)
        return self.tables[seq][logical_block] * self.block_size + offset
