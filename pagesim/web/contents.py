"""What a page knows of a run before it looks at any event: where its steps, jumps and requests are.

One pass over the events. Lists of places rise, so that they pack well as differences. Knows nothing about pages.
"""

from array import array
from collections.abc import Iterable

from pagesim.core import events as ev
from pagesim.core.types import SeqId
from pagesim.replay.explain import KIND_GROUPS, kind_of
from pagesim.replay.log import UnknownEvent

GROUP_OF = {kind: group for group, kinds in KIND_GROUPS.items() for kind in kinds}


class Contents:
    """Told every event with its place. ``of_seq`` and ``of_request`` are places of events that name a sequence, or
    a request that has none yet; ``times`` the places at which the clock moved, and where to."""

    def __init__(self) -> None:
        self.steps = array("q")
        self.jumps: dict[str, list[int]] = {group: [] for group in KIND_GROUPS}
        self.time_places = array("q")
        self.times = array("q")
        self.of_seq: dict[SeqId, array[int]] = {}
        self.of_request: dict[str, array[int]] = {}
        self.sequences: dict[SeqId, tuple[str, int]] = {}

    def add(self, place: int, event: "ev.Event | UnknownEvent") -> None:
        group = GROUP_OF.get(kind_of(event))
        if group is not None:
            self.jumps[group].append(place)
        match event:
            case ev.StepPlanned():
                self.steps.append(place)
            case ev.StepDone() | ev.ClockAdvanced() | ev.RunEnded():
                self._clock(place, event.time_ns)
            case ev.RequestArrived() | ev.RequestRefused():
                self.of_request.setdefault(event.request, array("q")).append(place)
            case ev.RequestSubmitted():
                self.know(event.seq, event.request, event.sample)
                self._about(place, (event.seq,))
            case ev.TokensSampled():
                pass  # nearly every step names nearly everybody
            case _:
                self._about(place, named_by(event))

    def know(self, seq: SeqId, request: str, sample: int) -> None:
        """Whose sample a sequence is."""
        self.sequences[seq] = (request, sample)

    def _clock(self, place: int, time_ns: int) -> None:
        if time_ns > (self.times[-1] if self.times else 0):
            self.time_places.append(place)
            self.times.append(time_ns)

    def _about(self, place: int, seqs: Iterable[SeqId]) -> None:
        for seq in seqs:
            self.of_seq.setdefault(seq, array("q")).append(place)


def named_by(event: "ev.Event | UnknownEvent") -> tuple[SeqId, ...]:
    """The sequences that an event is about, but for steps and samplings."""
    if isinstance(event, ev.SequenceForked):
        return (event.parent, event.child)
    if isinstance(event, ev.BeamsChosen | ev.AnswersRanked):
        return event.seqs
    seq = getattr(event, "seq", None)
    return () if seq is None else (seq,)
