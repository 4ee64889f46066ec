"""Cuts the memory of a ``MemoryMap`` into cells and says what is in each. Draws nothing.

A cell is a run of slots, the same number in every map of a picture, whether the memory is paged or
contiguous. Work is linear in blocks held, and in C for all but a few of them, so a million blocks
take a fraction of a second.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import chain, repeat
from math import lcm
from operator import floordiv
from typing import NamedTuple

from pagesim.core.types import BlockId
from pagesim.replay.memory_map import Holder, MemoryMap


class Cell(NamedTuple):
    """What a run of slots holds. All but ``owner`` in slots.

    ``written`` slots hold K and V, ``empty`` ones are held but not written, ``rounding`` ones were
    granted beyond what was asked for; ``slots`` less these three are free. ``shared`` of the held
    ones lie in blocks that several sequences list; ``cached`` are free, but their content can still
    be found. ``owner`` is the holder (its place in ``holders``) with most slots here, the first of
    equals, ``None`` if all is free; a shared block counts for the first that lists it.
    """

    slots: int
    written: int
    empty: int
    rounding: int
    shared: int
    cached: int
    owner: int | None

    @property
    def held(self) -> int:
        return self.written + self.empty + self.rounding

    @property
    def free(self) -> int:
        return self.slots - self.held


def slots_per_cell(maps: Sequence[MemoryMap], max_cells: int) -> int:
    """The smallest cell, of whole blocks in each map, of which ``max_cells`` suffice.

    A power of two times the block size, so that reservations begin and end at cell borders.
    """
    slots = lcm(*(shown.geometry.block_size for shown in maps))
    most = max(shown.geometry.num_slots for shown in maps)
    while -(-most // slots) > max(max_cells, 1):
        slots *= 2
    return slots


def map_cells(shown: MemoryMap, cell_slots: int) -> list[Cell]:
    """All cells, in address order. ``cell_slots`` must be whole blocks; the last may be smaller."""
    total = shown.geometry.num_slots
    if cell_slots % shown.geometry.block_size:
        raise ValueError(f"{cell_slots} slots are not whole blocks")
    tally = _Tally(-(-total // cell_slots), cell_slots, shown.geometry.block_size)
    tables = [holder.table for holder in shown.holders]
    shared = _shared_blocks(tables)
    seen: set[BlockId] = set()
    for number, holder in enumerate(shown.holders):
        if isinstance(holder.table, range):
            tally.add_run(number, holder)
        else:
            tally.add_table(number, holder, shared, seen)
    if shared:
        tally.add_shared(shown.holders, shared)
    if shown.cached:
        held = set(chain.from_iterable(tables))
        tally.add_cached(block for block in shown.cached if block not in held)
    return tally.cells(total)


def cells_of(blocks: Collection[BlockId], cell_blocks: int) -> Collection[int]:
    """The cells of ``cell_blocks`` blocks each in which these blocks lie."""
    if isinstance(blocks, range):
        return range(blocks.start // cell_blocks, -(-blocks.stop // cell_blocks))
    return frozenset(block // cell_blocks for block in blocks)


def _shared_blocks(tables: Sequence[Sequence[BlockId]]) -> frozenset[BlockId]:
    paged = [table for table in tables if not isinstance(table, range)]
    if len(set(chain.from_iterable(paged))) == sum(map(len, paged)):
        return frozenset()
    counts = Counter(chain.from_iterable(paged))
    return frozenset(block for block, count in counts.items() if count > 1)


def _without(blocks: Sequence[BlockId], left_out: frozenset[BlockId]) -> Sequence[BlockId]:
    return [block for block in blocks if block not in left_out] if left_out else blocks


class _Tally:
    """Sums of slots by cell while holders are gone through."""

    def __init__(self, num_cells: int, cell_slots: int, block_size: int) -> None:
        self._num_cells = num_cells
        self._cell_slots = cell_slots
        self._block_size = block_size
        self._written: Counter[int] = Counter()
        self._empty: Counter[int] = Counter()
        self._rounding: Counter[int] = Counter()
        self._shared: Counter[int] = Counter()
        self._cached: Counter[int] = Counter()
        self._owners: list[tuple[int, int] | None] = [None] * num_cells  # (slots, holder)

    def add_run(self, number: int, holder: Holder) -> None:
        size = self._block_size
        start, stop = holder.table.start * size, holder.table.stop * size  # type: ignore[union-attr]
        written = min(start + holder.written, stop)
        wanted = min(max(start + holder.wanted, written), stop)
        self._spread(self._written, start, written)
        self._spread(self._empty, written, wanted)
        self._spread(self._rounding, wanted, stop)
        mine: Counter[int] = Counter()
        self._spread(mine, start, stop)
        self._claim(number, mine)

    def _spread(self, counts: Counter[int], start: int, stop: int) -> None:
        cell = self._cell_slots
        for index in range(start // cell, -(-stop // cell)):
            counts[index] += min(stop, (index + 1) * cell) - max(start, index * cell)

    def add_table(
        self, number: int, holder: Holder, shared: frozenset[BlockId], seen: set[BlockId]
    ) -> None:
        """Blocks in ``shared`` count for who lists them first, and only as held: ``add_shared``
        says how full they are."""
        table = holder.table
        full, rest = divmod(holder.written, self._block_size)
        mine: Counter[int] = Counter()
        self._add(mine, self._written, _without(table[:full], shared))
        self._add(mine, self._empty, _without(table[full:], shared))
        if rest and full < len(table) and table[full] not in shared:
            cell = self._cell_of(table[full])
            self._written[cell] += rest
            self._empty[cell] -= rest
        if shared:
            first = [block for block in table if block in shared and block not in seen]
            seen.update(first)
            self._add(mine, self._shared, first)
        self._claim(number, mine)

    def _add(self, mine: Counter[int], kind: Counter[int], blocks: Sequence[BlockId]) -> None:
        for cell, count in self._count(blocks).items():
            slots = count * self._block_size
            mine[cell] += slots
            kind[cell] += slots

    def add_shared(self, holders: Sequence[Holder], shared: frozenset[BlockId]) -> None:
        """A shared block is as full as its fullest holder says."""
        size = self._block_size
        filled: dict[BlockId, int] = {}
        for holder in holders:
            listed = [(at, block) for at, block in enumerate(holder.table) if block in shared]
            for position, block in listed:
                here = min(max(holder.written - position * size, 0), size)
                filled[block] = max(filled.get(block, 0), here)
        for block, written in filled.items():
            cell = self._cell_of(block)
            self._written[cell] += written
            self._empty[cell] += size - written

    def add_cached(self, blocks: Iterable[BlockId]) -> None:
        for cell, count in self._count(blocks).items():
            self._cached[cell] += count * self._block_size

    def _count(self, blocks: Iterable[BlockId]) -> Counter[int]:
        return Counter(map(floordiv, blocks, repeat(self._cell_slots // self._block_size)))

    def _cell_of(self, block: BlockId) -> int:
        return block * self._block_size // self._cell_slots

    def _claim(self, number: int, mine: Counter[int]) -> None:
        owners = self._owners
        for cell, slots in mine.items():
            best = owners[cell]
            if best is None or slots > best[0]:
                owners[cell] = (slots, number)

    def cells(self, total: int) -> list[Cell]:
        size = self._cell_slots
        found: list[Cell] = []
        for index in range(self._num_cells):
            best = self._owners[index]
            found.append(
                Cell(
                    min(size, total - index * size),
                    self._written[index],
                    self._empty[index],
                    self._rounding[index],
                    self._shared[index],
                    self._cached[index],
                    None if best is None else best[1],
                )
            )
        return found
