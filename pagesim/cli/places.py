"""``LOG@STEP``, ``LOG@eEVENT`` or ``LOG``: which place of which log is meant, and what there is to show there.

Knows nothing about drawing.
"""

from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pagesim.core.errors import InputError

if TYPE_CHECKING:
    from pagesim.core.types import SeqId
    from pagesim.replay.free_queue import FreeQueue
    from pagesim.replay.log import RunLog
    from pagesim.views.frame import Moment


@dataclass(frozen=True, slots=True)
class Target:
    """A log's path and a place in it: a step or an event (neither: the end)."""

    path: Path
    step: int | None = None
    event: int | None = None


def parse_target(text: str) -> Target:
    """What was typed. Raises InputError for what is no place."""
    if "@" not in text or Path(text).exists():
        return Target(Path(text))
    name, _, place = text.rpartition("@")
    digits = place.removeprefix("e")
    if not name or not (digits.isascii() and digits.isdigit()) or len(digits) > 18:
        raise InputError(
            f"{place!r} in {text!r} is no place; write LOG@12 for step 12 or LOG@e345 for event 345"
        )
    number = int(digits)
    return Target(Path(name), event=number) if place != digits else Target(Path(name), step=number)


def check_no_scenario(path: Path) -> None:
    """Raises InputError for a scenario's name where a log is wanted: with the command that records one."""
    from pagesim.sim.scenario import scenario_names

    if not path.exists() and str(path) in scenario_names():
        raise InputError(
            f"{path} is a scenario and no log; `pagesim run {path} --log {path}.jsonl` records one"
        )


class OpenRun:
    """A log that is read, and a cursor in it."""

    def __init__(self, path: Path) -> None:
        """Raises InputError if it is no log."""
        from pagesim.replay.cursor import Cursor
        from pagesim.replay.log import read_log

        check_no_scenario(path)
        self.log: RunLog = read_log(path)
        self.cursor = Cursor.of_log(self.log)
        self.title = run_title(self.log, path)
        self._name = path.name
        self._held: array[int] = array("q")

    def go_to(self, target: Target) -> None:
        """Raises InputError where the log has no such place."""
        cursor = self.cursor
        if target.event is not None:
            if target.event > cursor.num_events:
                raise InputError(
                    f"event {target.event:,} was asked for and {self._name} has {cursor.num_events:,} events"
                )
            cursor.seek(target.event)
        elif target.step is not None:
            self.go_to_step(target.step)
        else:
            cursor.seek(cursor.num_events)

    def go_to_step(self, step: int) -> None:
        """Raises InputError where the log has no such step."""
        cursor = self.cursor
        if step >= cursor.num_steps:
            there = (
                f"has steps 0 to {cursor.num_steps - 1:,}" if cursor.num_steps else "has no steps"
            )
            raise InputError(f"step {step:,} was asked for and {self._name} {there}")
        cursor.seek_step(step)

    def moment(self) -> "Moment":
        """What there is to show where the cursor is."""
        from pagesim.replay.explain import explainer
        from pagesim.replay.logged_fault import logged_fault
        from pagesim.views.frame import moment_at

        explain, fault = explainer(self.log.header), logged_fault(self.log)
        return moment_at(self.cursor, self.title, explain, self.held(), fault)

    def held(self) -> "array[int]":
        """Slots held in each step of the whole run."""
        from pagesim.replay.feeding import feed
        from pagesim.replay.log import replayed
        from pagesim.replay.waste import WasteMeter

        if not self._held and self.cursor.num_steps:
            meter = WasteMeter(self.log.geometry)
            feed(meter, replayed(self.log))
            self._held = meter.granted_series
        return self._held

    def free_queue(self) -> "FreeQueue | None":
        """In which order blocks will be taken where the cursor is; ``None`` if the log does not say how its pool was
        made, or it is not of paged memory."""
        from itertools import islice

        from pagesim.replay.feeding import feed
        from pagesim.replay.free_queue import queue_of_header
        from pagesim.replay.log import replayed

        queue = queue_of_header(self.log.header, self.log.geometry)
        if queue is None:
            return None
        feed(queue, islice(replayed(self.log), self.cursor.place))
        return queue

    def sequence(self, name: str) -> "SeqId":
        """The request's first sequence that lives where the cursor is. Raises InputError if there is none."""
        state = self.cursor.state
        for view in state.sequences.values():
            if name in (view.name, view.request, f"{view.request}.{view.sample}"):
                return view.seq
        living = [view.name for view in state.sequences.values()]
        some = f"; there are {', '.join(living[:5])}" if living else ""
        more = f" and {len(living) - 5:,} more" if len(living) > 5 else ""
        raise InputError(f"no request {name!r} is running or waiting at this place{some}{more}")


def run_title(log: "RunLog", path: Path) -> str:
    """Whose run it is, in a line, from what the log's header says."""
    from pagesim.views.figures import counted

    header, geometry = log.header, log.geometry
    size = f"{counted(geometry.num_blocks, 'block')} of {geometry.block_size:,}"
    if geometry.block_size == 1:
        size = counted(geometry.num_slots, "slot")
    parts = [header.get("allocator"), size, *map(header.get, ("title", "model", "about"))]
    return ", ".join([path.name, *(part for part in parts if isinstance(part, str) and part)])
