# A prompt that is all cached leaves nothing to compute.
# seed: 2
# law: contract
# says: the last token is always computed
from pagesim.core.block_manager import BlockManager


class Manager(BlockManager):
    def __init__(self, num_blocks, block_size):
        super().__init__(num_blocks, block_size, prefix_caching=True, num_host_blocks=num_blocks)

    def _hits(self, content):
        if not content.reads_cache:
            return []
        most = len(content) // self.geometry.block_size
        return self.index.longest_match(content.keys(most, self.geometry.block_size), most)
