"""No queue is kept: each block knows when it was given back, and the queue is made of that."""

from itertools import count


class BlockCache:
    def __init__(self, num_blocks):
        self.clock = count()
        self.freed_at = {block: next(self.clock) for block in range(num_blocks)}
        self.tables_of = [0] * num_blocks
        self.content = {}

    @property
    def free_queue(self):
        return sorted(self.freed_at, key=self.freed_at.get)

    @property
    def counts(self):
        return tuple(self.tables_of)

    @property
    def keys(self):
        return [self.content.get(block) for block in range(len(self.tables_of))]

    @property
    def index(self):
        return {key: block for block, key in self.content.items()}

    def register(self, block, key):
        self.content[block] = key

    def take(self):
        block = min(self.freed_at, key=self.freed_at.get, default=None)
        if block is not None:
            self._hold(block)
            self.content.pop(block, None)
        return block

    def hit(self, key):
        block = self.index.get(key)
        if block is not None:
            self._hold(block)
        return block

    def _hold(self, block):
        self.freed_at.pop(block, None)
        self.tables_of[block] += 1

    def free(self, table):
        for block in reversed(table):
            self.tables_of[block] -= 1
            if self.tables_of[block] < 1:
                self.freed_at[block] = next(self.clock)
