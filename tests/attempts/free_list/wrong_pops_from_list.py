# law: constant-time
# says: take takes much longer with
"""A list: taking its first item moves all the others by one place."""


class FreeList:
    def __init__(self, num_blocks):
        self.num_blocks = num_blocks
        self.queue = list(range(num_blocks))
        self.is_free = [True] * num_blocks

    @property
    def num_free(self):
        return len(self.queue)

    def take(self):
        if not self.queue:
            return None
        block = self.queue.pop(0)
        self.is_free[block] = False
        return block

    def give(self, block):
        if not 0 <= block < self.num_blocks:
            raise ValueError(f"there is no block {block}")
        if self.is_free[block]:
            raise ValueError(f"block {block} is free already")
        self.is_free[block] = True
        self.queue.append(block)
