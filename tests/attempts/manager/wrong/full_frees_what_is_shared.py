# free gives back every block, whoever else lists it.
# law: refcount
# says: a block counts as free that a table still lists
from pagesim.core.block_manager import BlockManager


class Manager(BlockManager):
    def __init__(self, num_blocks, block_size):
        super().__init__(num_blocks, block_size, prefix_caching=True, num_host_blocks=num_blocks)

    def _release(self, blocks):
        for block in blocks:
            self.pool.ref_counts[block] = 1
        return super()._release(blocks)
