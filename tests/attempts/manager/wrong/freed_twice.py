# The table outlives its sequence, and a second free gives the blocks back again.
# law: none-changes-nothing
# says: is to be refused, as sequence 0 holds nothing, and the number of free blocks went from
class Manager:
    def __init__(self, num_blocks, block_size):
        self.block_size = block_size
        self.free_blocks = list(range(num_blocks))
        self.counts = [0] * num_blocks
        self.tables = {}
        self.live = []

    @property
    def num_free(self):
        return len(self.free_blocks)

    def take(self):
        block = self.free_blocks.pop(0)
        self.counts[block] = 1
        return block

    def drop(self, block):
        self.counts[block] -= 1
        if self.counts[block] <= 0:
            self.free_blocks.append(block)

    def allocate(self, seq, num_tokens):
        if seq in self.live:
            return False
        needed = (num_tokens + self.block_size - 1) // self.block_size
        if needed > self.num_free:
            return False
        self.tables[seq] = [self.take() for _ in range(needed)]
        self.live.append(seq)
        return True

    def append(self, seq, position):
        if seq not in self.live:
            raise KeyError(seq)
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
        return old, table[place]

    def free(self, seq):
        for block in self.tables.get(seq, ()):
            self.drop(block)
        if seq in self.live:
            self.live.remove(seq)

    def table(self, seq):
        return list(self.tables[seq])
