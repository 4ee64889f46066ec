"""``pagesim plot``: figures of recorded runs, for print.

Knows nothing about how a figure is drawn.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pagesim.cli.export import Output, check_output, write_file
from pagesim.core.errors import InputError

if TYPE_CHECKING:
    from pagesim.replay.log import RunLog
    from pagesim.views.plots import Run

SUFFIXES = (".png", ".pdf", ".svg")
MOST_RUNS = 8
KINDS = {
    "usage": "the memory's split over simulated time",
    "waste": "the mean split, a bar a run",
    "concurrency": "requests at once and waiting, over simulated time",
    "latency": "time to first token and per output token, as distributions",
}


def plot(
    logs: Annotated[list[Path], typer.Argument(metavar="LOG...", help="Logs of `pagesim run`.")],
    output: Output,
    kind: Annotated[str, typer.Option(help=f"{', '.join(KINDS)}.")] = "usage",
) -> None:
    """Draw a figure of one or more recorded runs, as .png (300 dpi), .pdf or .svg."""
    check_output(output, SUFFIXES)
    if kind not in KINDS:
        raise InputError(f"--kind {kind!r} is none; they are {', '.join(KINDS)}")
    if len(logs) > MOST_RUNS:
        raise InputError(f"{len(logs)} logs were given; a figure holds up to {MOST_RUNS}")
    from pagesim.replay.log import read_log
    from pagesim.views import plots

    figures = {
        "usage": plots.usage_figure,
        "waste": plots.waste_figure,
        "concurrency": plots.concurrency_figure,
        "latency": plots.latency_figure,
    }
    opened = [read_log(path) for path in logs]
    runs = [measured(log, name) for log, name in zip(opened, run_names(opened, logs), strict=True)]
    figure = figures[kind](runs)
    write_file(output, b"")  # says at once if that cannot be
    plots.save(figure, output)
    for log in opened:
        for warning in log.warnings:
            typer.echo(f"note: {warning}", err=True)
    typer.echo(f"{output}: {KINDS[kind]}")


def run_names(logs: "list[RunLog]", paths: list[Path]) -> list[str]:
    """The allocators, where they differ; else the files' names; else those numbered."""
    allocators = [log.header.get("allocator") for log in logs]
    if all(isinstance(name, str) for name in allocators) and len(set(allocators)) == len(logs):
        return [str(name) for name in allocators]
    stems = [path.name.removesuffix(".gz").removesuffix(".jsonl") for path in paths]
    if len(set(stems)) == len(stems):
        return stems
    return [f"{at}: {stem}" for at, stem in enumerate(stems, start=1)]


def measured(log: "RunLog", name: str) -> "Run":
    """The folds of a log. Where all requests came at once, the mean split is taken while some waited."""
    from pagesim.core import events as ev
    from pagesim.replay.feeding import feed
    from pagesim.replay.log import replayed
    from pagesim.replay.report import Meters, was_saturated
    from pagesim.views.plots import Run

    meters = Meters(log.geometry)
    feed(meters, replayed(log))
    arrivals = {e.time_ns for e in replayed(log) if isinstance(e, ev.RequestArrived)}
    report = meters.report(saturated=was_saturated(log.header, arrivals))
    return Run(name, meters.waste, meters.latency, log.geometry.num_slots, report.waste)
