"""Where the memory went, as stacked bars of the five kinds, and what the kinds mean.

Knows nothing about runs: it is given splits.
"""

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.jupyter import JupyterMixin
from rich.text import Text

from pagesim.planner.units import format_gib
from pagesim.replay.waste import WasteSplit
from pagesim.views.figure_table import FigureTable, Group
from pagesim.views.figures import NOT_KNOWN, format_percent
from pagesim.views.glyphs import Glyphs, glyphs_of
from pagesim.views.palette import KINDS

USED_WIDTH = len("  19.7 % used")
LEAST_BAR = 10
TITLES_FROM = 90
"""Screens from this width on have room for what names mean in front of the bars."""

NO_STEPS = "no step ran, so there is nothing to show"


def apportion(parts: Sequence[float], total: int) -> list[int]:
    """Whole numbers in proportion to ``parts`` that add up to ``total``: largest remainders first,
    the first of equals. All zero if the parts are."""
    whole = sum(parts)
    if whole <= 0:
        return [0] * len(parts)
    exact = [part * total / whole for part in parts]
    cells = [int(share) for share in exact]
    order = sorted(range(len(parts)), key=lambda at: (cells[at] - exact[at], at))
    for at in order[: total - sum(cells)]:
        cells[at] += 1
    return cells


class WasteBar(JupyterMixin):
    """One bar as wide as there is room, or as ``width``."""

    def __init__(self, split: WasteSplit, width: int | None = None) -> None:
        self.split = split
        self.width = width

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.line(glyphs_of(options), self.width or options.max_width)

    def line(self, glyphs: Glyphs, width: int) -> Text:
        line = Text(no_wrap=True, overflow="crop")
        for kind, cells in zip(KINDS, apportion(self.split[:5], width), strict=True):
            line.append(kind.glyph(glyphs) * cells, kind.style)
        return line


class LabelledSplit(NamedTuple):
    """A run's name, where its memory went (``None``: no step ran), and what the name means."""

    name: str
    split: WasteSplit | None
    title: str = ""


class WasteBars(JupyterMixin):
    """A bar for each run, the share that was used at its end, a legend, and all shares in figures."""

    def __init__(self, rows: Sequence[LabelledSplit], bytes_per_slot: int) -> None:
        self.rows = rows
        self.bytes_per_slot = bytes_per_slot

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        glyphs, width = glyphs_of(options), options.max_width
        yield from self._bars(glyphs, width)
        yield Text()
        swatches = [_swatch(glyphs, at) for at in range(len(KINDS))]
        table = self.figures(swatches, [kind.meaning for kind in KINDS])
        if not table.holds_notes(width):
            yield from legend_lines(glyphs)
            yield Text()
            table = self.figures([Text(kind.name) for kind in KINDS])
        yield table

    def _bars(self, glyphs: Glyphs, width: int) -> RenderResult:
        labels = [self._label(row, width) for row in self.rows]
        names = max(label.cell_len for label in labels) + 2
        bar = max(width - names - USED_WIDTH, LEAST_BAR)
        for row, line in zip(self.rows, labels, strict=True):
            line.pad_right(names - line.cell_len)
            if row.split is None:
                line.append(NO_STEPS, "dim")
            else:
                line.append_text(WasteBar(row.split).line(glyphs, bar))
                line.append(f"{format_percent(row.split.percent()['used']):>8}", "bold")
                line.append(" used")
            yield line

    def _label(self, row: LabelledSplit, width: int) -> Text:
        label = Text(row.name, style="", overflow="fold")
        label.stylize("bold")
        if width >= TITLES_FROM and row.title:
            label.pad_right(max(cell_len(other.name) for other in self.rows) + 2 - label.cell_len)
            label.append(row.title)
        return label

    def figures(self, labels: Sequence[Text], notes: Sequence[str] = ()) -> FigureTable:
        """Percent and GiB of each kind in each run; ``labels`` and ``notes`` are a kind's each."""
        groups = []
        for row in self.rows:
            cells = [(NOT_KNOWN, NOT_KNOWN)] * len(KINDS)
            if row.split is not None:
                sizes = [format_gib(round(part * self.bytes_per_slot)) for part in row.split[:5]]
                cells = list(
                    zip(map(format_percent, row.split.percent().values()), sizes, strict=True)
                )
            groups.append(Group((row.name,), ("", ""), tuple(cells)))
        return FigureTable(labels, groups, notes)


def legend_lines(glyphs: Glyphs) -> list[Text]:
    """One line a kind: its swatch, name and meaning."""
    names = max(len(kind.name) for kind in KINDS)
    lines = []
    for at, kind in enumerate(KINDS):
        line = _swatch(glyphs, at)
        line.append(" " * (names - len(kind.name) + 2))
        line.append(kind.meaning, "dim")
        lines.append(line)
    return lines


def _swatch(glyphs: Glyphs, at: int) -> Text:
    kind = KINDS[at]
    line = Text()
    line.append(kind.glyph(glyphs) * 2, kind.style)
    line.append(f" {kind.name}")
    return line
