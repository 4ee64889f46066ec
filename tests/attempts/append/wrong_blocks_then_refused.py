# law: refused
# says: has changed tables[
"""Blocks are taken while there are any; then it is refused."""

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
        table, length = self.tables[seq], self.lengths[seq]
        size = self.block_size
        more = -(-(length + len(tokens)) // size) - len(table)
        for _ in range(more):
            if not self.free_blocks:
                return False
            table.append(self.free_blocks.popleft())
        for position, token in enumerate(tokens, start=length):
            self.slots[table[position // size] * size + position % size] = token
        self.lengths[seq] += len(tokens)
        return True

    def read(self, seq):
        table, size = self.tables[seq], self.block_size
        return [self.slots[table[p // size] * size + p % size] for p in range(self.lengths[seq])]
