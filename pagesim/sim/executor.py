"""The simulated executor: a cost model for the clock, a token source for the samples.

Knows nothing about how a step was decided.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

from pagesim.core.copies import hazard_free_batches
from pagesim.core.plan import StepPlan, StepResult
from pagesim.core.sequence import SequenceState
from pagesim.sim.cost import CostModel

STEP_NS = 1_000_000


class TokenSource(Protocol):
    def sample(self, sampling: Sequence[SequenceState]) -> Sequence[int]:
        """One token id for each entry, always the same ones for the same calls in the same order."""
        ...


def with_samples(sampling: Sequence[SequenceState]) -> Iterator[tuple[SequenceState, int]]:
    """Each entry with the number of the sample it is for: a leader that is about to fork stands there for all."""
    last, times = None, 0
    for seq in sampling:
        times = times + 1 if seq is last else 0
        last = seq
        yield seq, seq.sample + times


class BlankTokens:
    """Every output token is 0: enough where nobody looks at token ids, since nothing is cached."""

    def sample(self, sampling: Sequence[SequenceState]) -> tuple[int, ...]:
        return (0,) * len(sampling)


class FreshTokens:
    """Output tokens that nobody had before, so that no two answers are alike to a prefix cache."""

    def __init__(self) -> None:
        self._next = 3 << 61  # prompts' ids start below, and never come this far

    def sample(self, sampling: Sequence[SequenceState]) -> range:
        first = self._next
        self._next = first + len(sampling)
        return range(first, self._next)


class SimExecutor:
    """Meets ``Executor``: does nothing, and says how long that took."""

    def __init__(self, cost: CostModel, tokens: TokenSource) -> None:
        self.now_ns = 0
        self._cost = cost
        self._tokens = tokens

    def execute(self, plan: StepPlan) -> StepResult:
        copied_slots = launches = 0
        if plan.copies:
            copied_slots = sum(copy.num_slots for copy in plan.copies)
            launches = len(hazard_free_batches(plan.copies))
        if plan.sequences:
            self.now_ns += self._cost.step_ns(
                plan.num_tokens, plan.kv_tokens, plan.pairs, copied_slots, launches
            )
        return StepResult(self._tokens.sample(plan.sampling))

    def wait_until(self, time_ns: int) -> None:
        self.now_ns = max(self.now_ns, time_ns)


class StepClock:
    """Meets ``Executor``: every step takes one millisecond: for small stories, told by step."""

    def __init__(self, tokens: TokenSource) -> None:
        self.now_ns = 0
        self._tokens = tokens

    def execute(self, plan: StepPlan) -> StepResult:
        self.now_ns += STEP_NS
        return StepResult(self._tokens.sample(plan.sampling))

    def wait_until(self, time_ns: int) -> None:
        self.now_ns = max(self.now_ns, time_ns)
