# law: constant-time
# says: give takes much longer with
"""Whether a block is free is looked up in the queue itself."""

from collections import deque


class FreeList:
    def __init__(self, num_blocks):
        self.num_blocks = num_blocks
        self.queue = deque(range(num_blocks))

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
        if block in self.queue:
            raise ValueError(f"block {block} is free already")
        self.queue.append(block)
