"""What samples that belong together do after a step: samples fork, beams are re-pointed, answers are ranked.

The tables follow the tokens: a fork shares blocks (paged), or copies a slab (contiguous). Knows nothing about
how a step was decided.
"""

from collections.abc import Sequence
from itertools import groupby

from pagesim.core import beam
from pagesim.core import events as ev
from pagesim.core.beam import Candidate, Choice, Hypothesis
from pagesim.core.live import Live
from pagesim.core.sequence import FinishReason, SampleGroup, SequenceState, Status


def fork_samples(live: Live, sampling: Sequence[SequenceState]) -> list[SequenceState]:
    """Fork each leader whose prompt is computed; returns ``sampling`` with the children in its place."""
    result: list[SequenceState] = []
    for seq in sampling:
        if seq.group is None or (seq.group.forked and seq not in result):
            result.append(seq)
        elif not seq.group.forked:
            _join_running(live, seq, seq.group)
            for child in seq.group.members[1:]:
                fork(live, seq, child)
            result += seq.group.members
    return result


def fork(live: Live, parent: SequenceState, child: SequenceState) -> None:
    """``child`` becomes what ``parent`` is."""
    tokens = parent.num_computed
    granted = live.memory.fork(parent.seq, child.seq, tokens)
    assert granted is not None, (
        "a sharing memory never refuses; a copying one gave the child its memory before"
    )
    child.content = parent.content.forked()
    child.outputs = child.content.outputs
    child.num_tokens = parent.num_tokens
    live.context_tokens += tokens - child.num_computed
    child.num_computed = tokens
    child.writable = granted.child.writable
    parent.writable = granted.parent_writable
    live.pending_copies += granted.child.copies


def _join_running(live: Live, leader: SequenceState, group: SampleGroup) -> None:
    """The others take their seats beside their leader."""
    group.forked = True
    children = group.members[1:]
    live.num_unforked -= len(children)
    position = live.running.index(leader) + 1
    live.running[position:position] = children
    for child in children:
        child.status = Status.RUNNING


def advance_beams(
    live: Live, beams: Sequence[SequenceState], candidates: Sequence[Sequence[Candidate]]
) -> list[SequenceState]:
    """One step of each search; ``beams`` of one are side by side. Returns who ended."""
    finished: list[SequenceState] = []
    named = iter(candidates)
    for _, found in groupby(beams, key=lambda seq: id(seq.group)):
        group_beams = list(found)
        finished += _advance_search(live, group_beams, [next(named) for _ in group_beams])
    return finished


def _advance_search(
    live: Live, beams: Sequence[SequenceState], candidates: Sequence[Sequence[Candidate]]
) -> list[SequenceState]:
    group = beams[0].group
    assert group is not None
    request, members = beams[0].request, tuple(group.members)
    search, width, stops = request.beam, len(members), request.stop_ids
    assert search is not None
    chosen = beam.choose([seq.logprob for seq in beams], candidates, width, stops)
    _put_aside(live, group, beams, chosen.ended)
    num_outputs = beams[0].num_outputs + 1
    at_limit = beams[0].num_tokens + 1 >= beams[0].stop_at
    most_outputs = beams[0].stop_at - len(request.prompt)
    best = chosen.live[0].logprob
    done = beam.is_done(group.ended, width, best, num_outputs, most_outputs, search)
    _go_on(live, group, members, chosen.live)
    if not (at_limit or done):
        return []
    if at_limit:
        last = [Hypothesis(tuple(seq.outputs), seq.logprob) for seq in members]
        ranked = sorted(last, key=lambda answer: -answer.logprob)
        answers = (*group.ended, *ranked)
        group.ended = beam.keep_best(answers, width, search.length_penalty)
    reason = FinishReason.LENGTH if at_limit else FinishReason.STOP
    _rank(live, group, members)
    for seq in members:
        live.end(seq, reason)
    return list(members)


def _put_aside(
    live: Live, group: SampleGroup, beams: Sequence[SequenceState], ended: Sequence[Choice]
) -> None:
    """Answers that ended in this step are kept if they are among the best."""
    request = beams[0].request
    assert request.beam is not None
    for parent, token, logprob in ended:
        seq = beams[parent]
        answer = Hypothesis((*seq.outputs, token), logprob)
        answers = (*group.ended, answer)
        group.ended = beam.keep_best(answers, request.num_samples, request.beam.length_penalty)
        if live.emit is not None:
            kept = any(answer is best for best in group.ended)
            live.emit(ev.HypothesisEnded(seq.seq, token, len(answer.tokens), logprob, int(kept)))


def _go_on(
    live: Live, group: SampleGroup, members: Sequence[SequenceState], choices: Sequence[Choice]
) -> None:
    """Give each member its choice: dropped beams free their blocks, and forks of others take their place."""
    slots = beam.reassign([choice.parent for choice in choices], len(members))
    mine = [choices[slot] for slot in slots]
    if live.emit is not None:
        live.emit(
            ev.BeamsChosen(
                tuple([seq.seq for seq in members]),
                tuple([members[choice.parent].seq for choice in mine]),
                tuple([choice.token for choice in mine]),
                tuple([choice.logprob for choice in mine]),
            )
        )
    if not group.forked:
        _join_running(live, members[0], group)
    moves = [
        (members[choice.parent], seq)
        for seq, choice in zip(members, mine, strict=True)
        if members[choice.parent] is not seq
    ]
    if live.memory.can_share:
        for _, seq in moves:
            live.vacate(seq)
    for parent, seq in moves:
        fork(live, parent, seq)
    for seq, choice in zip(members, mine, strict=True):
        seq.outputs.append(choice.token)
        seq.num_tokens += 1
        seq.logprob = choice.logprob


def _rank(live: Live, group: SampleGroup, members: Sequence[SequenceState]) -> None:
    """The members now stand for the best answers, the first for the best."""
    for seq, answer in zip(members, group.ended, strict=True):
        seq.outputs[:] = answer.tokens
        seq.logprob = answer.logprob
    if live.emit is not None:
        live.emit(
            ev.AnswersRanked(
                tuple([seq.seq for seq in members]),
                tuple([len(answer.tokens) for answer in group.ended]),
                tuple([answer.logprob for answer in group.ended]),
            )
        )
