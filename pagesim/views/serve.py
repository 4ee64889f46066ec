"""What a batch run of the real engine came to, one column a kind of memory. Knows nothing about engines."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.jupyter import JupyterMixin
from rich.table import Table
from rich.text import Text

from pagesim.core.types import Geometry
from pagesim.replay.report import RunReport


@dataclass(frozen=True, slots=True)
class Served:
    """``model_share``: of the time, what the model took; the rest is scheduling and bookkeeping."""

    allocator: str
    geometry: Geometry
    report: RunReport
    model_share: float

    def as_dict(self) -> dict[str, object]:
        return {
            "geometry": self.geometry._asdict(),
            "model_share": self.model_share,
            **self.report.as_dict(),
        }


class ServeScreen(JupyterMixin):
    """Figures below each other, runs beside each other."""

    def __init__(self, model: str, about: str, runs: Sequence[Served]) -> None:
        self._model = model
        self._about = about
        self._runs = runs

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(f"{self._model}, {self._about}", overflow="fold")
        yield Text("Measured on this machine, by the wall's clock.", "dim")
        table = Table(box=None, pad_edge=False)
        table.add_column("")
        for run in self._runs:
            table.add_column(run.allocator, justify="right")
        for what, value in FIGURES.items():
            table.add_row(what, *[value(run) for run in self._runs])
        yield table


def _number(value: float | None, digits: int) -> str:
    return "n/a" if value is None else f"{value:,.{digits}f}"


def _ms(seconds: float | None) -> str:
    return "n/a" if seconds is None else f"{1000 * seconds:,.1f}"


def _used(run: Served) -> str:
    return "n/a" if run.report.waste is None else f"{run.report.waste.percent()['used']:.1f} %"


FIGURES: dict[str, Callable[[Served], str]] = {
    "KV memory, tokens": lambda run: f"{run.geometry.num_slots:,}",
    "requests served": lambda run: f"{run.report.num_finished:,}",
    "requests refused": lambda run: f"{run.report.num_refused:,}",
    "requests at once, mean": lambda run: _number(run.report.mean_requests, 2),
    "requests at once, peak": lambda run: f"{run.report.peak_requests:,}",
    "KV memory that holds tokens": _used,
    "preemptions": lambda run: f"{run.report.num_preemptions:,}",
    "steps": lambda run: f"{run.report.num_steps:,}",
    "seconds": lambda run: _number(run.report.duration_s, 2),
    "output tokens a second": lambda run: _number(run.report.output_tokens_per_s, 1),
    "time to first token, ms, p50": lambda run: _ms(run.report.ttft_s.p50),
    "time to first token, ms, p99": lambda run: _ms(run.report.ttft_s.p99),
    "time per output token, ms, p50": lambda run: _ms(run.report.tpot_s.p50),
    "time per output token, ms, p99": lambda run: _ms(run.report.tpot_s.p99),
    "time outside the model": lambda run: f"{100 * (1 - run.model_share):.1f} %",
}
