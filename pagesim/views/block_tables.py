"""Block tables: for each sequence, which physical block stands at each logical place.

A column is a logical block, so the table reads as the paper draws it. A contiguous run is one line.
Knows nothing about managers: it is given a run's state.
"""

from collections.abc import Collection, Iterator

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.jupyter import JupyterMixin
from rich.text import Text

from pagesim.core.types import BlockId, SeqId
from pagesim.replay.phrases import block_name
from pagesim.replay.run_state import RunState, SequenceView
from pagesim.views.marks import (
    FOCUS,
    Marks,
    hidden,
    marks_of,
    name_width,
    padded,
    safe_names,
    window,
)
from pagesim.views.palette import CHANGED_STYLE, owner

NO_BLOCKS: frozenset[BlockId] = frozenset()
HEADING = "logical"


class BlockTables(JupyterMixin):
    """One line a sequence that holds memory, in order of admission, at most ``max_rows`` lines in all.

    A table too long for its line is cut in its middle, with a count; with ``whole`` it goes on in
    further lines instead. The row of sequence ``focus`` is always shown, and marked; blocks in
    ``changed`` are marked, too. The host's blocks are called h0, h1, ...
    """

    def __init__(
        self,
        state: RunState,
        *,
        max_rows: int | None = None,
        focus: SeqId | None = None,
        changed: Collection[BlockId] = NO_BLOCKS,
        whole: bool = False,
    ) -> None:
        self.state = state
        self.max_rows = max_rows
        self.focus = focus
        self.changed = changed
        self.whole = whole

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        state = self.state
        views = holders(state)
        if not views:
            yield Text("No sequence holds memory.", style="dim")
            return
        paged = not isinstance(views[0].table, range)
        room = None if self.max_rows is None else max(self.max_rows - 2 * paged, 1)
        at = next((at for at, view in enumerate(views) if view.seq == self.focus), None)
        shown = window(len(views), room, at)
        drawn = _Drawing(self, [views[number] for number in shown], options)
        if paged:
            yield drawn.heading()
        yield from drawn.rows()
        if rest := hidden(len(views), shown, room):
            yield Text(rest, style="dim", no_wrap=True, overflow="crop")
        if paged:
            yield drawn.legend()


def holders(state: RunState) -> list[SequenceView]:
    """Who holds memory: running sequences in order of admission, then any others."""
    order = [*state.running, *(seq for seq in state.sequences if seq not in state.running)]
    return [view for view in map(state.sequences.__getitem__, order) if len(view.table)]


class _Drawing:
    """The lines of one picture, at one width."""

    def __init__(
        self, asked: BlockTables, views: list[SequenceView], options: ConsoleOptions
    ) -> None:
        self._asked = asked
        self._state = asked.state
        self._views = views
        self._width = options.max_width
        self._marks: Marks = marks_of(options)
        self._names = safe_names([view.name for view in views], options.encoding)
        self._label = max(name_width(self._names, self._width), len(HEADING) - 3) + 4
        self._texts = {
            view.seq: [self.block_text(view, at) for at in range(len(view.table))]
            for view in views
            if not isinstance(view.table, range)
        }
        longest = max((len(t) for texts in self._texts.values() for t in texts), default=1)
        self._column = longest + 2  # a mark before it, a blank behind
        self._across = max((self._width - self._label) // self._column, 1)
        self._most = max(map(len, self._texts.values()), default=0)

    def block_text(self, view: SequenceView, at: int) -> str:
        block, size = view.table[at], self._state.geometry.block_size
        count = self._state.ref_counts.get(block, 1)
        text = block_name(block, self._state.geometry)
        if count > 1:
            text += f"&{count}"
        if block in self._state.cached:
            text += "="
        filled = min(max(view.written - at * size, 0), size)
        return text if filled == size else f"{text}({filled}/{size})"

    def heading(self) -> Text:
        line = Text(HEADING.ljust(self._label), style="dim", no_wrap=True, overflow="crop")
        for at in range(min(self._across, self._most)):
            line.append(f" {at}".ljust(self._column))
        line.rstrip()
        return line

    def rows(self) -> Iterator[Text]:
        for view, name in zip(self._views, self._names, strict=True):
            start = self._start(view, name)
            if isinstance(view.table, range):
                yield self._run(start, view, view.table)
            elif self._asked.whole:
                yield from self._wrapped(start, view)
            else:
                yield self._cut(start, view)

    def _start(self, view: SequenceView, name: str) -> Text:
        focused = view.seq == self._asked.focus
        line = Text(FOCUS if focused else " ", style="", no_wrap=True, overflow="crop")
        drawn = owner(view.seq)
        line.append(drawn.letter, drawn.solid)
        line.append(f" {padded(name, self._label - 4, self._marks.more)} ")
        if focused:
            line.stylize("bold")
        elif self._asked.focus is not None:
            line.stylize("dim", 2)
        return line

    def _block(self, line: Text, view: SequenceView, at: int) -> None:
        text = self._texts[view.seq][at]
        is_changed = view.table[at] in self._asked.changed
        line.append(self._marks.changed if is_changed else " ", CHANGED_STYLE)
        other = self._asked.focus is not None and view.seq != self._asked.focus
        style = CHANGED_STYLE if is_changed else "dim" if other else owner(view.seq).style
        line.append(text.ljust(self._column - 1), style)

    def _wrapped(self, line: Text, view: SequenceView) -> Iterator[Text]:
        for at in range(len(view.table)):
            if at and not at % self._across:
                yield line
                line = Text(f"   {at:,} ".rjust(self._label), style="", no_wrap=True)
                line.stylize("dim")
            self._block(line, view, at)
        line.rstrip()
        yield line

    def _cut(self, line: Text, view: SequenceView) -> Text:
        """The row in one line; of a table that is too long, its beginning and, at the right, its last block."""
        count = len(view.table)
        if count <= self._across:
            for at in range(count):
                self._block(line, view, at)
        else:
            head = self._across - 1
            while head > 0 and len(self._left_out(count, head)) > self._room(head):
                head -= 1
            for at in range(head):
                self._block(line, view, at)
            line.append(self._left_out(count, head).rjust(self._room(head)), "dim")
            self._block(line, view, count - 1)
        line.rstrip()
        line.truncate(self._width)
        return line

    def _left_out(self, count: int, head: int) -> str:
        more = self._marks.more
        return f"{more} {count - head - 1:,} more {more} {count - 1:,}:"

    def _room(self, head: int) -> int:
        """Cells between the first blocks and the last."""
        return self._width - self._label - (head + 1) * self._column

    def _run(self, line: Text, view: SequenceView, run: range) -> Text:
        is_changed = bool(self._asked.changed) and any(b in run for b in self._asked.changed)
        line.append(self._marks.changed if is_changed else " ", CHANGED_STYLE)
        line.append(f"slots {run.start:,} to {run.stop - 1:,}", owner(view.seq).style)
        line.append(f"  {view.written:,} of {len(run):,} filled")
        if view.wanted < len(run):
            line.append(f", {view.wanted:,} asked for")
        line.truncate(self._width)
        return line

    def legend(self) -> Text:
        """What the signs that occur mean; an empty line if there are none."""
        texts = [text for row in self._texts.values() for text in row]
        signs = (
            ("h", "h0 on the host"),
            ("&", "&2 two share it"),
            ("=", "= findable"),
            ("(", "(3/4) slots filled"),
        )
        parts = [words for sign, words in signs if any(sign in text for text in texts)]
        if self._asked.changed:
            parts.append(f"{self._marks.changed} changed")
        line = Text("", style="dim", no_wrap=True, overflow="crop")
        for part in parts:
            if cell_len(line.plain) + len(part) + 3 <= self._width:
                line.append(("   " if line.plain else "") + part)
        return line
