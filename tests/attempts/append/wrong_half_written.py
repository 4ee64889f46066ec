# law: refused
# says: all of the tokens or none
"""Token after token, until there is no block."""

from collections import deque


class Memory:
    def __init__(self, num_blocks, block_size):
        self.block_size = block_size
        self.free_blocks = deque(range(num_blocks))
        self.slots = [0] * (num_blocks * block_size)
        self.tables = {}
        self.lengths = {}

    def start(self, seq):
        self.tables[seq] = []
        self.lengths[seq] = 0

    def free(self, seq):
        self.free_blocks.extend(reversed(self.tables.pop(seq)))
        del self.lengths[seq]

    def append(self, seq, tokens):
        table, size = self.tables[seq], self.block_size
        for token in tokens:
            position = self.lengths[seq]
            if position == len(table) * size:
                if not self.free_blocks:
                    return False
                table.append(self.free_blocks.popleft())
            self.slots[table[-1] * size + position % size] = token
            self.lengths[seq] += 1
        return True

    def read(self, seq):
        table, size = self.tables[seq], self.block_size
        return [self.slots[table[p // size] * size + p % size] for p in range(self.lengths[seq])]
