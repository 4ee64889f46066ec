"""Several memory maps at one scale, side by side where there is room, with captions and a legend."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from rich.console import Console, ConsoleOptions, RenderResult
from rich.jupyter import JupyterMixin
from rich.text import Text

from pagesim.replay.memory_map import MemoryMap
from pagesim.views.figures import counted
from pagesim.views.glyphs import Glyphs, glyphs_of
from pagesim.views.memory_map import MapScale, MemoryMapView, map_legend, map_scale, owner_numbers

LEAST_WIDTH = 39
GAP = 2


class NamedMap(NamedTuple):
    """A map, whose it is, and what its holders are called ("request" or "sequence")."""

    name: str
    title: str
    shown: MemoryMap
    noun: str = "request"


class MapGrid(JupyterMixin):
    """Maps in one, two or four columns (never three of four)."""

    def __init__(self, maps: Sequence[NamedMap]) -> None:
        self.maps = maps

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width, glyphs = options.max_width, glyphs_of(options)
        shown = [named.shown for named in self.maps]
        across = self._across(width)
        column = (width - GAP * (across - 1)) // across
        scale = map_scale(shown, column)
        numbers = owner_numbers(shown)
        panes = [
            [
                *caption(named),
                *MemoryMapView(named.shown, scale=scale, numbers=numbers).lines(
                    glyphs, scale, column
                ),
            ]
            for named in self.maps
        ]
        for first in range(0, len(panes), across):
            if first:
                yield Text()
            yield from _beside(panes[first : first + across], column)
        yield Text()
        yield from self._legend(glyphs, scale, width)

    def _across(self, width: int) -> int:
        count = len(self.maps)
        most = max((width + GAP) // (LEAST_WIDTH + GAP), 1)
        if most >= count:
            return count
        return 2 if most >= 2 and count > 1 else 1

    def _legend(self, glyphs: Glyphs, scale: MapScale, width: int) -> list[Text]:
        about = Text(scale.about([named.shown for named in self.maps]), style="bold")
        about.append("; numbers at the left are each row's first slot.", "dim not bold")
        several, cached = len(self.maps) > 1, any(named.shown.cached for named in self.maps)
        return [about, *map_legend(glyphs, width, several=several, cached=cached)]


def caption(named: NamedMap) -> list[Text]:
    """Whose map it is; how many hold it and how many wait; what the name means."""
    counts = counted(len(named.shown.holders), named.noun)
    line = Text(f"{counts}, {named.shown.waiting:,} waiting")
    head = Text(f"{named.name}  ", style="").append_text(line)
    head.stylize("bold", 0, len(named.name))
    size = named.shown.geometry.block_size
    title = named.title or (f"blocks of {size:,} slots" if size > 1 else "")
    return [head, Text(title, style="dim", overflow="fold")]


def _beside(panes: Sequence[Sequence[Text]], column: int) -> RenderResult:
    """Panes side by side; all but the last padded to ``column``."""
    for parts in zip_longest(*panes):
        line = Text(overflow="crop")
        for at, part in enumerate(parts):
            if at:
                line.pad_right(at * (column + GAP) - line.cell_len)
            if part is not None:
                line.append_text(part)
        line.rstrip()
        yield line
