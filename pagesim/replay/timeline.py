"""What each sequence did in each step of a run: waited, computed its prompt, decoded, was preempted.

Knows nothing about drawing. Steps are counted from 0 in the log; a phase begins with the step that is
planned next.
"""

from array import array
from bisect import bisect_right
from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

from pagesim.core import events as ev
from pagesim.core.types import SeqId


class Phase(IntEnum):
    """What a sequence does; PREEMPTED is waiting after having run, SWAPPED that with its tokens on the host."""

    WAITING = 0
    PREFILL = 1
    DECODING = 2
    PREEMPTED = 3
    ENDED = 4
    SWAPPED = 5


class Span(NamedTuple):
    """Steps ``first`` up to, not including, ``stop`` in one phase."""

    first: int
    stop: int
    phase: Phase


_PHASES = 8  # an entry of a lane is step * 8 + phase


class TimelineFold:
    """Feed it every event of a run. A sequence costs a few integers; a step costs nothing but its time.

    ``names`` are the sequences' in order of submission; ``step_ends`` when each step ended, in nanoseconds (of
    one that failed, when the one before did).
    """

    def __init__(self) -> None:
        self.num_steps = 0
        self.names: dict[SeqId, str] = {}
        self.step_ends = array("q")
        self._lanes: dict[SeqId, array[int]] = {}
        self._prefilling: dict[SeqId, None] = {}
        self._swapped_prefills: dict[
            SeqId, None
        ] = {}  # they go on with their prompts when they return
        self._handlers: dict[type[ev.Event], Callable[..., None]] = {
            ev.RequestSubmitted: self._submitted,
            ev.SequenceAdmitted: self._admitted,
            ev.SequenceForked: self._forked,
            ev.SequencePreempted: self._preempted,
            ev.TableSwappedOut: self._swapped_out,
            ev.SequenceReturned: self._returned,
            ev.SequenceRequeued: self._requeued,
            ev.SequenceFinished: self._finished,
            ev.TokensSampled: self._sampled,
            ev.BeamsChosen: self._sampled,
            ev.StepPlanned: self._planned,
            ev.StepDone: self._done,
        }

    def apply(self, event: ev.Event) -> None:
        handler = self._handlers.get(type(event))
        if handler is not None:
            handler(event)

    # -- questions ---------------------------------------------------------------------------------------

    def spans(self, seq: SeqId) -> list[Span]:
        """What it did, in order, up to its end or the run's; nothing of a sequence that is not known."""
        lane = self._lanes.get(seq, ())
        found = []
        for at, entry in enumerate(lane):
            first, phase = divmod(entry, _PHASES)
            if phase == Phase.ENDED:
                break
            stop = lane[at + 1] // _PHASES if at + 1 < len(lane) else self.num_steps
            if stop > first:
                found.append(Span(first, stop, Phase(phase)))
        return found

    def phase(self, seq: SeqId, step: int) -> Phase | None:
        """What it did in a step; ``None`` before it came."""
        lane = self._lanes.get(seq, array("q"))
        at = bisect_right(lane, step * _PHASES + _PHASES - 1)
        return Phase(lane[at - 1] % _PHASES) if at else None

    def is_present(self, seq: SeqId, step: int) -> bool:
        """Had it come, and not ended?"""
        return self.phase(seq, step) not in (None, Phase.ENDED)

    # -- one small function an event kind ----------------------------------------------------------------

    def _enter(self, seq: SeqId, phase: Phase) -> None:
        lane = self._lanes[seq]
        if lane and lane[-1] // _PHASES == self.num_steps:
            lane.pop()  # it was that for no step
        if not lane or lane[-1] % _PHASES != phase:
            lane.append(self.num_steps * _PHASES + phase)

    def _submitted(self, event: ev.RequestSubmitted) -> None:
        self.names[event.seq] = (
            event.request if not event.sample else f"{event.request}.{event.sample}"
        )
        self._lanes[event.seq] = array("q")
        self._enter(event.seq, Phase.WAITING)

    def _admitted(self, event: ev.SequenceAdmitted) -> None:
        self._prefilling[event.seq] = None
        self._enter(event.seq, Phase.PREFILL)

    def _forked(self, event: ev.SequenceForked) -> None:
        self._enter(event.child, Phase.DECODING)

    def _swapped_out(self, event: ev.TableSwappedOut) -> None:
        self._enter(event.seq, Phase.SWAPPED)

    def _returned(self, event: ev.SequenceReturned) -> None:
        was_prefilling = event.seq in self._swapped_prefills
        self._swapped_prefills.pop(event.seq, None)
        if was_prefilling:
            self._prefilling[event.seq] = None
        self._enter(event.seq, Phase.PREFILL if was_prefilling else Phase.DECODING)

    def _preempted(self, event: ev.SequencePreempted) -> None:
        if event.seq in self._prefilling and event.way == "swap":
            self._swapped_prefills[event.seq] = None
        self._prefilling.pop(event.seq, None)
        self._enter(event.seq, Phase.PREEMPTED)

    def _requeued(self, event: ev.SequenceRequeued) -> None:
        self._prefilling.pop(event.seq, None)
        self._enter(event.seq, Phase.WAITING)

    def _finished(self, event: ev.SequenceFinished) -> None:
        self._prefilling.pop(event.seq, None)
        self._enter(event.seq, Phase.ENDED)

    def _sampled(self, event: ev.TokensSampled | ev.BeamsChosen) -> None:
        if self._prefilling:
            got = set(event.seqs)
            for seq in [seq for seq in self._prefilling if seq in got]:
                del self._prefilling[seq]
                self._enter(seq, Phase.DECODING)

    def _planned(self, _: ev.StepPlanned) -> None:
        self.num_steps += 1
        self.step_ends.append(self.step_ends[-1] if self.step_ends else 0)

    def _done(self, event: ev.StepDone) -> None:
        if self.step_ends:
            self.step_ends[-1] = event.time_ns
