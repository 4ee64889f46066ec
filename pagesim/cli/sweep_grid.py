"""What was typed after ``pagesim sweep``, as a grid of options; checked before anything runs.

Knows nothing about running or drawing.
"""

import shlex
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pagesim.cli import options as opt
from pagesim.cli.sweep_axes import AXES, MOST_POINTS, option_name, read_axis
from pagesim.core.errors import InputError

if TYPE_CHECKING:
    from pagesim.sim.sweep import Axis, Point, Value

ONLY_HERE = ("plot", "metric", "jobs", "as_json")
"""What `pagesim run` does not have, or has no need of to repeat a row."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The axes in the order typed, the points they span, and what is the same in all of them.

    ``typed`` names the options that were typed; ``values`` are each point's, by the axis's name.
    """

    base: opt.Options
    axes: "tuple[Axis, ...]"
    typed: tuple[str, ...]
    values: "tuple[dict[str, Value], ...]"

    @property
    def varying(self) -> "tuple[Axis, ...]":
        return tuple(axis for axis in self.axes if axis.varies)

    def options(self, number: int) -> opt.Options:
        """What describes the run of one point, less its allocator."""
        changed = {name: v for name, v in self.values[number].items() if name != "allocator"}
        return replace(self.base, **changed)  # type: ignore[arg-type]

    def point(self, number: int) -> "Point":
        from pagesim.sim.sweep import Point

        make = partial(opt.prepare, self.options(number))
        return Point(str(self.values[number]["allocator"]), make)

    def command(self, number: int) -> str:
        """What runs this point alone: all that was typed, with the point's own values."""
        words = ["pagesim", "run"]
        if "workload" in self.typed:
            words.append(self.base.workload)
        for name in self.typed:
            value = self.values[number].get(name, getattr(self.base, name, None))
            if name == "workload":
                continue
            if isinstance(value, bool):
                words.append(option_name(name if value else f"no_{name}"))
            else:
                words += [option_name(name), written(value)]
        return shlex.join(words)


def written(value: object) -> str:
    """A value as it is typed."""
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def read_grid(context: typer.Context) -> Grid:
    """What was typed. Raises InputError for a bad list, too many points, or an option that changes nothing."""
    from pagesim.sim.sweep import grid, num_points

    given = context.params
    axes = tuple(
        read_axis(name, given[name]) for name in given if name in AXES and given[name] is not None
    )
    if num_points(axes) > MOST_POINTS:
        lengths = " x ".join(str(len(axis.values)) for axis in axes if axis.varies)
        raise InputError(
            f"{lengths} values make {num_points(axes):,} points; {MOST_POINTS:,} are the most, so give fewer values"
        )
    values = {field.name: given[field.name] for field in fields(opt.Options)}
    values |= {axis.name: axis.values[0] for axis in axes if axis.name in values}
    if values["trace"] is not None:
        values["trace"] = Path(values["trace"])
    typed = tuple(name for name in given if name not in ONLY_HERE and _was_typed(context, name))
    found = Grid(opt.Options(**values), axes, typed, tuple(grid(axes)))
    for number in range(len(found.values)):
        opt.check_all_heeded(context, found.options(number))
    return found


def _was_typed(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def check_fixed(options: opt.Options) -> None:
    """Raises InputError if what no axis changes is wrong; what is wrong then is so in some points only."""
    from pagesim.cli.scenario import is_scenario
    from pagesim.sim.traces import read_trace
    from pagesim.sim.workloads import MAX_REQUESTS

    if options.trace is not None:
        workload = read_trace(options.trace, limit=options.requests)
        if options.rate is not None and not workload.saturated:
            raise InputError("--rate was given with a trace that has its own times; leave it out")
        return
    if is_scenario(options.workload):
        raise InputError(
            f"{options.workload} is a scenario, whose settings are its own; sweep one of `pagesim workloads`"
        )
    opt.check_name(options.workload)
    requests = opt.DEFAULT_REQUESTS if options.requests is None else options.requests
    if not 1 <= requests <= MAX_REQUESTS:
        raise InputError(f"requests {requests} was given; it must be from 1 to {MAX_REQUESTS:,}")
