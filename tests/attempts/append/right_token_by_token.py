"""One token at a time, after a look at the room that there is."""

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
        room = (len(table) + len(self.free_blocks)) * size - self.lengths[seq]
        if len(tokens) > room:
            return False
        for token in tokens:
            place = self.lengths[seq] % size
            if place == 0:
                table.append(self.free_blocks.pop())
            self.slots[table[-1] * size + place] = token
            self.lengths[seq] += 1
        return True

    def read(self, seq):
        found = []
        for block in self.tables[seq]:
            found += self.slots[block * self.block_size : (block + 1) * self.block_size]
        return found[: self.lengths[seq]]
