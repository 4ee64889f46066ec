"""``pagesim export``: recorded runs as a page to step through, or places of one as pictures to keep or to print.

Knows nothing about how a page or a frame is drawn.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pagesim.cli.show import Focus
from pagesim.core.errors import InputError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pagesim.cli.places import OpenRun, Target
    from pagesim.views.export import Look
    from pagesim.views.frame import Moment

SUFFIXES = (".svg", ".html", ".png", ".txt")
MOST_FRAMES = 100
LEAST_WIDTH, MOST_WIDTH, USUAL_WIDTH = 40, 400, 100
Output = Annotated[
    Path, typer.Option("--output", "-o", help="The file; its suffix says the format.")
]


def export(
    logs: Annotated[
        list[str],
        typer.Argument(
            metavar="LOG[@PLACE]",
            help="LOG alone as .html is a page with the whole run in it, several LOGs are shown side by side there. "
            "LOG@12 is a picture of step 12, LOG@e345 of event 345.",
        ),
    ],
    output: Output,
    from_step: Annotated[
        int | None, typer.Option(help="Of a long run: the page begins at this step.")
    ] = None,
    to_step: Annotated[
        int | None, typer.Option(help="And ends with this one, if it has room.")
    ] = None,
    static: Annotated[
        bool, typer.Option("--static", help="A picture of the end, also as .html.")
    ] = False,
    frames: Annotated[
        int | None, typer.Option(help="Pictures of so many steps, evenly spaced.")
    ] = None,
    steps: Annotated[str | None, typer.Option(help="Pictures of these steps, as 1,5,9.")] = None,
    focus: Focus = None,
    width: Annotated[int | None, typer.Option(help="Columns of a picture.  [default: 100]")] = None,
    light: Annotated[bool, typer.Option("--light", help="Dark on white, as for print.")] = False,
    color: Annotated[bool, typer.Option("--color/--no-color", help="With colours.")] = True,
    ascii_only: Annotated[bool, typer.Option("--ascii", help="ASCII characters only.")] = False,
) -> None:
    """Write a recorded run as a page to step through (.html), or pictures of it (.svg, .html, .png, .txt)."""
    from pagesim.cli.places import parse_target

    check_output(output, SUFFIXES)
    if width is not None and not LEAST_WIDTH <= width <= MOST_WIDTH:
        raise InputError(
            f"--width {width} was given; it must be from {LEAST_WIDTH} to {MOST_WIDTH} columns"
        )
    targets = [parse_target(log) for log in logs]
    names_place = any((target.step, target.event) != (None, None) for target in targets)
    wants_picture = static or frames is not None or steps is not None or names_place
    if output.suffix.lower() == ".html" and not wants_picture:
        looks = {"--focus": focus, "--width": width, "--light": light, "--ascii": ascii_only}
        given = [name for name, value in looks.items() if value]
        if given or not color:
            name = given[0] if given else "--no-color"
            raise InputError(f"{name} is for pictures; add --static, or leave it out for a page")
        _write_page(targets, output, from_step, to_step)
        return
    if from_step is not None or to_step is not None:
        raise InputError(
            "--from-step and --to-step are for a page, an .html file of a whole LOG; --steps 1,5,9 makes pictures"
        )
    if len(targets) > 1:
        raise InputError(
            f"{len(targets)} logs were given; only a page, an .html file without a place named, shows several"
        )
    look = _look(width, light=light, color=color, ascii_only=ascii_only)
    _write_pictures(logs[0], targets[0], output, (frames, steps, focus), look)


def _look(width: int | None, *, light: bool, color: bool, ascii_only: bool) -> "Look":
    from pagesim.views.export import Look

    return Look(USUAL_WIDTH if width is None else width, light, color, ascii_only)


def _write_page(
    targets: "list[Target]", output: Path, from_step: int | None, to_step: int | None
) -> None:
    from pagesim.cli.player_file import MOST_RUNS, Steps, write_player

    if len(targets) > MOST_RUNS:
        raise InputError(f"{len(targets)} logs were given; a page holds {MOST_RUNS} at most")
    logs = [(target.path.name, target.path) for target in targets]
    write_player(logs, output, Steps(from_step, to_step))


def _write_pictures(
    log: str,
    target: "Target",
    output: Path,
    asked: tuple[int | None, str | None, str | None],
    look: "Look",
) -> None:
    """``asked`` are the options --frames, --steps and --focus."""
    from pagesim.cli.places import OpenRun
    from pagesim.views.frame import Frame

    frames, steps, focus = asked
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
    _write(output, parts, look, target.path.name)
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
        known = " or ".join(filter(None, (", ".join(suffixes[:-1]), suffixes[-1])))
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
