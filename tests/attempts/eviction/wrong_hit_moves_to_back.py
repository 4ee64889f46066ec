# law: leaves-queue
# says: a later take() would hand it out once more
"""A hit makes the block the most recently used, as in an LRU cache of other things."""


class BlockCache:
    def __init__(self, num_blocks):
        self.free_queue = list(range(num_blocks))
        self.counts = [0] * num_blocks
        self.keys = [None] * num_blocks
        self.index = {}

    def register(self, block, key):
        self.keys[block] = key
        self.index[key] = block

    def take(self):
        if not self.free_queue:
            return None
        block = self.free_queue.pop(0)
        self.counts[block] = 1
        key = self.keys[block]
        if key is not None:
            del self.index[key]
            self.keys[block] = None
        return block

    def hit(self, key):
        block = self.index.get(key)
        if block is None:
            return None
        if self.counts[block] == 0:
            self.free_queue.remove(block)
            self.free_queue.append(block)
        self.counts[block] += 1
        return block

    def free(self, table):
        for block in reversed(table):
            self.counts[block] -= 1
            if self.counts[block] == 0:
                self.free_queue.append(block)
