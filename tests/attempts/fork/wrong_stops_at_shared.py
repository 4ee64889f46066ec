# law: given-back
# says: is lost
"""The first shared block ends the loop."""

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
            self.counts[block] -= 1
            if self.counts[block]:
                break
            self.free_blocks.append(block)

    def would_free(self, seq):
        return len([block for block in self.tables[seq] if self.counts[block] == 1])
