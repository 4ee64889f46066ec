"""A deque; what is free is found first, and then added at once."""

from collections import deque


class BlockCache:
    def __init__(self, num_blocks):
        self.free_queue = deque(range(num_blocks))
        self.counts = [0] * num_blocks
        self.keys = [None] * num_blocks
        self.index = {}

    def register(self, block, key):
        self.keys[block] = key
        self.index[key] = block

    def take(self):
        try:
            block = self.free_queue.popleft()
        except IndexError:
            return None
        self._forget(block)
        self.counts[block] = 1
        return block

    def _forget(self, block):
        key, self.keys[block] = self.keys[block], None
        self.index = {k: b for k, b in self.index.items() if k != key}

    def hit(self, key):
        for block, other in enumerate(self.keys):
            if other == key:
                self.free_queue = deque(b for b in self.free_queue if b != block)
                self.counts[block] += 1
                return block
        return None

    def free(self, table):
        for block in table:
            self.counts[block] -= 1
        self.free_queue.extend(block for block in reversed(table) if self.counts[block] == 0)
