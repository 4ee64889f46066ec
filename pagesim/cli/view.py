"""``pagesim view``: one recorded run, or two side by side, to move about in.

Knows nothing about what the viewer shows.
"""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pagesim.replay.log import RunLog


def view(
    logs: Annotated[
        list[str],
        typer.Argument(
            help="A log of `pagesim run --log`, or LOG@STEP, LOG@eEVENT to begin there; two are shown "
            "side by side, at the same simulated time."
        ),
    ],
) -> None:
    """Step through a recorded run, forward and back, in the terminal."""
    import os
    import sys

    from pagesim.cli.places import parse_target
    from pagesim.core.errors import InputError
    from pagesim.tui.terminal import run_in_terminal, why_not

    if len(logs) > 2:
        raise InputError(f"{len(logs)} logs were given; the viewer shows one, or two side by side")
    reason = why_not(os.environ, sys.stdin, sys.stdout, sys.stderr)
    if reason is not None:
        raise InputError(reason)
    from pagesim.replay.log import read_log

    targets = [parse_target(text) for text in logs]
    read = [read_log(target.path) for target in targets]
    if not os.environ.get("NO_COLOR"):
        os.environ.pop("NO_COLOR", None)  # an empty one means nothing; Textual would heed it
    from pagesim.tui.app import ViewerApp
    from pagesim.tui.typed import place_typed
    from pagesim.tui.viewed import ViewedRun
    from pagesim.views.console import stream_encoding

    runs = [ViewedRun(target.path.name, log) for target, log in zip(targets, read, strict=True)]
    first = targets[0]
    start = None if first.step is None else f"{first.step}"
    start = start if first.event is None else f"e{first.event}"
    if start is None:
        start = _opens_at(read[0])
    if start is not None:
        place_typed(runs[0], start)  # is there such a place? else nothing is started
    notes = [warning for log in read for warning in log.warnings]
    encoding = stream_encoding(sys.stdout, os.environ)
    raise typer.Exit(run_in_terminal(ViewerApp(runs, encoding=encoding, start=start, notes=notes)))


def _opens_at(log: "RunLog") -> str | None:
    """Where the log itself says it is to be opened: one that shows a fault is, where that is found."""
    from pagesim.replay.logged_fault import logged_fault

    place = log.header.get("opens_at")
    if isinstance(place, int) and place >= 0:
        return f"e{place}"
    fault = logged_fault(log)
    return None if fault is None else f"e{fault.place}"
