"""The simulated executor: a cost model for the clock, a token source for the samples.

Knows nothing about how a step was decided.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from pagesim.core.beam import Candidate
from pagesim.core.copies import hazard_free_batches
from pagesim.core.plan import StepPlan, StepResult
from pagesim.core.preempt_mode import Price
from pagesim.core.sequence import SequenceState
from pagesim.core.types import Copy
from pagesim.sim.beam_tokens import seeded_candidates
from pagesim.sim.cost import CostModel

STEP_NS = 1_000_000


class TokenSource(Protocol):
    def sample(self, sampling: Sequence[SequenceState]) -> Sequence[int]:
        """One token id for each entry, always the same ones for the same calls in the same order."""
        ...

    def candidates(self, beams: Sequence[SequenceState]) -> Sequence[Sequence[Candidate]]:
        """What may come next in each beam, as many as ``beam.num_candidates`` says."""
        ...


class BlankTokens:
    """Every output token is 0: enough where nobody looks at token ids, since nothing is cached."""

    def sample(self, sampling: Sequence[SequenceState]) -> tuple[int, ...]:
        return (0,) * len(sampling)

    def candidates(self, beams: Sequence[SequenceState]) -> Sequence[Sequence[Candidate]]:
        return seeded_candidates(beams)


class FreshTokens:
    """Output tokens that nobody had before, so that no two answers are alike to a prefix cache."""

    def __init__(self) -> None:
        self._next = 3 << 61  # prompts' ids start below, and never come this far

    def sample(self, sampling: Sequence[SequenceState]) -> range:
        first = self._next
        self._next = first + len(sampling)
        return range(first, self._next)

    def candidates(self, beams: Sequence[SequenceState]) -> Sequence[Sequence[Candidate]]:
        return seeded_candidates(beams)


class SimExecutor:
    """Meets ``Executor``: does nothing, and says how long that took."""

    def __init__(self, cost: CostModel, tokens: TokenSource, num_blocks: int) -> None:
        """``num_blocks`` are on the device: what is copied to or from another goes over the host link."""
        self.now_ns = 0
        self._cost = cost
        self._tokens = tokens
        self._num_blocks = num_blocks

    def execute(self, plan: StepPlan) -> StepResult:
        moved = NOTHING_MOVED
        if plan.copies:
            moved = moved_by(plan.copies, self._num_blocks)
        if plan.sequences:
            step_ns = self._cost.step_ns(plan.num_tokens, plan.kv_tokens, plan.pairs, *moved)
            self.now_ns += step_ns
        elif moved.host_blocks:
            self.now_ns += self._cost.host_copy_ns(moved.host_slots, moved.host_blocks)
        return step_result(plan, self._tokens)

    def wait_until(self, time_ns: int) -> None:
        self.now_ns = max(self.now_ns, time_ns)


class Moved(NamedTuple):
    """What copies come to: slots within the device, in how many launches; slots over the host link, and blocks."""

    device_slots: int
    launches: int
    host_slots: int
    host_blocks: int


NOTHING_MOVED = Moved(0, 0, 0, 0)


def moved_by(copies: Sequence[Copy], num_blocks: int) -> Moved:
    """``num_blocks`` are on the device."""
    inside = [copy for copy in copies if copy.source < num_blocks and copy.target < num_blocks]
    slots = sum([copy.num_slots for copy in inside])
    all_slots = sum([copy.num_slots for copy in copies])
    launches = len(hazard_free_batches(inside))
    return Moved(slots, launches, all_slots - slots, len(copies) - len(inside))


def prices_of(cost: CostModel) -> Callable[[Sequence[int], int, int], Price]:
    """What preempting costs on this hardware: computing again, or moving there and back."""

    def prices(lengths: Sequence[int], num_slots: int, num_blocks: int) -> Price:
        swap_ns = 2 * cost.host_copy_ns(num_slots, num_blocks)
        return Price(cost.recompute_ns(lengths), swap_ns)

    return prices


def step_result(plan: StepPlan, tokens: TokenSource) -> StepResult:
    candidates = tokens.candidates(plan.beams) if plan.beams else ()
    return StepResult(tokens.sample(plan.sampling), candidates)


class StepClock:
    """Meets ``Executor``: every step takes one millisecond: for small stories, told by step."""

    def __init__(self, tokens: TokenSource) -> None:
        self.now_ns = 0
        self._tokens = tokens

    def execute(self, plan: StepPlan) -> StepResult:
        self.now_ns += STEP_NS
        return step_result(plan, self._tokens)

    def wait_until(self, time_ns: int) -> None:
        self.now_ns = max(self.now_ns, time_ns)
