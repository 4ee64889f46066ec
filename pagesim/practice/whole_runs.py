"""Whole runs on any memory, under the real scheduler: small drawn workloads, and every law after each step.

A shadow of the memory stands where an engine's tensors are, so wrong tables show as wrong content. Knows nothing
about who wrote the memory.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from pagesim.core import events as ev
from pagesim.core import laws
from pagesim.core.loop import ServingLoop, assemble
from pagesim.core.memory import KVCacheManager
from pagesim.core.plan import StepPlan, StepResult, samples_due
from pagesim.core.preempt_mode import RECOMPUTE, SWAP
from pagesim.core.request import Request
from pagesim.core.scheduler_config import SchedulerConfig
from pagesim.core.sequence import SequenceState
from pagesim.core.shadow import Prefixes, PrefixId, ShadowMemory
from pagesim.core.types import Copy, SeqId, blocks_for
from pagesim.practice.block_book import broken
from pagesim.practice.content_words import check_content
from pagesim.replay.run_state import RunState
from pagesim.sim.executor import STEP_NS

LONGEST = 20  # tokens of a sequence
NUM_TOKEN_IDS = 2


@dataclass(frozen=True, slots=True)
class Workload:
    """A memory's size, the scheduler's settings, and requests with the step they come in at."""

    num_blocks: int
    block_size: int
    config: SchedulerConfig
    requests: tuple[tuple[int, Request], ...]

    @property
    def most_steps(self) -> int:
        """More than any right memory needs."""
        tokens = [len(r.prompt) + r.max_tokens * r.num_samples for _, r in self.requests]
        return sum(tokens) ** 2 + 10


# -- drawing them ----------------------------------------------------------------------------------------


def workloads(*, can_share: bool, can_cache: bool, can_swap: bool) -> SearchStrategy[Workload]:
    """Small ones that fill a small memory, so that some are preempted. What a memory cannot do is left out."""
    prompts: SearchStrategy[tuple[int, ...]] = st.integers(1, 12).map(lambda n: (1,) * n)
    if can_cache:
        ids = st.lists(st.integers(1, NUM_TOKEN_IDS), min_size=1, max_size=12)
        prompts = st.one_of(prompts, ids.map(tuple))
    samples = st.sampled_from([1, 1, 2, 3] if can_share else [1])
    drawn = st.tuples(st.sampled_from([0, 0, 0, 1, 2, 5]), prompts, st.integers(1, 8), samples)
    modes = [SWAP, RECOMPUTE] if can_swap else [RECOMPUTE]

    @st.composite
    def whole(draw: DrawFn) -> Workload:
        requests = draw(st.lists(drawn, min_size=1, max_size=6))
        slots, block_size = draw(st.integers(10, 30)), draw(st.sampled_from([4, 2, 3, 1]))
        config = SchedulerConfig(
            max_num_seqs=draw(st.sampled_from([8, 4, 3])),
            max_tokens_per_step=draw(st.sampled_from([16, 8, 5, 3])),
            max_model_len=LONGEST,
            watermark_blocks=draw(st.sampled_from([0, 0, 1])),
            preempt=draw(st.sampled_from(modes)),
            fork_samples=True,
        )
        arrivals = [
            (step, Request(f"r{number}", prompt, outputs, samples))
            for number, (step, prompt, outputs, samples) in enumerate(requests)
        ]
        arrivals.sort(key=lambda arrival: arrival[0])
        return Workload(-(-slots // block_size), block_size, config, tuple(arrivals))

    return whole()


# -- playing one -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Moment:
    """What can be seen after a step: for those who film it."""

    step: int
    tables: Mapping[SeqId, Sequence[int]]
    written: Mapping[SeqId, int]
    copies: Sequence[Copy]
    forks: Mapping[SeqId, SeqId]
    waiting: Mapping[SeqId, int]
    prompts: Mapping[SeqId, int]


Watch = Callable[[Moment], None]


class CheckedRun:
    """``run`` serves the workload to its end. Raises LawBrokenError where the memory breaks a law."""

    def __init__(
        self, workload: Workload, memory: KVCacheManager, watch: Watch | None = None
    ) -> None:
        self.events: list[ev.Event] = []
        self.num_steps = 0
        self._workload = workload
        self._memory = memory
        self._watch = watch
        self._told = RunState(memory.geometry)
        self._states: dict[SeqId, SequenceState] = {}
        self._forks: dict[SeqId, SeqId] = {}
        self._executor = ShadowExecutor(memory)
        arrivals = [(step * STEP_NS, request) for step, request in workload.requests]
        self._loop: ServingLoop = assemble(
            memory, workload.config, self._executor, arrivals, self._emit
        )

    def run(self) -> None:
        while True:
            self._forks = {}
            plan = self._loop.step()
            if plan is None:
                break
            self.num_steps += 1
            for seq in (*plan.sequences, *self._loop.scheduler.running, *plan.preempted):
                self._states[seq.seq] = seq
            self._look(plan)
            self._check(plan)
            laws.check_ends(self.num_steps, self._workload.most_steps)
        granted = self._memory.usage().granted
        if granted:
            broken("conservation", f"everybody has left and {granted} blocks are granted")
        if self._memory.can_share:
            self._check_refusals()

    def _check_refusals(self) -> None:
        """Of paged memory: what is refused is more than an empty memory has."""
        geometry, kept = self._memory.geometry, self._workload.config.watermark_blocks
        asked = {request.id: request for _, request in self._workload.requests}
        for name, reason in self._loop.refusals:
            request = asked[name]
            longest = min(len(request.prompt) + request.max_tokens, LONGEST)
            needed = request.num_samples * blocks_for(longest, geometry.block_size) + kept
            if needed <= geometry.num_blocks:
                broken(
                    "rejects-the-impossible",
                    f"request {name} can do with {needed} blocks, {geometry.num_blocks} are present, and it was "
                    f"refused: {reason}",
                )

    def _emit(self, event: ev.Event) -> None:
        self.events.append(event)
        if isinstance(event, ev.SequenceForked):
            self._forks[event.child] = event.parent
        self._told.apply(event)

    def _look(self, plan: StepPlan) -> None:
        if self._watch is None:
            return
        told = self._told.sequences.values()
        self._watch(
            Moment(
                plan.step,
                {view.seq: list(view.table) for view in told if len(view.table)},
                {view.seq: view.written for view in told if len(view.table)},
                tuple(plan.copies),
                dict(self._forks),
                {view.seq: view.tokens for view in told if view.status == "waiting"},
                {view.seq: view.prompt_tokens for view in told},
            )
        )

    def _check(self, plan: StepPlan) -> None:
        memory, told = self._memory, self._told
        holders = {s: state for s, state in self._states.items() if state.writable}
        laws.check_conservation(memory, holders)
        laws.check_refcount(memory, holders)
        paths = {seq: self._executor.path(state)[: _ready(state)] for seq, state in holders.items()}
        check_content(memory, self._executor.shadow, self._executor.prefixes, paths)
        spans = {
            seq: laws.Span(state.num_computed, state.writable, _ready(state))
            for seq, state in holders.items()
        }
        laws.check_single_writer(memory, spans)
        tables = {v.seq: (v.table, v.written) for v in told.sequences.values() if len(v.table)}
        written = {seq: state.num_computed for seq, state in holders.items()}
        laws.check_fold(memory, tables, written, told.ref_counts, told.cached)
        laws.check_progress(plan)


class ShadowExecutor:
    """Meets ``Executor``: runs copies and writes on a shadow; what is sampled depends on all that is read there."""

    def __init__(self, memory: KVCacheManager) -> None:
        self.now_ns = 0
        self.shadow = ShadowMemory(memory.geometry)
        self._memory = memory
        self.prefixes = Prefixes()

    def path(self, seq: SequenceState) -> list[PrefixId]:
        """What its slots should hold, position by position."""
        tokens = [*seq.request.prompt, *seq.outputs]
        return self.prefixes.path(tokens, seq.request.salt, seq.request.adapter)

    def execute(self, plan: StepPlan) -> StepResult:
        self.now_ns += STEP_NS
        self.shadow.copy(plan.copies)
        for seq, count in zip(plan.sequences, plan.counts, strict=True):
            path, table = self.path(seq), self._memory.table(seq.seq)
            for position in range(seq.num_computed - count, seq.num_computed):
                if position >= len(table) * self._memory.geometry.block_size:
                    broken(
                        "contract",
                        f"sequence {seq.seq} was given room for {seq.writable} tokens, and its table "
                        f"{list(table)} ends before position {position}",
                    )
                self.shadow.write(table, position, path[position])
        return StepResult([self._token(*due) for due in samples_due(plan.sampling)])

    def wait_until(self, time_ns: int) -> None:
        self.now_ns = max(self.now_ns, time_ns)

    def _token(self, seq: SequenceState, sample: int) -> int:
        prefix = self.shadow.read(self._memory.table(seq.seq), seq.num_computed - 1)
        return ((prefix or 0) * 31 + sample) % NUM_TOKEN_IDS + 1


def _ready(seq: SequenceState) -> int:
    """A forked sample that comes back shares prompt blocks that its leader fills again."""
    if seq.group is None or not seq.group.forked:
        return seq.num_computed
    return min(seq.num_computed, seq.unit[0].num_computed)
