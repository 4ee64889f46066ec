"""Copy-on-write, solved: the count of the last block decides."""


class Memory:
    """The blocks, and who lists them.

    ``tables`` has the block ids of each sequence, in order, and ``lengths`` its number of tokens. ``counts[block]`` is
    how many tables list the block. ``free_blocks`` are those that no table lists, each once. ``copies`` are all
    copies ordered so far: (source block, target block, number of slots to copy, from the block's first slot).
    """

    def __init__(self, num_blocks: int, block_size: int) -> None:
        self.block_size = block_size
        self.free_blocks = list(range(num_blocks))
        self.counts = [0] * num_blocks
        self.tables: dict[int, list[int]] = {}
        self.lengths: dict[int, int] = {}
        self.copies: list[tuple[int, int, int]] = []

    def start(self, seq: int, num_tokens: int) -> None:
        """Begin a sequence with its prompt. It is only called where enough blocks are free."""
        num_blocks = -(-num_tokens // self.block_size)
        self.tables[seq] = [self._take() for _ in range(num_blocks)]
        self.lengths[seq] = num_tokens

    def free(self, seq: int) -> None:
        """End a sequence: its blocks are free again, where no other table lists them."""
        for block in self.tables.pop(seq):
            self.counts[block] -= 1
            if self.counts[block] == 0:
                self.free_blocks.append(block)
        del self.lengths[seq]

    def _take(self) -> int:
        """A free block, now in one table."""
        block = self.free_blocks.pop()
        self.counts[block] = 1
        return block

    def fork(self, parent: int, child: int) -> None:
        """Begin ``child`` as a copy of ``parent``, of the same length, without copying or taking any block."""
        self.tables[child] = self.tables[parent].copy()
        self.lengths[child] = self.lengths[parent]
        for block in self.tables[parent]:
            self.counts[block] += 1

    def append(self, seq: int) -> bool:
        """Make room for one more token at the end of the sequence, which is then written there.

        Afterwards the block for that token is in no other table. If that needs a copy, it is added to ``copies``.
        Returns False, and changes nothing, if a free block is needed and there is none.
        """
        table, written = self.tables[seq], self.lengths[seq] % self.block_size
        if written and self.counts[table[-1]] == 1:  # its own, and not full
            self.lengths[seq] += 1
            return True
        if not self.free_blocks:
            return False
        block = self._take()
        if written:
            shared = table[-1]
            self.copies.append((shared, block, written))
            self.counts[shared] -= 1
            table[-1] = block
        else:
            table.append(block)
        self.lengths[seq] += 1
        return True
