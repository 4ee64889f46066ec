"""A quantity over a whole run as one line of small bars, with the place one is at marked below it.

Knows nothing about what the quantity is.
"""

from collections.abc import Sequence

from rich.console import Console, ConsoleOptions, RenderResult
from rich.jupyter import JupyterMixin
from rich.text import Text

from pagesim.views.marks import marks_of
from pagesim.views.palette import CHANGED_STYLE, KINDS


class Occupancy(JupyterMixin):
    """``values`` (memory held in each step, say) over ``width`` columns, in two lines.

    A column shows the most of the values it stands for, a bar of full height is ``most`` (by default the
    largest value). ``marker`` is the position among the values that is marked, ``note`` what is said there.
    """

    def __init__(
        self,
        values: Sequence[float],
        width: int | None = None,
        marker: int | None = None,
        *,
        most: float | None = None,
        note: str = "",
    ) -> None:
        self.values = values
        self.width = width
        self.marker = marker
        self.most = most
        self.note = note

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = max(min(self.width or options.max_width, options.max_width), 1)
        marks = marks_of(options)
        count = len(self.values)
        if not count:
            yield Text("No step ran.", style="dim")
            yield Text()
            return
        most = self.most or max(self.values) or 1
        line = Text(no_wrap=True, overflow="crop")
        for value in peaks(self.values, width):
            level = min(int(value * len(marks.levels) / most), len(marks.levels) - 1)
            line.append(marks.levels[level] if value > 0 else " ", KINDS[0].style)
        below = Text(no_wrap=True, overflow="crop")
        if self.marker is not None:
            column = column_of(self.marker, count, width)
            line.stylize(CHANGED_STYLE, column, column + 1)
            below = _pointed(column, marks.pointer, self.note, width)
        yield line
        yield below


def peaks(values: Sequence[float], width: int) -> list[float]:
    """The largest value of each of ``width`` columns; where there are fewer values, they repeat."""
    count = len(values)
    found = []
    for column in range(width):
        first = column * count // width
        stop = max((column + 1) * count // width, first + 1)
        found.append(max(values[first:stop]))
    return found


def column_of(position: int, count: int, width: int) -> int:
    """The column in which ``peaks`` shows a position (the first of them)."""
    position = min(max(position, 0), count - 1)
    return min(
        -(-position * width // count) if width > count else position * width // count, width - 1
    )


def _pointed(column: int, pointer: str, note: str, width: int) -> Text:
    """A line with ``pointer`` at ``column`` and ``note`` beside it, where there is more room."""
    line = Text(no_wrap=True, overflow="crop")
    if column + 2 + len(note) <= width or column < len(note) + 1:
        line.append(" " * column + pointer, "bold")
        return line.append(f" {note}", "dim") if note else line
    line.append(" " * (column - len(note) - 1) + note, "dim")
    return line.append(f" {pointer}", "bold")
