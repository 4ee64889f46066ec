"""A list, cut by slices; the count comes from a range."""


class Memory:
    def __init__(self, num_blocks, block_size):
        self.block_size = block_size
        self.free_blocks = list(range(num_blocks))
        self.tables = {}

    def allocate(self, seq, num_tokens):
        needed = len(range(0, num_tokens, self.block_size))
        if len(self.free_blocks) < needed:
            return False
        self.tables[seq] = tuple(self.free_blocks[:needed])
        self.free_blocks = self.free_blocks[needed:]
        return True

    def free(self, seq):
        self.free_blocks += self.tables[seq][::-1]
        del self.tables[seq]
