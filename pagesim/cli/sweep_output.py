"""What ``pagesim sweep`` has found: as a screen, as JSON, as a figure.

Knows nothing about how points are run.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pagesim.cli import options as opt
from pagesim.cli.sweep_axes import AXES
from pagesim.cli.sweep_grid import Grid, written
from pagesim.replay.metrics import METRICS, figures

if TYPE_CHECKING:
    from pagesim.sim.sweep import Outcome, Value

FIXED = ("model", "gpu", "kv_memory", "allocator", "block_size", "rules")
"""Settings that are shown also where they were not typed."""


def print_table(grid: Grid, outcomes: "Mapping[int, Outcome]", metric: str) -> None:
    """The points that are done, in the order of the grid."""
    from pagesim.views.console import make_console
    from pagesim.views.glyphs import clean
    from pagesim.views.sweep import SweepScreen, closing
    from pagesim.views.sweep_table import Heading, SweepRow

    numbers = sorted(outcomes)
    axes = [Heading(AXES[a.name].label, AXES[a.name].size is not None) for a in grid.varying]
    rows = [
        SweepRow(
            tuple(_shown(a.name, grid.values[number][a.name]) for a in grid.varying),
            outcomes[number].report,
            outcomes[number].why_not,
            grid.command(number),
        )
        for number in numbers
    ]
    console = make_console()
    console.print(SweepScreen(_lines(grid, outcomes), axes, rows))
    sentence, command = closing(axes, rows, METRICS[metric])
    console.print(clean(sentence, console.encoding))
    if command:
        console.print(clean(command, console.encoding), soft_wrap=True)  # to be copied whole
    notes = dict.fromkeys(note for number in numbers for note in outcomes[number].notes)
    opt.print_notes(console, list(notes))


def _lines(grid: Grid, outcomes: "Mapping[int, Outcome]") -> tuple[tuple[str, str], ...]:
    """What was run, what varies, what does not, and how to have it again."""
    abouts = {outcome.about for outcome in outcomes.values() if outcome.about}
    name = grid.base.workload if grid.base.trace is None else grid.base.trace.name
    about = abouts.pop() if len(abouts) == 1 else name  # where an axis changes it, the rows say how
    varied = "; ".join(
        f"{AXES[a.name].label} {', '.join(map(written, a.values))}" for a in grid.varying
    )
    count = len(grid.values)
    fixed = [
        f"{AXES[axis.name].label} {_shown(axis.name, axis.values[0])}"
        for axis in grid.axes
        if not axis.varies and (axis.name in grid.typed or axis.name in FIXED)
    ]
    lines = [
        ("workload", about),
        ("varies", f"{varied}: {count:,} points" if varied else "nothing: 1 point"),
        ("the same", "; ".join(fixed)),
        ("again", opt.command_line()),
    ]
    return tuple((label, text) for label, text in lines if text)


def _shown(name: str, value: "Value") -> str:
    return f"{value:,}" if isinstance(value, int) and name != "seed" else written(value)


def print_sweep_json(grid: Grid, outcomes: "Mapping[int, Outcome]") -> None:
    """Settings that do not vary, axes that do, and a row for each point."""
    from dataclasses import asdict

    from pagesim.cli.output import print_json

    settings: dict[str, object] = {**asdict(grid.base), **grid.values[0]}
    settings["trace"] = None if grid.base.trace is None else str(grid.base.trace)
    for axis in grid.varying:
        del settings[axis.name]
    print_json(
        {
            "command": opt.command_line(),
            "settings": settings,
            "axes": [{"name": axis.name, "values": axis.values} for axis in grid.varying],
            "rows": [
                {
                    "point": {axis.name: grid.values[number][axis.name] for axis in grid.varying},
                    "command": grid.command(number),
                    "workload": outcome.about,
                    "notes": outcome.notes,
                    "impossible": outcome.why_not,
                    "means_over": None if outcome.report is None else outcome.report.window.why,
                    "figures": None if outcome.report is None else figures(outcome.report),
                }
                for number, outcome in sorted(outcomes.items())
            ],
        }
    )


def draw(plot: Path, grid: Grid, outcomes: "Mapping[int, Outcome]", metric: str) -> None:
    """A figure of the points, in a file."""
    from pagesim.views.plots import save
    from pagesim.views.sweep_plot import PlotAxis, PlotLine, sweep_figure

    first, *others = grid.varying
    setting = AXES[first.name]
    texts = tuple(_shown(first.name, value) for value in first.values)
    sizes, label = None, setting.label
    if setting.size is not None and setting.unit is not None:
        unit, each = setting.unit
        sizes = tuple(setting.size(value) / each for value in first.values)
        texts = tuple(f"{size:,.15g}" for size in sizes)
        label = f"{label} ({unit})" if unit else label
    lines: dict[str, list[float | None]] = {}
    for number, outcome in sorted(outcomes.items()):
        point = grid.values[number]
        name = ", ".join(_shown(a.name, point[a.name]) for a in others)
        of = METRICS[metric].of
        lines.setdefault(name, []).append(None if outcome.report is None else of(outcome.report))
    drawn = [PlotLine(name, tuple(values)) for name, values in lines.items()]
    told = ", ".join(AXES[a.name].label for a in others)
    save(sweep_figure(PlotAxis(label, texts, sizes), told, drawn, METRICS[metric]), plot)
