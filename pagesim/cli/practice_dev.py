"""``pagesim practice dev``: the check for those who write exercises. Knows nothing about what it looks for."""

from pathlib import Path
from time import monotonic
from typing import Annotated

import typer

from pagesim.cli import options as opt

ATTEMPTS = Path("tests") / "attempts"


def dev(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Exercises.  [default: all]")
    ] = None,
    attempts: Annotated[
        Path | None,
        typer.Option(
            help="Right and wrong attempts: DIR/slot_mapping/wrong_*.py.  [default: tests/attempts, if it is here]"
        ),
    ] = None,
    as_json: opt.AsJson = False,
) -> None:
    """For authors of exercises: does each fail as given, pass when solved, and refuse what is wrong?

    Exit code 1: there are problems.
    """
    from pagesim.cli.output import print_json
    from pagesim.cli.practice_tasks import all_tasks, task_called
    from pagesim.core.errors import InputError
    from pagesim.practice.dev_check import problems_of

    if attempts is not None and not attempts.is_dir():
        raise InputError(f"--attempts {attempts} is no folder; name tests/attempts of a checkout")
    place = attempts or (ATTEMPTS if ATTEMPTS.is_dir() else None)
    tasks = all_tasks()
    chosen = [task_called(name, tasks) for name in names] if names else tasks
    found: dict[str, list[str]] = {}
    for task in chosen:
        began = monotonic()
        files = None if place is None else sorted((place / task.exercise.module).glob("*.py"))
        found[task.name] = problems_of(task, files)
        if not as_json:
            _print(
                task.name,
                found[task.name],
                f"{len(files or ())} attempts, {monotonic() - began:.1f} s"
                + (f", not run: needs {', '.join(task.lacks())}" if task.lacks() else ""),
            )
    if as_json:
        print_json(found)
    elif place is None:
        typer.echo("No attempts were found: run it in a checkout, or give --attempts.")
    if any(found.values()):
        raise typer.Exit(1)


def _print(name: str, problems: list[str], about: str) -> None:
    word = f"{len(problems)} problems" if len(problems) != 1 else "1 problem"
    typer.echo(f"{name}: {word if problems else 'good'} ({about})")
    for problem in problems:
        typer.echo(f"  {problem}")
