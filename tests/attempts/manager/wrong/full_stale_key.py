# A block that is taken again keeps its key.
# examples: 40
# seed: 1
# law: content
# says: ; its own is token
from pagesim.core.block_manager import BlockManager


class Manager(BlockManager):
    def __init__(self, num_blocks, block_size):
        super().__init__(num_blocks, block_size, prefix_caching=True, num_host_blocks=num_blocks)

    def _take(self, count):
        taken = self.pool.take(count)
        self._num_cached_free -= sum(self.index.keys[block] is not None for block in taken)
        return taken, ()
