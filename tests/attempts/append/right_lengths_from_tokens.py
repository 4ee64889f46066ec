"""The tokens are kept beside the slots, and the length is made from them."""

from collections import deque
from itertools import islice


class Memory:
    def __init__(self, num_blocks, block_size):
        self.block_size = block_size
        self.free_blocks = deque(range(num_blocks))
        self.slots = [None] * num_blocks * block_size
        self.tables = {}
        self.filled = {}

    @property
    def lengths(self):
        return {seq: len(slots) for seq, slots in self.filled.items()}

    def start(self, seq):
        self.tables[seq] = []
        self.filled[seq] = []

    def free(self, seq):
        del self.filled[seq]
        self.free_blocks.extend(self.tables.pop(seq))

    def append(self, seq, tokens):
        size, mine = self.block_size, self.filled[seq]
        blocks = self.tables[seq].copy()
        spare = iter(self.free_blocks)
        while len(blocks) * size < len(mine) + len(tokens):
            block = next(spare, None)
            if block is None:
                return False
            blocks.append(block)
        for _ in range(len(blocks) - len(self.tables[seq])):
            self.free_blocks.popleft()
        self.tables[seq] = blocks
        every = (block * size + place for block in blocks for place in range(size))
        for slot, token in zip(islice(every, len(mine), None), tokens, strict=False):
            mine.append(slot)
            self.slots[slot] = token
        return True

    def read(self, seq):
        return [self.slots[slot] for slot in self.filled[seq]]
