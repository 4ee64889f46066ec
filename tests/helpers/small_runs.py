"""Small runs and their events: by lengths through the whole simulator, or by hand with failing steps."""

from pagesim.core import events as ev
from pagesim.core.loop import Arriving, ServingLoop
from pagesim.core.memories import MemorySettings
from pagesim.core.memory import KVCacheManager
from pagesim.core.plan import StepPlan, StepResult
from pagesim.core.recorded import Recorded
from pagesim.core.request import Request
from pagesim.core.scheduler import Scheduler
from pagesim.core.scheduler_config import SchedulerConfig
from pagesim.core.types import Geometry
from pagesim.planner.facts import gpu, model
from pagesim.replay.keeper import Keeper
from pagesim.sim.cost import cost_model
from pagesim.sim.executor import FreshTokens, SimExecutor
from pagesim.sim.simulate import RunSettings, build_loop
from pagesim.sim.workload import Arrival, Workload

COST = cost_model(model("opt-13b"), gpu("a100-40gb"))


def run(
    allocator: str, pairs: list[tuple[int, int]], samples: int = 1, caching: bool = False
) -> tuple[Geometry, list[ev.Event]]:
    """Requests of these (prompt, output) lengths, 30 ms apart, in 72 slots, by the paper's rules."""
    start = [0 if caching else 100 * i for i in range(len(pairs))]
    arrivals = tuple(
        Arrival(
            i * 30_000_000, Request(f"r{i}", range(start[i], start[i] + prompt), output, samples)
        )
        for i, (prompt, output) in enumerate(pairs)
    )
    kept = Keeper()
    settings = RunSettings(MemorySettings(72, 4, 24, prefix_caching=caching), COST, rules="paper")
    loop = build_loop(Workload("w", "", arrivals), allocator, settings, lambda _: [kept])
    loop.run()
    return loop.scheduler.memory.geometry, kept.events


class StepFailedError(Exception):
    pass


class Failing:
    """An executor whose steps of these numbers fail."""

    def __init__(self, steps: tuple[int, ...], num_blocks: int) -> None:
        self._inner = SimExecutor(COST, FreshTokens(), num_blocks)
        self._steps = steps

    @property
    def now_ns(self) -> int:
        return self._inner.now_ns

    def execute(self, plan: StepPlan) -> StepResult:
        if plan.step in self._steps:
            raise StepFailedError
        return self._inner.execute(plan)

    def wait_until(self, time_ns: int) -> None:
        self._inner.wait_until(time_ns)


def serve(
    memory: KVCacheManager,
    config: SchedulerConfig,
    arrivals: list[tuple[int, Arriving]],
    failing: tuple[int, ...] = (),
) -> tuple[Geometry, list[ev.Event]]:
    """``arrivals`` are (time in ns, what arrives); every output token is new."""
    events: list[ev.Event] = []
    scheduler = Scheduler(config, Recorded(memory, events.append), events.append)
    executor = Failing(failing, memory.geometry.num_blocks)
    loop = ServingLoop(scheduler, executor, arrivals, events.append)
    for _ in failing:
        try:
            loop.run()
        except StepFailedError:
            continue
    loop.run()
    return memory.geometry, events
