"""Sentences about beam search: which beams go on, which are dropped, which answers have ended, and their ranks.

Log-probabilities are told in nats. ``word`` says how a token is called. Knows nothing about who searched.
"""

from collections import Counter
from collections.abc import Callable, Sequence

from pagesim.core import events as ev
from pagesim.core.beam import MICRO_NATS_PER_NAT, score
from pagesim.core.types import SeqId
from pagesim.replay.phrases import be, counted, joined, nats, some_of
from pagesim.replay.reasons import called, view_of
from pagesim.replay.run_state import RunState, SequenceView

Word = Callable[[int], str]
WHY_OVER = {
    "when-full": "that is all it waits for",
    "heuristic": "no beam would beat the worst of them at its present length",
    "never": "no beam can beat the worst of them at any length to come",
}


def chosen(event: ev.BeamsChosen, before: RunState, word: Word) -> str:
    width, size = len(event.seqs), min(map(len, event))
    if not size:
        return "no beam goes on"
    views = [view_of(before, seq) for seq in event.seqs]
    whose = _whose(views)
    dropped = [seq for seq in event.seqs if seq not in event.parents]
    if any(view is not None and view.logprob is None for view in views):
        text = f"the best {counted(width, 'continuation')} of {whose} become its {counted(width, 'beam')}"
    elif not dropped:
        text = f"each of the {counted(width, 'beam')} of {whose} goes on with one token"
    else:
        gone = [beam_name(before, seq) for seq in dropped]
        text = (
            f"of the {counted(width, 'beam')} of {whose}, {some_of(gone)} {be(len(gone))} dropped"
        )
        text += f", while {_go_on(event.parents, before)}"
    ranks = sorted(range(size), key=lambda at: -event.logprobs[at])
    best, last = [
        (event.seqs[at], event.tokens[at], event.logprobs[at]) for at in (ranks[0], ranks[-1])
    ]
    text += f"; {beam_name(before, best[0])} leads with {word(best[1])}, {nats(best[2])} in all"
    if size > 1:
        text += f", and {beam_name(before, last[0])} is last with {word(last[1])}, {nats(last[2])}"
    return text


def _whose(views: Sequence[SequenceView | None]) -> str:
    known = next((view for view in views if view is not None), None)
    return "a search" if known is None else called(known.request)


def _go_on(parents: Sequence[SeqId], before: RunState) -> str:
    """ "A.1 and A.2 go on twice each", "A.0 goes on 3 times and A.3 once"."""
    by_times: dict[int, list[str]] = {}
    for parent, number in sorted(Counter(parents).items()):
        by_times.setdefault(number, []).append(beam_name(before, parent))
    parts: list[str] = []
    for number, names in sorted(by_times.items(), reverse=True):
        verb = "" if parts else ("goes on " if len(names) == 1 else "go on ")
        each = " each" if len(names) > 1 and number > 1 else ""
        parts.append(f"{some_of(names)} {verb}{times(number)}{each}")
    return joined(parts)


def times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number:,} times")


def beam_name(state: RunState, seq: SeqId) -> str:
    view = view_of(state, seq)
    return f"sequence {seq}" if view is None else called(f"{view.request}.{view.sample}")


# -- answers ---------------------------------------------------------------------------------------------


def ended(event: ev.HypothesisEnded, before: RunState, word: Word) -> str:
    view = view_of(before, event.seq)
    token = word(event.token).removeprefix("token ")
    text = f"{beam_name(before, event.seq)} with the end token {token} is a whole answer of "
    text += f"{counted(event.output_tokens, 'token')}: it "
    text += _scores(before, view, event.logprob, event.output_tokens)
    if event.kept:
        return f"{text} and is put aside"
    return f"{text} and is forgotten, as enough better ones are put aside"


def ranked(event: ev.AnswersRanked, before: RunState) -> str:
    size = min(map(len, event))
    if not size:
        return "a search is over without an answer"
    views = [view_of(before, seq) for seq in event.seqs]
    text = f"the search of {_whose(views)} is over: the best of its {counted(size, 'answer')} has "
    answers = list(zip(views, event.logprobs, event.output_tokens, strict=False))
    best, last = answers[0], answers[-1]
    text += f"{counted(best[2], 'token')} and {_scores(before, *best)}"
    return f"{text}; the last {_scores(before, *last)}" if size > 1 else text


def _scores(before: RunState, view: SequenceView | None, logprob: int, num_tokens: int) -> str:
    """ "scores -0.70 nats / 2 tokens = -0.35"."""
    asked = None if view is None else before.searches.get(view.request)
    if asked is None or asked.length_penalty is None:
        return f"has {nats(logprob)} in all"
    penalty = asked.length_penalty / 1e6
    if not penalty:
        return f"scores {nats(logprob)}, whatever its length"
    try:
        value = score(logprob, num_tokens, penalty)
    except (ArithmeticError, ValueError):
        return f"has {nats(logprob)} in all"
    power = "" if penalty == 1 else f" ** {penalty:g}"
    return f"scores {nats(logprob)} / {counted(num_tokens, 'token')}{power} = {value:.2f}"


def finished(event: ev.SequenceFinished, before: RunState, view: SequenceView) -> str:
    """How a beam ends that stands for an answer."""
    assert view.logprob is not None
    number = view.sample + 1
    place = f"{ordinal(number)} best" if number > 1 else "best"
    asked = before.searches.get(view.request)
    text = f"as the {place} answer ({nats(view.logprob)}): "
    if event.reason == "length":
        return f"{text}the search went on to the longest answers allowed"
    width = (
        "as many answers as it has beams" if asked is None else counted(asked.num_samples, "answer")
    )
    text += f"{width} had ended"
    why = "" if asked is None else WHY_OVER.get(asked.early_stopping, "")
    return f"{text}, and {why}" if why else text


def ordinal(number: int) -> str:
    """ "1st", "2nd", "3rd", "4th", "11th", "21st"."""
    teen = number // 10 % 10 == 1
    return f"{number}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def asked_for(event: ev.RequestArrived) -> str:
    penalty = 0 if event.length_penalty is None else event.length_penalty
    search = f"by beam search with {counted(event.num_samples, 'beam')}"
    return f", {search} and length penalty {penalty / MICRO_NATS_PER_NAT:g}"
