"""Who runs and who waits, in order, with how far each has got.

Knows nothing about schedulers: it is given a run's state.
"""

from collections.abc import Callable, Iterator

from rich.console import Console, ConsoleOptions, RenderResult
from rich.jupyter import JupyterMixin
from rich.text import Text

from pagesim.core.types import SeqId
from pagesim.replay.phrases import nats
from pagesim.replay.run_state import RunState, SequenceView
from pagesim.views.figures import counted
from pagesim.views.glyphs import Glyphs, glyphs_of
from pagesim.views.marks import FOCUS, cut, hidden, marks_of, name_width, padded, safe_names, window
from pagesim.views.palette import FREE_STYLE, KINDS, owner

LEAST_BAR, MOST_BAR = 4, 16


class Queues(JupyterMixin):
    """Running sequences in order of admission, those on the host, if any, then waiting ones in order of
    submission; at most ``max_rows`` lines in all. Sequence ``focus`` is always shown, and marked."""

    def __init__(
        self, state: RunState, *, max_rows: int | None = None, focus: SeqId | None = None
    ) -> None:
        self.state = state
        self.max_rows = max_rows
        self.focus = focus

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        state = self.state
        running = [state.sequences[seq] for seq in state.running]
        waiting = waiting_views(state)
        swapped = [view for view in state.sequences.values() if view.status == "swapped"]
        rooms: tuple[int | None, int | None, int | None] = (None, None, None)
        if self.max_rows is not None and swapped:
            sizes = (len(running), len(swapped), len(waiting))
            rooms = in_turn(max(self.max_rows - 3, 1), sizes)
        elif self.max_rows is not None:
            first, second = divided(max(self.max_rows - 2, 2), len(running), len(waiting))
            rooms = (first, 0, second)
        drawn = _Drawing(self, running, [*swapped, *waiting], options)
        yield drawn.heading(f"{len(running):,} running", "in order of admission" if running else "")
        yield from drawn.section(running, rooms[0], drawn.running_row)
        if swapped:
            yield drawn.heading(f"{len(swapped):,} on the host", _why_there(state))
            yield from drawn.section(swapped, rooms[1], drawn.swapped_row)
        why = "after those on the host" if waiting and swapped else _why(state, waiting)
        yield drawn.heading(f"{len(waiting):,} waiting", why)
        yield from drawn.section(waiting, rooms[2], drawn.waiting_row)


def waiting_views(state: RunState) -> list[SequenceView]:
    """Waiting sequences, in order of submission; not those that fork from one that runs already."""
    started = {state.sequences[seq].request for seq in state.running}
    return [
        view
        for view in state.sequences.values()
        if view.status == "waiting" and not (view.follows and view.request in started)
    ]


def divided(room: int, first: int, second: int) -> tuple[int, int]:
    """Rows for two lists of which not all may fit: the second gets a third, or what the first leaves."""
    third = max(room // 3, 1)
    if first + second <= room:
        return first, second
    if first <= room - third:
        return first, room - first
    if second <= third:
        return room - second, second
    return room - third, third


def in_turn(room: int, sizes: tuple[int, int, int]) -> tuple[int, int, int]:
    """Rows for three lists: one each in turn, as long as there are any."""
    rows = [0, 0, 0]
    while room and sum(rows) < sum(sizes):
        for at, size in enumerate(sizes):
            if room and rows[at] < size:
                rows[at] += 1
                room -= 1
    return rows[0], rows[1], rows[2]


def _why_there(state: RunState) -> str:
    if state.in_step and state.planned is not None and state.planned.blocked:
        return "first to come back; that needs more memory than is free"
    return "first to come back"


def _why(state: RunState, waiting: list[SequenceView]) -> str:
    if not waiting:
        return ""
    if state.planned is not None and state.planned.blocked:
        return "in order of submission; the first needs more memory than is free"
    return "in order of submission"


class _Drawing:
    """Rows of both lists, with common columns."""

    def __init__(
        self,
        asked: Queues,
        running: list[SequenceView],
        waiting: list[SequenceView],
        options: ConsoleOptions,
    ) -> None:
        self._asked = asked
        self._width = options.max_width
        self._encoding = options.encoding
        self._glyphs: Glyphs = glyphs_of(options)
        self._marks = marks_of(options)
        everyone = [*running[:100], *waiting[:100]]
        names = safe_names([view.name for view in everyone], self._encoding)
        self._name = max(name_width(names, self._width), 4)
        prompt = max((view.prompt_tokens for view in running), default=1)
        output = max((view.max_tokens for view in running), default=1)
        self._prompt_digits, self._output_digits = len(f"{prompt:,}"), len(f"{output:,}")
        texts = self._name + 4 + 2 * (self._prompt_digits + self._output_digits) + 2 + 16 + 4
        notes = [len(self._note(view)[0]) for view in running]
        if any(view.logprob is not None for view in running):
            notes.append(len("  -10.00 nats"))
        texts += max(notes, default=0)
        self._bar = min(max((self._width - texts) // 2, LEAST_BAR), MOST_BAR)

    def heading(self, text: str, note: str) -> Text:
        line = Text(text, style="bold", no_wrap=True, overflow="crop")
        room = self._width - line.cell_len - 2
        return (
            line.append(f"  {cut(note, room, self._marks.more)}", "dim not bold") if note else line
        )

    def section(self, views: list[SequenceView], room: int | None, row: "_Row") -> Iterator[Text]:
        if room == 0:
            return
        at = next((at for at, view in enumerate(views) if view.seq == self._asked.focus), None)
        shown = window(len(views), room, at)
        for number in shown:
            line = self._start(views[number])
            row(line, views[number])
            line.truncate(self._width)
            yield line
        if rest := hidden(len(views), shown, room):
            yield Text(f"   {rest}", style="dim", no_wrap=True, overflow="crop")

    def _start(self, view: SequenceView) -> Text:
        focused = view.seq == self._asked.focus
        line = Text(FOCUS if focused else " ", style="", no_wrap=True, overflow="crop")
        drawn = owner(view.seq)
        line.append(drawn.letter, drawn.solid if view.status == "running" else drawn.style)
        name = safe_names([view.name], self._encoding)[0]
        line.append(f" {padded(name, self._name, self._marks.more)} ", "bold" if focused else "")
        return line

    def running_row(self, line: Text, view: SequenceView) -> None:
        computed = min(view.written, view.prompt_tokens)
        self._progress(line, computed, view.prompt_tokens, self._prompt_digits)
        line.append(" prompt  ", "dim")
        self._progress(line, view.outputs, view.max_tokens, self._output_digits)
        line.append(" output", "dim")
        line.append(*self._note(view))

    def _note(self, view: SequenceView) -> tuple[str, str]:
        """What is special about a running one, and its style."""
        if view.seq in self._asked.state.moving:
            return "  dropped", ""
        if not view.table and view.outputs:
            return "  its memory is given back", ""
        if view.outputs and view.written < view.tokens - 1:
            return f"  computes again: {view.written:,} of {view.tokens:,}", ""
        if view.logprob is not None:
            return f"  {nats(view.logprob)}", ""
        if view.preemptions:
            return f"  preempted {times(view.preemptions)}", "dim"
        return "", ""

    def _progress(self, line: Text, done: int, whole: int, digits: int) -> None:
        full = self._bar if done >= whole else min(done * self._bar // max(whole, 1), self._bar - 1)
        if done and not full:
            full = 1
        line.append(self._marks.bar * full, KINDS[0].style)
        line.append(self._glyphs.free * (self._bar - full), FREE_STYLE)
        line.append(f" {f'{done:,}/{whole:,}':>{2 * digits + 1}}")

    def swapped_row(self, line: Text, view: SequenceView) -> None:
        back = view.table and view.table[0] < self._asked.state.geometry.num_blocks
        where = "block" if back else "host block"
        line.append("comes back with " if back else "keeps ")
        line.append(f"{counted(view.written, 'token')} in {counted(len(view.table), where)}")
        line.append(f", has {counted(view.outputs, 'output')}")
        if view.logprob is not None:
            line.append(f"  {nats(view.logprob)}")

    def waiting_row(self, line: Text, view: SequenceView) -> None:
        line.append(counted(view.prompt_tokens, "prompt token"))
        if view.preemptions:
            line.append(
                f"  preempted {times(view.preemptions)}, has {counted(view.outputs, 'output')}"
            )


_Row = Callable[[Text, SequenceView], None]


def times(number: int) -> str:
    """ "once", "2 times"."""
    return "once" if number == 1 else f"{number:,} times"
