"""One log that is being looked at: where one stands in it, whom one follows, which block is inspected.

Questions say where a key would lead; ``go`` goes there. Knows nothing about screens or keys.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from copy import copy
from time import perf_counter

from pagesim.core.types import BlockId, SeqId
from pagesim.replay.cursor import Cursor
from pagesim.replay.explain import KIND_GROUPS, explainer, headline, is_between_steps
from pagesim.replay.log import LoggedEvents, RunLog, kind_prefix
from pagesim.replay.logged_fault import logged_fault
from pagesim.replay.run_state import RunState
from pagesim.replay.state_laws import Verdict, state_verdicts
from pagesim.tui.survey import Survey
from pagesim.views.event_list import EventLine
from pagesim.views.frame import Moment, moment_at

QUICK_S = 0.05  # a move that takes longer is made bit by bit, with a note


class ViewedRun:
    """``request`` (or a sample of one) is whom one follows, ``block`` the block that is inspected; ``None``:
    nobody, none."""

    def __init__(self, name: str, log: RunLog) -> None:
        self.name = name
        self.log = log
        self.cursor = Cursor.of_log(log)
        self.survey = Survey(self.cursor)
        self.request: str | None = None
        self.block: BlockId | None = None
        self._explain = explainer(log.header)
        self._fault = logged_fault(log)
        self._moment: Moment | None = None
        self._lines: dict[int, EventLine] = {}

    @property
    def place(self) -> int:
        return self.cursor.place

    # -- where keys lead; None: nowhere ------------------------------------------------------------------

    def event_place(self, direction: int) -> int | None:
        """The next event's place or the one before; with a request, only its events count."""
        if self.request is not None:
            return self._own_place(direction, None)
        place = self.place + direction
        return place if 0 <= place <= self.survey.end else None

    def step_place(self, steps: int) -> int:
        """The place of the step so many after (before) this one; beyond the last, the end."""
        places, place = self.cursor.step_places, self.place
        here = bisect_right(places, place) - 1 if steps >= 0 else bisect_left(places, place)
        number = here + steps
        if number < 0:
            return 0
        return min(places[number] if number < len(places) else self.survey.end, self.survey.end)

    def jump_place(self, group: str, direction: int) -> int | None:
        """The next (previous) place after an event of a group of kinds."""
        kinds = KIND_GROUPS[group]
        if self.request is not None:
            return self._own_place(direction, kinds)
        found = self.survey.nearest(kinds, self.place, direction)
        if found is None and direction > 0 and not self.survey.done:
            found = self.cursor.find_next(kinds)
        return found if found is None or found <= self.survey.end else None

    def _own_place(self, direction: int, kinds: Sequence[str] | None) -> int | None:
        assert self.request is not None
        places = self.survey.places_of_request(self.request)
        if direction > 0:
            ahead = places[bisect_right(places, self.place) :]
        else:
            ahead = places[: bisect_left(places, self.place)][::-1]
        if kinds is None:
            return next(iter(ahead), None)
        prefixes = [kind_prefix(kind) for kind in kinds]
        events = self.cursor.events
        assert isinstance(events, LoggedEvents)
        for place in ahead:
            if any(events.starts_with(place - 1, prefix) for prefix in prefixes):
                return place
        return None

    # -- moves -------------------------------------------------------------------------------------------

    def go(self, place: int) -> bool:
        """Go there, if that is quick; else ``False``, and the survey has come a bit nearer."""
        if place > self.survey.place:
            self.survey.advance_for(QUICK_S, place)
        place = min(place, self.survey.end)
        if place > self.survey.place:
            return False
        self.cursor.seek(place)
        return True

    # -- what there is to see ----------------------------------------------------------------------------

    def moment(self) -> Moment:
        if self._moment is None or self._moment.place != self.place:
            self._moment = moment_at(self.cursor, self.name, self._explain, fault=self._fault)
        return self._moment

    def verdicts(self) -> tuple[Verdict, ...]:
        return state_verdicts(self.cursor.state, self.cursor.state_before())

    def focus(self) -> SeqId | None:
        """A sequence of the request one follows: a running one, if there is one."""
        if self.request is None:
            return None
        seqs = self.survey.sequences_of(self.request)
        state = self.cursor.state
        running = [seq for seq in seqs if seq in state.running]
        present = [seq for seq in seqs if seq in state.sequences]
        return next(iter([*running, *present, *seqs]), None)

    def step_at(self, place: int) -> int | None:
        number = bisect_right(self.cursor.step_places, place) - 1
        return None if number < 0 else number

    def places_around(self, rows: int) -> list[int]:
        """So many places, of all events or of the request's, with this one near their middle."""
        if self.request is None:
            first = max(min(self.place - rows // 2, self.survey.end - rows + 1), 1)
            return list(range(first, min(first + rows, self.survey.end + 1)))
        places = self.survey.places_of_request(self.request)
        at = bisect_right(places, self.place)
        first = max(min(at - rows // 2 - 1, len(places) - rows), 0)
        return places[first : first + rows]

    def event_lines(self, rows: int) -> list[EventLine]:
        """Lines for the events around this place that have been reached."""
        places = [place for place in self.places_around(rows) if place <= self.survey.place]
        missing = [place for place in places if place not in self._lines]
        if missing:
            if len(self._lines) > 10_000:
                self._lines.clear()
            walker = copy(self.cursor)  # shares keyframes, not the state
            walker.state = self.cursor.state.copy()
            deadline = perf_counter() + QUICK_S
            if (
                self.request is not None
            ):  # far apart: what is near first, the rest when there is time
                missing.sort(key=lambda place: (abs(place - self.place), place))
            for place in missing:
                walker.seek(place - 1)
                self._lines[place] = self._line(place, walker.state)
                if perf_counter() > deadline:
                    break
        return [self._lines.get(place) or self._short_line(place) for place in places]

    def _short_line(self, place: int) -> EventLine:
        event = self.cursor.events[place - 1]
        return EventLine(place, self.step_at(place), headline(event), "...")

    def _line(self, place: int, before: RunState) -> EventLine:
        event = self.cursor.events[place - 1]
        step = self.step_at(place)
        between = is_between_steps(event, before)
        return EventLine(place, step, headline(event), self._explain(event, before), between)
