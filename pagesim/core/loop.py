"""The serving loop: submit what has arrived, plan, execute, commit; jump ahead when nothing can run.

Knows nothing about what executes or whose clock it is: times are integers that the executor hands out.
"""

from collections.abc import Iterable

from pagesim.core import events as ev
from pagesim.core.beam import BeamSearch, EarlyStopping
from pagesim.core.memory import KVCacheManager
from pagesim.core.plan import Executor, StepPlan
from pagesim.core.preempt_mode import Prices
from pagesim.core.recorded import Recorded
from pagesim.core.request import Abort, Refusal, Request, ResetCache
from pagesim.core.scheduler import Scheduler
from pagesim.core.scheduler_config import SchedulerConfig
from pagesim.core.token_ids import ChainedRanges

Arriving = Request | Abort | ResetCache


class ServingLoop:
    """``run`` is a loop over ``step``. ``refusals`` collects what was not taken."""

    def __init__(
        self,
        scheduler: Scheduler,
        executor: Executor,
        arrivals: Iterable[tuple[int, Arriving]],
        emit: ev.Emit | None = None,
    ) -> None:
        """``arrivals`` are (time in ns, what arrives) in order of time; consumed lazily."""
        self.scheduler = scheduler
        self.executor = executor
        self.refusals: list[Refusal] = []
        self._arrivals = iter(arrivals)
        self._next = next(self._arrivals, None)
        self._emit = emit
        self._num_arrived = 0
        self._ended = False

    @property
    def num_ended(self) -> int:
        """Requests that were served, refused or aborted so far."""
        return self._num_arrived - self.scheduler.num_live

    def step(self) -> StepPlan | None:
        """Do one step and return its plan; ``None`` when all is served. If the executor raises, the step is undone."""
        scheduler, executor = self.scheduler, self.executor
        if self._next is not None:
            self._submit_arrived(executor.now_ns)
        while not scheduler.has_work:
            if self._next is None:
                self._end()
                return None
            executor.wait_until(self._next[0])
            if self._emit is not None:
                self._emit(ev.ClockAdvanced(executor.now_ns))
            self._submit_arrived(executor.now_ns)
        plan = scheduler.plan()
        self.refusals += plan.refused
        try:
            result = executor.execute(plan)
        except BaseException:
            scheduler.rollback(plan)
            raise
        if self._emit is not None:
            self._emit(ev.StepDone(plan.step, executor.now_ns))
        scheduler.commit(plan, result.samples, result.candidates)
        return plan

    def run(self) -> None:
        while self.step() is not None:
            pass

    def _end(self) -> None:
        if self._emit is not None and not self._ended:
            self._emit(ev.RunEnded(self.executor.now_ns))
        self._ended = True

    def _submit_arrived(self, now_ns: int) -> None:
        while self._next is not None and self._next[0] <= now_ns:
            time_ns = self._next[0]
            self.take_in(*self._next)
            self._next = next(self._arrivals, None)
            if self._next is not None and self._next[0] < time_ns:
                raise ValueError(
                    f"an arrival at {self._next[0]} ns follows one at {time_ns} ns: sort them"
                )

    def take_in(self, time_ns: int, arrival: Arriving) -> None:
        """Submit, abort or reset now. For who has no list of arrivals: a server takes in what comes between steps."""
        if isinstance(arrival, Abort):
            if self._emit is not None:
                self._emit(ev.AbortAsked(arrival.request, time_ns))
            self.scheduler.abort(arrival.request)
        elif isinstance(arrival, ResetCache):
            if self._emit is not None:
                self._emit(ev.ResetAsked(time_ns))
            self.scheduler.reset_prefix_cache()
        else:
            self._num_arrived += 1
            if self._emit is not None:
                self._emit(arrived(arrival, time_ns))
            refusal = self.scheduler.submit(arrival)
            if refusal is not None:
                self.refusals.append(refusal)


def assemble(
    memory: KVCacheManager,
    config: SchedulerConfig,
    executor: Executor,
    arrivals: Iterable[tuple[int, Arriving]],
    emit: ev.Emit | None = None,
    prices: Prices | None = None,
) -> ServingLoop:
    """The loop of one run, not started. Without ``emit`` nothing is recorded, and nothing is paid for it."""
    told = memory if emit is None else Recorded(memory, emit)
    return ServingLoop(Scheduler(config, told, emit, prices), executor, arrivals, emit)


def arrived(request: Request, time_ns: int) -> ev.RequestArrived:
    """The event that says all of a request."""
    lazy = isinstance(request.prompt, range | ChainedRanges)
    return ev.RequestArrived(
        request.id,
        time_ns,
        request.prompt if lazy else tuple(request.prompt),  # type: ignore[arg-type]
        request.max_tokens,
        request.num_samples,
        request.priority,
        request.salt,
        request.adapter,
        int(request.read_cache),
        tuple(sorted(request.stop_ids)),
        request.known_output,
        None if request.beam is None else round(request.beam.length_penalty * 1e6),
        "" if request.beam is None else request.beam.early_stopping.value,
    )


def request_of(event: ev.RequestArrived) -> Request:
    """The request that arrived."""
    beam = None
    if event.length_penalty is not None:
        beam = BeamSearch(event.length_penalty / 1e6, EarlyStopping(event.early_stopping))
    return Request(
        event.request,
        event.prompt,
        event.max_tokens,
        event.num_samples,
        event.priority,
        event.salt,
        event.adapter,
        bool(event.read_cache),
        frozenset(event.stop_ids),
        event.known_output,
        beam,
    )
