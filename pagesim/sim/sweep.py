"""One workload over a grid of settings: what the grid is, and what each of its points comes to.

A point says how its run is made, not what it is made from: so a point is small, and is made by the process that
runs it. Knows nothing about where settings come from or how results are shown.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Protocol

from pagesim.core.errors import PagesimError
from pagesim.replay.report import RunReport
from pagesim.sim.simulate import RunSettings, simulate
from pagesim.sim.workers import Tell, do_all
from pagesim.sim.workload import Workload

Value = int | float | str


@dataclass(frozen=True, slots=True)
class Axis:
    """One setting and the values it takes, in their order; a setting that is fixed takes one."""

    name: str
    values: tuple[Value, ...]

    @property
    def varies(self) -> bool:
        return len(self.values) > 1


def num_points(axes: Sequence[Axis]) -> int:
    return prod(len(axis.values) for axis in axes)


def grid(axes: Sequence[Axis]) -> Iterator[dict[str, Value]]:
    """Every combination of values; the last axis changes fastest."""
    names = [axis.name for axis in axes]
    for values in product(*(axis.values for axis in axes)):
        yield dict(zip(names, values, strict=True))


class Made(Protocol):
    """What a point's run is made from; ``notes`` are what a reader of its result should know."""

    @property
    def workload(self) -> Workload: ...
    @property
    def settings(self) -> RunSettings: ...
    @property
    def notes(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class Point:
    """One run to be. ``make`` raises PagesimError where no such run is possible; it can be pickled."""

    allocator: str
    make: Callable[[], Made]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a point: its report, or in one sentence why there is none."""

    report: RunReport | None
    why_not: str | None = None
    about: str = ""
    notes: tuple[str, ...] = ()


def run_point(point: Point, tell: Tell) -> Outcome:
    """``tell`` hears, now and then, how many of the point's requests have ended."""
    try:
        made = point.make()
        total = len(made.workload.arrivals)
        result = simulate(
            made.workload,
            point.allocator,
            made.settings,
            progress=lambda ended: tell(ended, total),
        )
    except PagesimError as error:
        return Outcome(None, str(error))
    return Outcome(result.report, None, made.workload.about, made.notes)


def sweep(
    points: Sequence[Point],
    num_processes: int,
    *,
    told: Callable[[int, int, int], None],
    finished: Callable[[int, Outcome], None],
) -> None:
    """Run every point, several at a time; results are the same for any number of processes.

    ``finished`` hears of each point's outcome by its number, in any order; ``told`` how many of how many of
    its requests have ended.
    """
    do_all(run_point, points, num_processes, told=told, finished=finished)
