# A refused extend has taken a block.
# seed: 2
# law: none-changes-nothing
# says: returned None, and the number of free blocks went from
from pagesim.core.block_manager import BlockManager


class Manager(BlockManager):
    def __init__(self, num_blocks, block_size):
        super().__init__(num_blocks, block_size, prefix_caching=True, num_host_blocks=num_blocks)

    def extend(self, seq, to):
        grant = super().extend(seq, to)
        if grant is None and self.pool.num_free:
            self.pool.take(1)
        return grant
