"""A memory at one moment as a small picture: SVG that stands in a page, in that page's own ink, dark or light.

Knows nothing about runs or pages.
"""

from collections.abc import Iterator
from html import escape
from math import sqrt

from pagesim.replay.memory_map import MemoryMap
from pagesim.views.figures import counted
from pagesim.views.map_cells import Cell, map_cells, slots_per_cell
from pagesim.views.palette import owner

MOST_CELLS = 240
SIDE, GAP = 20, 3
SHAPE = 2.4
"""Of columns to rows."""
WIDTH, HEIGHT, LARGEST = 240, 108, 1.4
"""It fits into this many pixels, and a cell is at most so many times its size."""


def thumbnail(shown: MemoryMap) -> str:
    """One ``<svg>``; its label says in words how much is held."""
    cells = map_cells(shown, slots_per_cell([shown], MOST_CELLS))
    across = _across(shown, len(cells), cells[0].slots)
    down = -(-len(cells) // across)
    width, height = (number * (SIDE + GAP) + GAP for number in (across, down))
    body = "".join(
        part for at, cell in enumerate(cells) for part in _drawn(shown, cells, cell, at, across)
    )
    label = escape(_label(shown))
    scale = min(LARGEST, WIDTH / width, HEIGHT / height)
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width * scale:.0f}" height="{height * scale:.0f}" '
        f'role="img" aria-label="{label}" '
        f'font-family="monospace" font-weight="bold" font-size="12" text-anchor="middle">{body}</svg>'
    )


def _across(shown: MemoryMap, count: int, slots: int) -> int:
    """Cells of a row: where all slabs are as long as each other, one of them; else a number that is easy to count."""
    wanted = sqrt(count * SHAPE)
    sizes = {len(holder.table) * shown.geometry.block_size for holder in shown.holders}
    slabs = all(isinstance(holder.table, range) for holder in shown.holders)
    if slabs and len(sizes) == 1:
        across, rest = divmod(sizes.pop(), slots)
        if not rest and wanted <= 2 * across <= 4 * wanted:
            return min(across, count)
    return max(min(count, max(round(wanted / 4), 1) * 4), 1)


def _label(shown: MemoryMap) -> str:
    blocks = {block for holder in shown.holders for block in holder.table}
    unit = "slot" if shown.geometry.block_size == 1 else "block"
    held = f"{len(blocks):,} of {counted(shown.geometry.num_blocks, unit)} held"
    return f"Memory map: {held}, by {counted(len(shown.holders), 'sequence')}"


def _drawn(shown: MemoryMap, cells: list[Cell], cell: Cell, at: int, across: int) -> Iterator[str]:
    x, y = (GAP + place * (SIDE + GAP) for place in (at % across, at // across))
    frame = f'x="{x}" y="{y}" width="{SIDE}" height="{SIDE}" rx="3"'
    if cell.owner is None:
        yield f'<rect {frame} fill="none" stroke="currentColor" stroke-opacity="0.3"/>'
        if cell.cached:
            lines = f"M{x + 5} {y + 8}h10M{x + 5} {y + 12}h10"
            yield f'<path d="{lines}" stroke="#00966b" stroke-width="2"/>'
        return
    seq = shown.holders[cell.owner].seq
    letter, color = owner(seq)
    full = round(SIDE * cell.written / cell.slots)
    yield f'<rect {frame} fill="{color}" fill-opacity="0.22" stroke="{color}"/>'
    if full:
        yield f'<rect x="{x}" y="{y + SIDE - full}" width="{SIDE}" height="{full}" rx="3" fill="{color}"/>'
    goes_on = at % across and cells[at - 1].owner == cell.owner and shown.geometry.block_size == 1
    if not goes_on:
        ink = "#000" if full > SIDE // 2 else "currentColor"
        yield f'<text x="{x + SIDE // 2}" y="{y + 15}" fill="{ink}">{escape(letter)}</text>'
    if cell.shared:
        yield f'<path d="M{x + SIDE - 8} {y}h8v8z" fill="currentColor"/>'
