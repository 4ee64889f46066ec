"""Whole pieces at once: what fits into the last block, then block after block; tables are tuples."""


class Memory:
    def __init__(self, num_blocks, block_size):
        self.block_size = block_size
        self.free_blocks = set(range(num_blocks))
        self.slots = [0] * (num_blocks * block_size)
        self.tables, self.lengths = {}, {}

    def start(self, seq):
        self.tables[seq], self.lengths[seq] = (), 0

    def free(self, seq):
        self.free_blocks |= set(self.tables.pop(seq))
        self.lengths.pop(seq)

    def append(self, seq, tokens):
        size, begun = self.block_size, self.lengths[seq] % self.block_size
        head = tokens[: size - begun] if begun else []
        rest = tokens[len(head) :]
        pieces = [rest[at : at + size] for at in range(0, len(rest), size)]
        if len(pieces) > len(self.free_blocks):
            return False
        if head:
            self._write(self.tables[seq][-1], begun, head)
        for piece in pieces:
            block = max(self.free_blocks)
            self.free_blocks.remove(block)
            self.tables[seq] += (block,)
            self._write(block, 0, piece)
        self.lengths[seq] += len(tokens)
        return True

    def _write(self, block, place, piece):
        first = block * self.block_size + place
        self.slots[first : first + len(piece)] = piece

    def read(self, seq):
        size = self.block_size
        where = [block * size + place for block in self.tables[seq] for place in range(size)]
        return tuple(self.slots[slot] for slot in where[: self.lengths[seq]])
