"""``player``: a run to step through in a notebook; or, where no widget can be had, a picture that Python moves.

Knows nothing about how a run is shown in a browser.
"""

import os
from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from pagesim.core.errors import InputError
from pagesim.notebook.pictures import moment_of
from pagesim.notebook.recordings import (
    Recording,
    Source,
    checked_place,
    place_of_step,
    recorded,
)
from pagesim.notebook.shown import Bundle, Shown
from pagesim.replay.cursor import Cursor
from pagesim.views.frame import Frame
from pagesim.web.bundle import Json, Window, page_payload, run_payload, usual_window

if TYPE_CHECKING:
    from pagesim.notebook.widget import PlayerWidget

STILL = "PAGESIM_STILL"
"""Set to 1, players are pictures: for notebooks that become HTML or PDF files, which run no widgets."""
HOW = "To step through it with buttons and keys: pip install 'pagesim[notebooks]'"
THEMES = (None, "light", "dark")
MOST_EVENTS = 50_000
"""What is longer is cut, and says so: all of it goes through the notebook's connection."""
LEAST_HEIGHT = 300


class Track:
    """One run's places: which step a place is in, and the place of a step. ``place`` counts events behind."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.cursor = Cursor.of_log(recording.log)
        self.window: Window = usual_window(self.cursor, MOST_EVENTS)

    def place_of(self, step: int) -> int:
        """Raises InputError where the player has no such step."""
        return self.checked(place_of_step(self.cursor, step, self.recording.name))

    def checked(self, place: int) -> int:
        """Raises InputError where the player has no such place."""
        checked_place(self.cursor, place, self.recording.name)
        first, stop = self.window
        if not first <= place <= stop:
            raise InputError(
                f"event {place:,} was asked for and this player holds events {first + 1:,} to {stop:,}; "
                "memory_map shows any"
            )
        return place

    def step_at(self, place: int) -> int | None:
        """The step planned last; ``None`` before the first."""
        number = bisect_right(self.cursor.step_places, place) - 1
        return None if number < 0 else number

    def payload(self) -> Json:
        return run_payload(self.recording.log, self.recording.name, window=self.window)

    def picture(self, place: int) -> Frame:
        self.cursor.seek(place)
        return Frame(moment_of(self.recording, self.cursor))


class StillPlayer:
    """A picture of the place, which Python moves: set ``step`` or ``event``, and display it again."""

    def __init__(self, tracks: Sequence[Track], place: int, closing: str = HOW) -> None:
        """``closing`` is said below the picture."""
        self._track, *self._others = tracks
        self._place = place
        self._closing = closing

    @property
    def event(self) -> int:
        """The number of events behind the place."""
        return self._place

    @event.setter
    def event(self, place: int) -> None:
        self._place = self._track.checked(place)

    @property
    def step(self) -> int | None:
        """The step planned last; ``None`` before the first."""
        return self._track.step_at(self._place)

    @step.setter
    def step(self, step: int) -> None:
        self._place = self._track.place_of(step)

    def shown(self) -> Shown:
        return still_picture([self._track, *self._others], self._place, self._closing)

    def __repr__(self) -> str:
        return repr(self.shown())

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Bundle:
        return self.shown()._repr_mimebundle_(include, exclude)


def still_picture(tracks: Sequence[Track], place: int, closing: str = "") -> Shown:
    """The first run at its place, any other at the same simulated time."""
    first, *others = tracks
    frames: list[RenderableType] = [first.picture(place)]
    for other in others:
        other.cursor.seek(other.cursor.num_events)
        end = other.cursor.state.time_ns
        other.cursor.seek_time(min(first.cursor.state.time_ns, end))
        frames += [Text(), other.picture(other.cursor.place)]
    title = " and ".join(track.recording.title for track in tracks)
    ending = [Text(), Text(closing, style="dim")] if closing else []
    return Shown(*frames, *ending, title=title)


def player(
    source: Source,
    other: Source | None = None,
    *more: Source,
    step: int | None = None,
    event: int | None = None,
    height: int = 640,
    theme: str | None = None,
    still: bool | None = None,
) -> "PlayerWidget | StillPlayer":
    """A run to step through, forward and back; with ``other``, two runs side by side, at the same simulated time.

    It begins at ``step`` or ``event``, else where the Walk or Cursor is that was given, else at the start. Its ``step``
    and ``event`` can be read and set. ``height`` in pixels; ``theme``: "light" or "dark", instead of the notebook's.
    ``still``: only a picture of the place, which survives any export; not said, PAGESIM_STILL=1 asks for it.
    """
    if more:
        raise InputError(f"{2 + len(more)} runs were given; a player shows one run or two")
    _refuse_looks(theme, height)
    if step is not None and event is not None:
        raise InputError(f"step {step} and event {event} were both given; leave one out")
    tracks = [Track(recorded(each)) for each in (source, other) if each is not None]
    place = _first_place(tracks[0], step, event)
    if still if still is not None else os.environ.get(STILL, "") not in ("", "0"):
        return StillPlayer(tracks, place, closing="")
    widget = _widget_class()
    if widget is None:
        return StillPlayer(tracks, place)
    return widget(tracks, place, height=height, theme=theme)


def _refuse_looks(theme: str | None, height: int) -> None:
    if theme not in THEMES:
        raise InputError(
            f"theme {theme!r} was given; it is 'light', 'dark' or None, the notebook's"
        )
    if height < LEAST_HEIGHT:
        raise InputError(
            f"a height of {height} was given; it must be {LEAST_HEIGHT} or more pixels"
        )


def _first_place(track: Track, step: int | None, event: int | None) -> int:
    """At this step or event; else where its giver was, if the player holds that; else at the start."""
    if step is not None:
        return track.place_of(step)
    if event is not None:
        return track.checked(event)
    asked, window = track.recording.place, track.window
    return asked if asked is not None and window.first <= asked <= window.stop else window.first


def payload_of(tracks: Sequence[Track]) -> Json:
    return page_payload([track.payload() for track in tracks])


def _widget_class() -> "type[PlayerWidget] | None":
    """``None`` where anywidget is not installed."""
    try:
        import anywidget  # noqa: F401
    except ImportError:
        return None
    from pagesim.notebook.widget import PlayerWidget

    return PlayerWidget
