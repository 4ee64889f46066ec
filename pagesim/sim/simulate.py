"""Runs one workload against one memory, and the same workload against several.

The place where parts are put together: memory, scheduler, cost model, loop and listeners.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import NamedTuple, Protocol

from pagesim.core import events as ev
from pagesim.core.loop import Arriving, ServingLoop, assemble
from pagesim.core.memories import MemorySettings, build_memory
from pagesim.core.memory import KVCacheManager
from pagesim.core.plan import Executor
from pagesim.core.preempt_mode import Prices
from pagesim.core.scheduler_config import SchedulerConfig, paper_config
from pagesim.core.types import Geometry
from pagesim.replay.memory_map import MemoryMap, MomentCollector, common_moment
from pagesim.replay.report import Meters, RunReport
from pagesim.sim.cost import CostModel
from pagesim.sim.executor import BlankTokens, FreshTokens, SimExecutor, TokenSource, prices_of
from pagesim.sim.policies import USUAL, Policies
from pagesim.sim.workload import Workload


class Listener(Protocol):
    def apply(self, event: ev.Event) -> None: ...


Progress = Callable[[int], None]
"""Told, now and then, how many requests have ended."""


@dataclass(frozen=True, slots=True)
class RunSettings:
    """One run: its memory, its rules (``paper`` or ``engine``) and its limits.

    ``max_num_seqs`` and ``max_tokens_per_step`` are the engine rules' limits; the paper's have none. ``fork_samples``:
    several samples of a prompt fork (``None``: as the rules say).
    """

    memory: MemorySettings
    cost: CostModel
    rules: str = "engine"
    max_num_seqs: int = 256
    max_tokens_per_step: int = 8192
    policies: Policies = USUAL
    fork_samples: bool | None = None

    def token_source(self) -> TokenSource:
        return FreshTokens() if self.memory.prefix_caching else BlankTokens()

    def scheduler_config(self, allocator: str, geometry: Geometry) -> SchedulerConfig:
        """Raises InputError for a watermark that leaves nothing to admit anybody to."""
        longest, policies = self.memory.max_model_len, self.policies
        if self.rules == "paper":
            config = paper_config(longest, geometry.num_blocks, watermark=allocator == "paged")
        else:
            config = SchedulerConfig(
                max_num_seqs=self.max_num_seqs,
                max_tokens_per_step=self.max_tokens_per_step,
                max_model_len=longest,
            )
        config = replace(config, order=policies.order, victim=policies.victim)
        if policies.preempt is not None:
            config = replace(config, preempt=policies.preempt)
        if self.fork_samples is not None:
            config = replace(config, fork_samples=self.fork_samples)
        if policies.watermark is not None and allocator == "paged":
            kept = policies.watermark.checked(geometry.num_blocks)
            config = replace(config, watermark_blocks=kept)
        return config


@dataclass(frozen=True, slots=True)
class RunResult:
    """``allocator`` is its name, or in a comparison the contender's."""

    allocator: str
    geometry: Geometry
    report: RunReport


def emit_to(listeners: Sequence[Listener]) -> ev.Emit:
    """One function that tells every listener, in order."""
    if len(listeners) == 1:
        return listeners[0].apply
    applies = [listener.apply for listener in listeners]

    def emit(event: ev.Event) -> None:
        for apply in applies:
            apply(event)

    return emit


MakeListeners = Callable[[Geometry], Sequence[Listener]]
"""Makes the listeners of a run, once the size of its memory is known."""


def put_together(
    memory: KVCacheManager,
    config: SchedulerConfig,
    executor: Executor,
    arrivals: Iterable[tuple[int, Arriving]],
    make_listeners: MakeListeners | None = None,
    prices: Prices | None = None,
) -> ServingLoop:
    """The loop of one run, not started. Without listeners nothing is emitted, and nothing is paid for it."""
    emit = None if make_listeners is None else emit_to(make_listeners(memory.geometry))
    return assemble(memory, config, executor, arrivals, emit, prices)


def build_loop(
    workload: Workload,
    allocator: str,
    settings: RunSettings,
    make_listeners: MakeListeners | None = None,
    memory: KVCacheManager | None = None,
) -> ServingLoop:
    """The loop of one simulated run, not started. ``memory`` stands where the allocator's own would."""
    if memory is None:
        memory = build_memory(allocator, settings.memory)
    config = settings.scheduler_config(allocator, memory.geometry)
    executor = SimExecutor(settings.cost, settings.token_source(), memory.geometry.num_blocks)
    prices = prices_of(settings.cost)
    return put_together(memory, config, executor, workload.arrivals, make_listeners, prices)


def drive(loop: ServingLoop, progress: Progress | None = None, *, every: int = 256) -> None:
    """Run to the end, telling ``progress`` after every so many steps."""
    while sum(1 for _ in islice(iter(loop.step, None), every)) == every:
        if progress is not None:
            progress(loop.num_ended)
    if progress is not None:
        progress(loop.num_ended)


Drive = Callable[[ServingLoop, Progress | None], None]
"""Does all steps of a loop."""


def simulate(
    workload: Workload,
    allocator: str,
    settings: RunSettings,
    *,
    watch: MakeListeners | None = None,
    progress: Progress | None = None,
    memory: KVCacheManager | None = None,
    run: Drive = drive,
) -> RunResult:
    """One run to its end, with its report. ``watch`` makes more listeners. ``memory`` stands where the allocator's
    own would, and ``run`` does the steps."""
    meters: list[Meters] = []

    def make_listeners(geometry: Geometry) -> Sequence[Listener]:
        meters.append(Meters(geometry))
        return meters if watch is None else [*meters, *watch(geometry)]

    loop = build_loop(workload, allocator, settings, make_listeners, memory)
    run(loop, progress)
    report = meters[0].report(saturated=workload.saturated)
    return RunResult(allocator, loop.scheduler.memory.geometry, report)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Runs of one workload, and each run's memory at the same moment (no maps: they share none)."""

    results: tuple[RunResult, ...]
    moment_ns: int | None
    maps: tuple[MemoryMap, ...]


class Contender(NamedTuple):
    """One run of a comparison: its name there, its allocator and settings."""

    name: str
    allocator: str
    settings: RunSettings


def compare(
    workload: Workload,
    contenders: Sequence[Contender],
    progress: Callable[[str, int], None] | None = None,
    listen: Callable[[Contender, Geometry], Sequence[Listener]] | None = None,
) -> Comparison:
    """Serve ``workload`` once with each contender. The moment shown is halfway through the shortest run.

    ``listen`` makes more listeners of a contender's run.
    """
    results: list[RunResult] = []
    collectors: list[MomentCollector] = []

    def watch(contender: Contender, geometry: Geometry) -> Sequence[Listener]:
        collectors.append(MomentCollector(geometry))
        more = () if listen is None else listen(contender, geometry)
        return [collectors[-1], *more]

    for contender in contenders:
        name, allocator, settings = contender
        tell = None if progress is None else partial(progress, name)
        watched = partial(watch, contender)
        result = simulate(workload, allocator, settings, watch=watched, progress=tell)
        results.append(replace(result, allocator=name))
    shortest_ns = min(int(result.report.duration_s * 1e9) for result in results)
    moment = common_moment(collectors, shortest_ns // 2)
    maps = () if moment is None else tuple(collector.maps[moment] for collector in collectors)
    return Comparison(tuple(results), moment, maps)
