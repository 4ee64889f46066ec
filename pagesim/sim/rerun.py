"""Serves a log's requests again: exactly as they were, or with other settings, as a what-if on real tokens.

A log holds every request, every sampled token and every time, so a run is repeated byte for byte without the model
or the hardware that made it. Knows nothing about files beyond the log's header.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, fields, replace
from typing import TypeVar

from pagesim.core import events as ev
from pagesim.core.errors import InputError
from pagesim.core.loop import Arriving, ServingLoop, request_of
from pagesim.core.memory import KVCacheManager
from pagesim.core.plan import StepPlan, StepResult
from pagesim.core.policy import Order
from pagesim.core.request import Abort, ResetCache
from pagesim.core.scheduler_config import SchedulerConfig
from pagesim.core.sequence import SequenceState
from pagesim.replay.log import Json, RunLog, replayed
from pagesim.sim.allocators import MemorySettings, build_memory
from pagesim.sim.cost import CostModel
from pagesim.sim.executor import SimExecutor, StepClock, with_samples
from pagesim.sim.simulate import MakeListeners, put_together

T = TypeVar("T")


def how_to_repeat(
    allocator: str,
    memory: MemorySettings,
    scheduler: SchedulerConfig,
    cost: CostModel | None,
    free_order: Sequence[int] | None = None,
) -> Json:
    """What a log's header says so that the run can be made again. ``cost`` ``None``: a step is a millisecond."""
    return {
        "allocator": allocator,
        "memory_settings": asdict(memory),
        "free_order": None if free_order is None else list(free_order),
        "scheduler": {**asdict(scheduler), "order": scheduler.order.value},
        "cost_model": None if cost is None else asdict(cost),
    }


class LoggedTokens:
    """The sampled tokens of a log, by sequence; meets ``TokenSource``."""

    def __init__(self, events: Iterable[ev.Event]) -> None:
        self._names: dict[int, tuple[str, int]] = {}
        self._tokens: dict[tuple[str, int], list[int]] = {}
        for event in events:
            if isinstance(event, ev.RequestSubmitted):
                self._names[event.seq] = (event.request, event.sample)
            elif isinstance(event, ev.TokensSampled):
                for seq, token in zip(event.seqs, event.tokens, strict=True):
                    self._tokens.setdefault(self._names[seq], []).append(token)

    def sample(self, sampling: Sequence[SequenceState]) -> list[int]:
        """Raises InputError where the log ends before the sequence does (an aborted or torn run)."""
        return [self._token(seq, sample) for seq, sample in with_samples(sampling)]

    def _token(self, seq: SequenceState, sample: int) -> int:
        tokens = self._tokens.get((seq.request.id, sample), ())
        if seq.num_outputs >= len(tokens):
            raise InputError(
                f"the log has {len(tokens)} tokens of request {seq.request.id} and this run needs one more: its run "
                "was aborted or cut off; record a whole one"
            )
        return tokens[seq.num_outputs]


class ReplayExecutor:
    """Meets ``Executor``: samples and times from a log. Right only if the steps are the log's own."""

    def __init__(self, events: Sequence[ev.Event]) -> None:
        self.now_ns = 0
        self._tokens = LoggedTokens(events)
        self._ends = iter([event.time_ns for event in events if isinstance(event, ev.StepDone)])

    def execute(self, plan: StepPlan) -> StepResult:
        end = next(self._ends, None)
        if end is None:
            raise InputError(
                f"the log ends before step {plan.step} does: its run was cut off; record a whole one"
            )
        self.now_ns = end
        return StepResult(self._tokens.sample(plan.sampling))

    def wait_until(self, time_ns: int) -> None:
        self.now_ns = max(self.now_ns, time_ns)


def arrivals_of(events: Iterable[ev.Event]) -> Iterator[tuple[int, Arriving]]:
    """What came in, and when."""
    for event in events:
        if isinstance(event, ev.RequestArrived):
            yield event.time_ns, request_of(event)
        elif isinstance(event, ev.AbortAsked):
            yield event.time_ns, Abort(event.request)
        elif isinstance(event, ev.ResetAsked):
            yield event.time_ns, ResetCache()


class Rerun:
    """A log, ready to be served again. Raises InputError for a log that does not say how it was made."""

    def __init__(self, log: RunLog) -> None:
        self.events = list(replayed(log))
        header = log.header
        try:
            self.allocator = str(header["allocator"])
            self.memory = _restored(MemorySettings, header["memory_settings"])
            self.scheduler = _restored(SchedulerConfig, header["scheduler"])
            cost = header["cost_model"]
            self.cost = None if cost is None else _restored(CostModel, cost)
            order = header["free_order"]
            self.free_order = None if order is None else [int(block) for block in order]  # type: ignore[attr-defined]
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"the log's first line does not say how to repeat it ({error}); record the run again"
            ) from None

    def exactly(self, make_listeners: MakeListeners | None = None) -> ServingLoop:
        """The same run: the same events, to the byte."""
        return put_together(
            self._own_memory(),
            self.scheduler,
            ReplayExecutor(self.events),
            arrivals_of(self.events),
            make_listeners,
        )

    def changed(
        self,
        make_listeners: MakeListeners | None = None,
        *,
        block_size: int | None = None,
        allocator: str | None = None,
        manager: Callable[[int, int], KVCacheManager] | None = None,
        scheduler: SchedulerConfig | None = None,
    ) -> ServingLoop:
        """The same requests and tokens under other settings; times come from the log's cost model.

        ``manager`` makes a memory of one's own from (blocks, block size). A watermark keeps its share.
        """
        memory = self.memory if block_size is None else replace(self.memory, block_size=block_size)
        config = self.scheduler if scheduler is None else scheduler
        if manager is not None:
            built = manager(memory.num_slots // memory.block_size, memory.block_size)
        elif allocator is None and block_size is None:
            built = self._own_memory()
        else:
            built = build_memory(allocator or self.allocator, memory)
        if built.geometry.block_size != self.memory.block_size:
            slots = config.watermark_blocks * self.memory.block_size
            config = replace(config, watermark_blocks=slots // built.geometry.block_size)
        tokens = LoggedTokens(self.events)
        executor = StepClock(tokens) if self.cost is None else SimExecutor(self.cost, tokens)
        return put_together(built, config, executor, arrivals_of(self.events), make_listeners)

    def _own_memory(self) -> KVCacheManager:
        return build_memory(self.allocator, self.memory, self.free_order)


def _restored(kind: Callable[..., T], value: object) -> T:
    """The dataclass that ``asdict`` made a table of. KeyError, TypeError or ValueError if it did not."""
    if not isinstance(value, dict):
        raise TypeError(f"{value!r} is no table")
    values = {}
    for field in fields(kind):  # type: ignore[arg-type]
        given = value[field.name]
        values[field.name] = Order(given) if field.type is Order else given
        if not isinstance(values[field.name], field.type):  # type: ignore[arg-type]
            raise TypeError(f"{field.name} is {given!r}")
    return kind(**values)
