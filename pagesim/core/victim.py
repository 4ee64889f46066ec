"""Who gives its memory back when somebody cannot grow. Small pure functions; they know nothing about memory."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from pagesim.core.sequence import SequenceState


class Victim(NamedTuple):
    """``choose`` picks one of the running sequences, which are in order of admission; its whole group gives way.

    With ``spares_first`` it is not asked about the sequence that was admitted first (nor its group), as long as
    others run. That one can then always grow, so every run ends, whatever ``choose`` does. Only a choice that
    ranks sequences for life can do without.
    """

    name: str
    choose: Callable[[Sequence[SequenceState]], SequenceState]
    spares_first: bool = True


def _latest(running: Sequence[SequenceState]) -> SequenceState:
    return running[-1]


def _lowest_priority(running: Sequence[SequenceState]) -> SequenceState:
    return max(running, key=lambda seq: (seq.request.priority, seq.order))


def _least_progress(running: Sequence[SequenceState]) -> SequenceState:
    return max(running, key=lambda seq: (-seq.num_outputs, seq.order))


def _largest(running: Sequence[SequenceState]) -> SequenceState:
    return max(running, key=lambda seq: (sum(s.num_computed for s in seq.unit), seq.order))


LATEST = Victim("latest", _latest, spares_first=False)
LOWEST_PRIORITY = Victim("lowest-priority", _lowest_priority, spares_first=False)
LEAST_PROGRESS = Victim("least-progress", _least_progress)
LARGEST = Victim("largest", _largest)
VICTIMS = {victim.name: victim for victim in (LATEST, LEAST_PROGRESS, LOWEST_PRIORITY, LARGEST)}


def choose_victim(victim: Victim, running: Sequence[SequenceState]) -> SequenceState:
    """The one that gives way. ``running`` is not empty."""
    if victim is LATEST:
        return running[-1]
    candidates = running
    if victim.spares_first:
        first = running[0].unit
        candidates = [seq for seq in running if seq not in first] or running
    return victim.choose(candidates)
