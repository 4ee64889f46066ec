"""``pagesim practice``: exercises in a folder of one's own, checked, hinted at, and graded for teachers.

Knows nothing about how files are checked, or how anything looks.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pagesim.cli import options as opt
from pagesim.cli.practice_dev import dev
from pagesim.cli.practice_grade import grade

if TYPE_CHECKING:
    from pagesim.practice.checking import Checked
    from pagesim.practice.folder import PracticeFolder
    from pagesim.practice.task import Task

DEFAULT_FOLDER = Path("pagesim-practice")

app = typer.Typer(
    rich_markup_mode=None,
    help="Exercises: write the parts of a block manager yourself. Begin with: pagesim practice init",
)
Dir = Annotated[
    Path | None,
    typer.Option("--dir", help="Your folder of exercises.  [default: the one that you are in]"),
]
Name = Annotated[str, typer.Argument(help="An exercise: its name, number or file.")]


@app.callback(invoke_without_command=True)
def overview(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        from pagesim.cli.practice_tasks import all_tasks
        from pagesim.practice.folder import find_folder

        if find_folder(Path.cwd(), all_tasks()) is None:
            typer.echo(context.get_help())
        else:
            list_()


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to.")] = DEFAULT_FOLDER,
) -> None:
    """Make a folder with a file for each exercise. In one that is there, only missing files are written."""
    from shlex import quote

    from pagesim.cli.practice_output import older_lines
    from pagesim.cli.practice_readme import readme
    from pagesim.cli.practice_tasks import all_tasks
    from pagesim.practice.folder import make_folder
    from pagesim.replay.phrases import counted

    tasks = all_tasks()
    made = make_folder(folder, tasks, readme(tasks))
    if made.new:
        typer.echo(
            f"{folder} has {counted(len(tasks), 'exercise')}, and a README.md to begin with."
        )
        if made.kept:
            typer.echo(f"New: {', '.join(made.new)}. All else is as it was.")
    else:
        typer.echo(f"{folder} has everything already; nothing was changed.")
    for line in older_lines(made.older):
        typer.echo(line)
    if folder.resolve() != Path.cwd():
        typer.echo(f"Go there:    cd {quote(str(folder))}")
    typer.echo("Then begin:  pagesim practice next")


@app.command("list")
def list_(folder: Dir = None, as_json: opt.AsJson = False) -> None:
    """All exercises, and how far you are with each."""
    from pagesim.cli.practice_output import list_parts, print_parts, summary
    from pagesim.cli.practice_tasks import all_tasks, folder_meant
    from pagesim.views.console import make_console

    tasks = all_tasks()
    standings = folder_meant(folder, tasks).standings(tasks)
    if as_json:
        from pagesim.cli.output import print_json
        from pagesim.cli.practice_plain import plain_standing

        print_json([plain_standing(standing) for standing in standings])
        return
    console = make_console()
    print_parts(console, list_parts(standings))
    typer.echo(f"\n{summary(standings)}. What to do now: pagesim practice next")


@app.command("next")
def next_(folder: Dir = None, as_json: opt.AsJson = False) -> None:
    """What to do now, and in which file."""
    from pagesim.cli.practice_output import next_parts, print_parts
    from pagesim.cli.practice_tasks import all_tasks, folder_meant
    from pagesim.practice.folder import next_standing
    from pagesim.views.console import make_console

    tasks = all_tasks()
    place = folder_meant(folder, tasks)
    standing = next_standing(place.standings(tasks))
    file = None if standing is None else place.file_of(standing.task)
    if as_json:
        from pagesim.cli.output import print_json
        from pagesim.cli.practice_plain import plain_standing

        print_json(None if standing is None else {**plain_standing(standing), "file": str(file)})
        return
    print_parts(make_console(), next_parts(standing, file))


@app.command()
def hint(
    name: Annotated[
        str | None, typer.Argument(help="An exercise.  [default: the next to be solved]")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All hints; once the exercise is passed.")
    ] = False,
    folder: Dir = None,
) -> None:
    """A hint, a stronger one each time. Hints are counted."""
    from pagesim.cli.practice_output import command, hint_parts, print_parts
    from pagesim.cli.practice_tasks import all_tasks, folder_meant
    from pagesim.core.errors import InputError
    from pagesim.practice.records import NUM_HINTS
    from pagesim.views.console import make_console

    tasks = all_tasks()
    place = folder_meant(folder, tasks)
    task = _task_meant(name, place, tasks)
    record = place.standing(task).record
    if everything:
        if not record.solved:
            raise InputError(
                f"{task.name} is not passed yet; without --all, `{command('hint', task.name)}` gives the next hint"
            )
        shown, new, warning = NUM_HINTS, NUM_HINTS, ""
    else:
        noted, warning = place.note_hint(task)
        shown, new = noted.hints, noted.hints - record.hints
    print_parts(make_console(), hint_parts(task, shown, new))
    if warning:
        typer.echo(f"{warning}, and the next hint will be the same one", err=True)


@app.command()
def check(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME|FILE]", help="An exercise, or a file.  [default: the next to be solved]"
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Check every exercise.")] = False,
    folder: Dir = None,
    as_json: opt.AsJson = False,
) -> None:
    """Check your file against the laws of its exercise.

    Of the first law that it breaks you are shown how, and get a log to view. Your code is run in a process of its own,
    with limits of time and memory. Exit code 1: a law is broken.
    """
    from pagesim.cli.practice_tasks import Meant, all_tasks, file_meant, folder_meant
    from pagesim.core.errors import InputError

    tasks = all_tasks()
    if everything:
        if what is not None:
            raise InputError(f"both {what} and --all were given; leave one out")
        from pagesim.cli.practice_all import check_all

        raise typer.Exit(check_all(folder_meant(folder, tasks), tasks, as_json=as_json))
    if what is None:
        place = folder_meant(folder, tasks)
        task = _task_meant(None, place, tasks)
        meant = Meant(task, place.file_of(task), place)
    else:
        meant = file_meant(what, folder, tasks)
    checked = _checked(meant.task, meant.file, meant.folder)
    _show_check(checked, meant.folder, tasks, as_json=as_json)
    raise typer.Exit(0 if checked.outcome.passed else 1)


def _checked(task: "Task", file: Path, folder: "PracticeFolder | None") -> "Checked":
    from pagesim.cli.practice_output import command, lacking
    from pagesim.core.errors import InputError
    from pagesim.practice.checking import check_task
    from pagesim.views.console import make_console

    if task.lacks():
        raise InputError(lacking(task))
    if folder is not None and not file.exists():
        raise InputError(f"{file} is gone; `{command('reset', task.name)}` writes it anew")
    with make_console(stderr=True).status(f"checking {task.name}"):
        checked = check_task(task, file, folder)
    if checked.outcome.skipped:
        raise InputError(f"{task.name} could not be checked: {checked.outcome.sentence}")
    return checked


def _show_check(
    checked: "Checked", folder: "PracticeFolder | None", tasks: "list[Task]", *, as_json: bool
) -> None:
    from pagesim.cli.practice_output import after_passing, checked_parts, print_parts
    from pagesim.views.console import make_console

    if as_json:
        from pagesim.cli.output import print_json
        from pagesim.cli.practice_plain import plain_check

        print_json(plain_check(checked))
        return
    console = make_console()
    print_parts(console, checked_parts(checked, console.encoding))
    if checked.outcome.passed:
        print_parts(console, after_passing(checked.task, folder, tasks))


@app.command()
def watch(
    name: Annotated[
        str | None, typer.Argument(help="An exercise.  [default: the next to be solved]")
    ] = None,
    folder: Dir = None,
) -> None:
    """Check a file whenever you save it. Needs a terminal: n next, h hint, l list, c check, q quit."""
    from pagesim.cli.practice_tasks import all_tasks, folder_meant
    from pagesim.core.errors import InputError
    from pagesim.practice.keys import at_a_terminal, tidy_end

    if not at_a_terminal():
        raise InputError(
            "watch needs a terminal to read keys from; `pagesim practice check` checks once"
        )
    from pagesim.cli.practice_watch import Watch

    tasks = all_tasks()
    place = folder_meant(folder, tasks)
    with tidy_end():
        Watch(place, tasks, _task_meant(name, place, tasks)).run()


@app.command()
def reset(name: Name, folder: Dir = None) -> None:
    """Begin an exercise anew. Your file is kept among the backups."""
    from pagesim.cli.practice_tasks import all_tasks, folder_meant, shown_path, task_called

    tasks = all_tasks()
    place, task = folder_meant(folder, tasks), task_called(name, tasks)
    backup = place.reset(task)
    file = shown_path(place.file_of(task))
    typer.echo(f"{file} is as it was given.")
    if backup is not None:
        typer.echo(f"What you wrote is in {shown_path(backup)}.")


@app.command()
def solution(
    name: Name,
    give_up: Annotated[
        bool, typer.Option("--give-up", help="Show it although the exercise is not passed.")
    ] = False,
    folder: Dir = None,
) -> None:
    """Our solution, to compare with yours once you have passed."""
    from pagesim.cli.practice_output import command
    from pagesim.cli.practice_tasks import all_tasks, folder_meant, task_called
    from pagesim.core.errors import InputError

    tasks = all_tasks()
    place, task = folder_meant(folder, tasks), task_called(name, tasks)
    if not place.standing(task).record.solved:
        if not give_up:
            raise InputError(
                f"{task.name} is not passed yet, and its solution is shown afterwards; "
                f"`{command('hint', task.name)}` helps, and --give-up shows it all the same"
            )
        if warning := place.note_gave_up(task):
            typer.echo(warning, err=True)
    typer.echo(task.solution(), nl=False)


def _task_meant(name: str | None, place: "PracticeFolder", tasks: "list[Task]") -> "Task":
    """The one of that name, or the next to be solved. Raises InputError."""
    from pagesim.cli.practice_tasks import task_called
    from pagesim.core.errors import InputError
    from pagesim.practice.folder import next_standing

    if name is not None:
        return task_called(name, tasks)
    standing = next_standing(place.standings(tasks))
    if standing is None:
        raise InputError("every exercise is passed; name one, or give --all to check")
    return standing.task


app.command("grade")(grade)
app.command("dev", hidden=True)(dev)
