# The last block of what is swapped out is not copied.
# law: content
# says: where nothing was ever written
from pagesim.core.block_manager import BlockManager


class Manager(BlockManager):
    def __init__(self, num_blocks, block_size):
        super().__init__(num_blocks, block_size, prefix_caching=True, num_host_blocks=num_blocks)

    def swap_out(self, unit):
        grant = super().swap_out(unit)
        return grant and grant._replace(copies=grant.copies[:-1])
