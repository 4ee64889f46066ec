"""Where beams go in a simulation: candidates with log-probabilities, drawn from a seed of their own.

No model is asked. At each position a beam's next tokens have probabilities that fall off as a power of their
rank; how steeply is drawn anew for each beam and step, between nearly even (the beams part) and nearly sure
(the best one takes over). That is an assumption; what it makes beams share is measured, not set.
"""

from collections.abc import Sequence
from functools import cache
from math import log

from pagesim.core.beam import MICRO_NATS_PER_NAT, Candidate, num_candidates
from pagesim.core.sequence import SequenceState

STEEPNESS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0)
"""Exponents of the ranks. Assumption: from a choice of many to a token that is nearly sure."""
VOCABULARY = 50_000
JITTER = 50_000
"""Up to so many micro-nats are drawn on top, so that beams seldom tie."""
_MASK = 2**64 - 1


def seeded_candidates(beams: Sequence[SequenceState]) -> list[tuple[Candidate, ...]]:
    """For each beam its best next tokens. The same beam of the same run gets the same ones in every process.

    Tokens are numbered by rank and never a stop token: simulated answers end by their length.
    """
    return [_candidates(seq) for seq in beams]


def _candidates(seq: SequenceState) -> tuple[Candidate, ...]:
    count = num_candidates(seq.request.num_samples, len(seq.request.stop_ids))
    last = seq.outputs[-1] if seq.outputs else 0
    drawn = _mixed(seq.order - seq.sample, seq.num_outputs, last, -seq.logprob)
    shape = _shape(STEEPNESS[drawn % len(STEEPNESS)], count)
    return tuple(
        [
            Candidate(_token(rank, seq), logprob - _mixed(drawn, rank) % JITTER)
            for rank, logprob in enumerate(shape)
        ]
    )


def _token(rank: int, seq: SequenceState) -> int:
    """The ids from 0 on, less those that end an answer."""
    stops = sorted(seq.request.stop_ids)
    for stop in stops:
        rank += rank >= stop
    return rank


@cache
def _shape(steepness: float, count: int) -> tuple[int, ...]:
    """Log-probabilities of ranks 1 to ``count``: p(r) in proportion to r ** -steepness over the vocabulary."""
    total = sum([rank**-steepness for rank in range(1, VOCABULARY + 1)])
    return tuple(
        [
            round(MICRO_NATS_PER_NAT * (-steepness * log(rank) - log(total)))
            for rank in range(1, count + 1)
        ]
    )


def _mixed(*numbers: int) -> int:
    """A 64-bit number that depends on all of them (the finaliser of splitmix64, over and over)."""
    state = 0x9E3779B97F4A7C15
    for number in numbers:
        state = (state ^ number) * 0xBF58476D1CE4E5B9 & _MASK
        state ^= state >> 27
        state = state * 0x94D049BB133111EB & _MASK
        state ^= state >> 31
    return state
