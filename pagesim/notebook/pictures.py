"""Pictures of one moment of a run, and figures of whole runs.

Knows nothing about notebooks.
"""

from array import array
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from pagesim.core.errors import InputError
from pagesim.notebook.recordings import Recording, Source, changed_at, recorded
from pagesim.notebook.shown import Plot, Shown
from pagesim.replay.cursor import Cursor
from pagesim.replay.explain import explainer
from pagesim.replay.feeding import feed
from pagesim.replay.log import replayed
from pagesim.replay.logged_fault import logged_fault
from pagesim.replay.memory_map import memory_map as map_of
from pagesim.replay.waste import WasteMeter
from pagesim.views.block_tables import BlockTables
from pagesim.views.frame import Frame, Moment, moment_at
from pagesim.views.moment_bar import MomentBar
from pagesim.views.step_map import StepMap

if TYPE_CHECKING:
    from pagesim.notebook.comparing import Compared
    from pagesim.views.plots import Run

KINDS = {
    "usage": "the memory's split over simulated time",
    "waste": "the mean split of the memory, a bar a run",
    "concurrency": "requests at once and waiting, over simulated time",
    "latency": "time to first token and per output token, as distributions",
}


def memory_map(source: Source, *, step: int | None = None, event: int | None = None) -> Shown:
    """The memory at a step or event of a run, and what happened there (neither given: where a Walk or Cursor is,
    or the end)."""
    recording = recorded(source)
    cursor = recording.cursor(step, event)
    shown, changed = map_of(cursor.state), changed_at(cursor)
    drawn = (StepMap(shown, changed=changed), MomentBar(shown))
    return Shown(*_sentence(recording, cursor), *drawn, title=f"memory map of {recording.name}")


def block_tables(source: Source, *, step: int | None = None, event: int | None = None) -> Shown:
    """The block tables at a step or event of a run, and what happened there."""
    recording = recorded(source)
    cursor = recording.cursor(step, event)
    tables = BlockTables(cursor.state.copy(), changed=changed_at(cursor))
    return Shown(*_sentence(recording, cursor), tables, title=f"block tables of {recording.name}")


def frame(source: Source, *, step: int | None = None, event: int | None = None) -> Shown:
    """The whole picture at a step or event: memory, its split, requests, block tables."""
    recording = recorded(source)
    return framed(recording, recording.cursor(step, event))


def framed(recording: Recording, cursor: Cursor) -> Shown:
    return Shown(Frame(moment_of(recording, cursor)), title=recording.title)


def moment_of(recording: Recording, cursor: Cursor) -> Moment:
    """With a state of its own, since the cursor goes on."""
    from dataclasses import replace

    held: array[int] = array("q")
    if cursor.num_steps:
        meter = WasteMeter(recording.log.geometry)
        feed(meter, replayed(recording.log))
        held = meter.granted_series
    log = recording.log
    moment = moment_at(cursor, recording.title, explainer(log.header), held, logged_fault(log))
    return replace(moment, state=moment.state.copy())


def plot(*sources: "Source | Compared", kind: str = "usage") -> Plot:
    """A figure of one or more runs: ``usage``, ``waste``, ``concurrency`` or ``latency``. Needs matplotlib."""
    from pagesim.cli.plot import measured
    from pagesim.notebook.comparing import Compared
    from pagesim.views import plots

    if kind not in KINDS:
        raise InputError(f"kind {kind!r} was given; it is {', '.join(KINDS)}")
    if not sources:
        raise InputError("no run was given; give a log's path, a scenario's name or a comparison")
    draw = {
        "usage": plots.usage_figure,
        "waste": plots.waste_figure,
        "concurrency": plots.concurrency_figure,
        "latency": plots.latency_figure,
    }
    runs: list[Run] = []
    for source in sources:
        if isinstance(source, Compared):
            runs += source.measured()
        else:
            recording = recorded(source)
            runs.append(measured(recording.log, recording.name))
    names = ", ".join(run.name for run in runs)
    return Plot(draw[kind](runs), f"{KINDS[kind]}, of {names}")


def _sentence(recording: Recording, cursor: Cursor) -> list[RenderableType]:
    event = cursor.event
    if event is None:
        return [Text("The run has not begun.", style="italic"), Text()]
    said = explainer(recording.log.header)(event, cursor.state_before())
    where = "" if cursor.step_number is None else f"step {cursor.step_number:,}, "
    return [
        Text(f"{where}event {cursor.place:,}: ", style="dim").append(said, "italic not dim"),
        Text(),
    ]
