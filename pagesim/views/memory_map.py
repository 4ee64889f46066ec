"""A picture of one memory at one moment: a grid of cells, each with its owner and how full it is.

A cell is drawn as two characters: the owner's letter and a glyph for what is in the cell. A cell
without a letter goes on with the owner of the cell to its left. A host pool stands below the device, in the
same cells. Knows nothing about how maps come about.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from rich.console import Console, ConsoleOptions, RenderResult
from rich.jupyter import JupyterMixin
from rich.text import Text

from pagesim.replay.memory_map import MemoryMap
from pagesim.views.figures import counted
from pagesim.views.glyphs import Glyphs, glyphs_of
from pagesim.views.host_map import empty_pools, host_map, host_words, label_width
from pagesim.views.map_cells import Cell, map_cells, slots_per_cell
from pagesim.views.palette import CACHED_STYLE, FREE_STYLE, Owner, owner

MAX_ROWS = 16
CELL_WIDTH = 2


@dataclass(frozen=True, slots=True)
class MapScale:
    """What maps that are compared by eye must share: slots in a cell, and cells in a row."""

    cell_slots: int
    cells_per_row: int

    def about(self, maps: Sequence[MemoryMap]) -> str:
        """What one cell stands for, in words: "1 cell = 64 slots (4 blocks)"."""
        sizes = {shown.geometry.block_size for shown in maps}
        text = f"1 cell = {counted(self.cell_slots, 'slot')}"
        in_blocks = [
            counted(self.cell_slots // size, "block") for size in sorted(sizes) if size > 1
        ]
        return f"{text} ({', '.join(in_blocks)})" if in_blocks else text


def map_scale(
    maps: Sequence[MemoryMap], width: int, max_rows: int = MAX_ROWS, cell_width: int = CELL_WIDTH
) -> MapScale:
    """The finest scale at which each pool of ``maps`` fits into ``width`` columns and ``max_rows`` rows."""
    per_row = cells_across(max(label_width(shown.geometry) for shown in maps), width, cell_width)
    pools = [pool for shown in maps for pool in empty_pools(shown.geometry)]
    return MapScale(slots_per_cell(pools, per_row * max_rows), per_row)


def cells_across(label: int, width: int, cell_width: int) -> int:
    """How many cells stand in a row: a multiple of 4, if there is room for that."""
    room = max((width - label) // cell_width, 1)
    return room - room % 4 if room >= 4 else room


def owner_numbers(maps: Sequence[MemoryMap]) -> dict[str, int]:
    """A number for each holder's name, the same in all maps, in order of the holders' arrival."""
    everyone = chain.from_iterable([*m.holders, *m.swapped] for m in maps)
    first = {holder.name: holder.seq for holder in everyone}
    ordered = sorted(first, key=lambda name: (first[name], name))
    return {name: number for number, name in enumerate(ordered)}


class MemoryMapView(JupyterMixin):
    """One map. ``scale`` and ``numbers`` are given where several maps are to be compared."""

    def __init__(
        self,
        shown: MemoryMap,
        *,
        scale: MapScale | None = None,
        numbers: Mapping[str, int] | None = None,
    ) -> None:
        self.shown = shown
        self.scale = scale
        self._numbers = owner_numbers([shown]) if numbers is None else numbers

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        scale = self.scale or map_scale([self.shown], options.max_width)
        yield from self.lines(glyphs_of(options), scale, options.max_width)
        if self.scale is None:
            yield Text(scale.about([self.shown]), style="dim")

    def lines(self, glyphs: Glyphs, scale: MapScale, width: int) -> list[Text]:
        """One line a row, each with the number of its first slot; then the host pool, if there is one."""
        lines = self._rows(self.shown, glyphs, scale)
        host = host_map(self.shown)
        if host is None:
            return lines
        heading = Text(host_words(self.shown, width), style="dim", no_wrap=True, overflow="crop")
        rows = self._rows(host, glyphs, scale, sign="h")
        last = max((block for holder in host.holders for block in holder.table), default=-1)
        used = -(-(last + 1) * host.geometry.block_size // (scale.cell_slots * scale.cells_per_row))
        lines += [heading, *rows[:used]]
        if 0 < used < len(rows):
            more = counted(len(rows) - used, "more row")
            lines.append(Text(f"{more}, nothing held", style="dim", no_wrap=True, overflow="crop"))
        return lines

    def _rows(self, pool: MemoryMap, glyphs: Glyphs, scale: MapScale, sign: str = "") -> list[Text]:
        """``sign`` stands before names of blocks; without one, rows are named by their first slot."""
        cells = map_cells(pool, scale.cell_slots)
        label = label_width(self.shown.geometry)
        unit = scale.cell_slots // (pool.geometry.block_size if sign else 1)
        per_row = scale.cells_per_row
        lines = []
        for start in range(0, len(cells), per_row):
            first = f"{sign}{start * unit:,}".rjust(label - 1)
            line = Text(first + " ", style="", no_wrap=True, overflow="crop")
            line.stylize("dim", 0, label)
            left: int | None = None
            for cell in cells[start : start + per_row]:
                if cell.owner is None:
                    draw_free(line, cell, glyphs)
                else:
                    drawn = owner(self._numbers[pool.holders[cell.owner].name])
                    glyph = cell_glyph(cell, glyphs)
                    draw_cell(line, drawn, glyph, glyphs, goes_on=cell.owner == left)
                left = cell.owner
            lines.append(line)
        return lines


def draw_free(line: Text, cell: Cell, glyphs: Glyphs) -> None:
    if cell.cached * 2 > cell.slots:
        line.append(glyphs.cached * CELL_WIDTH, CACHED_STYLE)
    else:
        line.append(glyphs.free * CELL_WIDTH, FREE_STYLE)


def cell_glyph(cell: Cell, glyphs: Glyphs) -> str:
    """What a held cell is marked with: shared, full, written in part, rounded up, or empty."""
    if cell.shared and cell.shared * 2 >= cell.held:
        return glyphs.shared
    if cell.written:
        return glyphs.part(cell.written / cell.slots)
    return glyphs.external if cell.rounding > cell.empty else glyphs.reserved


def draw_cell(line: Text, drawn: Owner, glyph: str, glyphs: Glyphs, *, goes_on: bool) -> None:
    solid = glyph in (glyphs.used, glyphs.shared)
    if goes_on:
        line.append(glyph * CELL_WIDTH, drawn.solid if glyph == glyphs.shared else drawn.style)
    else:
        line.append(drawn.letter, drawn.solid if solid else drawn.style)
        line.append(glyph, drawn.solid if glyph == glyphs.shared else drawn.style)


def map_legend(glyphs: Glyphs, width: int, *, several: bool, cached: bool) -> list[Text]:
    """What the cells of a map mean. ``several``: there are maps whose letters agree; ``cached``:
    there is a prefix cache."""
    entries = []
    for glyph, meaning in (
        (glyphs.used, "full"),
        (glyphs.part_low, "to 1/3"),
        (glyphs.part_mid, "to 2/3"),
        (glyphs.part_high, "nearly full"),
        (glyphs.reserved, "held, nothing written"),
        (glyphs.external, "rounding"),
        (glyphs.shared, "shared"),
    ):
        entry = Text()
        draw_cell(entry, owner(0), glyph, glyphs, goes_on=False)
        entries.append(entry.append(f" {meaning}"))
    entries.append(Text().append(glyphs.free * CELL_WIDTH, FREE_STYLE).append(" not held"))
    if cached:
        kept = Text().append(glyphs.cached * CELL_WIDTH, CACHED_STYLE)
        entries.append(kept.append(" not held, content still cached"))
    lines = [Text()]
    for entry in entries:
        if lines[-1] and lines[-1].cell_len + 3 + entry.cell_len > width:
            lines.append(Text())
        if lines[-1]:
            lines[-1].append("   ")
        lines[-1].append_text(entry)
    same = ", the same in every map" if several else ""
    lines.append(
        Text(
            f"A letter is a request{same}; cells without one go on with the request to their left. "
            "Where several requests have a part of a cell, the letter is who has most.",
            style="dim",
        )
    )
    return lines
