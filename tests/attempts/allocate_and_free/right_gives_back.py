"""Block after block; what was taken goes back to the left if it does not suffice."""

from collections import deque


class Memory:
    def __init__(self, num_blocks, block_size):
        self.block_size = block_size
        self.free_blocks = deque(range(num_blocks))
        self.tables = {}

    def allocate(self, seq, num_tokens):
        table = []
        while len(table) * self.block_size < num_tokens:
            if not self.free_blocks:
                self.free_blocks.extendleft(reversed(table))
                return False
            table.append(self.free_blocks.popleft())
        self.tables[seq] = table
        return True

    def free(self, seq):
        if seq not in self.tables:
            raise KeyError(f"sequence {seq} has no table")
        table = self.tables[seq]
        while table:
            self.free_blocks.append(table.pop())
        del self.tables[seq]
