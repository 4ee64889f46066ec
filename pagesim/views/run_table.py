"""The figures of runs, one row a run: requests at once, what became of them, speed and waiting."""

from collections.abc import Sequence
from typing import NamedTuple

from rich.text import Text

from pagesim.replay.report import RunReport, Spread
from pagesim.views.figure_table import FigureTable, Group
from pagesim.views.figures import format_durations, format_mean, format_percent, format_rate
from pagesim.views.waste_bar import TITLES_FROM


class Named(NamedTuple):
    """A run's figures with its name and, unless empty, what the name means. Safe to show."""

    name: str
    title: str
    report: RunReport


def run_table(runs: Sequence[Named], width: int) -> FigureTable:
    """A table for ``width`` columns. It says what names mean, unless it is one table only without
    and the bars say it."""
    labels = [Text(run.name, style="bold") for run in runs]
    groups = _groups([run.report for run in runs])
    plain = FigureTable(labels, groups)
    if not any(run.title for run in runs):
        return plain
    titles = Group((), ("",), tuple((run.title,) for run in runs), align_left=True)
    titled = FigureTable(labels, [titles, *groups])
    if width >= TITLES_FROM and plain.num_tables(width) == 1 != titled.num_tables(width):
        return plain
    return titled


def _groups(reports: Sequence[RunReport]) -> list[Group]:
    at_once = [(format_mean(r.mean_requests), f"{r.peak_requests:,}") for r in reports]
    fates = [(f"{r.num_finished:,}", f"{r.num_refused:,}") for r in reports]
    times = format_durations([r.duration_s for r in reports])
    speeds = [
        (f"{r.num_steps:,}", time, format_rate(r.output_tokens_per_s))
        for r, time in zip(reports, times, strict=True)
    ]
    swaps = any(r.num_swaps for r in reports)
    redone = [
        (f"{r.num_preemptions:,}", *([f"{r.num_swaps:,}"] if swaps else []), f"{r.lost_tokens:,}")
        for r in reports
    ]
    found = [("n/a" if r.hit_rate is None else format_percent(100 * r.hit_rate),) for r in reports]
    groups = [
        Group(("requests", "at once"), ("mean", "peak"), tuple(at_once)),
        Group(("requests",), ("served", "refused"), tuple(fates)),
        Group(
            ("preempted",),
            ("times", "swapped", "tokens lost") if swaps else ("times", "tokens lost"),
            tuple(redone),
        ),
        Group(("simulated run",), ("steps", "time", "output/s"), tuple(speeds)),
        _spread_group(("time to", "first token"), [r.ttft_s for r in reports]),
        _spread_group(("time per", "output token"), [r.tpot_s for r in reports]),
    ]
    if any(r.hit_rate for r in reports):
        groups.insert(3, Group(("prompt",), ("cached",), tuple(found)))
    return groups


def _spread_group(heading: tuple[str, ...], spreads: Sequence[Spread]) -> Group:
    count = len(spreads)
    shown = format_durations([s.p50 for s in spreads] + [s.p99 for s in spreads])
    return Group(heading, ("p50", "p99"), tuple(zip(shown[:count], shown[count:], strict=True)))
