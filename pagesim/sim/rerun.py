"""Serves a log's requests again: exactly as they were, or with other settings, as a what-if on real tokens.

A log holds every request, every sampled token and every time, so a run is repeated byte for byte without the model
or the hardware that made it. Knows nothing about files beyond the log's header.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from types import MappingProxyType
from typing import TypeVar

from pagesim.core import events as ev
from pagesim.core.beam import Candidate
from pagesim.core.errors import InputError
from pagesim.core.loop import Arriving, ServingLoop, request_of
from pagesim.core.memories import MemorySettings, build_memory
from pagesim.core.memory import KVCacheManager
from pagesim.core.order import ORDERS
from pagesim.core.plan import Executor, StepPlan, StepResult, samples_due
from pagesim.core.preempt_mode import PREEMPT_MODES
from pagesim.core.request import Abort, ResetCache
from pagesim.core.scheduler_config import SchedulerConfig
from pagesim.core.sequence import SequenceState
from pagesim.core.victim import VICTIMS
from pagesim.replay.log import Json, RunLog, replayed
from pagesim.sim.cost import CostModel
from pagesim.sim.executor import SimExecutor, StepClock, prices_of, step_result
from pagesim.sim.policies import Watermark
from pagesim.sim.simulate import MakeListeners, put_together

POLICIES: dict[str, Mapping[str, object]] = {
    "order": ORDERS,
    "victim": VICTIMS,
    "preempt": PREEMPT_MODES,
}
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
        "scheduler": _named_policies(scheduler),
        "cost_model": None if cost is None else asdict(cost),
    }


def _named_policies(scheduler: SchedulerConfig) -> Json:
    values: Json = {field.name: getattr(scheduler, field.name) for field in fields(SchedulerConfig)}
    for name in POLICIES:
        policy = getattr(scheduler, name)
        values[name] = None if policy is None else policy.name
    return values


class LoggedTokens:
    """The sampled tokens of a log, by sequence, and the choices of beams; meets ``TokenSource``."""

    def __init__(self, events: Iterable[ev.Event]) -> None:
        self._names: dict[int, tuple[str, int]] = {}
        self._tokens: dict[tuple[str, int], list[int]] = {}
        self._beams: dict[str, _LoggedBeams] = {}
        for event in events:
            if isinstance(event, ev.RequestSubmitted):
                self._names[event.seq] = (event.request, event.sample)
            elif isinstance(event, ev.TokensSampled):
                for seq, token in zip(event.seqs, event.tokens, strict=True):
                    self._tokens.setdefault(self._names[seq], []).append(token)
            elif isinstance(event, ev.HypothesisEnded | ev.BeamsChosen):
                seq = event.seq if isinstance(event, ev.HypothesisEnded) else event.seqs[0]
                self._beams.setdefault(self._names[seq][0], _LoggedBeams()).add(event, self._names)

    def sample(self, sampling: Sequence[SequenceState]) -> list[int]:
        """Raises InputError where the log ends before the sequence does (an aborted or torn run)."""
        return [self._token(seq, sample) for seq, sample in samples_due(sampling)]

    def candidates(self, beams: Sequence[SequenceState]) -> list[list[Candidate]]:
        """Of all candidates there were, those that were chosen. Raises InputError, as ``sample``."""
        found = []
        for seq in beams:
            logged = self._beams.get(seq.request.id)
            steps = [] if logged is None else logged.steps
            if seq.num_outputs >= len(steps):
                raise self._ended(seq, len(steps))
            chosen = steps[seq.num_outputs].get(seq.sample, [])
            found.append([Candidate(token, logprob - seq.logprob) for token, logprob in chosen])
        return found

    def _token(self, seq: SequenceState, sample: int) -> int:
        tokens = self._tokens.get((seq.request.id, sample), ())
        if seq.num_outputs >= len(tokens):
            raise self._ended(seq, len(tokens))
        return tokens[seq.num_outputs]

    def _ended(self, seq: SequenceState, num_tokens: int) -> InputError:
        return InputError(
            f"the log has {num_tokens} tokens of request {seq.request.id} and this run needs one more: its run was "
            "aborted or cut off; record a whole one"
        )


class _LoggedBeams:
    """One request's search: for each output, the tokens that went on or ended, by the sample they came after."""

    def __init__(self) -> None:
        self.steps: list[dict[int, list[tuple[int, int]]]] = []
        self._ended: list[tuple[int, int, int]] = []

    def add(
        self, event: ev.HypothesisEnded | ev.BeamsChosen, names: dict[int, tuple[str, int]]
    ) -> None:
        if isinstance(event, ev.HypothesisEnded):
            self._ended.append((names[event.seq][1], event.token, event.logprob))
            return
        step: dict[int, list[tuple[int, int]]] = {}
        for sample, token, logprob in self._ended:
            step.setdefault(sample, []).append((token, logprob))
        self._ended = []
        chosen = list(zip(event.seqs, event.parents, event.tokens, event.logprobs, strict=True))
        chosen.sort(key=lambda choice: choice[0] != choice[1])  # in place: a parent's best choice
        for _, parent, token, logprob in chosen:
            step.setdefault(names[parent][1], []).append((token, logprob))
        self.steps.append(step)


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
        return step_result(plan, self._tokens)

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
            self.manager = header.get("manager")  # FILE:Class, where the memory was a person's own
            self.memory = _restored(MemorySettings, header["memory_settings"])
            rules = dict(header["scheduler"])  # type: ignore[call-overload]
            self._foreign = _restore_policies(rules)
            self.scheduler = _restored(SchedulerConfig, rules)
            cost = header["cost_model"]
            self.cost = None if cost is None else _restored(CostModel, cost)
            order = header["free_order"]
            self.free_order = None if order is None else [int(block) for block in order]  # type: ignore[attr-defined]
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"the log's first line does not say how to repeat it ({error}); record the run again"
            ) from None

    def exactly(self, make_listeners: MakeListeners | None = None) -> ServingLoop:
        """The same run: the same events, to the byte. Raises InputError where a policy is not pagesim's."""
        return self._loop(
            self._own_memory(), self._own_config(), ReplayExecutor(self.events), make_listeners
        )

    def changed(
        self,
        make_listeners: MakeListeners | None = None,
        *,
        block_size: int | None = None,
        allocator: str | None = None,
        manager: Callable[[int, int], KVCacheManager] | None = None,
        scheduler: SchedulerConfig | None = None,
        policies: Mapping[str, object] | None = None,
        host_blocks: int | None = None,
        watermark: Watermark | None = None,
    ) -> ServingLoop:
        """The same requests and tokens under other settings; times come from the log's cost model.

        ``manager`` makes a memory of one's own from (blocks, block size). A watermark keeps its share. ``policies``
        replace the log's by the names of their fields: order, victim, preempt. Raises InputError for settings that
        cannot be.
        """
        memory = self.memory if block_size is None else replace(self.memory, block_size=block_size)
        if host_blocks is not None:
            memory = replace(memory, host_slots=host_blocks * memory.block_size)
        config = self._own_config(policies or {}) if scheduler is None else scheduler
        if manager is not None:
            built = manager(memory.num_slots // memory.block_size, memory.block_size)
        elif allocator is None and block_size is None and host_blocks is None:
            built = self._own_memory()
        else:
            built = build_memory(allocator or self._own_allocator(), memory)
        if built.geometry.block_size != self.memory.block_size:
            slots = config.watermark_blocks * self.memory.block_size
            config = replace(config, watermark_blocks=slots // built.geometry.block_size)
        if watermark is not None:
            kept = watermark.checked(built.geometry.num_blocks)
            config = replace(config, watermark_blocks=kept)
        tokens = LoggedTokens(self.events)
        if self.cost is None:
            return self._loop(built, config, StepClock(tokens), make_listeners)
        executor = SimExecutor(self.cost, tokens, built.geometry.num_blocks)
        return self._loop(built, config, executor, make_listeners)

    def _loop(
        self,
        memory: KVCacheManager,
        config: SchedulerConfig,
        executor: Executor,
        make_listeners: MakeListeners | None,
    ) -> ServingLoop:
        prices = None if self.cost is None else prices_of(self.cost)
        return put_together(
            memory, config, executor, arrivals_of(self.events), make_listeners, prices
        )

    def _own_config(self, policies: Mapping[str, object] = MappingProxyType({})) -> SchedulerConfig:
        for name, policy in self._foreign.items():
            if name not in policies:
                raise InputError(
                    f"the log was made with the {name} policy {policy} of somebody's own file, which is not run "
                    f"unasked; give --{name} {policy}, or another"
                )
        return replace(self.scheduler, **policies)  # type: ignore[arg-type]

    def _own_memory(self) -> KVCacheManager:
        return build_memory(self._own_allocator(), self.memory, self.free_order)

    def _own_allocator(self) -> str:
        """Raises InputError where it is none of pagesim's."""
        if self.manager is not None:
            raise InputError(
                f"the log was recorded with {self.manager}, which is not pagesim's; serve it with --manager "
                f"{self.manager}, or with --allocator paged"
            )
        return self.allocator


def _restore_policies(rules: dict[str, object]) -> dict[str, str]:
    """Put policies in the place of their names; returns those of a person's own file, as FILE:name."""
    foreign = {}
    for field, table in POLICIES.items():
        name = rules[field]
        if isinstance(name, str) and ":" in name:
            foreign[field] = name
            rules[field] = next(iter(table.values()))
        elif name is not None or field != "victim":
            rules[field] = table[name]  # type: ignore[index]
    return foreign


def _restored(kind: Callable[..., T], value: object) -> T:
    """The dataclass that ``asdict`` made a table of. KeyError, TypeError or ValueError if it did not."""
    if not isinstance(value, dict):
        raise TypeError(f"{value!r} is no table")
    values = {}
    for field in fields(kind):  # type: ignore[arg-type]
        given = value[field.name]
        values[field.name] = given
        if not isinstance(values[field.name], field.type):  # type: ignore[arg-type]
            raise TypeError(f"{field.name} is {given!r}")
    return kind(**values)
