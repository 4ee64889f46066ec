"""The three cases, one after the other."""


class Memory:
    def __init__(self, num_blocks, block_size):
        self.block_size = block_size
        self.free_blocks = list(range(num_blocks))
        self.counts = [0] * num_blocks
        self.tables = {}
        self.lengths = {}
        self.copies = []

    def start(self, seq, num_tokens):
        num_blocks = -(-num_tokens // self.block_size)
        self.tables[seq] = [self._take() for _ in range(num_blocks)]
        self.lengths[seq] = num_tokens

    def free(self, seq):
        for block in self.tables.pop(seq):
            self.counts[block] -= 1
            if self.counts[block] == 0:
                self.free_blocks.append(block)
        del self.lengths[seq]

    def _take(self):
        block = self.free_blocks.pop()
        self.counts[block] = 1
        return block

    def fork(self, parent, child):
        self.tables[child] = list(self.tables[parent])
        self.lengths[child] = self.lengths[parent]
        for block in self.tables[parent]:
            self.counts[block] += 1

    def append(self, seq):
        table = self.tables[seq]
        used = self.lengths[seq] - (len(table) - 1) * self.block_size
        if used == self.block_size:
            grown = self._grow(table)
        elif self.counts[table[-1]] > 1:
            grown = self._split(table, used)
        else:
            grown = True
        if grown:
            self.lengths[seq] = self.lengths[seq] + 1
        return grown

    def _grow(self, table):
        if self.free_blocks:
            table.append(self._take())
            return True
        return False

    def _split(self, table, used):
        if len(self.free_blocks) == 0:
            return False
        old = table.pop()
        self.counts[old] -= 1
        table.append(self._take())
        self.copies += [(old, table[-1], used)]
        return True
