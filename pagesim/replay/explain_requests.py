"""Sentences about requests and sequences: arrival, admission, preemption, fork, end.

Each function tells one event from the state before it. Knows nothing about steps, or who reads.
"""

from pagesim.core import events as ev
from pagesim.core.types import blocks_for
from pagesim.replay import explain_beams as beams
from pagesim.replay import explain_swap as swap
from pagesim.replay import reasons
from pagesim.replay.phrases import be, counted, duration, size_of, verb
from pagesim.replay.reasons import called, is_contiguous, name_of, unit, view_of
from pagesim.replay.run_state import RunState

NO_HOLE = "no hole of free slots is large enough"


def arrived(event: ev.RequestArrived, before: RunState) -> str:
    prompt = counted(size_of(event.prompt), "prompt token")
    text = f"request {event.request} arrives at {duration(event.time_ns)} with {prompt}"
    text += f" and asks for at most {event.max_tokens:,}"
    if event.length_penalty is not None:
        text += beams.asked_for(event)
    elif event.num_samples != 1:
        text += f" in each of {counted(event.num_samples, 'sample')}"
    late = before.time_ns - event.time_ns
    return f"{text}; it is met {duration(late)} later, between two steps" if late > 0 else text


def abort_asked(event: ev.AbortAsked, before: RunState) -> str:
    live = sum(view.request == event.request for view in before.sequences.values())
    text = f"at {duration(event.time_ns)} somebody asks to end request {event.request}"
    if not live:
        return f"{text}: it is not being served, so nothing happens"
    return f"{text}: {counted(live, 'sequence')} of it {verb(live, 'ends')}"


def reset_asked(event: ev.ResetAsked, before: RunState) -> str:
    text = f"at {duration(event.time_ns)} somebody asks to forget all cached content"
    held, noun = before.num_held, unit(before)
    if held:
        return f"{text}: {counted(held, noun)} {be(held)} held, so nothing is forgotten"
    return f"{text}: no {noun} is held, so nothing stands against it"


def submitted(event: ev.RequestSubmitted, before: RunState) -> str:
    name = called(event.request if not event.sample else f"{event.request}.{event.sample}")
    text = f"{name} joins the waiting queue with {counted(event.prompt_tokens, 'prompt token')}"
    text += f" and at most {event.max_tokens:,} to come"
    block_size = before.geometry.block_size
    if block_size == 1:
        return text
    first = blocks_for(event.prompt_tokens, block_size)
    most = event.prompt_tokens + event.max_tokens - 1  # the last token's K and V are never stored
    last = blocks_for(most, block_size)
    return f"{text}: {counted(first, 'block')} of {block_size:,} for the prompt, at most {last:,} in the end"


def refused(event: ev.RequestRefused, _: RunState) -> str:
    start = f"request {event.request} "
    reason = event.reason
    why = f"it {reason.removeprefix(start)}" if reason.startswith(start) else reason
    return f"{start}is refused: {why}"


def admitted(event: ev.SequenceAdmitted, before: RunState) -> str:
    view, cached = view_of(before, event.seq), event.cached_tokens
    text = f"{name_of(before, event.seq)} starts"
    if event.resumed:
        times = view.preemptions if view is not None else 0
        text = f"{name_of(before, event.seq)} comes back"
        text += f" after {counted(times, 'preemption')}" if times else ""
    text += f" with {counted(event.tokens, 'token')}"
    if view is not None and view.outputs:
        text += f" (prompt {view.prompt_tokens:,} + outputs {view.outputs:,})"
    left = event.tokens - cached
    if cached:
        found = "shared with its group" if reasons.is_forked_now(view) else "found in the cache"
        text += f": {cached:,} {found}, {left:,} left to compute"
    else:
        text += ", all to compute"
    if view is not None:
        noun, free = unit(before), before.num_free
        text += f"; it holds {counted(len(view.table), noun)}, and {free:,} {be(free)} free"
    return text


def blocked(event: ev.AdmissionBlocked, before: RunState) -> str:
    waiting = view_of(before, event.seq)
    if waiting is not None and waiting.status == "swapped":
        return swap.waits_to_return(event, before, waiting)
    text = f"{name_of(before, event.seq)} has to wait for memory: "
    free, keep = before.num_free, event.keep_free
    if is_contiguous(before):
        view = view_of(before, event.seq)
        wants = f"{counted(event.tokens, 'token')} now"
        if view is not None:
            wants += f", at most {view.prompt_tokens + view.max_tokens:,}"
        spare = f" with {keep:,} to stay free" if keep else ""
        return f"{text}{NO_HOLE} for what it reserves ({wants}){spare}; {_holes(before)}"
    block_size = before.geometry.block_size
    need, hits = blocks_for(event.tokens, block_size), event.cached_tokens // block_size
    total = max(need - hits, 0) + keep
    if not before.num_held and total <= free:
        all_free = counted(free, "slot" if block_size == 1 else "block")
        return (
            f"{text}its {counted(event.tokens, 'token')} do not fit, though all {all_free} are free"
        )
    text += f"its {counted(event.tokens, 'token')} {verb(event.tokens, 'needs')} {counted(need, 'block')}"
    text += f" - {hits:,} cached" if hits else ""
    others = 0 if waiting is None else reasons.blocks_of_others(before, waiting)
    if 0 < others <= keep:
        text += f" + {others:,} for its other samples"
        keep -= others
    text += f" + {keep:,} to stay free" if keep else ""
    text += f" = {total:,}" if total != need else ""
    text += f", and {free:,} {be(free)} free"
    if hits and total <= free:  # which of the cached ones are free, the event does not say
        text += f"; at least {free - total + 1:,} of the cached ones {be(free - total + 1)}"
        text += " among those, and to be taken, too"
    return text


def preempted(event: ev.SequencePreempted, before: RunState) -> str:
    view = view_of(before, event.seq)
    text = name_of(before, event.seq)
    if view is not None and reasons.is_last_admitted(before, view):
        text += ", admitted last,"
    return f"{text} is preempted: {_why_preempted(event, before)}; {swap.fate(event, before)}"


def _why_preempted(event: ev.SequencePreempted, before: RunState) -> str:
    if not event.to and victim_on_host(event, before):
        return "the step that copied it to the host failed, so it has to recompute"
    if not event.to:
        return "copies of the step that failed cannot be made again, so it has to recompute"
    by, victim = view_of(before, event.by), view_of(before, event.seq)
    who = "it" if event.by == event.seq else name_of(before, event.by)
    wish = f"{who} has to grow to {counted(event.to, 'token')}"
    if by is None:
        return wish
    if by.status != "running" or (event.way == "swap" and swap.is_with_its_group(event, before)):
        return "it gives way with the rest of its group"
    free = before.num_free
    free_are = f"{free:,} {be(free)} free"
    need = reasons.blocks_to_grow(before, by, event.to)
    if need > free and not isinstance(by.table, range):
        copy = ", one of them for a copy," if reasons.shares_tail(before, by) else ""
        held = counted(len(by.table), "block")
        return f"{wish}, holds {held} and needs {need:,} more{copy} but {free_are}"
    if victim is not None and any(
        view.status == "waiting" for view in reasons.siblings(before, victim)
    ):
        return f"it gives way with the rest of its group, so that {who} can grow"
    group = [by, *(v for v in reasons.siblings(before, by) if v.status == "running")]
    together = f"{who} and its other samples grow together" if len(group) > 1 else wish
    if isinstance(by.table, range):
        if event.to > len(by.table):
            run = counted(len(by.table), "slot")
            return f"{wish}, it has {run} in one piece, and {NO_HOLE} for that ({_holes(before)})"
        return f"{together}, and {NO_HOLE} for one that outgrew its slots ({_holes(before)})"
    need = sum(reasons.blocks_to_grow(before, view, view.tokens) for view in group)
    if need > free:
        return f"{together} and need {need:,} more blocks but {free_are}"
    return f"{together}, and {free_are}, which is not enough"


def victim_on_host(event: ev.SequencePreempted, before: RunState) -> bool:
    view = view_of(before, event.seq)
    return view is not None and view.status == "swapped"


def requeued(event: ev.SequenceRequeued, before: RunState) -> str:
    name = name_of(before, event.seq)
    return f"{name} waits again, with nothing computed: the step that admitted it failed"


def forked(event: ev.SequenceForked, before: RunState) -> str:
    parent, tokens = name_of(before, event.parent), event.tokens
    child, first = name_of(before, event.child), f"the first {counted(tokens, 'token')}"
    text = f"{child} starts from {first} of {parent}"
    if event.child in before.moving:
        text = f"{child} starts, as chosen, from {first} of {parent}"
        if event.child in before.running:  # it was dropped
            text = (
                f"the place of {child} goes, as chosen, to a fork of {parent} with its {first[4:]}"
            )
    if is_contiguous(before):
        slots = counted(tokens, "slot")
        return f"{text}: contiguous memory cannot share, so {slots} {be(tokens)} copied"
    block_size = before.geometry.block_size
    shared, rest = blocks_for(tokens, block_size), tokens % block_size
    text += f": {counted(shared, 'block')} shared, none copied"
    if rest:
        text += f" until somebody writes on in the last one, {rest:,} of whose {block_size:,} slots are written"
    return text


def finished(event: ev.SequenceFinished, before: RunState) -> str:
    view, outputs = view_of(before, event.seq), event.output_tokens
    text = f"{name_of(before, event.seq)} ends with {counted(outputs, 'output token')}: "
    if view is not None and view.logprob is not None and event.reason != "abort":
        text = f"{text[:-2]}, {beams.finished(event, before, view)}"
    elif event.reason == "length" and view is not None and outputs != view.max_tokens:
        text += f"its {view.prompt_tokens + outputs:,} tokens are as many as the model allows"
    else:
        text += _REASONS.get(event.reason, event.reason)
    if view is not None and view.preemptions:
        times = "once" if view.preemptions == 1 else f"{view.preemptions:,} times"
        text += f"; it was preempted {times}"
    return text


_REASONS = {
    "length": "that is all it asked for",
    "stop": "the last is one it stops at",
    "abort": "it was aborted",
}


def _holes(before: RunState) -> str:
    sizes = reasons.holes(before)
    if not sizes:
        return "no slot is free"
    free = before.num_free
    return f"{counted(free, 'slot')} {be(free)} free, in {counted(len(sizes), 'hole')}, the largest of {max(sizes):,}"
