"""``compare`` for notebooks: one workload served from several memories, in one call.

Defaults are those of ``pagesim compare``. Knows nothing about how runs are drawn.
"""

import inspect
import shlex
from collections.abc import Sequence
from dataclasses import fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pagesim.cli import options as opt
from pagesim.core.errors import InputError
from pagesim.core.types import Geometry
from pagesim.notebook.recordings import Recording
from pagesim.notebook.shown import Bundle, Shown
from pagesim.replay.keeper import Keeper
from pagesim.replay.kept_log import kept_log
from pagesim.replay.report import Meters, RunReport
from pagesim.sim.allocators import ALLOCATORS, CONTENDERS, TITLES
from pagesim.sim.rerun import how_to_repeat
from pagesim.sim.simulate import Comparison, Contender, RunResult, simulate
from pagesim.sim.simulate import compare as run_all
from pagesim.views.compare import CompareScreen, Header

if TYPE_CHECKING:
    from pagesim.notebook.players import StillPlayer
    from pagesim.notebook.widget import PlayerWidget
    from pagesim.views.plots import Run


class Compared:
    """The runs of one workload. Displays itself as the screen of ``pagesim compare``.

    ``results`` are in the order of the screen; ``prepared`` is what the settings came to. A run that is asked for
    event by event is done again, and comes out the same.
    """

    def __init__(
        self, comparison: Comparison, prepared: opt.Prepared, contenders: Sequence[Contender]
    ) -> None:
        self.comparison = comparison
        self.prepared = prepared
        self._contenders = {contender.name: contender for contender in contenders}

    @property
    def results(self) -> tuple[RunResult, ...]:
        return self.comparison.results

    def report(self, name: str) -> RunReport:
        """The figures of the run with that name, such as ``paged``. Raises InputError."""
        self._contender(name)
        return next(result.report for result in self.results if result.allocator == name)

    def run(self, name: str) -> Recording:
        """The run with that name, event by event, for ``player`` and pictures. Raises InputError."""
        _, allocator, settings = self._contender(name)
        keeper, sizes = Keeper(), list[Geometry]()

        def watch(geometry: Geometry) -> list[Keeper]:
            sizes.append(geometry)
            return [keeper]

        simulate(self.prepared.workload, allocator, settings, watch=watch)
        config = settings.scheduler_config(allocator, sizes[0])
        repeat = how_to_repeat(allocator, settings.memory, config, settings.cost)
        facts = {**self.prepared.facts, **repeat}
        return Recording(name, kept_log(name, sizes[0], keeper.events, **facts))

    def player(
        self, left: str | None = None, right: str | None = None
    ) -> "PlayerWidget | StillPlayer":
        """Two of the runs side by side, at the same simulated time: at first the first and the last."""
        from pagesim.notebook.players import player

        names = list(self._contenders)
        one = self.run(names[0] if left is None else left)
        if right is None and len(names) < 2:
            return player(one)
        return player(one, self.run(names[-1] if right is None else right))

    def measured(self) -> "list[Run]":
        """What figures are made from, a run each."""
        return self._measured

    @cached_property
    def _measured(self) -> "list[Run]":
        from pagesim.views.plots import Run

        runs = []
        for name, allocator, settings in self._contenders.values():
            meters: list[Meters] = []

            def watch(geometry: Geometry, into: list[Meters] = meters) -> list[Meters]:
                into.append(Meters(geometry))
                return into

            result = simulate(self.prepared.workload, allocator, settings, watch=watch)
            slots, split = result.geometry.num_slots, result.report.waste
            runs.append(Run(name, meters[0].waste, meters[0].latency, slots, split))
        return runs

    def _contender(self, name: str) -> Contender:
        if name not in self._contenders:
            raise InputError(f"no run is called {name!r}; they are {', '.join(self._contenders)}")
        return self._contenders[name]

    # -- displaying --------------------------------------------------------------------------------------

    def _shown(self) -> Shown:
        prepared = self.prepared
        plain = set(self._contenders) <= set(ALLOCATORS)
        titles = TITLES if plain else CONTENDERS
        title = "One workload, served from each kind of memory"
        header = Header(title, prepared.lines, prepared.bytes_per_slot, titles)
        notes = [f"note: {note}" for note in prepared.notes]
        return Shown(CompareScreen(self.comparison, header), *notes, title=title)

    def __repr__(self) -> str:
        return repr(self._shown())

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Bundle:
        return self._shown()._repr_mimebundle_(include, exclude)


def compare(
    workload: str | None = None,
    *,
    allocators: Sequence[str] = ALLOCATORS,
    trace: str | Path | None = None,
    requests: int | None = None,
    rate: float | None = None,
    model: str = opt.PAPER_MODEL,
    gpu: str = opt.PAPER_GPU,
    kv_memory: str | None = None,
    block_size: int = 16,
    max_model_len: int | None = None,
    samples: int | None = None,
    beam: bool = False,
    rules: str = "paper",
    prefix_caching: bool | None = None,
    seed: int = 0,
) -> Compared:
    """Serve one workload once from each memory: ``max``, ``pow2``, ``oracle`` and ``paged``.

    The settings and their defaults are those of ``pagesim compare``: ShareGPT's lengths, OPT-13B, 12 GiB of KV cache
    on one A100 of 40 GB, a queue that never empties. Raises InputError for what is unknown or impossible.
    """
    if workload is not None and trace is not None:
        raise InputError(f"the workload {workload} and a trace were both given; leave one out")
    given: dict[str, object] = {
        "workload": "sharegpt" if workload is None else workload,
        "trace": None if trace is None else Path(trace),
        "requests": requests,
        "rate": rate,
        "model": model,
        "gpu": gpu,
        "kv_memory": kv_memory,
        "block_size": block_size,
        "max_model_len": max_model_len,
        "samples": samples,
        "beam": beam,
        "rules": rules,
        "prefix_caching": prefix_caching,
        "seed": seed,
    }
    options = _options(given)
    prepared = opt.prepare(options)
    names = tuple(dict.fromkeys(allocators))
    command = _command(options, names)
    lines = [line for line in prepared.lines if line[0] != "again"]
    facts = {**prepared.facts, "command": command}
    prepared = replace(prepared, lines=(*lines, ("again", command)), facts=facts)
    contenders = opt.contenders(options, prepared, names)
    return Compared(run_all(prepared.workload, contenders), prepared, contenders)


def _options(given: dict[str, object]) -> opt.Options:
    return opt.Options(**{**_defaults(), **given})  # type: ignore[arg-type]  # by name, as the command has them


def _defaults() -> dict[str, object]:
    """Those of ``pagesim compare``."""
    from pagesim.cli.compare import compare as command

    parameters = inspect.signature(command).parameters
    return {field.name: parameters[field.name].default for field in fields(opt.Options)}


def _command(options: opt.Options, allocators: Sequence[str]) -> str:
    """The command that does the same."""
    words = ["pagesim", "compare"]
    defaults = _defaults()
    if options.workload != defaults["workload"]:
        words.append(options.workload)
    if tuple(allocators) != ALLOCATORS:
        words += [f"--allocator={name}" for name in allocators]
    for field in fields(opt.Options):
        value, name = getattr(options, field.name), field.name.replace("_", "-")
        if field.name == "workload" or value == defaults[field.name]:
            continue
        words.append(f"--no-{name}" if value is False else f"--{name}")
        if not isinstance(value, bool):
            words.append(str(value))
    return shlex.join(words)
