"""The picture of ``pagesim kernel explain``: a block table, the pool, and every tile with its numbers.

A block has the same colour wherever it appears. Knows nothing about attention: it is given the story.
"""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderResult
from rich.jupyter import JupyterMixin
from rich.style import Style
from rich.text import Text

from pagesim.views.figures import counted
from pagesim.views.glyphs import glyphs_of
from pagesim.views.palette import OWNER_COLORS

if TYPE_CHECKING:
    from pagesim_kernels.story import Lane, Tile, Walk

LABEL = 13
CELL = 7
SHOWN_DIMS = 4
DIM = Style(dim=True)
BOLD = Style(bold=True)


class KernelWalk(JupyterMixin):
    """One new token's way through its block table, tile by tile.

    ``only``: the number of a tile, from 0 on, that is drawn alone; the table stands before the first, and the output
    behind the last.
    """

    def __init__(self, story: "Walk", only: int | None = None) -> None:
        self.story = story
        self.only = only

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width, rule = options.max_width, glyphs_of(options).rule
        story, count = self.story, len(self.story.tiles)
        if not self.only:
            yield from self._head()
            yield Text()
            yield from self._table(width)
            yield from self._pool(width)
        for number, tile in enumerate(story.tiles):
            if self.only not in (None, number):
                continue
            last = tile.start + len(tile.lanes) - 1
            title = f"tile {number + 1} of {count}: keys {tile.start} to {last} "
            if not self.only:
                yield Text()
            yield Text(title + rule * max(0, min(width, 78) - len(title)), style=BOLD)
            yield from self._tile(tile, width)
        if self.only in (None, count - 1):
            yield Text()
            yield from self._end()

    def _head(self) -> Iterator[Text]:
        s = self.story
        seen = "" if s.window is None else f", and sees the last {s.window} (the window)"
        yield Text(
            f"A new token at position {s.context_len - 1} attends to {counted(s.context_len, 'key')}{seen}.\n"
            f"Blocks hold {s.block_size}, a tile {s.keys}. One head of {len(s.output)} dimensions.\n"
            f"A score is q . k x {s.scale:.4f}: 1 / sqrt({len(s.output)}), in base 2."
        )

    def _style(self, block: int) -> Style:
        """Of a block that the table names."""
        at = self.story.table.index(block) if block in self.story.table else None
        return DIM if at is None else Style(color=OWNER_COLORS[at % len(OWNER_COLORS)])

    def _table(self, width: int) -> Iterator[Text]:
        room = max(1, (width - LABEL) // CELL)
        entries = list(enumerate(self.story.table))
        for first in range(0, len(entries), room):
            part = entries[first : first + room]
            yield _line("table entry", [(f"{entry}", DIM) for entry, _ in part])
            yield _line("holds block", [(f"{block}", self._style(block)) for _, block in part])

    def _pool(self, width: int) -> Iterator[Text]:
        """Each physical block with the keys in it; a dot is a slot that nobody wrote."""
        cells = []
        for block, keys in enumerate(self.story.pool):
            text = Text().append(f"{block}: ", DIM)
            inside = " ".join("." if key is None else f"{key}" for key in keys)
            cells.append(text.append(f"[{inside}]", self._style(block)))
        line = Text("pool".ljust(LABEL))
        for cell in cells:
            if line.cell_len + cell.cell_len > width and line.cell_len > LABEL:
                line.rstrip()
                yield line
                line = Text(" " * LABEL)
            line.append_text(cell).append("  ")
        line.rstrip()
        yield line

    def _tile(self, tile: "Tile", width: int) -> Iterator[Text]:
        room = max(1, (width - LABEL) // CELL)
        for first in range(0, len(tile.lanes), room):
            lanes = tile.lanes[first : first + room]
            yield _line(
                "key", [(f"{lane.pos}" if lane.live else "--", _dim(lane)) for lane in lanes]
            )
            yield self._looked_up("table entry", [(lane, lane.entry) for lane in lanes])
            yield self._looked_up("block", [(lane, lane.block) for lane in lanes])
            yield self._looked_up("slot", [(lane, lane.slot) for lane in lanes])
            yield _line("score s", [(_number(lane.score), _dim(lane)) for lane in lanes])
            weights = [(f"{lane.weight:.3f}" if lane.live else "0", _dim(lane)) for lane in lanes]
            yield _line("2^(s - m)", weights)
        before, after = _number(tile.maximum_before), _number(tile.maximum)
        added = tile.total - tile.total_before * tile.shrink
        yield _row("maximum m", f"max({before}, scores) = {after}")
        yield _row("shrink", f"2^({before} - {after}) = {tile.shrink:.3f}")
        yield _row(
            "sum l", f"{tile.total_before:.3f} x {tile.shrink:.3f} + {added:.3f} = {tile.total:.3f}"
        )
        yield _row(
            "accumulator", f"old x {tile.shrink:.3f} + weights @ V = {_vector(tile.accumulator)}"
        )

    def _looked_up(self, label: str, lanes: "list[tuple[Lane, int | None]]") -> Text:
        cells = []
        for lane, value in lanes:
            style = self._style(lane.block) if lane.block is not None else DIM
            cells.append((f"{value}" if lane.live else "--", style))
        return _line(label, cells)

    def _end(self) -> Iterator[Text]:
        s = self.story
        yield _row("output", f"accumulator / {s.tiles[-1].total:.3f} = {_vector(s.output)}")
        yield _row("float64 says", _vector(s.expected))
        yield _row("", f"largest difference of all {len(s.output)} dimensions: {s.error:.0e}")
        yield Text()
        yield Text(
            "-- is a lane that is masked: it reads neither the table nor the cache.", style=DIM
        )
        yield Text(
            ". is a slot that nobody wrote: here it holds NaN, and no lane reads it.", style=DIM
        )


def _dim(lane: "Lane") -> Style:
    return Style.null() if lane.live else DIM


def _line(label: str, cells: list[tuple[str, Style]]) -> Text:
    line = Text(label.ljust(LABEL))
    for text, style in cells:
        line.append(text.rjust(CELL - 1) + " ", style)
    line.rstrip()
    return line


def _row(label: str, text: str) -> Text:
    return Text(label.ljust(LABEL) + " " + text, overflow="fold")


def _number(value: float | None) -> str:
    return "-inf" if value is None or value == -math.inf else f"{value:.2f}"


def _vector(values: tuple[float, ...]) -> str:
    shown = " ".join(f"{value:.3f}" for value in values[:SHOWN_DIMS])
    return f"({shown} ...)" if len(values) > SHOWN_DIMS else f"({shown})"
