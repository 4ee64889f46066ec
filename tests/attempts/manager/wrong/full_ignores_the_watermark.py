# keep_free is not looked at.
# law: watermark
# says: to keep
from pagesim.core.block_manager import BlockManager


class Manager(BlockManager):
    def __init__(self, num_blocks, block_size):
        super().__init__(num_blocks, block_size, prefix_caching=True, num_host_blocks=num_blocks)

    def _fits(self, hits, room):
        return super()._fits(hits, room._replace(keep_free=0))
