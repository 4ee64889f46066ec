"""Events and states as plain JSON values, as the player reads them.

An event is what it is in a log, an array that begins with its kind, but without the fields that no view looks at:
token ids above all, which would be most of a real engine's log. Knows nothing about files or pages.
"""

from collections.abc import Sequence

from pagesim.core import events as ev
from pagesim.core.types import BlockId
from pagesim.replay.explain import kind_of
from pagesim.replay.log import UnknownEvent
from pagesim.replay.phrases import size_of
from pagesim.replay.run_state import RunState, SequenceView

Plain = list[object]

SHOWN_FIELDS: dict[type[ev.Event], tuple[str, ...]] = {
    ev.RequestRefused: ("request",),  # its reason stands in the sentence
    ev.TokensSampled: ("seqs",),
    ev.BeamsChosen: ("seqs", "parents", "logprobs"),
    ev.HypothesisEnded: ("seq", "output_tokens", "logprob", "kept"),
}
"""Of these kinds, only these fields; of all others but arrivals, all."""


def plain_event(event: "ev.Event | UnknownEvent") -> Plain:
    """``["taken", 0, [7, 1], 32]``; of a prompt only its length, of a kind that is not known only its name."""
    kind = kind_of(event)
    if isinstance(event, UnknownEvent):
        return [kind]
    if isinstance(event, ev.RequestArrived):
        prompt, stop = size_of(event.prompt), event.early_stopping
        rest = [event.max_tokens, event.num_samples, event.length_penalty, stop]
        return [kind, event.request, event.time_ns, prompt, *rest]
    shown = SHOWN_FIELDS.get(type(event))
    values = event if shown is None else [getattr(event, name) for name in shown]
    return [kind, *map(_plain, values)]


def plain_state(state: RunState) -> dict[str, object]:
    """All facts of a state but of sequences that have ended."""
    planned = None if state.planned is None else plain_event(state.planned)
    return {
        "time_ns": state.time_ns,
        "step": state.step,
        "in_step": state.in_step,
        "waiting": state.waiting,
        "num_held": state.num_held,
        "num_host_held": state.num_host_held,
        "num_arrived": state.num_arrived,
        "num_refused": state.num_refused,
        "num_finished": state.num_finished,
        "num_preemptions": state.num_preemptions,
        "sequences": [_plain_view(view) for view in state.sequences.values()],
        "running": list(state.running),
        "ref_counts": sorted([block, count] for block, count in state.ref_counts.items()),
        "cached": list(state.cached),
        "planned": planned,
        "searches": [plain_event(arrival) for arrival in state.searches.values()],
        "moving": sorted(state.moving),
    }


def _plain_view(view: SequenceView) -> Plain:
    """In the order of the fields of the player's ``SequenceView``."""
    return [
        view.seq,
        view.request,
        view.sample,
        view.prompt_tokens,
        view.max_tokens,
        view.status,
        view.written,
        view.outputs,
        view.preemptions,
        view.wanted,
        _plain(view.table),
        view.logprob,
        view.follows,
        view.forked,
    ]


def _plain(value: "Sequence[BlockId] | object") -> object:
    if isinstance(value, range):
        return {"range": [value.start, value.stop]}
    return list(value) if isinstance(value, tuple | list) else value
