# append answers with the new block first.
# law: contract
# says: the wrong way round: return (old, new), here (0,
class Manager:
    def __init__(self, num_blocks, block_size):
        self.block_size = block_size
        self.free_blocks = list(range(num_blocks))
        self.counts = [0] * num_blocks
        self.tables = {}

    @property
    def num_free(self):
        return len(self.free_blocks)

    def take(self):
        block = self.free_blocks.pop(0)
        self.counts[block] = 1
        return block

    def drop(self, block):
        self.counts[block] -= 1
        if not self.counts[block]:
            self.free_blocks.append(block)

    def allocate(self, seq, num_tokens):
        if seq in self.tables:
            return False
        needed = (num_tokens + self.block_size - 1) // self.block_size
        if needed > self.num_free:
            return False
        self.tables[seq] = [self.take() for _ in range(needed)]
        return True

    def append(self, seq, position):
        table, place = self.tables[seq], position // self.block_size
        if place == len(table):
            if not self.free_blocks:
                return False
            table.append(self.take())
            return True
        old = table[place]
        if self.counts[old] == 1:
            return True
        if not self.free_blocks:
            return False
        table[place] = self.take()
        self.drop(old)
        return table[place], old

    def free(self, seq):
        for block in self.tables.pop(seq):
            self.drop(block)

    def table(self, seq):
        return list(self.tables[seq])

    def fork(self, parent, child, num_tokens):
        if child in self.tables:
            raise KeyError(child)
        needed = (num_tokens + self.block_size - 1) // self.block_size
        self.tables[child] = self.tables[parent][:needed]
        for block in self.tables[child]:
            self.counts[block] += 1
