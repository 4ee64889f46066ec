"""Progress bars for long work: on standard error, in a terminal only, and gone when done."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Tell = Callable[[str, int], None]


@contextmanager
def progress_bars(total: int) -> Iterator[Tell]:
    """Gives a function that is told (name, how many of ``total`` are done); each name is one bar."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskID,
        TextColumn,
        TimeElapsedColumn,
    )

    from pagesim.views.console import make_console

    console = make_console(stderr=True)
    tasks: dict[str, TaskID] = {}
    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    with bars:

        def tell(name: str, done: int) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=total)
            bars.update(tasks[name], completed=done)

        yield tell
