"""Recorded runs as one HTML file to step through: which events of them it holds, and that it stays small.

Knows nothing about how a run is packed or shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pagesim.core.errors import InputError

if TYPE_CHECKING:
    from pagesim.cli.progress import Tell
    from pagesim.web.bundle import Json

MOST_RUNS = 8
LEAST_EVENTS = 500
LONG = 20_000
"""Events from which on it is shown how far the packing is."""


@dataclass(frozen=True, slots=True)
class Steps:
    """Which steps a page is to hold: from ``first`` to ``last``; ``None``: as usual, to the end."""

    first: int | None = None
    last: int | None = None

    @property
    def is_usual(self) -> bool:
        return self.first is None and self.last is None


USUAL_STEPS = Steps()


def write_player(
    logs: Sequence[tuple[str, Path]],
    output: Path,
    steps: Steps = USUAL_STEPS,
    *,
    quietly: bool = False,
) -> None:
    """Write the page of these logs, with the names that their runs are to have, and say on the terminal what it holds
    (``quietly``: on standard error). One log is read at a time.

    Where the page would be too large, it holds fewer events. Raises InputError for steps that are not there.
    """
    from pagesim.cli.export import write_file
    from pagesim.cli.progress import progress_bars
    from pagesim.web.bundle import MOST_EVENTS
    from pagesim.web.export_html import MOST_BYTES

    most = MOST_EVENTS
    while True:
        with progress_bars(100) as tell:
            runs = [_packed(name, path, steps, most, tell) for name, path in logs]
        data = _page(runs)
        if len(data) <= MOST_BYTES:
            break
        if most <= LEAST_EVENTS:
            raise InputError(
                f"{most} events of {logs[0][0]} take {len(data) / 1e6:.1f} MB and a page holds "
                f"{MOST_BYTES / 1e6:.0f} MB: its names are too long for a page; use `pagesim view`"
            )
        most = max(LEAST_EVENTS, most * 9 * MOST_BYTES // len(data) // 10)
    write_file(output, data)
    _tell(output, runs, len(data), quietly=quietly)


def _packed(name: str, path: Path, steps: Steps, most: int, tell: "Tell") -> "Json":
    """``tell`` is told how far a long log is, in percent."""
    from pagesim.cli.places import check_no_scenario
    from pagesim.replay.cursor import Cursor
    from pagesim.replay.log import read_log
    from pagesim.web.bundle import run_payload, usual_window, window_of_steps

    check_no_scenario(path)
    log = read_log(path)
    total = len(log.events)

    def progress(done: int) -> None:
        if total > LONG:
            tell(f"{name}, %", 100 * done // total)

    progress(0)
    cursor = Cursor.of_log(log)
    if steps.is_usual:
        window = usual_window(cursor, most)
    else:
        window = window_of_steps(cursor, steps.first or 0, steps.last, most)
    return run_payload(log, name, window=window, progress=progress)


def _page(runs: "list[Json]") -> bytes:
    from pagesim.web.bundle import page_payload
    from pagesim.web.export_html import player_page

    title = " and ".join(str(run["name"]) for run in runs)
    return player_page(page_payload(runs), f"{title} - pagesim").encode()


def _tell(output: Path, runs: "list[Json]", size: int, *, quietly: bool) -> None:
    from pagesim.views.figures import counted
    from pagesim.views.glyphs import clean

    for run in runs:
        notes = run["notes"]
        assert isinstance(notes, list)
        for note in notes:
            typer.echo(f"note: {clean(note, 'utf-8')}", err=True)
    events = sum(run["stop"] - run["first"] for run in runs)  # type: ignore[operator]
    held = f"{counted(len(runs), 'run')}, {counted(events, 'event')}, {size / 1e6:.1f} MB"
    typer.echo(f"{output}: {held}; open it in a browser", err=quietly)
