"""One pass over a whole run, a slice at a time, that leaves behind what makes moving about in it quick.

It collects how much memory was held at each step, when time passed, and which events name a request or a
block; and its cursor leaves keyframes, so that places it has passed are reached in milliseconds. Knows nothing
about screens: somebody calls ``advance_for`` now and then until nothing is left.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from copy import copy
from heapq import merge
from itertools import chain
from time import perf_counter

from pagesim.core import events as ev
from pagesim.core.errors import InputError
from pagesim.core.types import BlockId, SeqId
from pagesim.replay.cursor import Cursor
from pagesim.replay.explain import KIND_GROUPS
from pagesim.replay.feeding import CONTRADICTIONS

SLICE = 256  # events between two looks at the watch


class Survey:
    """``place`` is how far it has come. All it tells holds for the events up to there.

    ``held`` and ``waiting`` have an entry for each step passed: blocks held while it ran, and sequences left in
    the queue. ``requests`` maps a request's name to its sequences, and
    ``names`` a sequence to its own, ``samples`` the other way round where a request has several (r1.0 is r1's
    first). ``end`` is the last place there is; should
    an event contradict those before it, that is where it ends, and ``fault`` is the sentence that says so.
    """

    def __init__(self, cursor: Cursor) -> None:
        """``cursor`` stands at the start; it shares the keyframes left behind here."""
        self._scout = copy(cursor)  # shallow: one set of keyframes and of step places for both
        self._scout.state = cursor.state.copy()
        self.end = cursor.num_events
        self.fault: str | None = None
        self.place = 0
        self.held = array("q")
        self.waiting = array("q")
        self.requests: dict[str, list[SeqId]] = {}
        self.names: dict[SeqId, str] = {}
        self.samples: dict[str, SeqId] = {}
        self._time_places = array(
            "q"
        )  # of the events that moved the clock, and where they moved it to
        self._times = array("q")
        self._of_kind = {ev.KINDS[kind]: array("q") for kind in chain(*KIND_GROUPS.values())}
        self._of_seq: dict[SeqId, array[int]] = {}
        self._of_request: dict[
            str, array[int]
        ] = {}  # arrivals and refusals, which have no sequence
        self._of_block: dict[BlockId, array[int]] = {}
        self._runs: list[tuple[int, range]] = []  # contiguous runs are not listed slot by slot

    @property
    def done(self) -> bool:
        return self.place == self.end

    def advance_for(self, seconds: float, until: int | None = None) -> None:
        """Go on for so long, or to the end, or until a place has been passed."""
        deadline = perf_counter() + seconds
        while self.place < (self.end if until is None else min(until, self.end)):
            start, stop = self.place, min(self.place + SLICE, self.end)
            try:
                self._advance(stop)
            except (InputError, *CONTRADICTIONS):
                self._stop_short(start, stop)
                return
            if perf_counter() > deadline:
                return

    def _stop_short(self, start: int, stop: int) -> None:
        """There is an event that does not follow from those before it: the run ends there."""
        walker = Cursor(self._scout.geometry, self._scout.events)
        walker.seek(start)
        self.place = self.end = start
        for place in range(start + 1, stop + 1):
            try:
                walker.seek(place)
            except InputError as error:
                self.fault = str(error)
                return
            self.place = self.end = place

    def place_at_time(self, time_ns: int) -> int | None:
        """The last place at which no more time than this has passed; ``None``: not known yet."""
        later = bisect_right(self._times, time_ns)
        if later < len(self._times):
            return self._time_places[later] - 1
        return self.end if self.done else None

    def nearest(self, kinds: Iterable[str], place: int, direction: int) -> int | None:
        """The next (previous) place after an event of a kind that people jump to."""
        found: list[int] = []
        for kind in kinds:
            places = self._of_kind[ev.KINDS[kind]]
            if direction > 0:
                found += places[bisect_right(places, place) :][:1]
            else:
                found += places[: bisect_left(places, place)][-1:]
        return min(found, default=None) if direction > 0 else max(found, default=None)

    def places_of_request(self, request: str) -> list[int]:
        """Places just after the events that name the request or one of its sequences; or of one sample (r1.2)."""
        parts = [self._of_seq[seq] for seq in self.sequences_of(request) if seq in self._of_seq]
        parts.append(self._of_request.get(request, array("q")))
        return list(dict.fromkeys(merge(*parts)))

    def sequences_of(self, name: str) -> list[SeqId]:
        """Those of a request, or the one that is the sample so called."""
        if name in self.requests:
            return self.requests[name]
        return [self.samples[name]] if name in self.samples else []

    def places_of_block(self, block: BlockId) -> list[int]:
        """Places just after the events that took, shared, replaced, copied, published, evicted or freed it."""
        runs = (place for place, run in self._runs if block in run)
        return list(dict.fromkeys(merge(self._of_block.get(block, ()), runs)))

    # -- parts -------------------------------------------------------------------------------------------

    def _advance(self, stop: int) -> None:
        of_kind = self._of_kind
        for place, event in enumerate(self._scout.events[self.place : stop], start=self.place + 1):
            kind = type(event)
            if kind in of_kind:
                of_kind[kind].append(place)
            handler = _HANDLERS.get(kind)
            if handler is not None:
                handler(self, place, event)
        self._scout.seek(stop)
        self.place = stop

    def _named(self, place: int, event: ev.RequestArrived | ev.RequestRefused) -> None:
        self._of_request.setdefault(event.request, array("q")).append(place)
        self.requests.setdefault(event.request, [])

    def _submitted(self, place: int, event: ev.RequestSubmitted) -> None:
        self.requests.setdefault(event.request, []).append(event.seq)
        self.names[event.seq] = f"{event.request}.{event.sample}" if event.sample else event.request
        self.samples[f"{event.request}.{event.sample}"] = event.seq
        self._about(place, event.seq)

    def _several(self, place: int, event: ev.BeamsChosen | ev.AnswersRanked) -> None:
        for seq in event.seqs:
            self._about(place, seq)

    def _swapped(self, place: int, event: ev.TableSwappedOut | ev.TableSwappedIn) -> None:
        self._about(place, event.seq)
        self._scout.seek(place - 1)
        view = self._scout.state.sequences.get(event.seq)
        self._touch(place, event.blocks if view is None else view.table)
        self._touch(place, event.blocks)

    def _sequence(self, place: int, event: ev.SequenceAdmitted) -> None:
        self._about(place, event.seq)

    def _forked(self, place: int, event: ev.SequenceForked) -> None:
        self._about(place, event.parent)
        self._about(place, event.child)

    def _blocks(self, place: int, event: ev.BlocksTaken) -> None:
        self._about(place, event.seq)
        self._touch(place, event.blocks)

    def _freed(self, place: int, event: ev.TableFreed) -> None:
        """Blocks that others list are not released; whoever looks at one wants to know all the same."""
        self._about(place, event.seq)
        self._scout.seek(place - 1)
        view = self._scout.state.sequences.get(event.seq)
        self._touch(place, event.released if view is None else view.table)

    def _replaced(self, place: int, event: ev.BlockReplaced) -> None:
        self._about(place, event.seq)
        self._touch(place, (event.old, event.new))

    def _moved(self, place: int, event: ev.RunMoved) -> None:
        self._about(place, event.seq)
        self._touch(place, event.old)
        self._touch(place, event.new)

    def _evicted(self, place: int, event: ev.BlockEvicted) -> None:
        self._touch(place, (event.block,))

    def _copied(self, place: int, event: ev.BlockCopied) -> None:
        self._touch(place, (event.source, event.target))

    def _planned(self, place: int, event: ev.StepPlanned) -> None:
        self._scout.seek(place)
        self.held.append(self._scout.state.num_held)
        self.waiting.append(event.waiting)

    def _clock(self, place: int, event: ev.StepDone | ev.ClockAdvanced | ev.RunEnded) -> None:
        if event.time_ns > (self._times[-1] if self._times else 0):
            self._time_places.append(place)
            self._times.append(event.time_ns)

    def _about(self, place: int, seq: SeqId) -> None:
        self._of_seq.setdefault(seq, array("q")).append(place)

    def _touch(self, place: int, blocks: "tuple[int, ...] | list[int] | range") -> None:
        if isinstance(blocks, range):
            self._runs.append((place, blocks))
            return
        known = self._of_block
        for block in blocks:
            places = known.get(block)
            if places is None:
                places = known[block] = array("q")
            places.append(place)


_HANDLERS: dict[type, Callable[..., None]] = {
    ev.RequestArrived: Survey._named,
    ev.RequestRefused: Survey._named,
    ev.RequestSubmitted: Survey._submitted,
    ev.SequenceAdmitted: Survey._sequence,
    ev.AdmissionBlocked: Survey._sequence,
    ev.SequencePreempted: Survey._sequence,
    ev.SequenceRequeued: Survey._sequence,
    ev.SequenceReturned: Survey._sequence,
    ev.SequenceForked: Survey._forked,
    ev.BeamsChosen: Survey._several,
    ev.HypothesisEnded: Survey._sequence,
    ev.AnswersRanked: Survey._several,
    ev.TableSwappedOut: Survey._swapped,
    ev.TableSwappedIn: Survey._swapped,
    ev.SequenceFinished: Survey._sequence,
    ev.BlocksTaken: Survey._blocks,
    ev.BlocksShared: Survey._blocks,
    ev.BlocksPublished: Survey._blocks,
    ev.BlocksWithdrawn: Survey._blocks,
    ev.BlockReplaced: Survey._replaced,
    ev.RunMoved: Survey._moved,
    ev.TableFreed: Survey._freed,
    ev.BlockEvicted: Survey._evicted,
    ev.BlockCopied: Survey._copied,
    ev.StepPlanned: Survey._planned,
    ev.StepDone: Survey._clock,
    ev.ClockAdvanced: Survey._clock,
    ev.RunEnded: Survey._clock,
}
