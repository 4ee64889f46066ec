"""``pagesim show``: one place of a recorded run, on one screen.

Knows nothing about how a frame is drawn.
"""

from typing import Annotated

import typer

Log = Annotated[
    str,
    typer.Argument(
        metavar="LOG[@PLACE]", help="LOG@12 is step 12, LOG@e345 event 345, LOG alone the end."
    ),
]
Focus = Annotated[str | None, typer.Option(help="Show this request's memory; dim the others'.")]


def show(log: Log, focus: Focus = None) -> None:
    """Show memory, requests, block tables and what is taken next at one place of a recorded run."""
    from pagesim.cli.options import print_notes
    from pagesim.cli.places import OpenRun, parse_target
    from pagesim.views.console import make_console
    from pagesim.views.frame import Frame
    from pagesim.views.free_queue import FreeQueueLines

    target = parse_target(log)
    run = OpenRun(target.path)
    run.go_to(target)
    seq = None if focus is None else run.sequence(focus)
    console = make_console()
    console.print(Frame(run.moment(), focus=seq))
    queue = run.free_queue()
    if queue is not None:
        console.print(FreeQueueLines(queue.blocks, queue.eviction_order()))
    print_notes(console, run.log.warnings)
