"""First all counts, then all blocks that come back; blocks are told apart by a set."""

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
        self.tables[child] = []
        for block in self.tables[parent]:
            self.tables[child].append(block)
            self.counts[block] = self.counts[block] + 1

    def free(self, seq):
        unheld = self._alone(seq)
        for block in self.tables[seq]:
            self.counts[block] -= 1
        del self.tables[seq]
        self.free_blocks.extendleft(unheld)

    def would_free(self, seq):
        return len(self._alone(seq))

    def _alone(self, seq):
        return {block for block in self.tables[seq] if self.counts[block] < 2}
