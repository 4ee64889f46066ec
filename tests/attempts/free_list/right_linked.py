"""A chain through a list: for each free block, the next one."""

HELD, LAST = -2, -1


class FreeList:
    def __init__(self, num_blocks):
        self.next = [*range(1, num_blocks), LAST]
        self.first, self.last = 0, num_blocks - 1
        self.num_free = num_blocks

    def take(self):
        block = self.first
        if block == LAST:
            return None
        self.first, self.next[block] = self.next[block], HELD
        self.num_free -= 1
        return block

    def give(self, block):
        if block < 0 or block >= len(self.next) or self.next[block] != HELD:
            raise ValueError("not held")
        if self.first == LAST:
            self.first = block
        else:
            self.next[self.last] = block
        self.next[block] = LAST
        self.last = block
        self.num_free += 1
