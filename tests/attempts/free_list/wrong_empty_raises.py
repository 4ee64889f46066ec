# law: nothing-free
# says: is to give None
"""Taking from an empty queue is left to the queue."""

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
        block = self.queue.popleft()
        self.is_free[block] = False
        return block

    def give(self, block):
        if not 0 <= block < self.num_blocks:
            raise ValueError(f"there is no block {block}")
        if self.is_free[block]:
            raise ValueError(f"block {block} is free already")
        self.is_free[block] = True
        self.queue.append(block)
