"""What one step is to do, and what came of it: the two values that pass between scheduler and executor."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from pagesim.core.beam import Candidate
from pagesim.core.request import Refusal
from pagesim.core.sequence import SequenceState
from pagesim.core.types import Copy


@dataclass(slots=True, eq=False)
class StepPlan:
    """One step. ``counts[i]`` tokens of ``sequences[i]`` are computed, ending at its ``num_computed``.

    An executor runs ``copies`` in order, writes K and V of the whole batch, and only then attends. It returns
    one token for each entry of ``sampling``; a sequence stands there n times if n samples fork from it. ``beams``
    are the live beams that go on instead, those of one search next to each other; each gets candidates.

    ``preempted`` are all that gave way, ``swapped_out`` those of them that moved to the host; ``swapped_in`` came
    back from there. ``cached_tokens`` has an entry for each admitted sequence; ``refused`` are requests that
    turned out to need more than an empty memory. ``blocked``: the head of the queue waits for memory;
    ``has_prefill``: some entry is longer than one token; ``has_chunks``: some sequence does not reach its end;
    ``has_groups``: some sequence does whose samples fork then, or are beams. ``num_tokens`` is the sum of
    ``counts``; ``kv_tokens`` the tokens of K and V that attention reads; ``pairs`` its (query, key) pairs.
    """

    step: int
    sequences: list[SequenceState] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    sampling: list[SequenceState] = field(default_factory=list)
    beams: list[SequenceState] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)
    admitted: list[SequenceState] = field(default_factory=list)
    preempted: list[SequenceState] = field(default_factory=list)
    swapped_out: list[SequenceState] = field(default_factory=list)
    swapped_in: list[SequenceState] = field(default_factory=list)
    cached_tokens: dict[SequenceState, int] = field(default_factory=dict)
    refused: list[Refusal] = field(default_factory=list)
    blocked: bool = False
    has_prefill: bool = False
    has_chunks: bool = False
    has_groups: bool = False
    num_tokens: int = 0
    kv_tokens: int = 0
    pairs: int = 0

    def fill_counts(self, length: int) -> None:
        """While a plan is made, ``counts`` may lag behind: entries of 1 are filled in when needed."""
        missing = length - len(self.counts)
        if missing > 0:
            self.counts += [1] * missing


def samples_due(sampling: Sequence[SequenceState]) -> Iterator[tuple[SequenceState, int]]:
    """Each entry with the number of the sample it is for: a leader that is about to fork stands there for all."""
    last, times = None, 0
    for seq in sampling:
        times = times + 1 if seq is last else 0
        last = seq
        yield seq, seq.sample + times


class StepResult(NamedTuple):
    """``samples[i]`` is the token sampled for ``plan.sampling[i]``; ``candidates[i]`` are the tokens that may
    come next in ``plan.beams[i]``, as many as ``beam.num_candidates`` says."""

    samples: Sequence[int]
    candidates: Sequence[Sequence[Candidate]] = ()


class Executor(Protocol):
    """Who does the work of a step, and whose clock counts: a cost model's, the wall's, or a log's."""

    @property
    def now_ns(self) -> int:
        """Nanoseconds since the run began; never goes back."""
        ...

    def execute(self, plan: StepPlan) -> StepResult: ...

    def wait_until(self, time_ns: int) -> None:
        """Nothing can run before ``time_ns``: let the clock pass."""
        ...
