# law: front
# says: stands at the front
"""Blocks without content are looked for first, so what is cached is never evicted while there are such."""


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
        block = next((b for b in self.free_queue if self.keys[b] is None), self.free_queue[0])
        self.free_queue.remove(block)
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
        self.counts[block] += 1
        return block

    def free(self, table):
        for block in reversed(table):
            self.counts[block] -= 1
            if self.counts[block] == 0:
                self.free_queue.append(block)
