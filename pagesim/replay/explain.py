"""Why it happened: one sentence an event, with its arithmetic, from the state just before it.

The same plain text in the terminal, the viewer and the web; knows nothing about how it is shown. What the
state does not tell (a log may begin in the middle) is left out of the sentence.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from pagesim.core import events as ev
from pagesim.replay import explain_beams as beams
from pagesim.replay import explain_memory as memory
from pagesim.replay import explain_requests as requests
from pagesim.replay import explain_swap as swap
from pagesim.replay import reasons
from pagesim.replay.log import LAW_BROKEN, REMARK, UnknownEvent
from pagesim.replay.phrases import be, counted, duration, joined, one_line, some_of, verb
from pagesim.replay.reasons import name_of, unit, view_of
from pagesim.replay.run_state import RunState

LABELS = {
    "arrived": "arrived",
    "abort_asked": "abort asked",
    "reset_asked": "reset asked",
    "submitted": "queued",
    "refused": "refused",
    "admitted": "admitted",
    "blocked": "blocked",
    "preempted": "preempted",
    "returned": "returned",
    "requeued": "requeued",
    "forked": "forked",
    "finished": "finished",
    "taken": "memory taken",
    "shared": "shared",
    "replaced": "copy-on-write",
    "moved": "slab moved",
    "swapped_out": "swapped out",
    "swapped_in": "swapped in",
    "freed": "memory freed",
    "evicted": "evicted",
    "published": "now findable",
    "withdrawn": "withdrawn",
    "copied": "copied",
    "cache_reset": "cache reset",
    "planned": "step planned",
    "done": "step done",
    "sampled": "sampled",
    "beams_chosen": "beams chosen",
    "hypothesis": "answer ended",
    "ranked": "ranked",
    "failed": "step failed",
    "clock": "clock moved",
    "ended": "run ended",
}
KIND_GROUPS: dict[str, tuple[str, ...]] = {  # what a person jumps to
    "preemption": ("preempted",),
    "copy": ("replaced", "copied", "moved"),
    "eviction": ("evicted",),
    "refusal": ("refused", "blocked"),
    "finish": ("finished",),
    "fork": ("forked",),
    "admission": ("admitted",),
    "swap": ("swapped_out", "swapped_in"),
    "beam": ("beams_chosen", "hypothesis", "ranked"),
}
_NAMES = {kind: name for name, kind in ev.KINDS.items()}


Explain = Callable[[ev.Event | UnknownEvent, RunState], str]


def explain(event: ev.Event | UnknownEvent, before: RunState, words: Sequence[str] = ()) -> str:
    """One sentence; ``before`` is the state without the event, and is not changed. ``words[i]`` is what token ``i``
    stands for, where that is known."""
    with_words = _WITH_WORDS.get(type(event))
    if with_words is not None:
        return one_line(with_words(event, before, partial(_word, words)))
    return one_line(_SENTENCES[type(event)](event, before))


def explainer(header: Mapping[str, object]) -> Explain:
    """``explain`` with the words that a log's header tells, if any."""
    words = header.get("words")
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        return explain
    return partial(explain, words=words)


def _word(words: Sequence[str], token: int) -> str:
    return f'"{words[token][:40]}"' if token < len(words) else f"token {token}"


def headline(event: ev.Event | UnknownEvent) -> str:
    """The event's kind in one to three words, for lists."""
    kind = kind_of(event)
    return LABELS.get(kind) or ("law broken" if kind == LAW_BROKEN else one_line(kind))


def is_between_steps(event: ev.Event | UnknownEvent, before: RunState) -> bool:
    """Does the event belong to no step: to the end of the last one, or to what comes before the next?"""
    return not (before.in_step or isinstance(event, ev.StepPlanned))


def kind_of(event: ev.Event | UnknownEvent) -> str:
    """The event's name in a log."""
    return event.kind if isinstance(event, UnknownEvent) else _NAMES[type(event)]


# -- steps -----------------------------------------------------------------------------------------------


def _planned(event: ev.StepPlanned, before: RunState) -> str:
    decodes = prefills = prefilled = 0
    for seq, count in zip(event.seqs, event.counts, strict=False):
        view = view_of(before, seq)
        if count == 1 and (view is None or (view.outputs and view.written + 1 >= view.tokens)):
            decodes += 1
        else:
            prefills += 1
            prefilled += count
    total, size = sum(event.counts), len(event.seqs)
    text = f"step {event.step} computes {counted(total, 'token')} of {counted(size, 'sequence')}"
    parts = []
    if decodes:
        parts.append(f"{decodes:,} {verb(decodes, 'decodes')}")
    if prefills:
        together = " together" if prefills > 1 else ""
        tokens = counted(prefilled, "token")
        parts.append(f"{prefills:,} {verb(prefills, 'prefills')} {tokens}{together}")
    text += f": {joined(parts)}" if parts else ""
    if event.waiting and reasons.swapped(before):
        text += f"; {swap.queue(before, event.waiting, blocked=bool(event.blocked))}"
    elif event.waiting:
        text += f"; {event.waiting:,} {verb(event.waiting, 'waits')} in the queue"
        first = "" if event.waiting == 1 else "the first "
        text += f", {first}for memory" if event.blocked else ""
    free = before.num_free
    return f"{text}; {counted(free, unit(before))} {be(free)} free"


def _done(event: ev.StepDone, before: RunState) -> str:
    text = f"step {event.step} took {duration(event.time_ns - before.time_ns)}"
    planned = before.planned
    if planned is not None and planned.step == event.step:
        text += f" for {counted(sum(planned.counts), 'token')}"
    return f"{text} and ends at {duration(event.time_ns)}"


def _sampled(event: ev.TokensSampled, before: RunState) -> str:
    size = len(event.seqs)
    later = "its K and V come with the step that reads it"
    names = some_of([name_of(before, seq) for seq in event.seqs])
    if size != 1:
        text = f"{counted(size, 'sequence')} get an output token each ({names})"
        return f"{text}; their K and V come with the step that reads them"
    view = view_of(before, event.seqs[0])
    if view is None:
        return f"{names} gets an output token; {later}"
    return f"{names} gets output token {view.outputs + 1:,} of at most {view.max_tokens:,}; {later}"


def _failed(event: ev.StepFailed, before: RunState) -> str:
    planned = before.planned
    if planned is None or planned.step != event.step:
        return f"step {event.step} failed: what it planned is undone"
    tokens = sum(planned.counts)
    of = counted(len(planned.seqs), "sequence")
    return f"step {event.step} failed: its {counted(tokens, 'token')} of {of} {be(tokens)} undone"


def _clock(event: ev.ClockAdvanced, before: RunState) -> str:
    idle, start, stop = event.time_ns - before.time_ns, before.time_ns, event.time_ns
    text = f"nothing can run for {duration(idle)}"
    return f"{text}: the clock moves from {duration(start)} to {duration(stop)}"


def _ended(event: ev.RunEnded, before: RunState) -> str:
    counts = [
        f"{counted(before.num_arrived, 'request')} arrived",
        f"{before.num_refused:,} {'was' if before.num_refused == 1 else 'were'} refused",
        f"{counted(before.num_finished, 'sequence')} ended",
    ]
    text = f"the run is over at {duration(event.time_ns)}: {joined(counts)}"
    return f"{text}, with {counted(before.num_preemptions, 'preemption')} on the way"


def _unknown(event: UnknownEvent, _: RunState) -> str:
    if event.kind == REMARK and event.fields:
        return str(event.fields[0])
    if event.kind == LAW_BROKEN and len(event.fields) == 2:
        return f"{event.fields[0]} is broken: {event.fields[1]}"
    fields = counted(len(event.fields), "field")
    return f"{event.kind}: a kind of event that this pagesim does not know, with {fields}"


_SENTENCES: dict[type[ev.Event] | type[UnknownEvent], Callable[..., str]] = {
    ev.RequestArrived: requests.arrived,
    ev.AbortAsked: requests.abort_asked,
    ev.ResetAsked: requests.reset_asked,
    ev.RequestSubmitted: requests.submitted,
    ev.RequestRefused: requests.refused,
    ev.SequenceAdmitted: requests.admitted,
    ev.AdmissionBlocked: requests.blocked,
    ev.SequencePreempted: requests.preempted,
    ev.SequenceReturned: swap.returned,
    ev.SequenceRequeued: requests.requeued,
    ev.SequenceForked: requests.forked,
    ev.SequenceFinished: requests.finished,
    ev.BlocksTaken: memory.taken,
    ev.BlocksShared: memory.shared,
    ev.BlockReplaced: memory.replaced,
    ev.RunMoved: memory.moved,
    ev.TableSwappedOut: swap.swapped_out,
    ev.TableSwappedIn: swap.swapped_in,
    ev.TableFreed: memory.freed,
    ev.BlockEvicted: memory.evicted,
    ev.BlocksPublished: memory.published,
    ev.BlocksWithdrawn: memory.withdrawn,
    ev.BlockCopied: memory.copied,
    ev.CacheReset: memory.cache_reset,
    ev.StepPlanned: _planned,
    ev.StepDone: _done,
    ev.TokensSampled: _sampled,
    ev.AnswersRanked: beams.ranked,
    ev.StepFailed: _failed,
    ev.ClockAdvanced: _clock,
    ev.RunEnded: _ended,
    UnknownEvent: _unknown,
}
_WITH_WORDS: dict[type[ev.Event] | type[UnknownEvent], Callable[..., str]] = {
    ev.BeamsChosen: beams.chosen,
    ev.HypothesisEnded: beams.ended,
}
