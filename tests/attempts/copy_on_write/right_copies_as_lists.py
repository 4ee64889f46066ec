"""Attributes of other types that mean the same: lists for tuples, a dict for the counts' list."""


class Memory:
    def __init__(self, num_blocks, block_size):
        self.block_size = block_size
        self.free_blocks = set(range(num_blocks))
        self.counts = (0,) * num_blocks
        self.tables, self.lengths, self.copies = {}, {}, []

    def _count(self, block, by):
        counts = list(self.counts)
        counts[block] += by
        self.counts = tuple(counts)
        if counts[block]:
            self.free_blocks.discard(block)
        else:
            self.free_blocks.add(block)

    def _take(self):
        block = max(self.free_blocks)
        self._count(block, 1)
        return block

    def start(self, seq, num_tokens):
        blocks = (num_tokens + self.block_size - 1) // self.block_size
        self.tables[seq] = tuple(self._take() for _ in range(blocks))
        self.lengths[seq] = num_tokens

    def free(self, seq):
        for block in self.tables[seq]:
            self._count(block, -1)
        del self.tables[seq], self.lengths[seq]

    def fork(self, parent, child):
        self.tables[child], self.lengths[child] = self.tables[parent], self.lengths[parent]
        for block in self.tables[child]:
            self._count(block, 1)

    def append(self, seq):
        table, offset = self.tables[seq], self.lengths[seq] % self.block_size
        shared = bool(offset) and self.counts[table[-1]] > 1
        if (shared or not offset) and not self.free_blocks:
            return False
        if shared:
            fresh = self._take()
            self.copies.append([table[-1], fresh, offset])
            self._count(table[-1], -1)
            self.tables[seq] = (*table[:-1], fresh)
        elif not offset:
            self.tables[seq] = (*table, self._take())
        self.lengths[seq] += 1
        return True
