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

    def step(self) -> StepPlan | None:
        """Do one step and return its plan; ``None`` when all is served. If the executor raises, the step is undone."""
        scheduler, executor = self.scheduler, self.executor
        if self._next is not None:
            if not scheduler.has_work and self._next[0] > executor.now_ns:
                executor.wait_until(self._next[0])
                if self._emit is not None:
                    self._emit(ev.ClockAdvanced(executor.now_ns))
            self._submit_arrived(executor.now_ns)
        if not scheduler.has_work:
            return None if self._next is None else self.step()
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

    def _submit_arrived(self, now_ns: int) -> None:
        while self._next is not None and self._next[0] <= now_ns:
            refusal = self.scheduler.submit(self._next[1])
            if refusal is not None:
                self.refusals.append(refusal)
            self._next = next(self._arrivals, None)
