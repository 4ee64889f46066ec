# law: from-slots
# says: what is read is not what the slots have, but was kept beside them
"""Tokens are kept in a list of their own, and the slots are never read."""

from collections import deque


class Memory:
    def __init__(self, num_blocks, block_size):
        self.block_size = block_size
        self.free_blocks = deque(range(num_blocks))
        self.slots = [0] * (num_blocks * block_size)
        self.tables = {}
        self.lengths = {}
        self.tokens = {}

    def start(self, seq):
        self.tables[seq] = []
        self.lengths[seq] = 0
        self.tokens[seq] = []

    def free(self, seq):
        self.free_blocks.extend(reversed(self.tables.pop(seq)))
        del self.lengths[seq]

    def append(self, seq, tokens):
        table, length = self.tables[seq], self.lengths[seq]
        size = self.block_size
        more = -(-(length + len(tokens)) // size) - len(table)
        if more > len(self.free_blocks):
            return False
        for _ in range(more):
            table.append(self.free_blocks.popleft())
        for position, token in enumerate(tokens, start=length):
            self.slots[table[position // size] * size + position % size] = token
        self.lengths[seq] += len(tokens)
        self.tokens.setdefault(seq, []).extend(tokens)
        return True

    def read(self, seq):
        return list(self.tokens.get(seq, []))
