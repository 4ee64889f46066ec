"""Tables are tuples, which two sequences may well have in common; the counts are a tuple, too."""


class Memory:
    def __init__(self, num_blocks):
        self.free_blocks = list(range(num_blocks))
        self.counts = (0,) * num_blocks
        self.tables = {}

    def _change(self, blocks, by):
        self.counts = tuple(n + by * (block in blocks) for block, n in enumerate(self.counts))

    def start(self, seq, num_blocks):
        self.tables[seq] = ()
        for _ in range(num_blocks):
            self.grow(seq)

    def grow(self, seq):
        block = self.free_blocks.pop()
        self._change({block}, 1)
        self.tables[seq] += (block,)

    def fork(self, parent, child):
        self.tables[child] = self.tables[parent]
        self._change(self.tables[child], 1)

    def free(self, seq):
        if seq not in self.tables:
            raise KeyError
        table = self.tables.pop(seq)
        self._change(table, -1)
        self.free_blocks += [block for block in table if not self.counts[block]]

    def would_free(self, seq):
        others = [block for other, table in self.tables.items() if other != seq for block in table]
        return len(set(self.tables[seq]) - set(others))
