"""Time travel: a place in a run's events, and the run's state there.

Place ``i`` is the state after the first ``i`` events. Keyframes (copies of the state) are left behind as the
cursor goes forward, so that going back is a short fold from the nearest one. Knows nothing about how a state is
drawn.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

from pagesim.core import events as ev
from pagesim.core.errors import InputError
from pagesim.core.types import Geometry
from pagesim.replay.feeding import CONTRADICTIONS, contradiction
from pagesim.replay.log import LoggedEvents, RunLog, UnknownEvent, kind_prefix
from pagesim.replay.run_state import RunState

MOST_KEYFRAMES = 512
LEAST_INTERVAL = 128


class Cursor:
    """Moves over one run. ``place`` runs from 0 to ``num_events``; ``state`` must not be changed by callers.

    A *step's place* is just after its ``StepPlanned``: the memory is as it is while the step runs.
    """

    def __init__(self, geometry: Geometry, events: Sequence[ev.Event | UnknownEvent]) -> None:
        self.geometry = geometry
        self.events = events
        self.place = 0
        self.state = RunState(geometry)
        self._interval = max(LEAST_INTERVAL, -(-len(events) // MOST_KEYFRAMES))
        self._keyframes: dict[int, RunState] = {0: self.state.copy()}
        self._step_places: array[int] | None = None
        self._step_times: array[int] | None = None

    @classmethod
    def of_log(cls, log: RunLog) -> "Cursor":
        return cls(log.geometry, log.events)

    # -- questions ---------------------------------------------------------------------------------------

    @property
    def num_events(self) -> int:
        return len(self.events)

    @property
    def num_steps(self) -> int:
        return len(self.step_places)

    @property
    def event(self) -> "ev.Event | UnknownEvent | None":
        """The event that led here; ``None`` at the very start."""
        return self.events[self.place - 1] if self.place else None

    @property
    def step_number(self) -> int | None:
        """Which step, counted from 0 in this log, was planned last; ``None`` before the first."""
        number = bisect_right(self.step_places, self.place) - 1
        return None if number < 0 else number

    @property
    def step_places(self) -> "array[int]":
        """The place of each step, in order."""
        if self._step_places is None:
            found = self.places_of(("planned",))
            self._step_places = array("q", found)
        return self._step_places

    def places_of(self, kinds: Iterable[str]) -> list[int]:
        """All places just after an event of one of these kinds."""
        places: list[int] = []
        found = self._search(tuple(kinds), 0, self.num_events, 1)
        while found is not None:
            places.append(found + 1)
            found = self._search(tuple(kinds), found + 1, self.num_events, 1)
        return places

    def find_next(self, kinds: Iterable[str], seq: int | None = None) -> int | None:
        """The next place, after this one, just after an event of one of these kinds (of sequence ``seq``)."""
        found = self._search(tuple(kinds), self.place, self.num_events, 1)
        while found is not None and not concerns(self.events[found], seq):
            found = self._search(tuple(kinds), found + 1, self.num_events, 1)
        return None if found is None else found + 1

    def find_previous(self, kinds: Iterable[str], seq: int | None = None) -> int | None:
        """The last place before this one just after an event of one of these kinds (of sequence ``seq``)."""
        found = self._search(tuple(kinds), self.place - 2, -1, -1)
        while found is not None and not concerns(self.events[found], seq):
            found = self._search(tuple(kinds), found - 1, -1, -1)
        return None if found is None else found + 1

    def place_at_time(self, time_ns: int) -> int:
        """The place of the step that runs at ``time_ns`` (the last step, if the run is over by then)."""
        if not self.step_places:
            return self.num_events
        number = bisect_left(self._times(), time_ns)
        return self.step_places[min(number, self.num_steps - 1)]

    def state_before(self) -> RunState:
        """The state before the event that led here: what ``explain`` needs. The start's own at place 0."""
        return self._fold(max(self.place - 1, 0))

    # -- moves; each returns the new place ---------------------------------------------------------------

    def seek(self, place: int) -> int:
        """Go to a place; beyond the ends, to the end.

        Raises InputError, and stays where it is, where an event does not follow from those before it.
        """
        place = min(max(place, 0), self.num_events)
        if place < self.place or place - self.place > self._interval:
            self.state = self._fold(place)
        else:
            try:
                self._advance(self.state, self.place, place)
            except InputError:
                self.state = self._fold(self.place)
                raise
        self.place = place
        return place

    def move(self, events: int) -> int:
        """Forward, or with a negative number back, by so many events."""
        return self.seek(self.place + events)

    def move_steps(self, steps: int) -> int:
        """To the place of the step so many after (before) this one; beyond the last step, to the end."""
        places = self.step_places
        here = (
            bisect_right(places, self.place) - 1 if steps >= 0 else bisect_left(places, self.place)
        )
        number = here + steps
        if number < 0:
            return self.seek(0)
        return self.seek(places[number] if number < len(places) else self.num_events)

    def seek_step(self, number: int) -> int:
        """To a step's place, counted from 0; beyond the ends, to the first or last."""
        if not self.step_places:
            return self.seek(self.num_events)
        return self.seek(self.step_places[min(max(number, 0), self.num_steps - 1)])

    def seek_time(self, time_ns: int) -> int:
        return self.seek(self.place_at_time(time_ns))

    # -- parts -------------------------------------------------------------------------------------------

    def _fold(self, place: int) -> RunState:
        """A state of one's own at ``place``, from the nearest keyframe before it."""
        start = place // self._interval * self._interval
        while start not in self._keyframes:
            start -= self._interval
        state = self._keyframes[start].copy()
        self._advance(state, start, place)
        return state

    def _advance(self, state: RunState, start: int, stop: int) -> None:
        events, apply, interval = self.events, state.apply, self._interval
        position = start
        try:
            for position in range(start, stop):
                apply(events[position])  # type: ignore[arg-type]  # unknown kinds change nothing
                if (position + 1) % interval == 0 and position + 1 not in self._keyframes:
                    self._keyframes[position + 1] = state.copy()
        except CONTRADICTIONS:
            raise contradiction(position + 1) from None

    def _search(self, kinds: tuple[str, ...], start: int, stop: int, step: int) -> int | None:
        if isinstance(self.events, LoggedEvents):
            return self.events.find(tuple(kind_prefix(kind) for kind in kinds), start, stop, step)
        types = tuple(ev.KINDS[kind] for kind in kinds)
        for position in range(start, stop, step):
            if isinstance(self.events[position], types):
                return position
        return None

    def _times(self) -> "array[int]":
        """When each step ended; of a step that never did, when the one before it ended."""
        if self._step_times is None:
            times = array("q")
            for place in self.step_places:
                found = self._search(("done", "failed", "planned"), place, self.num_events, 1)
                done = None if found is None else self.events[found]
                last = times[-1] if times else 0
                times.append(done.time_ns if isinstance(done, ev.StepDone) else last)
            self._step_times = times
        return self._step_times


def concerns(event: "ev.Event | UnknownEvent", seq: int | None) -> bool:
    """Is the event about sequence ``seq``? Everything is about ``None``."""
    if seq is None:
        return True
    if isinstance(event, ev.SequenceForked):
        return seq in (event.parent, event.child)
    if isinstance(event, ev.StepPlanned | ev.TokensSampled | ev.BeamsChosen | ev.AnswersRanked):
        return seq in event.seqs
    return getattr(event, "seq", None) == seq
