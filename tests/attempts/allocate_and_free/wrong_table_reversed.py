# law: from-the-left
# says: as they were taken
"""The table is filled from its end."""

from collections import deque


class Memory:
    def __init__(self, num_blocks, block_size):
        self.block_size = block_size
        self.free_blocks = deque(range(num_blocks))
        self.tables = {}

    def allocate(self, seq, num_tokens):
        num_blocks = (num_tokens + self.block_size - 1) // self.block_size
        if num_blocks > len(self.free_blocks):
            return False
        table = []
        for _ in range(num_blocks):
            table.insert(0, self.free_blocks.popleft())
        self.tables[seq] = table
        return True

    def free(self, seq):
        table = self.tables.pop(seq)
        self.free_blocks.extend(reversed(table))
