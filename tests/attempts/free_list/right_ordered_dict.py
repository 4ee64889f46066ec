"""One container for both: ordered by when a block came, and asked by key."""

from collections import OrderedDict


class FreeList:
    def __init__(self, num_blocks):
        self.blocks = range(num_blocks)
        self.free = OrderedDict.fromkeys(self.blocks)

    @property
    def num_free(self):
        return len(self.free)

    def take(self):
        return self.free.popitem(last=False)[0] if self.free else None

    def give(self, block):
        if block in self.free or block not in self.blocks:
            raise ValueError(block)
        self.free[block] = None
