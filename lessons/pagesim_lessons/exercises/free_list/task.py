"""A free list: which blocks may be handed out, and which one is next?

The KV cache is cut into ``num_blocks`` blocks, numbered from 0. ``take`` hands out the block that has been free the
longest, and ``give`` brings one back. In the beginning all blocks are free, in the order of their numbers. With 4:

                        free, the next to be taken first
                        0 1 2 3
    take() == 0         1 2 3
    take() == 1         2 3
    give(1)             2 3 1
    give(0)             2 3 1 0
    take() == 2         3 1 0

Why the longest? The K and V of a request that has ended stay in its blocks until somebody writes there, and may be
found again (Lesson 7). What was given back last is the most likely to be wanted still, so it is to stay longest.

Three things can go wrong. A block that is given back twice would be handed to two sequences, who write into each other:
``give`` refuses that. A server has hundreds of thousands of blocks: a ``take`` or a ``give`` must not take longer if
there are more of them, nor after many other calls. And once nothing is free, ``take`` has to say so.
"""


class FreeList:
    """The free blocks. How you keep them is your own affair: the checks only use what is written here."""

    def __init__(self, num_blocks: int) -> None:
        """The blocks 0 to ``num_blocks - 1`` are free."""
        self.num_blocks = num_blocks

    @property
    def num_free(self) -> int:
        """How many blocks are free now."""
        raise NotImplementedError

    def take(self) -> int | None:
        """The block that has been free the longest; it is not free any more. None if no block is free."""
        raise NotImplementedError

    def give(self, block: int) -> None:
        """The block is free again, as the last one to be taken.

        Raises ValueError, and changes nothing, if the block is free already, or there is no such block.
        """
        raise NotImplementedError
