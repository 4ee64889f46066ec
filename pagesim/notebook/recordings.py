"""What the notebook's pictures can be of: a log, a story, a run that is being walked. All become a recording.

Knows nothing about pictures.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from pagesim.core import events as ev
from pagesim.core.errors import InputError
from pagesim.core.types import Geometry
from pagesim.replay.cursor import Cursor
from pagesim.replay.kept_log import kept_log
from pagesim.replay.log import RunLog, read_log
from pagesim.replay.memory_map import changed_blocks
from pagesim.sim.scenario import Scenario, load_scenario, scenario_names
from pagesim.sim.story_log import story_facts, story_log


@runtime_checkable
class Walked(Protocol):
    """A story's run that somebody walks through, such as a lesson's ``Walk``."""

    @property
    def story(self) -> Scenario: ...
    @property
    def geometry(self) -> Geometry: ...
    @property
    def events(self) -> Sequence[ev.Event]: ...
    @property
    def place(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Recording:
    """A run. ``place`` is where whoever gave it was: the number of events behind; ``None``: nowhere."""

    name: str
    log: RunLog
    place: int | None = None

    def cursor(self, step: int | None = None, event: int | None = None) -> Cursor:
        """At this step or event; else where its giver was; else at the end. Raises InputError."""
        cursor = Cursor.of_log(self.log)
        if step is not None and event is not None:
            raise InputError(f"step {step} and event {event} were both given; leave one out")
        if step is not None:
            cursor.seek(place_of_step(cursor, step, self.name))
        elif event is not None:
            cursor.seek(checked_place(cursor, event, self.name))
        else:
            cursor.seek(cursor.num_events if self.place is None else self.place)
        return cursor

    @property
    def title(self) -> str:
        title = self.log.header.get("title")
        return f"{self.name}: {title}" if isinstance(title, str) and title else self.name


Source = str | Path | RunLog | Cursor | Scenario | Recording | Walked
"""A scenario's name, a path (of a log, or of a scenario's ``.toml`` file), or a run that is there already."""


def recorded(source: Source) -> Recording:
    """The run that is meant; a scenario is played. Raises InputError for what is none."""
    if isinstance(source, Recording):
        return source
    if isinstance(source, str | Path):
        return _named(source)
    if isinstance(source, Scenario):
        return Recording(source.name, story_log(source, f"pagesim run {source.name}"))
    if isinstance(source, RunLog):
        return Recording(_name_in(source), source)
    if isinstance(source, Cursor):
        log = kept_log("run", source.geometry, source.events)
        return Recording("run", log, source.place)
    if isinstance(source, Walked):
        name = source.story.name
        facts = story_facts(source.story, f"pagesim run {name}")
        return Recording(
            name, kept_log(name, source.geometry, source.events, **facts), source.place
        )
    raise InputError(
        f"a {type(source).__name__} was given; give a scenario's name, a log's path, a RunLog, a Cursor or a Walk"
    )


def place_of_step(cursor: Cursor, step: int, name: str) -> int:
    """The place just after the step is planned. Raises InputError where there is no such step."""
    _refuse_unless_whole(step, "step")
    if not 0 <= step < cursor.num_steps:
        there = f"steps 0 to {cursor.num_steps - 1:,}" if cursor.num_steps else "no steps"
        raise InputError(f"step {step:,} was asked for and {name} has {there}")
    return cursor.step_places[step]


def checked_place(cursor: Cursor, event: int, name: str) -> int:
    _refuse_unless_whole(event, "event")
    if not 0 <= event <= cursor.num_events:
        raise InputError(
            f"event {event:,} was asked for and {name} has {cursor.num_events:,} events; 0 is the start"
        )
    return event


def _refuse_unless_whole(value: object, what: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"{what} {value!r} was given; it is a whole number, such as 3")


def changed_at(cursor: Cursor) -> frozenset[int]:
    """The blocks that the last event touched."""
    event = cursor.event
    return frozenset() if event is None else frozenset(changed_blocks(event, cursor.state_before()))


def _named(source: str | Path) -> Recording:
    name = str(source)
    if name.endswith(".toml") or name in scenario_names():
        return recorded(load_scenario(name))
    path = Path(source)
    if not path.exists():
        known = ", ".join(scenario_names())
        raise InputError(
            f"{name!r} is neither a log's path nor a scenario; the scenarios are {known}"
        )
    return Recording(path.name, read_log(path))


def _name_in(log: RunLog) -> str:
    for fact in ("scenario", "allocator"):
        name = log.header.get(fact)
        if isinstance(name, str) and name:
            return name
    return "run"
