# The grant leaves out one of the blocks that were taken.
# law: fold
# says: told of a table
from pagesim.core.block_manager import BlockManager


class Manager(BlockManager):
    def __init__(self, num_blocks, block_size):
        super().__init__(num_blocks, block_size, prefix_caching=True, num_host_blocks=num_blocks)

    def allocate(self, seq, content, room):
        grant = super().allocate(seq, content, room)
        return grant and grant._replace(taken=grant.taken[:-1])
