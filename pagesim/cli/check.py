"""``pagesim check``: a block manager of one's own, played and judged law by law.

Knows nothing about how it is examined or drawn.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pagesim.cli import options as opt

if TYPE_CHECKING:
    from pagesim.practice.manager_report import ManagerReport

FORM = "FILE:Class, such as my_manager.py:MyManager"


def check(
    manager: Annotated[
        str | None,
        typer.Argument(
            help="FILE:Class, a block manager of your own. Its code is run, in a process with limits.",
            show_default=False,
        ),
    ] = None,
    template: Annotated[
        str | None,
        typer.Option(help="Write a file to start from instead: simple or full."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Where the template goes.  [default: standard output]"),
    ] = None,
    examples: Annotated[
        int,
        typer.Option(
            help="Rows of operations to play, and a quarter as many whole runs. Calls without sense come last."
        ),
    ] = 200,
    seed: Annotated[int, typer.Option(help="Another seed plays other rows and runs.")] = 0,
    log: Annotated[
        Path | None,
        typer.Option(
            help="Where the log of what broke goes.  [default: check-CLASS.jsonl here, in place of the last one]"
        ),
    ] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Does your block manager keep every law? Prints each, and of the first that breaks, how.

    There are two contracts, simple and full; which of them the class meets is found out. Exit code 1: a law broke.
    """
    from pagesim.core.errors import InputError

    if template is not None:
        if manager is not None:
            raise InputError(f"both --template and {manager} were given; leave one out")
        _write_template(template, out)
        return
    if out is not None:
        raise InputError(f"--out {out} was given without --template; --log is where a log goes")
    if manager is None:
        raise InputError(f"no manager was given; name {FORM}, or ask for --template simple")
    if examples < 1:
        raise InputError(f"--examples {examples} was given; it must be 1 or more")
    file, class_name = _parse(manager)
    _examine(file, class_name, examples, seed, log, as_json=as_json)


def _examine(
    file: Path, class_name: str, examples: int, seed: int, log: Path | None, *, as_json: bool
) -> None:
    import sys
    from contextlib import nullcontext

    from pagesim.cli.check_output import report_json, report_parts
    from pagesim.core.errors import InputError
    from pagesim.practice.manager_sandbox import check_manager
    from pagesim.views.console import make_console

    doing = f"playing {examples:,} rows of operations, and whole runs"
    waiting = make_console(stderr=True).status(doing, spinner="line")
    with waiting if sys.stderr.isatty() else nullcontext():
        report, printed = check_manager(file, class_name, seed=seed, examples=examples)
    if report.refusal:
        raise InputError(report.refusal)
    written, unkept = _write_log(log, report)
    name = f"{file.name}:{class_name}"
    if as_json:
        from pagesim.cli.output import print_json

        print_json({**report_json(report, name, seed, written, printed), "log_not_kept": unkept})
    else:
        console = make_console()
        for part in report_parts(report, name, seed, written, printed, console.encoding):
            console.print(part)
        if unkept is not None:
            console.print(f"the log is not kept: {unkept}", markup=False, highlight=False)
    if not report.outcome.passed:
        raise typer.Exit(1)


def _write_log(log: Path | None, report: "ManagerReport") -> tuple[Path | None, str | None]:
    """The log of what led to the broken law, if there is any film of it; and why there is none, if it failed."""
    from pagesim.core.errors import InputError
    from pagesim.practice.film_log import write_film

    film = report.outcome.film
    if film is None or not film.shots:
        return None, None
    path = log if log is not None else _default_log(f"check-{report.name}")
    try:
        write_film(
            path,
            film,
            title=f"{report.name}: {report.law} is broken",
            law=report.law,
            sentence=report.outcome.sentence,
            last_line=_last_line(report, film.shots[-1].line),
        )
    except InputError as error:
        advice = "" if log is not None else "; --log names another file"
        return None, str(error).removesuffix("; name another file") + advice
    return path, None


def _last_line(report: "ManagerReport", shown: str) -> str:
    """The last call, unless the last picture shows it."""
    last = report.outcome.operations[-1] if report.outcome.operations else shown
    return shown if shown.endswith(last) else last


def _default_log(stem: str) -> Path:
    """A file in this folder that is not there yet, or is the log of a check."""
    path, number = Path(f"{stem}.jsonl"), 1
    while path.exists() and not _is_of_a_check(path):
        number += 1
        path = Path(f"{stem}-{number}.jsonl")
    return path


def _is_of_a_check(path: Path) -> bool:
    from pagesim.core.errors import InputError
    from pagesim.replay.log import read_log
    from pagesim.replay.logged_fault import logged_fault

    try:
        log = read_log(path)
    except InputError:
        return False
    return log.header.get("allocator") == "yours" and logged_fault(log) is not None


def _write_template(contract: str, out: Path | None) -> None:
    from pagesim.core.errors import InputError
    from pagesim.practice.manager_contracts import template

    text = template(contract)
    if out is None:
        typer.echo(text, nl=False)
        return
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise InputError(f"{out} exists already; name another file") from None
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error.strerror}") from None
    typer.echo(f"{out} is yours to write; check it with: pagesim check {out}:MyManager")


def _parse(place: str) -> tuple[Path, str]:
    from pagesim.core.errors import InputError

    file, _, name = place.rpartition(":")
    if not file or not name.isidentifier():
        raise InputError(f"{place!r} was given; write {FORM}")
    if not Path(file).is_file():
        raise InputError(f"{file} is not a file; write {FORM}")
    return Path(file), name
