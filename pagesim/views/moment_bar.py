"""How the memory is split at one moment: used, held but empty, free with cached content, free.

No hindsight is needed for these four, unlike for the five kinds of a whole run's waste.
"""

from typing import NamedTuple

from rich.console import Console, ConsoleOptions, RenderResult
from rich.jupyter import JupyterMixin
from rich.style import Style
from rich.text import Text

from pagesim.replay.memory_map import MemoryMap
from pagesim.views.figures import format_percent
from pagesim.views.glyphs import Glyphs, glyphs_of
from pagesim.views.map_cells import map_cells, slots_per_cell
from pagesim.views.palette import CACHED_STYLE, KINDS
from pagesim.views.waste_bar import apportion


class MomentSplit(NamedTuple):
    """Slots; they add up to the memory."""

    used: int
    empty: int
    cached: int
    free: int


def moment_split(shown: MemoryMap) -> MomentSplit:
    cells = map_cells(shown, slots_per_cell([shown], 1))
    used = sum(cell.written for cell in cells)
    held = sum(cell.held for cell in cells)
    cached = sum(cell.cached for cell in cells)
    return MomentSplit(used, held - used, cached, shown.geometry.num_slots - held - cached)


class MomentBar(JupyterMixin):
    """A bar and a line of figures: two lines."""

    def __init__(self, shown: MemoryMap) -> None:
        self.shown = shown

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        split, glyphs, width = moment_split(self.shown), glyphs_of(options), options.max_width
        line = Text(no_wrap=True, overflow="crop")
        cells = apportion(split, width)
        for (_, glyph, style), count in zip(_kinds(glyphs), cells, strict=True):
            line.append(glyph * count, style)
        yield line
        figures = _figures(split, glyphs, percent=True)
        if figures.cell_len > width:
            figures = _figures(split, glyphs, percent=False)
        figures.truncate(width)
        yield figures


def _figures(split: MomentSplit, glyphs: Glyphs, *, percent: bool) -> Text:
    line = Text(no_wrap=True, overflow="crop")
    for (name, glyph, style), slots in zip(_kinds(glyphs), split, strict=True):
        if slots or name != "cached":
            line.append("   " if line else "").append(glyph, style).append(f" {slots:,} {name}")
            if percent:
                line.append(f" ({format_percent(100 * slots / sum(split))})", "dim")
    return line


def _kinds(glyphs: Glyphs) -> list[tuple[str, str, Style]]:
    return [
        ("used", KINDS[0].glyph(glyphs), KINDS[0].style),
        ("held, empty", KINDS[1].glyph(glyphs), KINDS[1].style),
        ("cached", glyphs.cached, CACHED_STYLE),
        ("free", KINDS[4].glyph(glyphs), KINDS[4].style),
    ]
