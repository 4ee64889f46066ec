"""``pagesim export``: one place of a recorded run, or several, as a file to keep or to print.

Knows nothing about how a frame is drawn.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pagesim.cli.show import Focus, Log
from pagesim.core.errors import InputError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pagesim.cli.places import OpenRun
    from pagesim.views.export import Look
    from pagesim.views.frame import Moment

SUFFIXES = (".svg", ".html", ".png", ".txt")
MOST_FRAMES = 100
LEAST_WIDTH, MOST_WIDTH = 40, 400
Output = Annotated[
    Path, typer.Option("--output", "-o", help="The file; its suffix says the format.")
]


def export(
    log: Log,
    output: Output,
    frames: Annotated[
        int | None, typer.Option(help="So many steps, evenly spaced, instead of one place.")
    ] = None,
    steps: Annotated[str | None, typer.Option(help="These steps, such as 1,5,9.")] = None,
    focus: Focus = None,
    width: Annotated[int, typer.Option(help="Columns.")] = 100,
    light: Annotated[bool, typer.Option("--light", help="Dark on white, as for print.")] = False,
    color: Annotated[bool, typer.Option("--color/--no-color", help="With colours.")] = True,
    ascii_only: Annotated[bool, typer.Option("--ascii", help="ASCII characters only.")] = False,
) -> None:
    """Write one frame of a recorded run, or a strip of them, as .svg, .html, .png or .txt."""
    check_output(output, SUFFIXES)
    if not LEAST_WIDTH <= width <= MOST_WIDTH:
        raise InputError(
            f"--width {width} was given; it must be from {LEAST_WIDTH} to {MOST_WIDTH} columns"
        )
    from pagesim.cli.places import OpenRun, parse_target
    from pagesim.views.export import Look
    from pagesim.views.frame import Frame

    target = parse_target(log)
    numbers = _listed(steps)
    if (frames is not None or numbers) and (target.step, target.event) != (None, None):
        raise InputError(f"{log} names one place already; leave it out with --frames and --steps")
    if frames is not None and numbers:
        raise InputError("--frames and --steps were both given; leave one out")
    if frames is not None and not 1 <= frames <= MOST_FRAMES:
        raise InputError(f"--frames {frames} was given; it must be from 1 to {MOST_FRAMES}")
    run = OpenRun(target.path)
    run.go_to(target)
    if frames is not None:
        numbers = evenly_spaced(run.cursor.num_steps, frames)
    parts: list[RenderableType] = []
    if not numbers:
        parts.append(Frame(run.moment(), focus=_focused(run, focus)))
    for number in numbers:
        run.go_to_step(number)
        parts.append(Frame(_kept(run), focus=_focused(run, focus)))
    _write(output, parts, Look(width, light, color, ascii_only), target.path.name)
    for warning in run.log.warnings:
        typer.echo(f"note: {warning}", err=True)
    typer.echo(f"{output}: {len(parts)} {'frame' if len(parts) == 1 else 'frames'}")


def evenly_spaced(count: int, wanted: int) -> list[int]:
    """Up to ``wanted`` of the numbers below ``count``, with the first and, if two or more, the last."""
    if wanted >= count:
        return list(range(count))
    if wanted == 1:
        return [0]
    return [at * (count - 1) // (wanted - 1) for at in range(wanted)]


def check_output(output: Path, suffixes: tuple[str, ...]) -> None:
    """Raises InputError for a file of another kind."""
    if output.suffix.lower() not in suffixes:
        known = f"{', '.join(suffixes[:-1])} or {suffixes[-1]}"
        raise InputError(f"{output} was given; the file's name must end in {known}")


def write_file(output: Path, data: bytes) -> None:
    """Raises InputError if it cannot be written."""
    try:
        output.write_bytes(data)
    except OSError as error:
        raise InputError(
            f"{output} cannot be written: {error.strerror}; name another file"
        ) from None


def _listed(steps: str | None) -> list[int]:
    if steps is None:
        return []
    words = [word.strip() for word in steps.split(",")]
    if not all(word.isascii() and word.isdigit() and len(word) < 18 for word in words):
        raise InputError(f"--steps {steps!r} was given; write step numbers, such as 1,5,9")
    if len(words) > MOST_FRAMES:
        raise InputError(f"--steps names {len(words)} steps; {MOST_FRAMES} are the most")
    return [int(word) for word in words]


def _kept(run: "OpenRun") -> "Moment":
    """The moment with a state of its own, since the cursor goes on."""
    from dataclasses import replace

    moment = run.moment()
    return replace(moment, state=moment.state.copy())


def _focused(run: "OpenRun", focus: str | None) -> int | None:
    return None if focus is None else run.sequence(focus)


def _write(output: Path, parts: "list[RenderableType]", look: "Look", title: str) -> None:
    from pagesim.views import export as drawn

    suffix = output.suffix.lower()
    if suffix == ".txt":
        data = drawn.to_text(parts, look).encode()
    elif suffix == ".html":
        data = drawn.to_html(parts, look, title).encode()
    elif suffix == ".svg":
        data = drawn.to_svg(parts, look, title).encode()
    else:
        data = drawn.to_png(drawn.to_svg(parts, look, title))
    write_file(output, data)
