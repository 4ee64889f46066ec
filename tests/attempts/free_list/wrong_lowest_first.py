# law: order
# says: the one with the lowest number
"""A heap: the free block with the lowest number."""

import heapq


class FreeList:
    def __init__(self, num_blocks):
        self.num_blocks = num_blocks
        self.heap = list(range(num_blocks))
        self.is_free = [True] * num_blocks

    @property
    def num_free(self):
        return len(self.heap)

    def take(self):
        if not self.heap:
            return None
        block = heapq.heappop(self.heap)
        self.is_free[block] = False
        return block

    def give(self, block):
        if not 0 <= block < self.num_blocks or self.is_free[block]:
            raise ValueError(block)
        self.is_free[block] = True
        heapq.heappush(self.heap, block)
