# law: give-back
# says: was taken, and is now given back
"""A block that is taken stays marked as free."""

from collections import deque


class FreeList:
    def __init__(self, num_blocks):
        self.num_blocks = num_blocks
        self.queue = deque(range(num_blocks))
        self.is_free = [True] * num_blocks

    @property
    def num_free(self):
        return len(self.queue)

    def take(self):
        if not self.queue:
            return None
        return self.queue.popleft()

    def give(self, block):
        if not 0 <= block < self.num_blocks:
            raise ValueError(f"there is no block {block}")
        if self.is_free[block]:
            raise ValueError(f"block {block} is free already")
        self.is_free[block] = True
        self.queue.append(block)
