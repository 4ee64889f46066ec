"""Eviction, solved: one queue, and content that is forgotten in one place only."""

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

    def take(self) -> int | None:
        """The block at the front of the free queue, for one new table. What it held is forgotten."""
        if not self.free_queue:
            return None
        block = self.free_queue.pop(0)
        self.counts[block] = 1
        key = self.keys[block]
        if key is not None:  # the eviction: the only place where content is forgotten
            del self.index[key]
            self.keys[block] = None
        return block

    def hit(self, key: str) -> int | None:
        """The block with this key, which one more table lists from now on; None if there is no such block."""
        block = self.index.get(key)
        if block is None:
            return None
        if self.counts[block] == 0:
            # From the middle. It takes time with a list; engines link the free blocks with each other.
            self.free_queue.remove(block)
        self.counts[block] += 1
        return block

    def free(self, table: Sequence[int]) -> None:
        """A sequence with this table ends; such of its blocks as nobody lists are free, with their content."""
        for block in reversed(table):
            self.counts[block] -= 1
            if self.counts[block] == 0:
                self.free_queue.append(block)
