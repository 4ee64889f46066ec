# law: boundary
# says: the next token needs one more block
"""A block is taken when the last one is over-full, a token too late."""


class Memory:
    def __init__(self, num_blocks, block_size):
        self.block_size = block_size
        self.free_blocks = list(range(num_blocks))
        self.counts = [0] * num_blocks
        self.tables = {}
        self.lengths = {}
        self.copies = []

    def start(self, seq, num_tokens):
        num_blocks = -(-num_tokens // self.block_size)
        self.tables[seq] = [self._take() for _ in range(num_blocks)]
        self.lengths[seq] = num_tokens

    def free(self, seq):
        for block in self.tables.pop(seq):
            self.counts[block] -= 1
            if self.counts[block] == 0:
                self.free_blocks.append(block)
        del self.lengths[seq]

    def _take(self):
        block = self.free_blocks.pop()
        self.counts[block] = 1
        return block

    def fork(self, parent, child):
        self.tables[child] = list(self.tables[parent])
        self.lengths[child] = self.lengths[parent]
        for block in self.tables[parent]:
            self.counts[block] += 1

    def append(self, seq):
        table, written = self.tables[seq], self.lengths[seq] % self.block_size or self.block_size
        if written and self.counts[table[-1]] == 1:
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
