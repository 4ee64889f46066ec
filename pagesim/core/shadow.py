"""A shadow of the memory: for every slot, the whole prefix of tokens whose K and V it holds.

Knows nothing about managers. It is driven only by block tables, ordered copies and writes, as the tensors of
an engine are, so it can say whether a manager's tables really lead back to what was written.

A token's K and V depend on every token before it. So a slot does not hold "token 5" but "token 5 after 1, 2,
3 under salt s"; each such prefix gets a number, and equal numbers mean equal prefixes from the very start.
"""

from collections.abc import Iterable, Sequence

from pagesim.core.types import BlockId, Copy, Geometry

PrefixId = int


class Prefixes:
    """Numbers whole prefixes: a tree in which each node is one token after its parent. It only grows."""

    def __init__(self) -> None:
        self._roots: dict[tuple[str, str], PrefixId] = {}
        self._children: dict[tuple[PrefixId, int], PrefixId] = {}
        self._nodes: list[tuple[PrefixId, int] | None] = []  # parent and last token; None: a root

    def root(self, salt: str = "", adapter: str = "") -> PrefixId:
        """The empty prefix under this salt and adapter."""
        number = self._roots.setdefault((salt, adapter), len(self._nodes))
        if number == len(self._nodes):
            self._nodes.append(None)
        return number

    def after(self, prefix: PrefixId, token: int) -> PrefixId:
        """The prefix that is one token longer."""
        number = self._children.setdefault((prefix, token), len(self._nodes))
        if number == len(self._nodes):
            self._nodes.append((prefix, token))
        return number

    def path(self, tokens: Iterable[int], salt: str = "", adapter: str = "") -> list[PrefixId]:
        """One number a position: that of the prefix that ends there."""
        prefix = self.root(salt, adapter)
        path = []
        for token in tokens:
            prefix = self.after(prefix, token)
            path.append(prefix)
        return path

    def tokens(self, prefix: PrefixId) -> list[int]:
        """The tokens of a prefix, first to last."""
        tokens: list[int] = []
        node = self._nodes[prefix]
        while node is not None:
            tokens.append(node[1])
            node = self._nodes[node[0]]
        return tokens[::-1]


class ShadowMemory:
    """What each slot holds; ``None``: nothing was ever written there. The only writer of its slots."""

    def __init__(self, geometry: Geometry) -> None:
        self.geometry = geometry
        self._slots: list[PrefixId | None] = [None] * (
            geometry.num_blocks_in_all * geometry.block_size
        )

    def slot(self, table: Sequence[BlockId], position: int) -> int:
        """Where a block table puts the token at ``position``. IndexError past the table's end."""
        block, offset = divmod(position, self.geometry.block_size)
        return table[block] * self.geometry.block_size + offset

    def write(self, table: Sequence[BlockId], position: int, prefix: PrefixId) -> None:
        """The token at ``position`` is computed: its slot now holds ``prefix``."""
        self._slots[self.slot(table, position)] = prefix

    def read(self, table: Sequence[BlockId], position: int) -> PrefixId | None:
        return self._slots[self.slot(table, position)]

    def copy(self, copies: Iterable[Copy]) -> None:
        """Run ordered copies, one after another."""
        block_size = self.geometry.block_size
        for source, target, num_slots in copies:
            first, to = source * block_size, target * block_size
            self._slots[to : to + num_slots] = self._slots[first : first + num_slots]
