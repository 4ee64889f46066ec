"""Lanes over the steps of a run, one a sequence: waiting, prefill, decoding, preempted, on the host.

Knows nothing about events: it is given a fold of them.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise

from rich.console import Console, ConsoleOptions, RenderResult
from rich.jupyter import JupyterMixin
from rich.text import Text

from pagesim.core.types import SeqId
from pagesim.replay.timeline import Phase, Span, TimelineFold
from pagesim.views.figures import counted, format_duration
from pagesim.views.glyphs import Glyphs, glyphs_of
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
from pagesim.views.palette import FREE_STYLE, KINDS, owner

STYLES = {
    Phase.WAITING: FREE_STYLE,
    Phase.PREFILL: KINDS[1].style,
    Phase.DECODING: KINDS[0].style,
    Phase.PREEMPTED: KINDS[3].style,
    Phase.SWAPPED: KINDS[2].style,
}
WORDS = {
    Phase.WAITING: "waiting",
    Phase.PREFILL: "prefill",
    Phase.DECODING: "decoding",
    Phase.PREEMPTED: "preempted",
    Phase.SWAPPED: "on the host",
}
AT_ALL_COSTS = (Phase.PREEMPTED, Phase.SWAPPED)
"""A column of several steps shows these, wherever they are in it."""


def phase_glyph(phase: Phase, glyphs: Glyphs, marks: Marks) -> str:
    return {
        Phase.WAITING: glyphs.free,
        Phase.PREFILL: glyphs.reserved,
        Phase.DECODING: marks.bar,
        Phase.PREEMPTED: glyphs.external,
        Phase.SWAPPED: glyphs.internal,
    }[phase]


class Timeline(JupyterMixin):
    """The lanes of some sequences: at most ``max_rows`` lines, of which three are not lanes.

    They are those around ``focus``, or else from the first on that was there at ``step``, which is marked.
    Columns are steps, or with ``over_time`` simulated time; all of the run, or steps ``first`` up to
    ``stop``. A column that stands for several steps shows the phase of most of them, but a preemption or a swap
    always.
    """

    def __init__(
        self,
        fold: TimelineFold,
        step: int | None = None,
        *,
        focus: SeqId | None = None,
        max_rows: int | None = None,
        over_time: bool = False,
        first: int = 0,
        stop: int | None = None,
    ) -> None:
        self.fold = fold
        self.step = step
        self.focus = focus
        self.max_rows = max_rows
        self.over_time = over_time
        self.first = first
        self.stop = fold.num_steps if stop is None else min(stop, fold.num_steps)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self.stop <= self.first or not self.fold.names:
            yield Text("No step ran.", style="dim")
            return
        glyphs, marks = glyphs_of(options), marks_of(options)
        seqs = list(self.fold.names)
        room = None if self.max_rows is None else max(self.max_rows - 3, 1)
        shown = self._window(seqs, room)
        rows = [seqs[at] for at in shown]
        names = safe_names([self.fold.names[seq] for seq in rows], options.encoding)
        label = name_width(names, options.max_width) + 4
        edges = self._edges(max(options.max_width - label, 1))
        yield self._heading(edges, label, marks)
        lanes = [self.fold.spans(seq) for seq in rows]
        for seq, name, spans in zip(rows, names, lanes, strict=True):
            line = Text(
                FOCUS if seq == self.focus else " ", style="", no_wrap=True, overflow="crop"
            )
            line.append(owner(seq).letter, owner(seq).style)
            line.append(
                f" {padded(name, label - 4, marks.more)} ", "bold" if seq == self.focus else ""
            )
            self._lane(line, spans, edges, glyphs, marks)
            yield line
        rest = hidden(len(seqs), shown, room)
        if rest:
            yield Text(f"   {rest}", style="dim", no_wrap=True, overflow="crop")
        has_swaps = any(span.phase is Phase.SWAPPED for spans in lanes for span in spans)
        words = {p: word for p, word in WORDS.items() if has_swaps or p is not Phase.SWAPPED}
        yield self._legend(words, edges, glyphs, marks, options.max_width)

    def _window(self, seqs: Sequence[SeqId], room: int | None) -> range:
        if room is None or len(seqs) <= room:
            return range(len(seqs))
        if self.focus in self.fold.names:
            return window(len(seqs), room, seqs.index(self.focus))
        fit, start = max(room - 1, 1), 0
        if self.step is not None:
            step = self.step
            start = next((at for at, s in enumerate(seqs) if self.fold.is_present(s, step)), 0)
        start = min(start, len(seqs) - fit)
        return range(start, start + fit)

    def _edges(self, width: int) -> list[int]:
        """Step numbers between columns: column ``i`` stands for steps ``edges[i]`` up to ``edges[i + 1]``."""
        count = self.stop - self.first
        if not self.over_time:
            columns = min(width, count * max(width // count, 1)) if count < width else width
            return [self.first + at * count // columns for at in range(columns + 1)]
        ends = self.fold.step_ends
        start = ends[self.first - 1] if self.first else 0
        whole = max(ends[self.stop - 1] - start, 1)
        inner = [
            min(
                bisect_right(ends, start + at * whole // width, self.first, self.stop),
                self.stop - 1,
            )
            for at in range(width)
        ]
        return [*inner, self.stop]

    def _lane(
        self, line: Text, spans: Sequence[Span], edges: Sequence[int], glyphs: Glyphs, marks: Marks
    ) -> None:
        at = 0
        for first, stop in pairwise(edges):
            stop = max(stop, first + 1)
            while at < len(spans) and spans[at].stop <= first:
                at += 1
            tally: dict[Phase, int] = {}
            for span in spans[at:]:
                if span.first >= stop:
                    break
                steps = min(span.stop, stop) - max(span.first, first)
                tally[span.phase] = tally.get(span.phase, 0) + steps
            if not tally:
                line.append(" ")
                continue
            rare = [phase for phase in AT_ALL_COSTS if phase in tally]
            phase = rare[0] if rare else max(tally, key=lambda p: (tally[p], p))
            line.append(phase_glyph(phase, glyphs, marks), STYLES[phase])

    def _heading(self, edges: Sequence[int], label: int, marks: Marks) -> Text:
        line = Text(" " * label, no_wrap=True, overflow="crop")
        if self.step is None or not self.first <= self.step < self.stop:
            return line
        column = min(bisect_right(edges, self.step) - 1, len(edges) - 2)
        note = f"step {self.step:,}"
        if column >= len(note) + 1:
            line.append(" " * (column - len(note) - 1) + note + " ", "dim")
            return line.append(marks.here, "bold")
        return line.append(" " * column + marks.here, "bold").append(f" {note}", "dim")

    def _legend(
        self,
        words: Mapping[Phase, str],
        edges: Sequence[int],
        glyphs: Glyphs,
        marks: Marks,
        width: int,
    ) -> Text:
        line = Text(no_wrap=True, overflow="crop")
        for phase, word in words.items():
            line.append(phase_glyph(phase, glyphs, marks), STYLES[phase]).append(
                f" {word}  ", "dim"
            )
        columns = len(edges) - 1
        if self.over_time:
            ends = self.fold.step_ends
            span = ends[self.stop - 1] - (ends[self.first - 1] if self.first else 0)
            about = f"1 column = {format_duration(span / columns / 1e9)}"
        else:
            steps = (self.stop - self.first) / columns
            about = f"1 column = {counted(round(steps), 'step')}" if steps >= 1.5 else ""
            about = about or f"steps {self.first:,} to {self.stop - 1:,}"
        if line.cell_len + len(about) <= width:
            line.append(about, "dim")
        line.rstrip()
        return line
