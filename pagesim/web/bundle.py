"""A recorded run packed for the player: what to say of it, an index, and its events in compressed chunks.

The browser unpacks a chunk when somebody goes there, and makes its keyframes itself. Sentences are made here, by
``explain``, so that browser and terminal say the same. A run of more events than a page is to hold is cut to a
window of them, with the state in which that begins. Knows nothing about HTML.
"""

import json
import zlib
from array import array
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from pagesim.core import events as ev
from pagesim.core.errors import InputError
from pagesim.core.types import Geometry
from pagesim.replay.cursor import Cursor
from pagesim.replay.explain import KIND_GROUPS, LABELS, explainer, is_between_steps
from pagesim.replay.feeding import CONTRADICTIONS, contradiction
from pagesim.replay.free_queue import queue_of_header
from pagesim.replay.log import LoggedEvents, RunLog, UnknownEvent, encode, log_header
from pagesim.replay.report import mean_window, was_saturated
from pagesim.replay.run_state import RunState
from pagesim.replay.timeline import Phase, TimelineFold
from pagesim.replay.waste import KINDS as WASTE_KINDS
from pagesim.replay.waste import WasteMeter
from pagesim.views.palette import KINDS, LETTERS, OWNER_COLORS
from pagesim.web.contents import Contents
from pagesim.web.plain import Plain, plain_event, plain_state

VERSION = 1
MOST_EVENTS = 100_000
CHUNK = 1024
LONGEST_SENTENCE = 2_000
MOST_QUEUED = 65_536  # blocks, of whose order a page tells
LARGEST = 2**53  # whole numbers of JavaScript

Json = dict[str, object]
Event = ev.Event | UnknownEvent
Progress = Callable[[int], None]
"""Told now and then how many events have been packed."""


class Window(NamedTuple):
    """Events ``first`` + 1 to ``stop`` of a run: places from ``first`` to ``stop``."""

    first: int
    stop: int


def run_payload(
    log: RunLog,
    name: str,
    *,
    title: str = "",
    window: Window | None = None,
    progress: Progress | None = None,
) -> Json:
    """The run for the player, as JSON values. ``name`` is what it is called, ``title`` more of what it is.

    All of it, or the events of ``window``. What an event contradicts ends the run there, and ``notes`` say so. Raises
    InputError if the window lies wholly behind that.
    """
    return _Packing(log, window or Window(0, len(log.events)), progress).payload(name, title)


def log_in_memory(geometry: Geometry, events: Iterable[ev.Event], **facts: object) -> RunLog:
    """Events that a listener kept, as a log that was never a file. ``facts`` are those of a log's header."""
    header: Json = json.loads(json.dumps(log_header(geometry, **facts)))
    return RunLog(header, geometry, LoggedEvents("the run", [encode(e).encode() for e in events]))


def page_payload(runs: Sequence[Json]) -> Json:
    """One or more runs, and what all pages share: names of kinds, letters and colours."""
    return {
        "pagesim_page": VERSION,
        "runs": list(runs),
        "groups": list(KIND_GROUPS),
        "labels": dict(LABELS),
        "letters": LETTERS,
        "owner_colors": list(OWNER_COLORS),
        "kinds": [[kind.name, kind.color, kind.meaning] for kind in KINDS],
        "phases": {phase.name.lower(): phase.value for phase in Phase},
    }


def usual_window(cursor: Cursor, most: int = MOST_EVENTS) -> Window:
    """All of the run if it has at most so many events. Else its start, or where the first preemption comes later than
    that, the steps around it."""
    if cursor.num_events <= most:
        return Window(0, cursor.num_events)
    cursor.seek(0)
    struck = cursor.find_next(("preempted",))
    if struck is None or struck <= 3 * most // 4:
        return Window(0, most)
    before = [place for place in cursor.step_places if place <= struck - most // 4]
    first = before[-1] - 1 if before else 0
    return Window(first, min(first + most, cursor.num_events))


def window_of_steps(cursor: Cursor, first: int, last: int | None, most: int) -> Window:
    """The events of steps ``first`` to ``last`` (to the end), or as many as a page is to hold. Raises InputError
    for steps that are not there."""
    number = cursor.num_steps
    if not 0 <= first < number or (last is not None and not first <= last < number):
        steps = f"{first:,}" if last is None else f"{first:,} to {last:,}"
        there = f"steps 0 to {number - 1:,}" if number else "no steps"
        raise InputError(f"steps from {steps} were asked for and the log has {there}")
    places = cursor.step_places
    start = places[first] - 1 if first else 0
    stop = cursor.num_events if last is None or last + 1 == number else places[last + 1] - 1
    return Window(start, min(stop, start + most))


class _Packing:
    """One pass over a run; then the payload."""

    def __init__(self, log: RunLog, window: Window, progress: Progress | None = None) -> None:
        if log.geometry.num_blocks_in_all * log.geometry.block_size > LARGEST:
            raise InputError(
                f"this log's memory has more than {LARGEST:,} slots, and a browser cannot count so far; record the "
                "run again"
            )
        self.log = log
        self.geometry: Geometry = log.geometry
        self.state = RunState(log.geometry)
        self.meter = WasteMeter(log.geometry)
        self.timeline = TimelineFold()
        small = log.geometry.num_blocks <= MOST_QUEUED
        self.queue = queue_of_header(log.header, log.geometry) if small else None
        self.free_blocks: list[int] = []
        self.contents = Contents()
        self.arrival_times: set[int] = set()
        self.waiting = array("q")  # requests in each step
        self.start: Json = {}
        self.first_step = 0
        self.first, self.stop = window
        self.fault: InputError | None = None
        self.events: list[Plain] = []
        self.sentences: list[str] = []
        self.between: list[int] = []
        self._explain = explainer(log.header)
        self._progress = progress
        self._go_through()

    def _go_through(self) -> None:
        """Events behind the window are looked at, too: what memory is wasted for shows in hindsight."""
        place = 0
        if not self.first:
            self._begin()
        try:
            for place, event in enumerate(self.log.events, start=1):
                is_in = self.first < place <= self.stop
                if is_in:
                    sentence = self._explain(event, self.state)[:LONGEST_SENTENCE]
                    between = int(is_between_steps(event, self.state))
                for fold in (self.state, self.meter, self.timeline):
                    fold.apply(event)  # type: ignore[arg-type]  # unknown kinds change nothing
                self._count(event)
                self._queue(event)
                if is_in:
                    self.contents.add(place, event)
                    self.events.append(plain_event(event))
                    self.sentences.append(sentence)
                    self.between.append(between)
                if place == self.first:
                    self._begin()
                if self._progress is not None and not place % CHUNK:
                    self._progress(place)
        except CONTRADICTIONS:
            self._end_before(place)
        self.stop = self.first + len(self.events)

    def _count(self, event: Event) -> None:
        """What says over which steps means are taken."""
        if isinstance(event, ev.RequestArrived):
            self.arrival_times.add(event.time_ns)
        elif isinstance(event, ev.StepPlanned):
            self.waiting.append(event.waiting)

    def _queue(self, event: Event) -> None:
        """Where events do not fit the queue that the header tells of, nothing is said of it."""
        if self.queue is None:
            return
        try:
            self.queue.apply(event)  # type: ignore[arg-type]
        except CONTRADICTIONS:
            self.queue = None

    def _begin(self) -> None:
        """The window begins here."""
        if self.queue is not None:
            self.free_blocks = self.queue.blocks
        self.start = plain_state(self.state)
        self.first_step = self.timeline.num_steps
        for view in self.state.sequences.values():
            self.contents.know(view.seq, view.request, view.sample)

    def _end_before(self, place: int) -> None:
        """Event ``place`` contradicts those before it."""
        self.fault = contradiction(place)
        if place <= self.first:
            raise self.fault from None

    # -- the payload -------------------------------------------------------------------------------------

    def payload(self, name: str, title: str) -> Json:
        header, total = self.log.header, len(self.log.events)
        return {
            "name": name,
            "title": title or told(header, "title"),
            "allocator": told(header, "allocator"),
            "command": told(header, "command"),
            "look_for": told(header, "look_for"),
            "findable": any(event[0] == "published" for event in self.events),
            "geometry": list(self.geometry),
            "first": self.first,
            "stop": self.stop,
            "total": total,
            "first_step": self.first_step,
            "num_steps": self.timeline.num_steps,
            "notes": self._notes(name),
            "start": self.start,
            "free_queue": self._free_queue(),
            "chunk": CHUNK,
            "contents": packed(self._contents()),
            "events": list(chunks(self.events, packed)),
            "sentences": list(chunks(self.sentences, packed)),
        }

    def _free_queue(self) -> Json | None:
        """The free blocks where the window begins, the next to be taken first, and where freed ones go."""
        if self.queue is None:
            return None
        return {
            "keep_unkeyed_first": self.queue.keep_unkeyed_first,
            "blocks": packed(self.free_blocks),
        }

    def _notes(self, name: str) -> list[str]:
        """What a reader has to be told of how the run got here."""
        notes, total = list(self.log.warnings), len(self.log.events)
        if self.fault is not None:
            notes.append(f"{self.fault}; this page ends before it")
        if self.first or (self.fault is None and self.stop < total):
            steps = f"steps {self.first_step:,} to {self._last_step - 1:,}, " if self._steps else ""
            notes.append(
                f"this page holds a part of {name}: {steps}events {self.first + 1:,} to {self.stop:,} of {total:,}; "
                "`pagesim export --from-step` chooses another"
            )
        return notes

    @property
    def _steps(self) -> "array[int]":
        return self.contents.steps

    def _contents(self) -> Json:
        told_of = self.contents
        return {
            "steps": differences(self._steps),
            "times": [differences(told_of.time_places), differences(told_of.times)],
            "jumps": {group: differences(places) for group, places in told_of.jumps.items()},
            "sequences": [[seq, *whose] for seq, whose in told_of.sequences.items()],
            "of_seq": [[seq, differences(places)] for seq, places in told_of.of_seq.items()],
            "of_request": [[of, differences(places)] for of, places in told_of.of_request.items()],
            "between": "".join(map(str, self.between)),
            "step_ends": differences(self.timeline.step_ends[self.first_step : self._last_step]),
            "waste": self._waste(),
            "mean_waste": self._mean_waste(),
            "lanes": self._lanes(),
        }

    @property
    def _last_step(self) -> int:
        return self.first_step + len(self._steps)

    def _waste(self) -> dict[str, list[int]]:
        """Slots of each kind but "free" in each step of the window; "blocked" steps have external waste."""
        meter, steps = self.meter, slice(self.first_step, self._last_step)
        internal = meter.internal_series()[steps]
        used, granted = meter.used_series[steps], meter.granted_series[steps]
        rounding, blocked = meter.rounding_series[steps], meter.blocked_series[steps]
        rows = list(zip(used, granted, rounding, internal, blocked, strict=True))
        reserved = [g - r - u - i for u, g, r, i, _ in rows]
        slots = self.geometry.num_slots
        external = [r + (slots - g if b else 0) for _, g, r, _, b in rows]
        parts = (list(used), reserved, internal, external)
        return {name: differences(part) for name, part in zip(WASTE_KINDS, parts, strict=False)}

    def _mean_waste(self) -> list[object]:
        """Slots of each kind, a mean over the steps over which a run's report takes it, and those steps: first, stop,
        and why. Of the whole run, also where the page holds a part of it."""
        saturated = was_saturated(self.log.header, self.arrival_times)
        window = mean_window(self.waiting, saturated=saturated)
        if window.stop == window.first:
            return []
        split = self.meter.split(window.first, window.stop)
        return [list(split[:5]), window.first, window.stop, window.why]

    def _lanes(self) -> list[list[object]]:
        """Of each sequence in the window: its number, its name, and where each phase begins, as step, phase, ..."""
        lanes: list[list[object]] = []
        for seq, name in self.timeline.names.items():
            spans = [
                span
                for span in self.timeline.spans(seq)
                if span.stop > self.first_step and span.first < self._last_step
            ]
            if spans:
                flat = [value for span in spans for value in (span.first, span.phase.value)]
                lanes.append([seq, name, [*flat, spans[-1].stop, Phase.ENDED.value]])
        return lanes


def told(header: Mapping[str, object], name: str) -> str:
    """A text in a log's header, or nothing."""
    value = header.get(name)
    return value if isinstance(value, str) else ""


def differences(rising: Iterable[int]) -> list[int]:
    """The first number, and then by how much each is more than the one before."""
    numbers = list(rising)
    return numbers[:1] + [second - first for first, second in pairwise(numbers)]


def packed(value: object) -> str:
    """JSON, compressed, as text."""
    text = json.dumps(value, separators=(",", ":"))
    return b64encode(zlib.compress(text.encode(), 9)).decode()


def chunks(values: Sequence[object], pack: Callable[[object], str]) -> Iterable[str]:
    for start in range(0, len(values), CHUNK):
        yield pack(values[start : start + CHUNK])
