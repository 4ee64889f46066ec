"""How far a sweep is: on standard error, in a terminal only, and gone when done. Knows nothing about points."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class SweepBar:
    """Points done, requests ended, and a bar that counts the parts of the points at work."""

    def __init__(self, bars: "Progress", task: "TaskID", total: int) -> None:
        self._bars = bars
        self._task = task
        self._total = total
        self._num_done = 0
        self._num_ended = 0
        self._at_work: dict[int, tuple[int, int]] = {}

    def told(self, number: int, ended: int, of: int) -> None:
        """So many of a point's requests have ended."""
        self._at_work[number] = (ended, of)
        self._show()

    def finished(self, number: int) -> None:
        self._num_done += 1
        self._num_ended += self._at_work.pop(number, (0, 0))[1]
        self._show()

    def _show(self) -> None:
        at_work = self._at_work.values()
        ended = self._num_ended + sum(ended for ended, _ in at_work)
        self._bars.update(
            self._task,
            completed=self._num_done + sum(ended / max(of, 1) for ended, of in at_work),
            count=f"{self._num_done:,}/{self._total:,}, {ended:,} requests",
        )


@contextmanager
def sweep_bar(total: int) -> Iterator[SweepBar]:
    """A bar over ``total`` points."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from pagesim.views.console import make_console

    bars = Progress(
        TextColumn("points"),
        BarColumn(),
        TextColumn("{task.fields[count]}"),
        TimeElapsedColumn(),
        console=make_console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    with bars:
        yield SweepBar(bars, bars.add_task("points", total=total, count=f"0/{total:,}"), total)
