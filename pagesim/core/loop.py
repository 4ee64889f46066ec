"""The serving loop: submit what has arrived, plan, execute, commit; jump ahead when nothing can run.

Knows nothing about what executes or whose clock it is: times are integers that the executor hands out.
"""

from collections.abc import Iterable

from pagesim.core import events as ev
from pagesim.core.plan import Executor, StepPlan
from pagesim.core.request import Refusal, Request
from pagesim.core.scheduler import Scheduler


class ServingLoop:
    """``run`` is a loop over ``step``. ``refusals`` collects what was not taken."""

    def __init__(
        self,
        scheduler: Scheduler,
        executor: Executor,
        arrivals: Iterable[tuple[int, Request]],
        emit: ev.Emit | None = None,
    ) -> None:
        """``arrivals`` are (time in ns, request) in order of time; consumed lazily."""
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
        scheduler.commit(plan, result.samples)
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
            time_ns, request = self._next
            self._num_arrived += 1
            if self._emit is not None:
                self._emit(ev.RequestArrived(request.id, time_ns))
            refusal = self.scheduler.submit(request)
            if refusal is not None:
                self.refusals.append(refusal)
            self._next = next(self._arrivals, None)
