# law: constant-time
# says: many takes in a row get slower and slower
"""A dict keeps the order, and next(iter(dict)) walks over all that were deleted."""


class FreeList:
    def __init__(self, num_blocks):
        self.num_blocks = num_blocks
        self.free = dict.fromkeys(range(num_blocks))

    @property
    def num_free(self):
        return len(self.free)

    def take(self):
        if not self.free:
            return None
        block = next(iter(self.free))
        del self.free[block]
        return block

    def give(self, block):
        if block in self.free or not 0 <= block < self.num_blocks:
            raise ValueError(block)
        self.free[block] = None
