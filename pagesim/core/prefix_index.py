"""Which block holds which prefix. Knows nothing about reference counts, queues or sequences.

A key is chained (see ``content``), so finding it means that a block's tokens and everything before them are
equal. Several blocks may hold the same content: nothing is de-duplicated, and a lookup answers with the one
registered first among those left.
"""

from collections.abc import Sequence

from pagesim.core.content import Key
from pagesim.core.types import BlockId


class PrefixIndex:
    """The only writer of block keys. ``version`` changes with every change of what can be found."""

    __slots__ = ("_blocks", "_twins", "keys", "num_keyed", "version")

    def __init__(self, num_blocks: int) -> None:
        self.keys: list[Key | None] = [None] * num_blocks
        self._blocks: dict[Key, BlockId] = {}
        self._twins: dict[Key, dict[BlockId, None]] = {}  # further blocks of a key, in order of registration
        self.num_keyed = 0
        self.version = 0

    def longest_match(self, keys: Sequence[Key], max_blocks: int) -> list[BlockId]:
        """Blocks holding the first keys, up to the first miss or ``max_blocks``."""
        found = []
        blocks = self._blocks
        for position in range(max_blocks):
            block = blocks.get(keys[position])
            if block is None:
                break
            found.append(block)
        return found

    def register(self, block: BlockId, key: Key) -> None:
        """Make ``block`` findable under ``key``. It must hold no key yet."""
        assert self.keys[block] is None
        self.keys[block] = key
        if self._blocks.setdefault(key, block) != block:
            self._twins.setdefault(key, {})[block] = None
        self.num_keyed += 1
        self.version += 1

    def forget(self, block: BlockId) -> bool:
        """Remove the block's key, if it has one; says whether it had."""
        key = self.keys[block]
        if key is None:
            return False
        self.keys[block] = None
        self.num_keyed -= 1
        self.version += 1
        twins = self._twins.get(key)
        if twins is None:
            del self._blocks[key]
            return True
        if self._blocks[key] == block:
            heir = next(iter(twins))
            del twins[heir]
            self._blocks[key] = heir
        else:
            del twins[block]
        if not twins:
            del self._twins[key]
        return True
