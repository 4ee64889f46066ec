# The next block is counted up, round and round; only the asker's own table is looked at.
# law: single-writer
# says: holds it
class Manager:
    def __init__(self, num_blocks, block_size):
        self.num_blocks, self.block_size = num_blocks, block_size
        self.next = 0
        self.tables = {}

    @property
    def num_free(self):
        return self.num_blocks - len({block for table in self.tables.values() for block in table})

    def take(self, table):
        while self.next in table:
            self.next = (self.next + 1) % self.num_blocks
        table.append(self.next)
        self.next = (self.next + 1) % self.num_blocks

    def allocate(self, seq, num_tokens):
        needed = -(-num_tokens // self.block_size)
        if seq in self.tables or needed > self.num_free:
            return False
        self.tables[seq] = []
        for _ in range(needed):
            self.take(self.tables[seq])
        return True

    def append(self, seq, position):
        if position // self.block_size < len(self.tables[seq]):
            return True
        if not self.num_free:
            return False
        self.take(self.tables[seq])
        return True

    def free(self, seq):
        del self.tables[seq]

    def table(self, seq):
        return self.tables[seq]
