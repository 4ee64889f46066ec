"""The memory at one place of a run: its cells have a mark before them where the last event touched them.

A host pool stands below the device's rows, under a line of its own. Knows nothing about how maps come about.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from rich.console import Console, ConsoleOptions, RenderResult
from rich.jupyter import JupyterMixin
from rich.style import StyleType
from rich.text import Text

from pagesim.core.types import BlockId, Geometry, SeqId
from pagesim.replay.memory_map import MemoryMap
from pagesim.views.glyphs import Glyphs, glyphs_of
from pagesim.views.host_map import host_map, host_words, label_width, on_device, on_host
from pagesim.views.map_cells import Cell, cells_of, map_cells
from pagesim.views.marks import Marks, marks_of
from pagesim.views.memory_map import (
    CELL_WIDTH,
    MAX_ROWS,
    MapScale,
    cell_glyph,
    cells_across,
    draw_cell,
    draw_free,
    map_scale,
)
from pagesim.views.palette import CACHED_STYLE, CHANGED_STYLE, FREE_STYLE, owner

MARKED_WIDTH = 3
"""A cell with its mark."""
OTHERS_STYLE = "dim"


class StepLayout(NamedTuple):
    """Columns before the first cell, cells, and rows of each pool. ``host_rows`` 0: no host pool is drawn."""

    label: int
    scale: MapScale
    device_rows: int
    host_rows: int


def step_layout(geometry: Geometry, width: int, max_rows: int) -> StepLayout:
    """The finest cells with which all rows fit, and a line above the host's; with fewer than 3 rows, only the
    device's."""
    if not geometry.num_host_blocks or max_rows < 3:
        device = geometry._replace(num_host_blocks=0)
        empty = MemoryMap(0, -1, device, (), frozenset(), 0)
        scale = map_scale([empty], width, max(max_rows, 1), MARKED_WIDTH)
        return StepLayout(label_width(device), scale, _rows(device.num_blocks, device, scale), 0)
    label = label_width(geometry)
    across, slots = cells_across(label, width, MARKED_WIDTH), geometry.block_size
    while True:
        scale = MapScale(slots, across)
        device_rows = _rows(geometry.num_blocks, geometry, scale)
        host_rows = _rows(geometry.num_host_blocks, geometry, scale)
        if device_rows + 1 + host_rows <= max_rows:
            return StepLayout(label, scale, device_rows, host_rows)
        slots *= 2


def _rows(num_blocks: int, geometry: Geometry, scale: MapScale) -> int:
    row = scale.cell_slots // geometry.block_size * scale.cells_per_row
    return -(-num_blocks // row)


class StepMap(JupyterMixin):
    """All pools, in at most ``max_rows`` lines and one that says what a cell is, and what the signs in it mean.

    ``roomy``: that may take more lines, so that nothing is left out, and a memory of one row has its block numbers
    above it. Cells with a block of ``changed`` have a mark before them. With ``focus``, only cells in which that
    sequence has a block keep a letter: its own. Letters are ``numbers``' (by holder's name), by default
    those of the sequences' numbers, so that a sequence keeps its letter all through a run.
    """

    def __init__(
        self,
        shown: MemoryMap,
        *,
        changed: Collection[BlockId] = (),
        focus: SeqId | None = None,
        max_rows: int = MAX_ROWS,
        numbers: Mapping[str, int] | None = None,
        roomy: bool = False,
    ) -> None:
        self.shown = shown
        self.changed = changed
        self.focus = focus
        self.max_rows = max_rows
        self.roomy = roomy
        self._numbers = numbers or {}

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        glyphs, marks = glyphs_of(options), marks_of(options)
        layout = step_layout(self.shown.geometry, options.max_width, self.max_rows)
        host = host_map(self.shown)
        changed = on_device(self.changed, self.shown.geometry)
        if self.roomy:
            yield from self._ruler(layout)
        yield from self._pool(self.shown, changed, layout, glyphs, marks)
        if host is not None and layout.host_rows:
            words = host_words(self.shown, options.max_width)
            yield Text(words, style="bold", no_wrap=True, overflow="crop")
            changed = on_host(self.changed, self.shown.geometry)
            yield from self._pool(host, changed, layout, glyphs, marks, sign="h")
        yield from self._about(layout.scale, glyphs, marks, options.max_width)

    def _ruler(self, layout: StepLayout) -> Iterator[Text]:
        """The numbers of the blocks, where each has a cell of its own and room for its number."""
        size, count = self.shown.geometry.block_size, self.shown.geometry.num_blocks
        if size == 1 or layout.scale.cell_slots != size or layout.device_rows > 1:
            return
        if count <= 10 ** (MARKED_WIDTH - 1):
            numbers = "".join(f"{block:>{MARKED_WIDTH}}" for block in range(count))
            yield Text(" " * layout.label + numbers, style="dim", no_wrap=True, overflow="crop")

    def _pool(
        self,
        pool: MemoryMap,
        changed_blocks: Collection[BlockId],
        layout: StepLayout,
        glyphs: Glyphs,
        marks: Marks,
        sign: str = "",
    ) -> Iterator[Text]:
        """Its rows. With a ``sign`` they are named by their first block, else by their first slot."""
        scale, size = layout.scale, pool.geometry.block_size
        cells = map_cells(pool, scale.cell_slots)
        changed = cells_of(changed_blocks, scale.cell_slots // size)
        mine = cells_of(self._focused_table(pool), scale.cell_slots // size)
        unit = scale.cell_slots // (size if sign else 1)
        for start in range(0, len(cells), scale.cells_per_row):
            name = f"{sign}{start * unit:,}".rjust(layout.label - 1)
            line = Text(name, style="", no_wrap=True, overflow="crop")
            line.stylize("dim", 0, layout.label)
            for at in range(start, min(start + scale.cells_per_row, len(cells))):
                line.append(marks.changed if at in changed else " ", CHANGED_STYLE)
                self._draw(line, pool, cells[at], at in mine, glyphs)
            yield line

    def _focused_table(self, pool: MemoryMap) -> Collection[BlockId]:
        tables = (holder.table for holder in pool.holders if holder.seq == self.focus)
        return next(tables, ())

    def _draw(
        self,
        line: Text,
        pool: MemoryMap,
        cell: Cell,
        is_focused: bool,  # noqa: FBT001
        glyphs: Glyphs,
    ) -> None:
        if cell.owner is None:
            draw_free(line, cell, glyphs)
            return
        holder = pool.holders[cell.owner]
        if is_focused:
            assert self.focus is not None
            name = next((h.name for h in pool.holders if h.seq == self.focus), "")
            drawn = owner(self._numbers.get(name, self.focus))
        else:
            drawn = owner(self._numbers.get(holder.name, holder.seq))
        glyph = cell_glyph(cell, glyphs)
        if self.focus is not None and not is_focused:
            line.append(glyph * CELL_WIDTH, OTHERS_STYLE)
        else:
            draw_cell(line, drawn, glyph, glyphs, goes_on=False)

    def _about(self, scale: MapScale, glyphs: Glyphs, marks: Marks, width: int) -> Iterator[Text]:
        """What a cell is, and of the signs those that occur; in one line as many as there is room for."""
        line = Text(scale.about([self.shown]), style="", no_wrap=True, overflow="crop")
        for entry in self._legend(scale, glyphs, marks):
            if line.cell_len + 3 + entry.cell_len > width:
                if not self.roomy:
                    break
                line.stylize("dim")
                yield line
                line = Text("", style="", no_wrap=True, overflow="crop").append_text(entry)
            else:
                line.append("   ").append_text(entry)
        line.stylize("dim")
        line.truncate(width)
        yield line

    def _legend(self, scale: MapScale, glyphs: Glyphs, marks: Marks) -> Iterator[Text]:
        """The signs that occur, those first that are least easily guessed."""
        pools = [pool for pool in (self.shown, host_map(self.shown)) if pool is not None]
        cells = [cell for pool in pools for cell in map_cells(pool, scale.cell_slots)]
        held = {cell_glyph(cell, glyphs) for cell in cells if cell.owner is not None}
        free = Text()
        for cell in cells:
            if cell.owner is None:
                draw_free(free, cell, glyphs)
        if glyphs.cached in free.plain:
            yield _entry(glyphs.cached, " not held, still cached", CACHED_STYLE)
        if glyphs.shared in held:
            yield _entry(glyphs.shared, " shared")
        if glyphs.reserved in held:
            yield _entry(glyphs.reserved, " held, empty")
        if glyphs.external in held:
            yield _entry(glyphs.external, " added by rounding")
        if held & {glyphs.part_low, glyphs.part_mid, glyphs.part_high}:
            yield _entry(glyphs.part_mid, " filled in part")
        if self.roomy and glyphs.used in held:
            yield _entry(glyphs.used, " full")
        if glyphs.free in free.plain:
            yield _entry(glyphs.free, " not held", FREE_STYLE)
        if self.changed:
            yield Text().append(marks.changed, CHANGED_STYLE).append(" changed")


def _entry(glyph: str, meaning: str, style: StyleType = "") -> Text:
    return Text().append(glyph * CELL_WIDTH, style).append(meaning)
