"""The whole screen of a sweep: what was run, its table of figures, and which row is best.

Knows nothing about how points are run.
"""

from collections.abc import Sequence

from rich.console import Console, ConsoleOptions, RenderResult
from rich.jupyter import JupyterMixin
from rich.table import Table
from rich.text import Text

from pagesim.replay.metrics import Metric
from pagesim.views.glyphs import clean
from pagesim.views.sweep_table import (
    APART,
    BEST,
    Heading,
    SweepRow,
    SweepTable,
    best_rows,
    other_windows,
    shown,
)


class SweepScreen(JupyterMixin):
    """``lines`` are pairs of a label and its text."""

    def __init__(
        self,
        lines: Sequence[tuple[str, str]],
        axes: Sequence[Heading],
        rows: Sequence[SweepRow],
    ) -> None:
        self._lines = lines
        self._axes = axes
        self._rows = rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        encoding = options.encoding
        yield Text("One workload over a grid of settings", style="bold", overflow="fold")
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column(overflow="fold")
        for label, text in self._lines:
            grid.add_row(Text(label), Text(clean(text, encoding), overflow="fold"))
        yield grid
        yield Text()
        yield SweepTable(self._axes, self._rows)
        yield Text(_legend(self._rows), style="dim", overflow="fold")
        yield Text()


def closing(
    axes: Sequence[Heading], rows: Sequence[SweepRow], metric: Metric
) -> tuple[str, str | None]:
    """Which row is best in ``metric``, in a sentence, and the command that runs it again."""
    best = best_rows(metric, [row.report for row in rows])
    if not best:
        return f"No row has a figure to compare: {metric.title}.", None
    row = rows[best[0]]
    assert row.report is not None
    (figure,) = shown(metric, [metric.of(row.report)])
    where = ", ".join(f"{axis.label} {value}" for axis, value in zip(axes, row.values, strict=True))
    alike = f" ({len(best) - 1:,} more alike)" if len(best) > 1 else ""
    return (
        f"Best by {metric.title} ({figure}): {where or 'the only point'}{alike}. To repeat it:",
        row.command,
    )


def _legend(rows: Sequence[SweepRow]) -> str:
    """What the columns mean that do not say it themselves."""
    reports = [row.report for row in rows]
    apart = other_windows(reports)
    windows = dict.fromkeys(
        report.window.why for at, report in enumerate(reports) if report and at not in apart
    )
    over = f" At once and used are means over {'; or over '.join(windows)}" if windows else ""
    over += f", with {APART} over all steps, as nobody had to wait: not compared" if apart else ""
    over += "." if over else ""
    return (
        f"{BEST} the best of its column. p50: half were as quick or quicker; p99: 99 of 100 were. "
        f"lost: computed tokens that preemption threw away. Rows that refused more are not compared.{over}"
    )
