"""Where on the drawn map a block is, and which block is where; for the mouse, and to mark one block.

Knows the layout of ``StepMap``: a label, then cells of a mark and two characters. Draws nothing else.
"""

from typing import NamedTuple

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from pagesim.core.types import BlockId, Geometry
from pagesim.replay.memory_map import MemoryMap
from pagesim.views.memory_map import MARKED_WIDTH, StepMap, map_scale


class MapSpots(NamedTuple):
    """The layout of one map: columns before the first cell, cells in a row, blocks in a cell."""

    label: int
    per_row: int
    cell_blocks: int
    num_blocks: int

    def block_at(self, x: int, y: int) -> BlockId | None:
        """The first block of the cell there; ``None``: there is no cell."""
        column = (x - self.label) // MARKED_WIDTH
        if not 0 <= column < self.per_row or y < 0:
            return None
        block = (y * self.per_row + column) * self.cell_blocks
        return block if block < self.num_blocks else None

    def spot(self, block: BlockId) -> tuple[int, int]:
        """Column and row of the letter of the block's cell."""
        row, column = divmod(block // self.cell_blocks, self.per_row)
        return self.label + column * MARKED_WIDTH + 1, row


def map_spots(geometry: Geometry, width: int, max_rows: int) -> MapSpots:
    empty = MemoryMap(0, -1, geometry, (), frozenset(), 0)
    scale = map_scale([empty], width, max(max_rows, 1), MARKED_WIDTH)
    label = len(f"{geometry.num_slots:,}") + 1
    cell_blocks = scale.cell_slots // geometry.block_size
    return MapSpots(label, scale.cells_per_row, cell_blocks, geometry.num_blocks)


class PointedMap:
    """A map with one block's cell reversed."""

    def __init__(self, drawn: StepMap, block: BlockId) -> None:
        self._drawn = drawn
        self._block = block

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        spots = map_spots(self._drawn.shown.geometry, options.max_width, self._drawn.max_rows)
        x, y = spots.spot(self._block)
        for row, line in enumerate(self._drawn.__rich_console__(console, options)):
            if row == y and isinstance(line, Text):
                line.stylize("reverse bold", x, x + MARKED_WIDTH - 1)
            yield line
