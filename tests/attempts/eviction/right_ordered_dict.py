"""The queue is a dict: taking a block from the middle takes no time."""


class BlockCache:
    def __init__(self, num_blocks):
        self.free_queue = dict.fromkeys(range(num_blocks))
        self.counts = [0] * num_blocks
        self.keys = [None] * num_blocks
        self.index = {}

    def register(self, block, key):
        self.keys[block], self.index[key] = key, block

    def take(self):
        if not self.free_queue:
            return None
        block = next(iter(self.free_queue))
        del self.free_queue[block]
        self.index.pop(self.keys[block], None)
        self.keys[block] = None
        self.counts[block] += 1
        return block

    def hit(self, key):
        if key not in self.index:
            return None
        block = self.index[key]
        self.free_queue.pop(block, None)
        self.counts[block] += 1
        return block

    def free(self, table):
        for block in table[::-1]:
            self.counts[block] -= 1
            if not self.counts[block]:
                self.free_queue[block] = None
