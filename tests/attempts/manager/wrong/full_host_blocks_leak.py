# Blocks of the host are never given back.
# law: conservation
# says: host
from pagesim.core.block_manager import BlockManager


class Manager(BlockManager):
    def __init__(self, num_blocks, block_size):
        super().__init__(num_blocks, block_size, prefix_caching=True, num_host_blocks=num_blocks)

    def _release_host(self, blocks):
        first_host = self.geometry.num_blocks
        unheld = self.host_pool.drop([block - first_host for block in reversed(blocks)])
        return [first_host + block for block in unheld]
