# law: rounding
# says: with no slot left over
"""One block more than the quotient, also where nothing is left over."""

from collections import deque


class Memory:
    def __init__(self, num_blocks, block_size):
        self.block_size = block_size
        self.free_blocks = deque(range(num_blocks))
        self.tables = {}

    def allocate(self, seq, num_tokens):
        num_blocks = num_tokens // self.block_size + 1
        if num_blocks > len(self.free_blocks):
            return False
        self.tables[seq] = [self.free_blocks.popleft() for _ in range(num_blocks)]
        return True

    def free(self, seq):
        table = self.tables.pop(seq)
        self.free_blocks.extend(reversed(table))
