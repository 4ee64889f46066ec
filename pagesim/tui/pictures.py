"""What stands in each part of the viewer's screen, as renderables cut to the part's size.

Knows nothing about Textual: a picture is made from a run and a size. Text from a log is cleaned and never
read as markup.
"""

from collections.abc import Callable

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

from pagesim.replay.memory_map import memory_map
from pagesim.tui.block_history import present, recent_deeds, step_words
from pagesim.tui.map_spots import PointedMap
from pagesim.tui.viewed import ViewedRun
from pagesim.views.block_tables import BlockTables
from pagesim.views.event_list import EventList
from pagesim.views.figures import counted, format_duration
from pagesim.views.glyphs import ASCII, clean, glyphs_of
from pagesim.views.marks import BROKEN_STYLE, broken_line, cut, marks_of
from pagesim.views.queues import Queues
from pagesim.views.sparkline import Occupancy
from pagesim.views.step_map import StepMap

Picture = Callable[[ViewedRun, int, int], RenderableType]
BEGIN = "The run has not begun. l goes to the first event, j to the first step; ? lists all keys."


class Drawn:
    """A renderable that is made when it is known where: ``make`` gets the console's options."""

    def __init__(self, make: Callable[[ConsoleOptions], RenderableType]) -> None:
        self._make = make

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self._make(options)


def title(run: ViewedRun, *, active: bool, note: str) -> RenderableType:
    """Whose run it is, with a mark before the one that keys move."""

    def make(options: ConsoleOptions) -> Text:
        geometry = run.cursor.geometry
        size = geometry.block_size
        unit = f"blocks of {size:,} slots" if size > 1 else "slots"
        parts = [
            str(run.log.header.get("allocator", "")),
            f"{run.cursor.state.num_free:,} of {geometry.num_blocks:,} {unit} free",
        ]
        line = Text(no_wrap=True, overflow="ellipsis")
        line.append("> " if active else "  ", "bold")
        line.append(clean(run.name[:200], options.encoding), "bold" if active else "")
        if run.request is not None:
            line.append(f"  only {clean(run.request[:100], options.encoding)}", "bold")
        line.append("  " + clean(", ".join(part for part in parts if part), options.encoding))
        return _right(line, note, options.max_width)

    return Drawn(make)


def status(run: ViewedRun, _: int, height: int) -> RenderableType:
    """Step, event, time, and how many have finished; on narrow parts in two lines."""
    state, cursor = run.cursor.state, run.cursor
    number = cursor.step_number
    step = "before step 0"
    if number is not None:
        step = f"step {number:,}" if state.in_step else f"after step {number:,}"
    where = f"{step} of {max(cursor.num_steps - 1, 0):,}   event {cursor.place:,} of {cursor.num_events:,}"
    rest = [format_duration(state.time_ns / 1e9), f"{state.num_finished:,} finished"]
    if state.num_preemptions:
        rest.append(counted(state.num_preemptions, "preemption"))
    if height > 1:
        return Group(_line(where, "bold"), _line("   ".join(rest)))
    line = _line(where, "bold")
    return line.append("   " + "   ".join(rest), "not bold")


def occupancy(run: ViewedRun, width: int, _: int) -> RenderableType:
    """The memory held over the whole run, two lines; steps not surveyed yet are blank."""
    held, num_steps = run.survey.held, run.cursor.num_steps
    values = [*held, *[0] * (num_steps - len(held))]
    step = run.cursor.step_number
    total = run.cursor.geometry.num_blocks
    note = ""
    if step is not None and step < len(held):
        note = f"{100 * held[step] / total:.0f} % held in step {step:,}"
    if not run.survey.done:
        share = 100 * run.survey.place / max(run.survey.end, 1)
        note = f"{note}   looking through the run: {share:.0f} %".strip()
    return Occupancy(values, width, step, most=total, note=note)


def _begin(run: ViewedRun) -> str:
    """What the log says of itself, before anything has happened."""
    told = run.log.header.get("look_for")
    return f"Look for: {told}" if isinstance(told, str) and told else BEGIN


def sentence(run: ViewedRun, width: int, height: int) -> RenderableType:
    """What the last event was and why, in a fixed number of lines."""

    def make(options: ConsoleOptions) -> Text:
        text = clean(run.moment().sentence if run.place else _begin(run), options.encoding)
        lines = list(Text(text, style="italic").wrap(Console(width=width), width))
        if len(lines) > height:
            more = marks_of(options).more
            lines = lines[:height]
            lines[-1] = Text(cut(lines[-1].plain.rstrip(), width - 2, "") + f" {more}", "italic")
        return Text("\n").join(lines)

    return Drawn(make)


def laws(run: ViewedRun, width: int, _: int) -> RenderableType:
    """Which laws hold here, in words and signs; in a log that was written to show a broken one, that one."""

    def make(options: ConsoleOptions) -> Text:
        ascii_only = glyphs_of(options) is ASCII
        good, bad = ("+", "x") if ascii_only else ("✓", "✗")
        told = run.moment().broken
        if told:  # the tables alone may look right
            line = broken_line(told, options)
            line.truncate(options.max_width, overflow="ellipsis")
            return line
        verdicts = run.verdicts()
        kept = [verdict.law for verdict in verdicts if verdict.broken is None]
        line = Text(no_wrap=True, overflow="ellipsis")
        for verdict in verdicts:
            if verdict.broken is not None:
                line.append(f"{bad} BROKEN {verdict.law}: {verdict.broken}", BROKEN_STYLE).append(
                    "  "
                )
        whole = f"{good} laws kept: {', '.join(kept)}"
        if len(kept) == len(verdicts) and len(whole) > width:
            whole = f"{good} all {len(kept)} laws kept"
        return line.append(whole if kept else "", "green")

    return Drawn(make)


def memory(run: ViewedRun, _: int, height: int) -> RenderableType:
    moment = run.moment()
    shown = memory_map(moment.state)
    rows = max(height - 1, 1)
    drawn = StepMap(shown, changed=moment.changed, focus=run.focus(), max_rows=rows)
    return drawn if run.block is None else PointedMap(drawn, run.block)


def queues(run: ViewedRun, _: int, height: int) -> RenderableType:
    return Queues(run.cursor.state, max_rows=height, focus=run.focus())


def tables(run: ViewedRun, _: int, height: int) -> RenderableType:
    changed = run.moment().changed
    return BlockTables(run.cursor.state, max_rows=height, focus=run.focus(), changed=changed)


def events(run: ViewedRun, _: int, height: int) -> RenderableType:
    return EventList(run.event_lines(height), run.place, max_rows=height)


def block(run: ViewedRun, width: int, height: int) -> RenderableType:
    """The inspected block: who holds it, and what happened to it, newest first."""

    def make(options: ConsoleOptions) -> RenderableType:
        if run.block is None:
            return Text("b and a number inspects a block.", style="dim")
        pen = Console(width=width)
        lines: list[Text] = []
        for told in present(run, run.block):
            lines += Text(clean(told, options.encoding), style="bold").wrap(pen, width)
        lines = lines[: max(height // 2, 1)]
        deeds, before = recent_deeds(run, run.block, max(height - len(lines) - 1, 1))
        for deed in deeds:
            where = f"event {deed.place:,}".ljust(14)
            if width >= 72:
                where = f"{step_words(deed.step)}, {where}".ljust(28)
            words = clean(deed.words, options.encoding)
            lines.append(_line(f"{where} ", "dim").append(words, "not dim"))
        if before:
            lines.append(_line(f"and {before:,} before", "dim"))
        return Group(*lines)

    return Drawn(make)


def heading(name: str, width: int, options: ConsoleOptions) -> Text:
    line = Text(f"{name} ", style="bold", no_wrap=True, overflow="crop")
    return line.append(glyphs_of(options).rule * max(width - line.cell_len, 0), "dim not bold")


def _line(text: str, style: str = "") -> Text:
    line = Text(no_wrap=True, overflow="ellipsis")
    return line.append(text, style)


def _right(line: Text, note: str, width: int) -> Text:
    """The line with a note at its right end, if both fit."""
    blank = width - line.cell_len - len(note)
    if note and blank < 2:
        line.truncate(max(width - len(note) - 2, 0), overflow="ellipsis")
        blank = width - line.cell_len - len(note)
    return line.append(" " * blank + note, "bold") if note else line
