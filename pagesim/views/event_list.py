"""Events as lines: where in the run, in which step, what kind, and the sentence that explains it.

Knows nothing about events: it is given their texts.
"""

from collections.abc import Sequence
from typing import NamedTuple

from rich.console import Console, ConsoleOptions, RenderResult
from rich.jupyter import JupyterMixin
from rich.text import Text

from pagesim.views.glyphs import clean
from pagesim.views.marks import cut, marks_of, padded


class EventLine(NamedTuple):
    """``place`` is the number of the event, from 1; ``step`` the step planned last, ``None`` before the first.

    ``between``: that step is over, and the next is not planned yet.
    """

    place: int
    step: int | None
    label: str
    sentence: str
    between: bool = False


class EventList(JupyterMixin):
    """One line an event, the one whose place is ``current`` marked; exactly ``max_rows`` lines, if given,
    with the current one near their middle."""

    def __init__(
        self,
        lines: Sequence[EventLine],
        current: int | None = None,
        *,
        max_rows: int | None = None,
    ) -> None:
        self.lines = lines
        self.current = current
        self.max_rows = max_rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width, marks = options.max_width, marks_of(options)
        shown = self._window()
        places = max((len(f"{line.place:,}") for line in shown), default=1)
        steps = max((len(_step(line)) for line in shown), default=1)
        labels = min(max((len(line.label) for line in shown), default=1), 13)
        for entry in shown:
            here = entry.place == self.current
            line = Text(marks.changed if here else " ", style="", no_wrap=True, overflow="crop")
            line.append(f"{entry.place:>{places},} ", "bold" if here else "dim")
            line.append(f"{_step(entry):<{steps}} ", "dim")
            label = padded(clean(entry.label, options.encoding), labels, marks.more)
            line.append(f"{label} ", "bold" if here else "")
            sentence = clean(entry.sentence[: 4 * width], options.encoding)
            line.append(cut(sentence, width - line.cell_len, marks.more), "bold" if here else "")
            line.truncate(width)
            yield line
        for _ in range((self.max_rows or 0) - len(shown)):
            yield Text()

    def _window(self) -> Sequence[EventLine]:
        rows = self.max_rows
        if rows is None or len(self.lines) <= rows:
            return self.lines
        at = next((at for at, line in enumerate(self.lines) if line.place == self.current), 0)
        start = min(max(at - rows // 2, 0), len(self.lines) - rows)
        return self.lines[start : start + rows]


def _step(line: EventLine) -> str:
    if line.step is None:
        return "start"
    return f"{'after' if line.between else 'step'} {line.step:,}"
