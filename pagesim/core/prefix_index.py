"""Which block holds which prefix. Knows nothing about reference counts, queues or sequences.

A key is chained (see ``content``), so finding it means that a block's tokens and everything before them are
equal. Several blocks may hold the same content: nothing is de-duplicated, and a lookup answers with the one
registered first among those left.
"""

from collections.abc import Iterable, Sequence

from pagesim.core.content import Key
from pagesim.core.types import BlockId


class PrefixIndex:
    """The only writer of block keys. ``version`` changes with every change of what can be found."""

    __slots__ = ("_blocks", "_twins", "keys", "num_keyed", "version")

    def __init__(self, num_blocks: int) -> None:
        self.keys: list[Key | None] = [None] * num_blocks
        self._blocks: dict[Key, BlockId] = {}
        self._twins: dict[
            Key, dict[BlockId, None]
        ] = {}  # further blocks of a key, in order of registration
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

    def register(self, blocks: Iterable[BlockId], keys: Iterable[Key]) -> list[BlockId]:
        """Make each block findable under its key; returns those that held no key before."""
        block_keys, found = self.keys, self._blocks
        registered = []
        for block, key in zip(blocks, keys, strict=True):
            if block_keys[block] is not None:
                continue
            block_keys[block] = key
            registered.append(block)
            if found.setdefault(key, block) != block:
                self._twins.setdefault(key, {})[block] = None
        self.num_keyed += len(registered)
        self.version += 1
        return registered

    def forget(self, blocks: Iterable[BlockId]) -> list[BlockId]:
        """Remove the keys of these blocks; returns those that had one."""
        block_keys, found, twins = self.keys, self._blocks, self._twins
        forgotten = []
        for block in blocks:
            key = block_keys[block]
            if key is None:
                continue
            block_keys[block] = None
            forgotten.append(block)
            if key in twins:
                self._forget_twin(block, key)
            else:
                del found[key]
        if forgotten:
            self.num_keyed -= len(forgotten)
            self.version += 1
        return forgotten

    def _forget_twin(self, block: BlockId, key: Key) -> None:
        """The content stays findable in another block: the one registered first among those left."""
        twins = self._twins[key]
        if self._blocks[key] == block:
            heir = next(iter(twins))
            del twins[heir]
            self._blocks[key] = heir
        else:
            del twins[block]
        if not twins:
            del self._twins[key]
