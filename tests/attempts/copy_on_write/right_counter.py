"""Counts are made from the tables; blocks are taken from the front."""

from collections import Counter, deque


class Memory:
    def __init__(self, num_blocks, block_size):
        self.block_size = block_size
        self.free_blocks = deque(range(num_blocks))
        self.num_blocks = num_blocks
        self.tables, self.lengths, self.copies = {}, {}, []

    @property
    def counts(self):
        listed = Counter(block for table in self.tables.values() for block in table)
        return [listed[block] for block in range(self.num_blocks)]

    def start(self, seq, num_tokens):
        num_blocks = -(-num_tokens // self.block_size)
        self.tables[seq] = [self.free_blocks.popleft() for _ in range(num_blocks)]
        self.lengths[seq] = num_tokens

    def free(self, seq):
        table = self.tables.pop(seq)
        del self.lengths[seq]
        counts = self.counts
        self.free_blocks.extend(block for block in table if not counts[block])

    def fork(self, parent, child):
        self.tables[child] = [*self.tables[parent]]
        self.lengths[child] = self.lengths[parent]

    def append(self, seq):
        *full, last = self.tables[seq]
        written = self.lengths[seq] % self.block_size
        if not written:
            if not self.free_blocks:
                return False
            self.tables[seq].append(self.free_blocks.popleft())
        elif self.counts[last] > 1:
            if not self.free_blocks:
                return False
            fresh = self.free_blocks.popleft()
            self.copies.append((last, fresh, written))
            self.tables[seq] = [*full, fresh]
        self.lengths[seq] += 1
        return True
