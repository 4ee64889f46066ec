"""A picture of one memory at one moment: a grid of cells, each with its owner and how full it is.

A cell is drawn as two characters: the owner's letter and a glyph for what is in the cell. A cell
without a letter goes on with the owner of the cell to its left. A ``StepMap`` shows one place of a run:
its cells have a third character before them that marks what the last event touched. Knows nothing about
how maps come about.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from rich.console import Console, ConsoleOptions, RenderResult
from rich.jupyter import JupyterMixin
from rich.text import Text

from pagesim.core.types import BlockId, SeqId
from pagesim.replay.memory_map import MemoryMap
from pagesim.views.figures import counted
from pagesim.views.glyphs import Glyphs, glyphs_of
from pagesim.views.map_cells import Cell, cells_of, map_cells, slots_per_cell
from pagesim.views.marks import Marks, marks_of
from pagesim.views.palette import CACHED_STYLE, CHANGED_STYLE, FREE_STYLE, Owner, owner

MAX_ROWS = 16
CELL_WIDTH = 2
MARKED_WIDTH = 3
"""Cells of a ``StepMap``, with their mark."""


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
    """The finest scale at which each of ``maps`` fits into ``width`` columns and ``max_rows`` rows."""
    label = _label_width(max(shown.geometry.num_slots for shown in maps))
    room = max((width - label) // cell_width, 1)
    per_row = room - room % 4 if room >= 4 else room
    return MapScale(slots_per_cell(maps, per_row * max_rows), per_row)


def owner_numbers(maps: Sequence[MemoryMap]) -> dict[str, int]:
    """A number for each holder's name, the same in all maps, in order of the holders' arrival."""
    first = {holder.name: holder.seq for holder in chain.from_iterable(m.holders for m in maps)}
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
        yield from self.lines(glyphs_of(options), scale)
        if self.scale is None:
            yield Text(scale.about([self.shown]), style="dim")

    def lines(self, glyphs: Glyphs, scale: MapScale) -> list[Text]:
        """One line a row, each with the number of its first slot."""
        cells = map_cells(self.shown, scale.cell_slots)
        label = _label_width(self.shown.geometry.num_slots)
        per_row = scale.cells_per_row
        lines = []
        for start in range(0, len(cells), per_row):
            first_slot = f"{start * scale.cell_slots:,}".rjust(label - 1)
            line = Text(first_slot + " ", style="", no_wrap=True, overflow="crop")
            line.stylize("dim", 0, label)
            left: int | None = None
            for cell in cells[start : start + per_row]:
                self._draw(line, cell, cell.owner == left, glyphs)
                left = cell.owner
            lines.append(line)
        return lines

    def _draw(self, line: Text, cell: Cell, goes_on: bool, glyphs: Glyphs) -> None:  # noqa: FBT001
        if cell.owner is None:
            draw_free(line, cell, glyphs)
            return
        drawn = owner(self._numbers[self.shown.holders[cell.owner].name])
        draw_cell(line, drawn, cell_glyph(cell, glyphs), glyphs, goes_on=goes_on)


class StepMap(JupyterMixin):
    """The memory at one place of a run, in at most ``max_rows`` lines and one that says what a cell is.

    Cells with a block of ``changed`` have a mark before them. With ``focus``, only cells in which that
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
    ) -> None:
        self.shown = shown
        self.changed = changed
        self.focus = focus
        self.max_rows = max_rows
        self._numbers = numbers or {}

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        glyphs, marks = glyphs_of(options), marks_of(options)
        scale = map_scale([self.shown], options.max_width, max(self.max_rows, 1), MARKED_WIDTH)
        cells = map_cells(self.shown, scale.cell_slots)
        size = self.shown.geometry.block_size
        changed = cells_of(self.changed, scale.cell_slots // size)
        mine = cells_of(self._focused_table(), scale.cell_slots // size)
        label = _label_width(self.shown.geometry.num_slots)
        for start in range(0, len(cells), scale.cells_per_row):
            line = Text(f"{start * scale.cell_slots:,}".rjust(label - 1), style="", no_wrap=True)
            line.overflow = "crop"
            line.stylize("dim", 0, label)
            for at in range(start, min(start + scale.cells_per_row, len(cells))):
                line.append(marks.changed if at in changed else " ", CHANGED_STYLE)
                self._draw(line, cells[at], at in mine, glyphs)
            yield line
        yield self._about(scale, glyphs, marks, options.max_width)

    def _focused_table(self) -> Collection[BlockId]:
        tables = (holder.table for holder in self.shown.holders if holder.seq == self.focus)
        return next(tables, ())

    def _draw(self, line: Text, cell: Cell, is_focused: bool, glyphs: Glyphs) -> None:  # noqa: FBT001
        if cell.owner is None:
            draw_free(line, cell, glyphs)
            return
        holder = self.shown.holders[cell.owner]
        if is_focused:
            assert self.focus is not None
            name = next((h.name for h in self.shown.holders if h.seq == self.focus), "")
            drawn = owner(self._numbers.get(name, self.focus))
        else:
            drawn = owner(self._numbers.get(holder.name, holder.seq))
        glyph = cell_glyph(cell, glyphs)
        if self.focus is not None and not is_focused:
            line.append(glyph * CELL_WIDTH, OTHERS_STYLE)
        else:
            draw_cell(line, drawn, glyph, glyphs, goes_on=False)

    def _about(self, scale: MapScale, glyphs: Glyphs, marks: Marks, width: int) -> Text:
        """What a cell is, and as much of a legend as there is room for."""
        line = Text(no_wrap=True, overflow="crop")
        line.append(scale.about([self.shown]))
        entries = [
            Text().append(marks.changed, CHANGED_STYLE).append(" changed"),
            Text().append(glyphs.free * CELL_WIDTH, FREE_STYLE).append(" not held"),
            Text()
            .append(glyphs.cached * CELL_WIDTH, CACHED_STYLE)
            .append(" not held, still cached"),
            Text().append(glyphs.shared * CELL_WIDTH).append(" shared"),
            Text().append(glyphs.reserved * CELL_WIDTH).append(" held, empty"),
            Text().append(glyphs.part_mid * CELL_WIDTH).append(" filled in part"),
        ]
        if not self.shown.cached:
            del entries[2]
        for entry in entries:
            if line.cell_len + 3 + entry.cell_len > width:
                break
            line.append("   ").append_text(entry)
        line.stylize("dim")
        line.truncate(width)
        return line


OTHERS_STYLE = "dim"


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


def _label_width(num_slots: int) -> int:
    return len(f"{num_slots:,}") + 1
