"""The whole screen of a comparison, and that of a single run.

Puts the parts together, top to bottom: what was served, a table of figures, where the memory went,
the memories at one moment, what was refused, and a sentence or two. Knows nothing about how runs
are made: a comparison is whatever has results, a moment and maps.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.jupyter import JupyterMixin
from rich.table import Table
from rich.text import Text

from pagesim.replay.memory_map import MemoryMap
from pagesim.views.closing import RunLike, closing
from pagesim.views.figures import format_duration
from pagesim.views.glyphs import clean, glyphs_of
from pagesim.views.map_grid import MapGrid, NamedMap
from pagesim.views.run_table import Named, run_table
from pagesim.views.waste_bar import LabelledSplit, WasteBars

MOST_REASONS = 3


class ComparisonLike(Protocol):
    """What the screen needs of a comparison."""

    @property
    def results(self) -> Sequence[RunLike]: ...
    @property
    def moment_ns(self) -> int | None: ...
    @property
    def maps(self) -> Sequence[MemoryMap]: ...


@dataclass(frozen=True, slots=True)
class Header:
    """What a screen says about its runs before their figures.

    ``lines`` are pairs of a label and its text, such as ("memory", "12.00 GiB, 15,728 slots").
    ``bytes_per_slot`` turns slots into GiB. ``titles`` say what each allocator's name means.
    """

    title: str
    lines: tuple[tuple[str, str], ...]
    bytes_per_slot: int
    titles: Mapping[str, str] = field(default_factory=dict)


class CompareScreen(JupyterMixin):
    """One workload, served from several memories."""

    def __init__(self, comparison: ComparisonLike, header: Header) -> None:
        self.comparison = comparison
        self.header = header

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        comparison = self.comparison
        sheet = _Sheet(self.header, comparison.results, options)
        yield from sheet.top()
        yield from sheet.waste()
        yield from sheet.maps(comparison.maps, comparison.moment_ns)
        yield from sheet.refusals()
        yield from sheet.closing()


class RunScreen(JupyterMixin):
    """One run; ``shown``, if given, is its memory at some moment."""

    def __init__(self, result: RunLike, header: Header, shown: MemoryMap | None = None) -> None:
        self.result = result
        self.header = header
        self.shown = shown

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        sheet = _Sheet(self.header, [self.result], options)
        yield from sheet.top()
        yield from sheet.waste()
        if self.shown is not None:
            yield from sheet.maps([self.shown], self.shown.time_ns)
        yield from sheet.refusals()
        yield from sheet.closing()


class _Sheet:
    """The sections of a screen, each with an empty line and a heading before it."""

    def __init__(self, header: Header, results: Sequence[RunLike], options: ConsoleOptions) -> None:
        self._header = header
        self._results = results
        self._encoding = options.encoding
        self._width = options.max_width
        self._glyphs = glyphs_of(options)
        self._named = [
            Named(self._clean(run.allocator), self._title(run.allocator), run.report)
            for run in results
        ]

    def _clean(self, text: str) -> str:
        return clean(text, self._encoding)

    def _title(self, allocator: str) -> str:
        title = self._clean(self._header.titles.get(allocator, ""))
        return "" if title == self._clean(allocator) else title

    def _heading(self, text: str) -> Iterator[Text]:
        yield Text()
        line = Text(f"{text} ", style="bold", overflow="fold")
        blank = self._width - line.cell_len
        if blank > 0:
            line.append(self._glyphs.rule * blank, "dim not bold")
        yield line

    def top(self) -> Iterator[RenderableType]:
        """The header and the table of figures."""
        yield Text(self._clean(self._header.title), style="bold", overflow="fold")
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column(overflow="fold")
        for label, text in self._header.lines:
            grid.add_row(Text(self._clean(label)), Text(self._clean(text), overflow="fold"))
        if self._header.lines:
            yield grid
        if not self._named:
            return
        yield from self._heading("How the requests were served")
        yield run_table(self._named, self._width)
        yield Text(
            "at once: requests that hold memory. p50: half were as quick or quicker; "
            "p99: 99 of 100 were.",
            style="dim",
        )

    def waste(self) -> Iterator[RenderableType]:
        if not self._named:
            return
        yield from self._heading("Where the memory went")
        for text in _windows(self._named):
            yield Text(text, style="dim", overflow="fold")
        rows = [LabelledSplit(named.name, named.report.waste, named.title) for named in self._named]
        yield WasteBars(rows, self._header.bytes_per_slot)

    def maps(self, maps: Sequence[MemoryMap], moment_ns: int | None) -> Iterator[RenderableType]:
        several = len(self._named) > 1
        if not maps or moment_ns is None:
            if several:
                yield from self._heading("The memory at one moment")
                yield Text("No moment was seen in every run, so there are no maps.", style="dim")
            return
        when = format_duration(moment_ns / 1e9)
        yield from self._heading(f"The memory after {when} of simulated time")
        if several:
            yield Text("The same moment in every run.", style="dim")
        yield MapGrid(
            [
                NamedMap(named.name, named.title, shown, _noun(named))
                for named, shown in zip(self._named, maps, strict=True)
            ]
        )

    def refusals(self) -> Iterator[RenderableType]:
        refused = [named for named in self._named if named.report.num_refused]
        if not refused:
            return
        yield from self._heading("Refused")
        for named in refused:
            report = named.report
            line = Text(overflow="fold")
            line.append(named.name, "bold")
            yield line.append(f"  {report.num_refused:,} of {report.num_requests:,} requests")
            shown = report.refusals[:MOST_REASONS]
            for request, reason in shown:
                yield Text(self._clean(f"  {request}: {reason}"), overflow="fold")
            if report.num_refused > len(shown):
                yield Text(f"  and {report.num_refused - len(shown):,} more", style="dim")

    def closing(self) -> Iterator[RenderableType]:
        yield from self._heading("In short")
        yield Text(self._clean(" ".join(closing(self._results))), overflow="fold")


def _noun(named: Named) -> str:
    """Holders are sequences; where each request has one, that is the same and the plainer word."""
    report = named.report
    return "request" if report.peak_sequences == report.peak_requests else "sequence"


def _windows(named: Sequence[Named]) -> list[str]:
    """Over which steps means were taken: once, where it is the same for all."""
    names: dict[str, list[str]] = {}
    for one in named:
        names.setdefault(one.report.window.why, []).append(one.name)
    if len(names) == 1:
        return [f"Means over {why}." for why in names]
    return [f"{', '.join(alike)}: means over {why}." for why, alike in names.items()]
