"""A beam search whose every choice is written down, for stories: which beams go on, with which words.

    beam_script = [
        "0:four 0:five 0:six 0:ten",       after the prompt: four words, the best first
        "1:score 1:years 2:score 2:men",   beams 0 and 3 are dropped; 1 and 2 go on twice
        "0:and@-0.7 0:but@-1.2 ...",       with log-probabilities of one's own, in nats
    ]

A beam keeps its number for its best continuation; further ones take the numbers of dropped beams, the lowest
first. Where no log-probability is given, one is made up that keeps the order. Knows nothing about files.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pagesim.core.beam import MICRO_NATS_PER_NAT, Candidate
from pagesim.core.sequence import SequenceState

RANK_STEP = 100_000
"""Made-up log-probabilities of neighbours in rank differ by a tenth of a nat."""


class Continuation(NamedTuple):
    """Beam ``parent`` goes on with ``token``; ``logprob`` in micro-nats, of this token alone, if given."""

    parent: int
    token: int
    logprob: int | None


@dataclass(frozen=True, slots=True)
class BeamScript:
    """What goes on after each output, best first."""

    steps: tuple[tuple[Continuation, ...], ...]

    def covers(self, seq: SequenceState) -> bool:
        return seq.num_outputs < len(self.steps)

    def candidates(self, beams: Sequence[SequenceState]) -> list[list[Candidate]]:
        """For the live beams of one search."""
        step = self.steps[beams[0].num_outputs]
        lowest = min(seq.logprob for seq in beams)
        found: list[list[Candidate]] = [[] for _ in beams]
        positions = {seq.sample: position for position, seq in enumerate(beams)}
        for rank, (parent, token, own) in enumerate(step):
            position = positions[parent]
            if own is None:
                own = lowest - RANK_STEP * (rank + 1) - beams[position].logprob
            found[position].append(Candidate(token, own))
        return found


def parse_step(
    text: str, width: int, num_live: int, token_of: Callable[[str], int], stop_ids: frozenset[int]
) -> tuple[Continuation, ...]:
    """One line of a script; ``num_live`` beams are there to go on. ValueError, with what is allowed."""
    found = []
    for entry in text.split():
        number, colon, rest = entry.partition(":")
        word, at, logprob = rest.partition("@")
        if not (colon and word and number.isdecimal() and int(number) < num_live):
            raise ValueError(f"{entry!r} is not BEAM:WORD with a beam from 0 to {num_live - 1}")
        try:
            own = round(float(logprob) * MICRO_NATS_PER_NAT) if at else None
        except (ValueError, OverflowError):
            raise ValueError(f"{entry!r} has no number of nats after the @") from None
        if own is not None and own > 0:
            raise ValueError(f"{entry!r} has a log-probability above 0")
        found.append(Continuation(int(number), token_of(word), own))
    going_on = sum(entry.token not in stop_ids for entry in found)
    if going_on < width:
        raise ValueError(f"{going_on} go on, and {width} beams need {width}")
    if len({entry.logprob is None for entry in found}) > 1:
        raise ValueError("some have a log-probability and some have none")
    if len({entry[:2] for entry in found}) < len(found):
        raise ValueError("a beam goes on with the same word twice")
    return tuple(found)
