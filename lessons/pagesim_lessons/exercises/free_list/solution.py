"""A free list, solved: a queue for the order, and a mark for each block that says whether it is in the queue."""

from collections import deque


class FreeList:
    """The free blocks. ``_is_free[block]`` is True exactly for those in the queue, so nobody has to search there."""

    def __init__(self, num_blocks: int) -> None:
        """The blocks 0 to ``num_blocks - 1`` are free."""
        self.num_blocks = num_blocks
        self._queue = deque(range(num_blocks))
        self._is_free = [True] * num_blocks

    @property
    def num_free(self) -> int:
        """How many blocks are free now."""
        return len(self._queue)

    def take(self) -> int | None:
        """The block that has been free the longest; it is not free any more. None if no block is free."""
        if not self._queue:
            return None
        block = self._queue.popleft()
        self._is_free[block] = False
        return block

    def give(self, block: int) -> None:
        """The block is free again, as the last one to be taken.

        Raises ValueError, and changes nothing, if the block is free already, or there is no such block.
        """
        if not 0 <= block < self.num_blocks:  # a negative index would mean a block from the end
            raise ValueError(f"there is no block {block}")
        if self._is_free[block]:
            raise ValueError(f"block {block} is free already")
        self._is_free[block] = True
        self._queue.append(block)
