"""A ring of fixed size, and a set of the blocks that are held."""


class DoubleFreeError(ValueError):
    pass


class FreeList:
    def __init__(self, num_blocks):
        self.ring = list(range(num_blocks))
        self.begin = self.num_free = 0
        self.num_free = num_blocks
        self.held = set()

    def take(self):
        if self.num_free == 0:
            return None
        block = self.ring[self.begin]
        self.begin = (self.begin + 1) % len(self.ring)
        self.num_free -= 1
        self.held.add(block)
        return block

    def give(self, block):
        if block not in self.held:
            raise DoubleFreeError
        self.held.remove(block)
        self.ring[(self.begin + self.num_free) % len(self.ring)] = block
        self.num_free += 1
