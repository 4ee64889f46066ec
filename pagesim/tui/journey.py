"""The runs that are looked at, and moves through them: the active one moves, the other keeps to its time.

A move that needs a look at much of a log is made bit by bit: ``work`` is called again and again until it is
done, and ``note`` says how far it is. Knows nothing about screens.
"""

from collections.abc import Sequence

from pagesim.core.errors import InputError
from pagesim.tui.typed import request_typed
from pagesim.tui.viewed import QUICK_S, ViewedRun

SLICE_S, WAIT_SLICE_S = (
    0.012,
    0.06,
)  # of a survey: behind everything else, and where somebody waits for it


class Journey:
    """``note`` is what there is to say about the last move; ``active`` the number of the run that moves."""

    def __init__(self, runs: Sequence[ViewedRun]) -> None:
        self.runs = list(runs)
        self.active = 0
        self.note = ""
        self._target: int | None = None  # where the active run is on its way to
        self._sought: str | None = None  # the beginning of a name that the survey has yet to find
        self._late = False  # the other run is not yet at the same time

    @property
    def run(self) -> ViewedRun:
        """The active one."""
        return self.runs[self.active]

    @property
    def waits(self) -> bool:
        """Is a move or a search going on?"""
        return self._target is not None or self._sought is not None

    @property
    def surveyed(self) -> bool:
        return all(run.survey.done for run in self.runs)

    def go(self, place: int, note: str = "") -> None:
        """Move the active run to a place, at once or, where that takes long, bit by bit."""
        self._target, self.note = None, note
        if not self.run.go(place):
            self._target = place
            self._tell_the_way(place)
        self._follow(QUICK_S)

    def follow_request(self, beginning: str) -> None:
        """Only the events of the request so called count from now on. Raises InputError if there is none."""
        found = request_typed(self.run, beginning)
        if found is None:
            self._sought = beginning
            share = 100 * self.run.survey.place / max(self.run.survey.end, 1)
            self.note = (
                f"looking for a request that begins with {beginning!r}: {share:.0f} %; Esc stops"
            )
            return
        self._sought = None
        self.run.request = found
        self.note = f"following {found}; Esc follows all again"

    def switch(self, number: int) -> None:
        """Another run becomes the active one; nothing moves."""
        if number != self.active:
            self.stop()
            self.active = number

    def stop(self) -> None:
        """Give up a move or a search that is going on."""
        self._target = self._sought = None
        self.note = ""

    def work(self) -> bool:
        """Look on through the runs for a moment. ``True``: something moved or was found."""
        for run in self.runs:
            run.survey.advance_for(WAIT_SLICE_S if self.waits else SLICE_S)
        if self._target is not None:
            survey = self.run.survey
            if survey.place < min(self._target, survey.end):
                self._tell_the_way(self._target)
                return False
            self.go(self._target)
            return True
        if self._sought is not None:
            try:
                self.follow_request(self._sought)
            except InputError as error:
                self.stop()
                self.note = str(error)
            return self._sought is None
        if self._late:
            self._follow(0)
            return not self._late
        return False

    def _follow(self, seconds: float) -> None:
        """Take the other run to the same simulated time, if that is known by then."""
        time_ns = self.run.cursor.state.time_ns
        for run in self.runs:
            if run is self.run:
                continue
            place = run.survey.place_at_time(time_ns)
            if place is None and seconds and self._target is None:
                run.survey.advance_for(seconds)
                place = run.survey.place_at_time(time_ns)
            was_late, self._late = self._late, place is None
            if place is None:
                run.cursor.seek(run.survey.place)
                self.note = f"{run.name} is on its way to the same time"
            else:
                run.cursor.seek(place)
                self.note = "" if was_late else self.note

    def _tell_the_way(self, place: int) -> None:
        survey = self.run.survey
        share = 100 * survey.place / max(min(place, survey.end), 1)
        self.note = f"going to event {place:,}: {share:.0f} % of the way; Esc stops"
