# can_extend looks at each sequence by itself.
# seed: 2
# law: contract
# says: can_extend said True
from pagesim.core.block_manager import BlockManager


class Manager(BlockManager):
    def __init__(self, num_blocks, block_size):
        super().__init__(num_blocks, block_size, prefix_caching=True, num_host_blocks=num_blocks)

    def can_extend(self, targets):
        return all(self._blocks_to_extend([target]) <= self.pool.num_free for target in targets)
