# A heap, so that the lowest free block is taken; owners are sets; lengths are kept, too.
from heapq import heapify, heappop, heappush


class Manager:
    def __init__(self, num_blocks, block_size):
        self.block_size = block_size
        self.heap = list(range(num_blocks))
        heapify(self.heap)
        self.owners = [set() for _ in range(num_blocks)]
        self.lists = {}

    @property
    def num_free(self):
        return len(self.heap)

    def _give(self, seq):
        block = heappop(self.heap)
        self.owners[block].add(seq)
        return block

    def _leave(self, seq, block):
        self.owners[block].discard(seq)
        if not self.owners[block]:
            heappush(self.heap, block)

    def allocate(self, seq, num_tokens):
        if seq in self.lists:
            raise ValueError("already there")
        blocks = []
        while len(blocks) * self.block_size < num_tokens:
            if not self.heap:
                for block in blocks:
                    self._leave(seq, block)
                return False
            blocks.append(self._give(seq))
        self.lists[seq] = blocks
        return True

    def append(self, seq, position):
        blocks = self.lists[seq]
        index = position // self.block_size
        fresh = index >= len(blocks)
        if not fresh and self.owners[blocks[index]] == {seq}:
            return True
        if not self.heap:
            return False
        new = self._give(seq)
        if fresh:
            blocks.append(new)
            return True
        old, blocks[index] = blocks[index], new
        self._leave(seq, old)
        return [old, new]

    def free(self, seq):
        for block in reversed(self.lists[seq]):
            self._leave(seq, block)
        del self.lists[seq]

    def table(self, seq):
        return self.lists[seq]

    def fork(self, parent, child, num_tokens):
        if child in self.lists or parent not in self.lists:
            return False
        blocks = self.lists[parent][: -(-num_tokens // self.block_size)]
        for block in blocks:
            self.owners[block].add(child)
        self.lists[child] = blocks
        return None
