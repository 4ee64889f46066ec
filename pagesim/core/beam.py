"""Beam search: which continuations live on, which answers have ended, and when nothing better can come.

Pure; knows nothing about models, memory or who schedules. A search keeps ``width`` beams alive. Log
probabilities are whole micro-nats (1e-6 nat) and never above 0, so sums are exact and every tie is decided.

Libraries differ. This follows transformers since its beam search was rewritten (pull request 35802; compared
with 5.24.0): an answer's length counts its outputs, stop token included, and not the prompt. vLLM V0, and
vLLM V1 (where beam search is a loop outside the engine), count the prompt and leave the stop token out, as
did transformers long ago; both take any stop among the candidates as an answer, however low it ranks. V1's
loop knows no early stopping.
"""

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from itertools import islice
from typing import NamedTuple

MICRO_NATS_PER_NAT = 1_000_000


class EarlyStopping(Enum):
    """Stop once ``width`` answers have ended and ...

    WHEN_FULL: no more is asked (transformers' ``True``). HEURISTIC: no live beam would beat the worst of them
    if it ended at its present length (``False``); wrong at times where longer answers score better. NEVER:
    none can beat it at any length still possible (``"never"``); going on would change nothing.
    """

    WHEN_FULL = "when-full"
    HEURISTIC = "heuristic"
    NEVER = "never"


class BeamSearch(NamedTuple):
    """What a request asks for; its ``num_samples`` is the width. Above 0, longer answers score better."""

    length_penalty: float = 1.0
    early_stopping: EarlyStopping = EarlyStopping.HEURISTIC


class Candidate(NamedTuple):
    """A token that may come next; ``logprob`` is its own."""

    token: int
    logprob: int


class Choice(NamedTuple):
    """Live beam number ``parent`` continued by ``token``; ``logprob`` is the whole answer's."""

    parent: int
    token: int
    logprob: int


class Hypothesis(NamedTuple):
    """An answer that has ended; ``tokens`` are its outputs, the stop token among them."""

    tokens: tuple[int, ...]
    logprob: int


class Chosen(NamedTuple):
    """Both best first. There are always ``width`` of ``live``, and at most that many of ``ended``."""

    live: tuple[Choice, ...]
    ended: tuple[Choice, ...]


def num_candidates(width: int, num_stop_ids: int) -> int:
    """How many of the best next tokens each beam must name.

    They may all be of one beam. Each beam can end in ``num_stop_ids`` ways, so among so many of the best,
    ``width`` go on. Never below ``2 * width``, as in transformers; vLLM takes ``2 * width`` always.
    """
    return max(2, 1 + num_stop_ids) * width


def choose(
    logprobs: Sequence[int],
    candidates: Sequence[Sequence[Candidate]],
    width: int,
    stop_ids: AbstractSet[int],
) -> Chosen:
    """Rank every continuation of the live beams by its whole log probability; the best ``width`` go on.

    ``logprobs[i]`` and ``candidates[i]`` belong to live beam ``i``: at first there is one. Each names its
    best ``num_candidates`` different tokens, or its whole vocabulary where that is smaller. A stop token ends
    an answer only if it ranks among the best ``width``, else it is passed over. Ties go to the lower parent,
    then to what its list names first. ValueError if fewer than ``width`` can go on; transformers then carries
    beams of log probability -1e9 along.
    """
    if not 1 <= len(logprobs) == len(candidates) <= width:
        raise ValueError(
            f"{len(logprobs)} live beams with {len(candidates)} lists of candidates:"
            f" there must be a list for each, and 1 to {width} beams"
        )
    continuations = [
        Choice(parent, token, logprobs[parent] + logprob)
        for parent, named in enumerate(candidates)
        for token, logprob in named
    ]
    ranked = sorted(continuations, key=lambda choice: -choice.logprob)  # stable: ties stay in order
    ended = tuple(choice for choice in ranked[:width] if choice.token in stop_ids)
    live = tuple(islice((choice for choice in ranked if choice.token not in stop_ids), width))
    if len(live) < width:
        raise ValueError(
            f"{len(live)} of {width} beams can go on: name {num_candidates(width, len(stop_ids))}"
            f" candidates for each live beam; a smaller vocabulary needs a narrower search"
        )
    return Chosen(live, ended)


def score(logprob: int, num_outputs: int, length_penalty: float) -> float:
    """Nats per output to the power of ``length_penalty``: what answers of different lengths compare by."""
    return logprob / MICRO_NATS_PER_NAT / math.pow(num_outputs, length_penalty)


def keep_best(
    hypotheses: Sequence[Hypothesis], width: int, length_penalty: float
) -> tuple[Hypothesis, ...]:
    """At most ``width`` of them, by score, best first; of equals, what came first."""

    def score_of(hypothesis: Hypothesis) -> float:
        return score(hypothesis.logprob, len(hypothesis.tokens), length_penalty)

    return tuple(sorted(hypotheses, key=lambda hypothesis: -score_of(hypothesis))[:width])


def is_done(
    hypotheses: Sequence[Hypothesis],
    width: int,
    best_live: int,
    num_outputs: int,
    most_outputs: int,
    search: BeamSearch,
) -> bool:
    """Whether the search may stop before the longest length, ``most_outputs``.

    ``best_live`` is the log probability of the best live beam, ``num_outputs`` how many tokens each has. A
    live beam that could only draw level with the worst answer kept does not hold up the end. At the longest
    length this is not asked: there the live beams are answers too, beside those that end in that step.
    Before its rewrite transformers took the best continuation, ended or not, for ``best_live``.
    """
    if len(hypotheses) < width:
        return False
    length_penalty, early_stopping = search
    if early_stopping is EarlyStopping.WHEN_FULL:
        return True
    # A live beam only loses log probability: at best it keeps what it has, at the length that flatters it most.
    longer_is_better = early_stopping is EarlyStopping.NEVER and length_penalty > 0
    attainable = score(best_live, most_outputs if longer_is_better else num_outputs, length_penalty)
    worst = keep_best(hypotheses, width, length_penalty)[-1]
    return attainable <= score(worst.logprob, len(worst.tokens), length_penalty)


def reassign(parents: Sequence[int], num_members: int) -> tuple[int, ...]:
    """Which choice each member of the group makes next: ``result[member]`` is a position in ``parents``.

    ``parents[i]`` is the member that live choice ``i`` continues. A parent goes on with its best choice, in
    place. Its further ones fork from it: ordered by parent, then rank, they go to the lowest members that
    nobody continues (dropped, or not started yet). So no fork's source is ever a member that is given away.
    A search always has as many live choices as members, see ``choose``.
    """
    assert len(parents) == num_members, f"{len(parents)} choices for {num_members} members"
    assert all(0 <= parent < num_members for parent in parents), f"{parents}: not all are members"
    kept: dict[int, int] = {}
    forked: list[int] = []
    for choice in sorted(range(num_members), key=lambda choice: parents[choice]):
        if parents[choice] in kept:
            forked.append(choice)
        else:
            kept[parents[choice]] = choice
    free = iter(forked)
    return tuple(kept[member] if member in kept else next(free) for member in range(num_members))
