"""A table of a sweep: a row for each point, the best figure of each column marked.

Where one table is too wide it becomes several, one below the other, each with the values of the axes. Knows
nothing about how points are run.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.jupyter import JupyterMixin
from rich.style import Style
from rich.text import Text

from pagesim.replay.metrics import METRICS, Metric, Unit
from pagesim.replay.report import RunReport
from pagesim.views.figures import NOT_KNOWN, format_durations, format_mean, format_percent
from pagesim.views.glyphs import clean, glyphs_of

BEST = "*"
APART = "~"
BEST_STYLE = Style(bold=True, color="#00966b")
MOST_OF_A_VALUE = 28
LEAST_OF_A_SENTENCE = 24
GAPS = ((2, 3), (1, 2), (1, 1))
"""Blanks between the columns of a group, and between groups; the widest that cost no further table."""
HEADINGS = 3
"""Lines above the figures: what a group is, a rule, and what a column is."""
GROUPS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    ("served per s", (("requests", "throughput"), ("tokens", "output"))),
    ("at once", (("requests", "at-once"),)),
    ("memory", (("used", "used"),)),
    ("preempted", (("times", "preemptions"), ("lost", "lost"))),
    ("first token", (("p50", "ttft"), ("p99", "ttft-p99"))),
    ("per output token", (("p50", "tpot"), ("p99", "tpot-p99"))),
    ("requests", (("refused", "refused"),)),
)
"""The groups of columns: the heading of a column, and the metric it shows."""


@dataclass(frozen=True, slots=True)
class SweepRow:
    """One point: the values of the axes that vary, its report, or why there is none, and what runs it again."""

    values: tuple[str, ...]
    report: RunReport | None
    why_not: str | None = None
    command: str = ""


@dataclass(frozen=True, slots=True)
class Heading:
    """What an axis is called; names stand to the left, numbers to the right."""

    label: str
    is_number: bool


@dataclass(frozen=True, slots=True)
class _Column:
    heading: str
    cells: tuple[str, ...]
    best: tuple[bool, ...]

    @property
    def width(self) -> int:
        return max(cell_len(self.heading), *map(cell_len, self.cells)) + len(BEST)


@dataclass(frozen=True, slots=True)
class _Group:
    heading: str
    columns: tuple[_Column, ...]

    def width(self, gap: int) -> int:
        return max(self._natural(gap), cell_len(self.heading) + len(BEST))

    def widths(self, gap: int) -> list[int]:
        """The first column is widened where the heading needs it."""
        widths = [column.width for column in self.columns]
        widths[0] += self.width(gap) - self._natural(gap)
        return widths

    def _natural(self, gap: int) -> int:
        return sum(column.width for column in self.columns) + gap * (len(self.columns) - 1)


class SweepTable(JupyterMixin):
    """``rows`` in the order of the grid, under the headings of the axes that vary and of the figures."""

    def __init__(self, axes: Sequence[Heading], rows: Sequence[SweepRow]) -> None:
        self._axes = axes
        self._rows = rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if not self._rows:
            return
        encoding, width = options.encoding, options.max_width
        values = [[_shortened(clean(v, encoding)) for v in row.values] for row in self._rows]
        labels = _labels(self._axes, values)
        groups = _groups([row.report for row in self._rows])
        room = width - cell_len(labels[0])
        gaps = _widest_gaps(groups, room)
        for number, packed in enumerate(_packed(groups, room, gaps)):
            if number:
                yield Text()
            yield from _header(labels[:HEADINGS], packed, gaps, glyphs_of(options).rule)
            for at, (label, row) in enumerate(zip(labels[HEADINGS:], self._rows, strict=True)):
                if row.report is not None:
                    yield _figures(label, packed, at, gaps)
                elif number:
                    yield Text(f"{label}  impossible, as said above".rstrip(), "dim")
                else:
                    why = clean(row.why_not or "", encoding)
                    yield from _sentence(label, f"impossible: {why}", console, width)


def best_rows(metric: Metric, reports: Sequence[RunReport | None]) -> list[int]:
    """The numbers of the rows that are best in ``metric``, in order; none where no row has a figure.

    Rows that refused more than others are not compared: serving half the work is no feat.
    """
    known = {
        at: value
        for at, report in enumerate(reports)
        if report is not None and (value := metric.of(report)) is not None
    }
    if not known:
        return []
    fewest = min(report.num_refused for report in reports if report is not None)
    apart = set(other_windows(reports)) if metric.windowed else set()
    fair = {
        at: value
        for at, value in known.items()
        if _refused(reports[at]) == fewest and at not in apart
    }
    best = (max if metric.more_is_better else min)((fair or known).values())
    return [at for at, value in (fair or known).items() if value == best]


def other_windows(reports: Sequence[RunReport | None]) -> list[int]:
    """Rows whose means are over all steps, since nobody had to wait, where those of others are not."""
    whys = {at: report.window.why for at, report in enumerate(reports) if report is not None}
    if len(set(whys.values())) < 2:
        return []
    return [at for at, why in whys.items() if why.startswith("all steps")]


def _refused(report: RunReport | None) -> int:
    return 0 if report is None else report.num_refused


def shown(metric: Metric, values: Sequence[float | None]) -> list[str]:
    """Figures of one metric that are read beside each other, with as many decimals each."""
    if metric.unit is Unit.SECONDS:
        return _durations(values)
    if metric.unit is Unit.PERCENT:
        return [NOT_KNOWN if value is None else format_percent(value) for value in values]
    if metric.unit is Unit.MEAN:
        return [format_mean(value) for value in values]
    largest = max((value for value in values if value is not None), default=0)
    decimals = 0 if metric.unit is Unit.COUNT else max(0, 3 - len(str(int(largest))) + 1)
    return [NOT_KNOWN if value is None else f"{value:,.{decimals}f}" for value in values]


def _durations(values: Sequence[float | None]) -> list[str]:
    """In one unit, so that a column can be compared at a glance."""
    cells = format_durations(values)
    if len({cell.rpartition(" ")[2] for cell in cells if cell != NOT_KNOWN}) <= 1:
        return cells
    decimals = 2 if min(value for value in values if value) >= 0.1 else 3
    return [NOT_KNOWN if value is None else f"{value:,.{decimals}f} s" for value in values]


# -- parts -------------------------------------------------------------------------------------------


def _groups(reports: Sequence[RunReport | None]) -> list[_Group]:
    return [_Group(heading, _columns(columns, reports)) for heading, columns in GROUPS]


def _columns(
    titled: Sequence[tuple[str, str]], reports: Sequence[RunReport | None]
) -> tuple[_Column, ...]:
    """The columns of one group; times among them have one unit."""
    metrics = [METRICS[name] for _, name in titled]
    values = [[None if r is None else metric.of(r) for r in reports] for metric in metrics]
    if all(metric.unit is Unit.SECONDS for metric in metrics):
        together = shown(metrics[0], [value for column in values for value in column])
        count = len(reports)
        cells = [together[at * count : (at + 1) * count] for at in range(len(metrics))]
    else:
        cells = [shown(metric, column) for metric, column in zip(metrics, values, strict=True)]
    for at in other_windows(reports):
        for metric, column in zip(metrics, cells, strict=True):
            if metric.windowed:
                column[at] = APART + column[at]
    return tuple(
        _Column(heading, tuple(texts), _marks(texts, best_rows(metric, reports)))
        for (heading, _), metric, texts in zip(titled, metrics, cells, strict=True)
    )


def _marks(cells: Sequence[str], best: Sequence[int]) -> tuple[bool, ...]:
    """Which cells are marked: those that look like the best; none where all that are known look so."""
    looks = {cells[at] for at in best}
    told = any(cell not in looks and cell != NOT_KNOWN for cell in cells)
    return tuple(told and cell in looks for cell in cells)


def _labels(axes: Sequence[Heading], values: Sequence[Sequence[str]]) -> list[str]:
    """The columns of the axes, heading and rows, all of one width."""
    lines = [""] * (HEADINGS + len(values))
    for at, axis in enumerate(axes):
        heading = _stacked(axis.label)
        column = heading + [row[at] for row in values]
        width = max(map(cell_len, column))
        for line, text in enumerate(column):
            blank = " " * (width - cell_len(text))
            lines[line] += ("  " if at else "") + (blank + text if axis.is_number else text + blank)
    return lines


def _stacked(label: str) -> list[str]:
    """A heading's words, in so many lines, down to the last."""
    words = label.split(" ")
    kept = [*words[: HEADINGS - 1], " ".join(words[HEADINGS - 1 :])]
    lines = [word for word in kept if word]
    return [""] * (HEADINGS - len(lines)) + lines


def _widest_gaps(groups: Sequence[_Group], room: int) -> tuple[int, int]:
    least = len(_packed(groups, room, GAPS[-1]))
    return next(gaps for gaps in GAPS if len(_packed(groups, room, gaps)) == least)


def _packed(groups: Sequence[_Group], room: int, gaps: tuple[int, int]) -> list[list[_Group]]:
    """Groups by table: as many to one as there is room for."""
    inside, between = gaps
    tables: list[list[_Group]] = []
    left = 0
    for group in groups:
        needed = between + group.width(inside)
        if needed > left or not tables:
            tables.append([])
            left = room
        tables[-1].append(group)
        left -= needed
    return tables


def _header(
    labels: Sequence[str], groups: Sequence[_Group], gaps: tuple[int, int], rule: str
) -> Iterator[Text]:
    inside, between = gaps
    mark = " " * len(BEST)
    lines = [Text(label, "dim", overflow="fold") for label in labels]
    for group in groups:
        room = group.width(inside) - len(BEST)
        lines[0].append(" " * between + group.heading.rjust(room) + mark, "bold not dim")
        lines[1].append(" " * between + rule * room + mark)
        gap = between
        for column, width in zip(group.columns, group.widths(inside), strict=True):
            lines[2].append(" " * gap + column.heading.rjust(width - len(BEST)) + mark)
            gap = inside
    for line in lines:
        line.rstrip()
        yield line


def _figures(label: str, groups: Sequence[_Group], at: int, gaps: tuple[int, int]) -> Text:
    inside, between = gaps
    line = Text(label, overflow="fold")
    for group in groups:
        gap = between
        for column, width in zip(group.columns, group.widths(inside), strict=True):
            cell = column.cells[at]
            line.append(" " * (gap + width - len(BEST) - cell_len(cell)))
            if column.best[at]:
                line.append(cell + BEST, BEST_STYLE)
            else:
                line.append(cell + " " * len(BEST))
            gap = inside
    line.rstrip()
    return line


def _sentence(label: str, text: str, console: Console, width: int) -> Iterator[Text]:
    """A row's sentence, folded beside its label."""
    before = f"{label}  "
    room = max(width - cell_len(before), LEAST_OF_A_SENTENCE)
    for part in Text(text).wrap(console, room):
        yield Text(before + part.plain.rstrip(), "dim", overflow="fold")
        before = " " * cell_len(before)


def _shortened(text: str) -> str:
    """Long values (a file's path) keep their end."""
    return text if cell_len(text) <= MOST_OF_A_VALUE else "..." + text[3 - MOST_OF_A_VALUE :]
