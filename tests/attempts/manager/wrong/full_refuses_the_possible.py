# never_fits counts one block too few.
# examples: 40
# seed: 2
# law: rejects-the-impossible
# says: and it was refused
from pagesim.core.block_manager import BlockManager


class Manager(BlockManager):
    def __init__(self, num_blocks, block_size):
        super().__init__(num_blocks, block_size, prefix_caching=True, num_host_blocks=num_blocks)

    def never_fits(self, content, room):
        return super().never_fits(content, room._replace(keep_free=room.keep_free + 1))
