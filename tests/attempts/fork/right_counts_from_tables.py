"""Counts are made from the tables whenever they are asked for."""

from collections import Counter


class Memory:
    def __init__(self, num_blocks):
        self.num_blocks = num_blocks
        self.tables = {}

    @property
    def counts(self):
        listed = Counter(block for table in self.tables.values() for block in table)
        return [listed[block] for block in range(self.num_blocks)]

    @property
    def free_blocks(self):
        return {block for block, count in enumerate(self.counts) if count == 0}

    def start(self, seq, num_blocks):
        self.tables[seq] = sorted(self.free_blocks)[:num_blocks]

    def grow(self, seq):
        self.tables[seq] = [*self.tables[seq], max(self.free_blocks)]

    def fork(self, parent, child):
        self.tables[child] = self.tables[parent]

    def free(self, seq):
        del self.tables[seq]

    def would_free(self, seq):
        return [self.counts[block] for block in self.tables[seq]].count(1)
