# law: refcount
# says: is 1, and 0 tables list it
"""A block comes back, and its count stays."""

from collections import deque


class Memory:
    def __init__(self, num_blocks):
        self.free_blocks = deque(range(num_blocks))
        self.counts = [0] * num_blocks
        self.tables = {}

    def start(self, seq, num_blocks):
        self.tables[seq] = [self._take() for _ in range(num_blocks)]

    def grow(self, seq):
        self.tables[seq].append(self._take())

    def _take(self):
        block = self.free_blocks.popleft()
        self.counts[block] = 1
        return block

    def fork(self, parent, child):
        self.tables[child] = list(self.tables[parent])
        for block in self.tables[parent]:
            self.counts[block] += 1

    def free(self, seq):
        for block in self.tables.pop(seq):
            if self.counts[block] == 1:
                self.free_blocks.append(block)
            else:
                self.counts[block] -= 1

    def would_free(self, seq):
        return len([block for block in self.tables[seq] if self.counts[block] == 1])
