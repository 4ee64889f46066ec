# Copy-on-write orders one slot fewer than are filled.
# law: content
# says: where nothing was ever written
from pagesim.core.block_manager import BlockManager


class Manager(BlockManager):
    def __init__(self, num_blocks, block_size):
        super().__init__(num_blocks, block_size, prefix_caching=True, num_host_blocks=num_blocks)

    def extend(self, seq, to):
        grant = super().extend(seq, to)
        if not grant or not grant.copies:
            return grant
        return grant._replace(copies=[c._replace(num_slots=c.num_slots - 1) for c in grant.copies])
