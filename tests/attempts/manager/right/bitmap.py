# One integer whose bit b says whether block b is free; no fork, and num_free is a method.
class Manager:
    def __init__(self, num_blocks, block_size):
        self.block_size = block_size
        self.bits = (1 << num_blocks) - 1
        self.owned = {}

    def num_free(self):
        return self.bits.bit_count()

    def _highest(self):
        block = self.bits.bit_length() - 1
        self.bits ^= 1 << block
        return block

    def allocate(self, seq, num_tokens):
        assert seq not in self.owned
        needed = -(-num_tokens // self.block_size)
        if self.bits.bit_count() < needed:
            return False
        self.owned[seq] = tuple(self._highest() for _ in range(needed))
        return True

    def append(self, seq, position):
        owned = self.owned[seq]
        if position < len(owned) * self.block_size:
            return True
        if self.bits == 0:
            return False
        self.owned[seq] = (*owned, self._highest())
        return True

    def free(self, seq):
        for block in self.owned.pop(seq, ()):
            self.bits |= 1 << block

    def table(self, seq):
        return self.owned[seq]
