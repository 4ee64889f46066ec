# law: order
# says: has been free the longest and is next
"""A set: which block it gives is left to chance."""


class FreeList:
    def __init__(self, num_blocks):
        self.num_blocks = num_blocks
        self.free = set(range(num_blocks))

    @property
    def num_free(self):
        return len(self.free)

    def take(self):
        return self.free.pop() if self.free else None

    def give(self, block):
        if block in self.free or block not in range(self.num_blocks):
            raise ValueError(block)
        self.free.add(block)
