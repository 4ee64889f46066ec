"""Pictures of the first lessons: what a step computes, who shares K and V, bars to one scale, rows of slots.

Knows nothing about runs or models: it is given numbers and names.
"""

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.jupyter import JupyterMixin
from rich.style import StyleType
from rich.table import Table
from rich.text import Text

from pagesim.views.glyphs import Glyphs, glyphs_of
from pagesim.views.palette import CACHED_STYLE, KINDS, OWNER_COLORS
from pagesim.views.waste_bar import apportion

COMPUTED_STYLE = OWNER_COLORS[1]


class StepGrid(JupyterMixin):
    """Which positions each step computes and which it reads, with a cache and without, side by side.

    ``lengths`` are a sequence's, step by step; a cell is a token.
    """

    def __init__(self, lengths: Sequence[int]) -> None:
        self.lengths = lengths

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        glyphs = glyphs_of(options)
        table = Table.grid(padding=(0, 4, 0, 0))
        heading = ("", "with a KV cache", "computed", "without", "computed")
        table.add_row(*(Text(text, style="dim") for text in heading))
        before, kept, anew = 0, 0, 0
        for step, length in enumerate(self.lengths):
            kept, anew = kept + length - before, anew + length
            table.add_row(
                f"step {step}",
                _tokens(before, length - before, glyphs),
                Text(f"{length - before:,}", justify="right"),
                _tokens(0, length, glyphs),
                Text(f"{length:,}", justify="right"),
            )
            before = length
        sums = Text(f"{kept:,}", justify="right"), Text(f"{anew:,}", justify="right")
        table.add_row("in all", "", sums[0], "", sums[1])
        yield table
        legend = Text()
        legend.append(glyphs.used, COMPUTED_STYLE).append(" computed by the model   ")
        legend.append(glyphs.cached, CACHED_STYLE).append(" K and V read from the cache")
        yield legend


def _tokens(read: int, computed: int, glyphs: Glyphs) -> Text:
    line = Text()
    line.append(glyphs.cached * read, CACHED_STYLE)
    return line.append(glyphs.used * computed, COMPUTED_STYLE)


class HeadGroup(NamedTuple):
    """A kind of attention: ``num_shared`` query heads use one key and value head; what to say of it."""

    name: str
    num_shared: int
    kept: str
    about: str


class HeadGroups(JupyterMixin):
    """``num_heads`` query heads, and below them what each kind of attention keeps of a token."""

    def __init__(self, num_heads: int, groups: Sequence[HeadGroup]) -> None:
        self.num_heads = num_heads
        self.groups = groups

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        rule = glyphs_of(options).rule
        table = Table.grid(padding=(0, 3, 0, 0))
        table.add_row(
            Text("queries", style="dim"), Text(" ".join("Q" * self.num_heads), no_wrap=True)
        )
        for group in self.groups:
            line = Text(no_wrap=True, style=COMPUTED_STYLE)
            width = 2 * group.num_shared - 1
            count = self.num_heads // group.num_shared
            line.append(" ".join([group.kept.ljust(width, rule)] * count))
            table.add_row(Text(group.name, style="bold"), line, group.about)
        yield table


class Band(NamedTuple):
    """One part of every bar: its name, which of the glyphs it is drawn with, and its colour."""

    name: str
    glyph: str
    color: StyleType

    def drawn(self, glyphs: Glyphs, cells: int) -> Text:
        character: str = getattr(glyphs, self.glyph)
        return Text(character * cells, style=self.color)


GPU_BANDS = (
    Band("weights", "reserved", OWNER_COLORS[0]),
    Band("workspace", "internal", OWNER_COLORS[3]),
    Band("K and V", "cached", CACHED_STYLE),
    Band("left alone", "free", KINDS[4].color),
)
"""What a GPU's memory holds."""


class Bar(NamedTuple):
    label: str
    parts: Sequence[float]
    tail: str


class StackedBars(JupyterMixin):
    """Bars to one scale, a legend below. ``bands`` are the parts', in order."""

    def __init__(self, bars: Sequence[Bar], bands: Sequence[Band]) -> None:
        self.bars = bars
        self.bands = bands

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        glyphs = glyphs_of(options)
        labels = max(cell_len(bar.label) for bar in self.bars) + 2
        tails = max(cell_len(bar.tail) for bar in self.bars) + 2
        room = min(options.max_width - labels - tails, 60)
        longest = max(sum(bar.parts) for bar in self.bars)
        for bar in self.bars:
            line = Text(bar.label, no_wrap=True, overflow="crop")
            line.pad_right(labels - cell_len(bar.label))
            cells = max(round(room * sum(bar.parts) / longest), 1)
            for band, count in zip(self.bands, apportion(bar.parts, cells), strict=True):
                line.append_text(band.drawn(glyphs, count))
            line.pad_right(room - cells + 2)
            yield line.append(bar.tail.rjust(tails - 2))
        legend = Text()
        for band in self.bands:
            legend.append("   " if legend else "")
            legend.append_text(band.drawn(glyphs, 2)).append(f" {band.name}")
        yield legend


class SlotRow(NamedTuple):
    """One reservation: how many of its slots are of each of the five kinds, by name."""

    label: str
    slots: Sequence[tuple[str, int]]


class SlotRows(JupyterMixin):
    """Reservations as rows of slots, a cell each; of a long kind only the first ``most`` are drawn."""

    def __init__(self, rows: Sequence[SlotRow], most: int = 24) -> None:
        self.rows = rows
        self.most = most

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        glyphs, kinds = glyphs_of(options), {kind.name: kind for kind in KINDS}
        for row in self.rows:
            line = Text(f"{row.label}  ", no_wrap=True, overflow="crop")
            for name, count in row.slots:
                kind = kinds[name]
                line.append(kind.glyph(glyphs) * min(count, self.most), kind.style)
                if count > self.most:
                    line.append(f" and {count - self.most:,} more")
            yield line
        legend = Text(style="dim")
        for name, _ in self.rows[0].slots:
            legend.append("   " if legend else "")
            legend.append(kinds[name].glyph(glyphs), kinds[name].style).append(f" {name}")
        yield legend
