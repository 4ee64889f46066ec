"""The order of the free blocks is kept as numbers; free_blocks is a property."""

from math import ceil


class Memory:
    def __init__(self, num_blocks, block_size):
        self.block_size = block_size
        self.since = dict(enumerate(range(num_blocks)))
        self.clock = num_blocks
        self.tables = {}

    @property
    def free_blocks(self):
        return sorted(self.since, key=self.since.get)

    def allocate(self, seq, num_tokens):
        needed = ceil(num_tokens / self.block_size)
        chosen = self.free_blocks[:needed]
        if len(chosen) == needed:
            self.tables[seq] = chosen
            for block in chosen:
                del self.since[block]
        return len(chosen) == needed

    def free(self, seq):
        for block in self.tables.pop(seq)[::-1]:
            self.since[block] = self.clock
            self.clock += 1
