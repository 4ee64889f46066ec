"""``pagesim practice grade``: the files of a class, a row for each student and exercise.

Knows nothing about how files are found and judged.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from pagesim.cli import options as opt

if TYPE_CHECKING:
    from pagesim.practice.grading import Row, Submission

MOST_JOBS = 256
MOST_STRAYS = 5
MOST_BROKEN = 4
DANGEROUS = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
"""A spreadsheet takes a cell that begins so for a formula."""
STDOUT = "-"


def grade(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", help="With FOLDER/student/exercise.py or FOLDER/student_exercise.py."
        ),
    ],
    csv: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the rows here; - is standard output.")
    ] = None,
    exercise: Annotated[
        list[str] | None, typer.Option(help="Only this one; may be repeated.  [default: all]")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Files at a time.  [default: processors less one]")
    ] = None,
    as_json: opt.AsJson = False,
) -> None:
    """For teachers: check the files of a whole class.

    A line for each student; with --csv or --json a row for each student and exercise, also where there is no file.
    Whatever a file does, the others are judged; Ctrl-C writes what is done. The code runs in processes with limits of
    time and memory, but as you: it can read and write what you can. Use an account or a container without anything of
    value.
    """
    from pagesim.cli.practice_tasks import all_tasks, task_called
    from pagesim.core.errors import InputError
    from pagesim.practice.grading import find_submissions
    from pagesim.practice.pool import default_jobs

    if jobs is not None and not 1 <= jobs <= MOST_JOBS:
        raise InputError(f"--jobs {jobs} was given; give 1 to {MOST_JOBS}")
    if as_json and csv == STDOUT:
        raise InputError("--json and --csv - both write to standard output; give one a file")
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder; name one with FOLDER/student/exercise.py")
    tasks = all_tasks()
    named = {task_called(name, tasks).name for name in exercise or []}
    wanted = [task for task in tasks if not named or task.name in named]
    found = find_submissions(folder, tasks, wanted)
    with _destination(csv) as file:
        rows: list[Row] = []
        try:
            _grade(found.submissions, default_jobs() if jobs is None else jobs, rows)
        finally:
            _write(rows, file, as_json=as_json)
            if csv is None and not as_json:
                _show_students(rows)
            _summarise(rows, len(found.submissions), found.strays)


def _grade(submissions: "Sequence[Submission]", jobs: int, rows: "list[Row]") -> None:
    """Fills ``rows`` with all that is done, in order, however it ends."""
    from pagesim.cli.progress import progress_bars
    from pagesim.practice.grading import Row, grade

    done: dict[int, Row] = {}
    try:
        with progress_bars(len(submissions)) as tell:

            def told(place: int, row: Row) -> None:
                done[place] = row
                tell("files", len(done))

            grade(submissions, jobs, told)
    finally:
        rows += [done[place] for place in sorted(done)]


@contextmanager
def _destination(csv: str | None) -> Iterator[IO[str] | None]:
    """Where the rows go. A file is there only when it is whole; that it can be written is known before the work."""
    from pagesim.core.errors import InputError

    if csv is None or csv == STDOUT:
        yield sys.stdout if csv else None
        return
    path = Path(csv)
    fresh = path.with_name(f"{path.name}.new")
    try:
        opened = fresh.open("w", encoding="utf-8", errors="backslashreplace", newline="")
    except OSError as error:
        raise InputError(f"{csv} cannot be written: {error.strerror}; name another file") from None
    try:
        with opened:
            yield opened
    finally:
        fresh.replace(path)


def _write(rows: "Sequence[Row]", file: IO[str] | None, *, as_json: bool) -> None:
    if file is not None:
        import csv

        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["student", "exercise", "passed", "law", "sentence", "seconds"])
        for row in rows:
            passed = {True: "yes", False: "no", None: ""}[row.passed]
            cells = (row.student, row.exercise, passed, row.law, row.sentence)
            writer.writerow([*map(cell, cells), f"{row.seconds:.2f}"])
        file.flush()
    if as_json:
        from pagesim.cli.output import print_json

        print_json([row._asdict() for row in rows])


def cell(text: str) -> str:
    """As a spreadsheet can be given it: no formula, and nothing that cannot be seen."""
    from pagesim.views.glyphs import clean

    shown = clean(text, "utf-8")
    return f"'{shown}" if text.startswith(DANGEROUS) else shown


def _show_students(rows: "Sequence[Row]") -> None:
    """On standard output, where no rows are written: a line for each student."""
    from rich.table import Table
    from rich.text import Text

    from pagesim.views.console import make_console
    from pagesim.views.glyphs import clean

    console = make_console()
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(overflow="fold")
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(*(Text(head, "dim") for head in ("student", "passed", "broken")))
    for student in dict.fromkeys(row.student for row in rows):
        judged = [row for row in rows if row.student == student and row.passed is not None]
        table.add_row(
            Text(clean(student, console.encoding), "bold"),
            f"{sum(row.passed is True for row in judged)} of {len(judged)}",
            _broken_of(judged),
        )
    console.print(table)
    console.print()


def _broken_of(rows: "Sequence[Row]") -> str:
    """Which of a student's exercises are broken, with the law, and how many there are no files of."""
    from pagesim.practice.grading import MISSING

    broken = [
        f"{row.exercise} ({row.law})" for row in rows if not row.passed and row.law != MISSING
    ]
    missing = sum(row.law == MISSING for row in rows)
    more = [f"{len(broken) - MOST_BROKEN} more"] if len(broken) > MOST_BROKEN else []
    return ", ".join([*broken[:MOST_BROKEN], *more, *[f"{missing} missing"] * bool(missing)])


def _summarise(rows: "Sequence[Row]", total: int, strays: "Sequence[Path]") -> None:
    """On standard error: by exercise, and what was not graded."""
    from rich.table import Table
    from rich.text import Text

    from pagesim.replay.phrases import counted
    from pagesim.views.console import make_console
    from pagesim.views.glyphs import clean

    console = make_console(stderr=True)
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column()
    table.add_row(*(Text(head, "dim") for head in ("exercise", "passed", "broken most often")))
    for name in dict.fromkeys(row.exercise for row in rows):
        own = [row for row in rows if row.exercise == name]
        judged = [row for row in own if row.passed is not None]
        passed = f"{sum(row.passed is True for row in judged)} of {len(judged)}"
        table.add_row(
            Text(name, "bold"), passed, _most_broken(judged) if judged else "not judged here"
        )
    console.print(table)
    students = len(dict.fromkeys(row.student for row in rows))
    console.print(f"\n{counted(students, 'student')}, {counted(len(rows), 'row')}")
    if len(rows) < total:
        console.print(f"Ended early: {total - len(rows):,} of {total:,} are not done.")
    if strays:
        shown = ", ".join(clean(str(path), console.encoding) for path in strays[:MOST_STRAYS])
        more = f" and {len(strays) - MOST_STRAYS:,} more" if len(strays) > MOST_STRAYS else ""
        console.print(
            Text(
                f"Not graded, as the name fits no exercise, or a file before has it: {shown}{more}"
            )
        )


def _most_broken(rows: "Sequence[Row]") -> str:
    laws = Counter(row.law for row in rows if not row.passed)
    ranked = sorted(laws.items(), key=lambda item: (-item[1], item[0]))[:3]
    return ", ".join(f"{law} ({times})" for law, times in ranked)
