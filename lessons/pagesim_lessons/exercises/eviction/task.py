"""Eviction: free blocks keep their content until they are taken, and the order of the free queue says who is next.

Blocks that hold computed prefixes are worth keeping, so a free block is not emptied. It stands in the free queue with
its content, and can be found by its key. Only when it is taken for other tokens is its content forgotten: it is
evicted. Blocks are taken from the front and given back at the back, so the least recently used is evicted first.

Of one sequence, the tail goes into the queue first. So its head is evicted last: a lookup begins at the head, and
without it nothing is found. Here sequence 0 ends, then a request finds key "B0", and then a block is taken:

                        front              back
    free_queue             4 3                       table of sequence 0: [2, 0, 1], keys A0, A1, none

    free([2, 0, 1])        4 3 1 0 2                 1 was the tail; 0 and 2 keep their keys
                             |
    hit("B0") gives 3      4 1 0 2                   3 had B0; it leaves the queue from the middle, its count is 1
                           |
    take() gives 4         1 0 2                     if 4 has a key, nobody finds it any more

Blocks that are still in another table do not go into the queue. ``register`` is ready. Write ``take``, ``hit`` and
``free``. The attributes are looked at by the checks, so leave them their names and meanings.
"""

from collections.abc import Sequence


class BlockCache:
    """The blocks of a prefix cache.

    ``free_queue`` has the free blocks in order, the one to be taken next first (a list; a deque or the keys of a dict
    will do, too). ``counts[block]`` is how many tables list the block. ``keys[block]`` is the key of its content, or
    None, and ``index`` finds the block of a key. Both know a block's key as long as its content is there.
    """

    def __init__(self, num_blocks: int) -> None:
        self.free_queue = list(range(num_blocks))
        self.counts = [0] * num_blocks
        self.keys: list[str | None] = [None] * num_blocks
        self.index: dict[str, int] = {}

    def register(self, block: int, key: str) -> None:
        """A block that somebody holds is full now, and can be found. No other block has this key."""
        self.keys[block] = key
        self.index[key] = block

    # -- to be written ---------------------------------------------------------------------------------------

    def take(self) -> int | None:
        """The block at the front of the free queue, for one new table. What it held is forgotten.

        None if no block is free.
        """
        raise NotImplementedError

    def hit(self, key: str) -> int | None:
        """The block with this key, which one more table lists from now on; None if there is no such block.

        It may be free or held by others. Its content stays.
        """
        raise NotImplementedError

    def free(self, table: Sequence[int]) -> None:
        """A sequence with this table ends. Such of its blocks as no table lists any more are free, with their content:
        they go to the back of the free queue, the last of the table first.
        """
        raise NotImplementedError
