"""A table of figures with groups of columns under common headings, packed into the width there is.

Where one table is too wide it becomes several, one below the other, each with the rows' labels.
Knows nothing about what the figures are.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.jupyter import JupyterMixin
from rich.text import Text

from pagesim.views.glyphs import glyphs_of

NARROW_GAP, WIDE_GAP = 1, 2
"""Blanks between the columns of a group; between groups there is one more."""


@dataclass(frozen=True, slots=True)
class Group:
    """Columns under one heading of one line or more. ``cells`` is rows of one text a column."""

    heading: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    align_left: bool = False

    def widths(self, gap: int) -> tuple[int, ...]:
        """Widths of the columns; the first is widened where the heading needs it."""
        rows = (self.columns, *self.cells)
        widths = [max(cell_len(row[at]) for row in rows) for at in range(len(self.columns))]
        room = sum(widths) + gap * (len(widths) - 1)
        widths[0] += max(max(map(cell_len, self.heading), default=0) - room, 0)
        return tuple(widths)

    def width(self, gap: int) -> int:
        widths = self.widths(gap)
        return sum(widths) + gap * (len(widths) - 1)


class FigureTable(JupyterMixin):
    """Rows of figures. ``labels`` name the rows; ``notes``, if there is room, stand at their ends."""

    def __init__(
        self, labels: Sequence[Text], groups: Sequence[Group], notes: Sequence[str] = ()
    ) -> None:
        self._labels = labels
        self._groups = groups
        self._notes = notes
        self._label_width = max((label.cell_len for label in labels), default=0)

    def num_tables(self, width: int) -> int:
        return len(self._packed(width, NARROW_GAP))

    def holds_notes(self, width: int, gap: int = NARROW_GAP) -> bool:
        longest = max(map(cell_len, self._notes), default=0)
        needed = self._label_width + sum(gap + 1 + group.width(gap) for group in self._groups)
        return bool(self._notes) and needed + gap + 1 + longest <= width

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        rule, width = glyphs_of(options).rule, options.max_width
        gap = WIDE_GAP if self._wide_fits(width) else NARROW_GAP
        notes = self._notes if self.holds_notes(width, gap) else ()
        for number, groups in enumerate(self._packed(width, gap)):
            if number:
                yield Text()
            yield from self._lines(groups, gap, rule, notes)

    def _wide_fits(self, width: int) -> bool:
        """Wider gaps cost neither a further table nor the notes."""
        return len(self._packed(width, WIDE_GAP)) == self.num_tables(width) and self.holds_notes(
            width, WIDE_GAP
        ) == self.holds_notes(width)

    def _packed(self, width: int, gap: int) -> list[list[Group]]:
        tables: list[list[Group]] = []
        room = 0
        for group in self._groups:
            needed = gap + 1 + group.width(gap)
            if needed > room or not tables:
                tables.append([])
                room = width - self._label_width
            tables[-1].append(group)
            room -= needed
        return tables

    def _lines(
        self, groups: Sequence[Group], gap: int, rule: str, notes: Sequence[str]
    ) -> Iterator[Text]:
        height = max(len(group.heading) for group in groups)
        padded = [
            replace(group, heading=("",) * (height - len(group.heading)) + group.heading)
            for group in groups
        ]
        for at in range(height):
            yield self._spanned([(group.heading[at], group) for group in padded], gap, "bold")
        if height:
            rules = [(rule * g.width(gap) if any(g.heading) else "", g) for g in groups]
            yield self._spanned(rules, gap, "dim")
        if any(any(group.columns) for group in groups):
            yield self._row(Text(), [(group.columns, group) for group in groups], gap, "dim")
        for at, label in enumerate(self._labels):
            line = self._row(label, [(group.cells[at], group) for group in groups], gap, "")
            if notes:
                line.append(" " * (gap + 1) + notes[at], "dim")
            yield line

    def _spanned(self, parts: Sequence[tuple[str, Group]], gap: int, style: str) -> Text:
        line = Text(" " * self._label_width, overflow="fold")
        for text, group in parts:
            line.append(" " * (gap + 1))
            line.append(_placed(group, text, group.width(gap)), style)
        line.rstrip()
        return line

    def _row(
        self, label: Text, parts: Sequence[tuple[tuple[str, ...], Group]], gap: int, style: str
    ) -> Text:
        line = Text(overflow="fold").append_text(label)
        line.pad_right(self._label_width - label.cell_len)
        for texts, group in parts:
            line.append(" ")
            for text, width in zip(texts, group.widths(gap), strict=True):
                line.append(" " * gap + _placed(group, text, width), style)
        line.rstrip()
        return line


def _placed(group: Group, text: str, width: int) -> str:
    blank = " " * (width - cell_len(text))
    return text + blank if group.align_left else blank + text
