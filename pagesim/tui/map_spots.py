"""Where on the drawn map a block is, and which block is where; for the mouse, and to mark one block.

Knows the layout of ``StepMap``: a label, then cells of a mark and two characters; the host's rows come below a line
of their own. Draws nothing else.
"""

from typing import NamedTuple

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from pagesim.core.types import BlockId, Geometry
from pagesim.views.step_map import MARKED_WIDTH, StepLayout, StepMap, step_layout


class MapSpots(NamedTuple):
    """The layout of one map, and what it is of."""

    layout: StepLayout
    geometry: Geometry

    @property
    def cell_blocks(self) -> int:
        return self.layout.scale.cell_slots // self.geometry.block_size

    def block_at(self, x: int, y: int) -> BlockId | None:
        """The first block of the cell there; ``None``: there is no cell."""
        geometry, layout = self.geometry, self.layout
        per_row = layout.scale.cells_per_row
        column = (x - layout.label) // MARKED_WIDTH
        first, num_blocks = 0, geometry.num_blocks
        if y > layout.device_rows and layout.host_rows:
            y -= layout.device_rows + 1
            first, num_blocks = geometry.num_blocks, geometry.num_host_blocks
        elif y == layout.device_rows:
            return None
        if not 0 <= column < per_row or y < 0:
            return None
        block = (y * per_row + column) * self.cell_blocks
        return first + block if block < num_blocks else None

    def spot(self, block: BlockId) -> tuple[int, int] | None:
        """Column and row of the letter of the block's cell; ``None``: it is not drawn."""
        top, beyond = 0, block - self.geometry.num_blocks
        if beyond >= 0:
            if not self.layout.host_rows:
                return None
            block, top = beyond, self.layout.device_rows + 1
        row, column = divmod(block // self.cell_blocks, self.layout.scale.cells_per_row)
        return self.layout.label + column * MARKED_WIDTH + 1, top + row


def map_spots(geometry: Geometry, width: int, max_rows: int) -> MapSpots:
    return MapSpots(step_layout(geometry, width, max_rows), geometry)


class PointedMap:
    """A map with one block's cell reversed."""

    def __init__(self, drawn: StepMap, block: BlockId) -> None:
        self._drawn = drawn
        self._block = block

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        spots = map_spots(self._drawn.shown.geometry, options.max_width, self._drawn.max_rows)
        x, y = spots.spot(self._block) or (0, -1)
        for row, line in enumerate(self._drawn.__rich_console__(console, options)):
            if row == y and isinstance(line, Text):
                line.stylize("reverse bold", x, x + MARKED_WIDTH - 1)
            yield line
