"""The whole picture at one place of a run; and two runs beside each other.

Puts views together, top to bottom: where one is, what happened, the memory, its split, the queues, the
block tables, and the memory in use over the whole run. Knows nothing about logs or how places are reached.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.jupyter import JupyterMixin
from rich.text import Text

from pagesim.core import events as ev
from pagesim.core.types import BlockId, SeqId
from pagesim.replay.cursor import Cursor
from pagesim.replay.log import UnknownEvent
from pagesim.replay.logged_fault import LoggedFault
from pagesim.replay.memory_map import changed_blocks, memory_map
from pagesim.replay.run_state import RunState
from pagesim.views.block_tables import BlockTables
from pagesim.views.figures import counted, format_duration
from pagesim.views.glyphs import clean, glyphs_of
from pagesim.views.marks import broken_line, cut, marks_of
from pagesim.views.moment_bar import MomentBar
from pagesim.views.queues import Queues
from pagesim.views.sparkline import Occupancy
from pagesim.views.step_map import StepMap

Explain = Callable[[ev.Event | UnknownEvent, RunState], str]
BESIDE_FROM = 100
"""Screens from this width on show two runs side by side; narrower ones, one below the other."""
MAP_ROWS, QUEUE_ROWS, TABLE_ROWS = 10, 12, 12


@dataclass(frozen=True, slots=True)
class Moment:
    """One place of a run, as plain parts.

    ``title`` says whose run it is. ``place`` counts events, ``step`` is the number of the step planned last
    (``None`` before the first) of ``num_steps``. ``sentence`` says what the last event was. ``held`` is the
    memory in use in each step, in slots (none: it is not drawn). ``broken`` says which law is broken here, if the
    log was written to show that.
    """

    title: str
    place: int
    num_events: int
    step: int | None
    num_steps: int
    state: RunState
    sentence: str = ""
    changed: Collection[BlockId] = frozenset()
    held: Sequence[int] = ()
    broken: str = ""


def moment_at(
    cursor: Cursor,
    title: str,
    explain: Explain | None = None,
    held: Sequence[int] = (),
    fault: LoggedFault | None = None,
) -> Moment:
    """What there is to show where ``cursor`` is. ``explain`` makes the sentence; ``fault`` is the log's own."""
    event, sentence, changed = cursor.event, "The run has not begun.", frozenset[BlockId]()
    if event is not None:
        before = cursor.state_before()
        sentence = "" if explain is None else explain(event, before)
        changed = changed_blocks(event, before)
    return Moment(
        title,
        cursor.place,
        cursor.num_events,
        cursor.step_number,
        cursor.num_steps,
        cursor.state,
        sentence,
        changed,
        held,
        fault.line() if fault is not None and cursor.place >= fault.place else "",
    )


class Frame(JupyterMixin):
    """A moment on one screen. ``rows`` are the most lines of the map, the queues and the tables."""

    def __init__(
        self,
        moment: Moment,
        *,
        focus: SeqId | None = None,
        rows: tuple[int, int, int] = (MAP_ROWS, QUEUE_ROWS, TABLE_ROWS),
    ) -> None:
        self.moment = moment
        self.focus = focus
        self.rows = rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        moment, width, focus = self.moment, options.max_width, self.focus
        yield from top_lines(moment, options)
        shown = memory_map(moment.state)
        map_rows, queue_rows, table_rows = self.rows
        yield from heading("Memory", options)
        yield StepMap(shown, changed=moment.changed, focus=focus, max_rows=map_rows)
        yield MomentBar(shown)
        yield from heading("Requests", options)
        yield Queues(moment.state, max_rows=queue_rows, focus=focus)
        yield from heading("Block tables", options)
        yield BlockTables(moment.state, max_rows=table_rows, focus=focus, changed=moment.changed)
        if moment.held:
            yield from heading("Memory held over the run", options)
            yield occupancy(moment, width)


def occupancy(moment: Moment, width: int | None = None) -> Occupancy:
    total = moment.state.geometry.num_slots
    note = ""
    if moment.step is not None and moment.step < len(moment.held):
        held = moment.held[moment.step]
        note = f"step {moment.step:,}: {100 * held / total:.0f} % held"
    return Occupancy(moment.held, width, moment.step, most=total, note=note)


def top_lines(moment: Moment, options: ConsoleOptions) -> Iterator[RenderableType]:
    """Whose run it is, where in it one is, and what happened there."""
    title = clean(moment.title[:1000], options.encoding)
    title = cut(title, options.max_width, marks_of(options).more)
    yield Text(title, style="bold", no_wrap=True, overflow="crop")
    step = "before the first step"
    if moment.step is not None:
        step = f"step {moment.step:,}" if moment.state.in_step else f"after step {moment.step:,}"
    last = f" of {moment.num_steps - 1:,}" if moment.num_steps and moment.step is not None else ""
    parts = [
        f"{step}{last}",
        f"event {moment.place:,} of {moment.num_events:,}",
        format_duration(moment.state.time_ns / 1e9),
        f"{moment.state.num_finished:,} finished",
    ]
    if moment.state.num_preemptions:
        parts.append(counted(moment.state.num_preemptions, "preemption"))
    yield Text("   ".join(parts), style="", overflow="fold")
    if moment.sentence:
        yield Text(clean(moment.sentence, options.encoding), style="italic", overflow="fold")
    if moment.broken:
        yield broken_line(moment.broken, options)


def heading(text: str, options: ConsoleOptions) -> Iterator[Text]:
    yield Text()
    line = Text(f"{text} ", style="bold", no_wrap=True, overflow="crop")
    blank = options.max_width - line.cell_len
    if blank > 0:
        line.append(glyphs_of(options).rule * blank, "dim not bold")
    yield line


class SideBySide(JupyterMixin):
    """Two moments beside each other, or where there is no room, one below the other."""

    def __init__(self, left: RenderableType, right: RenderableType) -> None:
        self.left = left
        self.right = right

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if options.max_width < BESIDE_FROM:
            yield self.left
            yield Text()
            yield self.right
            return
        from rich.table import Table

        grid = Table.grid(padding=(0, 3, 0, 0), expand=True, pad_edge=False)
        grid.add_column(ratio=1)
        grid.add_column(ratio=1)
        grid.add_row(self.left, self.right)
        yield grid
