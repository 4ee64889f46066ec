"""What ``pagesim check`` says of a manager: every law with its verdict, and how the first broken one was broken.

Knows nothing about how the verdicts came about.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pagesim.practice.manager_report import GRADED, ManagerReport, Verdict, says
from pagesim.views.glyphs import clean

if TYPE_CHECKING:
    from rich.console import RenderableType

STYLES = {
    Verdict.KEPT: "",
    Verdict.BROKEN: "bold #d55e00",
    Verdict.OPEN: "dim",
    Verdict.NOT_APPLICABLE: "dim",
}
WORDS = {
    Verdict.KEPT: "kept",
    Verdict.BROKEN: "BROKEN",
    Verdict.OPEN: "not judged",
    Verdict.NOT_APPLICABLE: "not asked",
}
MOST_PRINTED = 10
MOST_LINES = 30


def report_parts(
    report: ManagerReport, name: str, seed: int, log: Path | None, printed: str, encoding: str
) -> "Iterator[RenderableType]":
    """Lines and tables, to be printed one after another; a learner's own words are made safe to show."""

    def safe(text: str) -> str:
        return clean(text, encoding)

    yield Text(safe(_about(report, name)))
    yield Text(_tried(report, seed))
    yield Text()
    yield _laws(report)
    if report.outcome.passed:
        yield Text()
        yield Text("every law is kept", style="bold")
    else:
        yield from _broken(report, log, safe)
    if printed.strip():
        lines = printed.strip().splitlines()
        yield Text()
        yield Text(f"your code printed {len(lines):,} {'line' if len(lines) == 1 else 'lines'}:")
        for line in lines[:MOST_PRINTED]:
            yield Text(f"    {safe(line)}")
        if len(lines) > MOST_PRINTED:
            yield Text("    ...")


def _about(report: ManagerReport, name: str) -> str:
    if not report.contract:
        return f"{name} could not be examined to the end"
    lacks = f"; it has no {', no '.join(report.lacks)}" if report.lacks else ""
    return f"{name} meets the {report.contract} contract{lacks}"


def _tried(report: ManagerReport, seed: int) -> str:
    tried = report.tried
    return (
        f"{tried.rows:,} rows of {tried.operations:,} operations and {tried.runs:,} whole runs of "
        f"{tried.steps:,} steps were played, seed {seed}"
    )


def _laws(report: ManagerReport) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(2):
        table.add_column(no_wrap=True)
    table.add_column()
    for law in GRADED:
        verdict = report.verdict(law)
        why = report.why_not(law) if verdict is Verdict.NOT_APPLICABLE else says(law)
        style = STYLES[verdict]
        table.add_row(Text(law, style), Text(WORDS[verdict], style), Text(why, style))
    return table


def _broken(
    report: ManagerReport, log: Path | None, safe: Callable[[str], str]
) -> "Iterator[RenderableType]":
    outcome = report.outcome
    yield Text()
    yield Text(f"{report.law} is broken", style=STYLES[Verdict.BROKEN])
    yield Text(safe(outcome.sentence))
    if outcome.operations:
        yield Text()
        yield Text("these calls lead there:")
        for line in _shortened(outcome.operations):
            yield Padding(Text(safe(line)), (0, 0, 0, 4))
    if log is not None:
        yield Text()
        yield Text(f"see it: pagesim view {quote(str(log))}")
    if any(report.verdict(law) is Verdict.OPEN for law in GRADED):
        yield Text("the laws not judged are looked at once this one is kept", style="dim")


def _shortened(lines: tuple[str, ...]) -> Iterator[str]:
    """The last of very many."""
    if len(lines) > MOST_LINES:
        yield lines[0]
        yield f"# ... {len(lines) - MOST_LINES:,} more calls ..."
        lines = lines[1 - MOST_LINES :]
    yield from lines


def report_json(
    report: ManagerReport, name: str, seed: int, log: Path | None, printed: str
) -> dict[str, object]:
    """The same for programs."""
    outcome = report.outcome
    laws = {
        law: {
            "verdict": report.verdict(law).value,
            "says": says(law),
            "why_not": report.why_not(law) or None,
        }
        for law in GRADED
    }
    broken = {
        "law": report.law,
        "sentence": outcome.sentence,
        "operations": list(outcome.operations),
    }
    return {
        "manager": name,
        "contract": report.contract or None,
        "lacks": list(report.lacks),
        "seed": seed,
        "tried": report.tried._asdict(),
        "passed": outcome.passed,
        "laws": laws,
        "broken": None if outcome.passed else broken,
        "log": None if log is None else str(log),
        "printed": printed,
    }
