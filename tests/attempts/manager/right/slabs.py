# The full contract with contiguous memory: one run for each sequence, no fork that shares, no blocks.
from pagesim.core.contiguous import ContiguousManager
from pagesim.core.placers import FirstFit
from pagesim.core.reservations import ReserveExact


class Manager(ContiguousManager):
    def __init__(self, num_blocks, block_size):
        super().__init__(FirstFit(num_blocks * block_size), ReserveExact(24), "first-fit")
