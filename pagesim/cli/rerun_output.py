"""What `pagesim rerun` says: the same run or not, or two runs' figures side by side, as plain lines."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pagesim.replay.report import RunReport


def report_lines(
    log: str, reports: "Sequence[RunReport]", same: bool | None, num_events: int
) -> Iterator[str]:
    """``same`` is ``None`` for a what-if; then the figures of the logged and the new run stand side by side."""
    if same is True:
        yield f"{log}: the same run again, {num_events:,} events, byte for byte"
        return
    if same is False:
        yield f"{log}: the run is NOT the same again"
        yield "it was recorded by another version, or with a manager of your own, or the log was changed"
        return
    yield f"{'':32}{'logged':>16}{'rerun':>16}"
    for what, value in FIGURES.items():
        if what == SWAPS and not any(report.num_swaps for report in reports):
            continue
        yield f"{what:32}" + "".join(f"{value(report):>16}" for report in reports)
    yield "means are over all steps; `pagesim run` takes those in which requests waited"
    for name, reason in reports[1].refusals[:MOST_REFUSALS]:
        yield f"refused now: {name}: {reason}"


def _number(value: float | None, digits: int = 2) -> str:
    return "n/a" if value is None else f"{value:,.{digits}f}"


def _share(report: "RunReport", kind: str) -> str:
    return "n/a" if report.waste is None else f"{report.waste.percent()[kind]:.1f} %"


MOST_REFUSALS = 3
SWAPS = "of these swapped"
FIGURES: "dict[str, Callable[[RunReport], str]]" = {
    "requests served": lambda r: f"{r.num_finished:,}",
    "requests refused": lambda r: f"{r.num_refused:,}",
    "requests at once, mean": lambda r: _number(r.mean_requests),
    "requests at once, peak": lambda r: f"{r.peak_requests:,}",
    "preemptions": lambda r: f"{r.num_preemptions:,}",
    SWAPS: lambda r: f"{r.num_swaps:,}",
    "steps": lambda r: f"{r.num_steps:,}",
    "simulated time, s": lambda r: _number(r.duration_s, 3),
    "output tokens a second": lambda r: _number(r.output_tokens_per_s, 1),
    "prompt tokens found cached": lambda r: (
        "n/a" if r.hit_rate is None else f"{100 * r.hit_rate:.1f} %"
    ),
    "memory used": lambda r: _share(r, "used"),
    "memory reserved": lambda r: _share(r, "reserved"),
    "memory internal waste": lambda r: _share(r, "internal"),
    "memory external waste": lambda r: _share(r, "external"),
    "memory free": lambda r: _share(r, "free"),
}
