"""``pagesim learn``: the course. A table with progress, or one lesson.

Knows nothing about what lessons say.
"""

from typing import TYPE_CHECKING, Annotated

import typer

from pagesim.cli import options as opt

if TYPE_CHECKING:
    from pagesim_lessons.lesson import Lesson


def learn(
    lesson: Annotated[
        str | None,
        typer.Argument(help="A lesson's number or name, or next.  [default: the table of lessons]"),
    ] = None,
    from_start: Annotated[
        bool, typer.Option("--from-start", help="Begin at the lesson's start, not where you left.")
    ] = False,
    whole: Annotated[
        bool, typer.Option("--whole", help="Print the whole lesson, as into a pipe.")
    ] = False,
    answers: Annotated[
        bool,
        typer.Option("--answers/--no-answers", help="Of a whole lesson: print the answers, too?"),
    ] = True,
    forget: Annotated[bool, typer.Option("--forget", help="Forget all progress.")] = False,
    as_json: opt.AsJson = False,
) -> None:
    """Twelve lessons, from what a token costs to sizing a deployment.

    In a terminal a lesson is walked page by page, with questions to answer; into a pipe it is printed whole.
    """
    from pagesim_lessons import course

    if forget:
        course.forget()
        typer.echo("Progress in the lessons is forgotten.")
        return
    if lesson is None:
        _table(as_json=as_json)
        return
    found = course.find(lesson)
    if as_json:
        _print_json(found)
        return
    from pagesim.views.console import make_console
    from pagesim_lessons.reading import read_through

    if whole or not _at_a_terminal():
        read_through(found, make_console(), answers=answers)
        return
    _walk(found, from_start=from_start)


def _walk(lesson: "Lesson", *, from_start: bool) -> None:
    from rich.text import Text

    from pagesim.views.console import make_console
    from pagesim_lessons import course
    from pagesim_lessons.reading import Reading

    console = make_console()

    def tell(page: int, right: bool | None) -> None:
        course.note(lesson, page, right=right)

    first = 0 if from_start else course.done(lesson).page
    reading = Reading(lesson, console, _read_key, input, tell, first)
    if not reading.walk():
        text = f"Left here; pagesim learn {lesson.number} goes on from this page."
        console.print(Text(text, style="dim"))
        return
    course.note_end(lesson)
    state = course.done(lesson)
    console.print(
        Text(f"That was lesson {lesson.number}: {state.right} of {state.asked} right at once.")
    )
    if lesson.number < len(course.LESSONS):
        console.print(Text(f"Next: pagesim learn {lesson.number + 1}"))


def _read_key() -> str:
    try:
        return typer.getchar()
    except EOFError:
        return ""


def _at_a_terminal() -> bool:
    import sys

    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def _table(*, as_json: bool) -> None:
    from pagesim_lessons import course

    rows = [(lesson, course.done(lesson)) for lesson in course.lessons()]
    if as_json:
        from pagesim.cli.output import print_json

        print_json(
            [
                {
                    "number": lesson.number,
                    "name": lesson.name,
                    "title": lesson.title,
                    "about": lesson.about,
                    "minutes": lesson.minutes,
                    **done._asdict(),
                }
                for lesson, done in rows
            ]
        )
        return
    from rich.table import Table
    from rich.text import Text

    from pagesim.views.console import make_console

    table = Table.grid(padding=(0, 2, 0, 0))
    for column in ("right", "left", "right", "left"):
        table.add_column(justify=column, no_wrap=column == "right")
    for lesson, done in rows:
        state = "done" if done.ended else f"at page {done.page + 1}" if done.page else ""
        if done.asked:
            state += f", {done.right} of {done.asked} right" if state else ""
        about = Text(lesson.title, style="bold")
        about.append(f"\n{lesson.about}", "dim not bold")
        table.add_row(str(lesson.number), about, f"{lesson.minutes} min", state)
    console = make_console()
    console.print(table)
    console.print()
    nearest = course.find("next")
    console.print(Text(f"Begin or go on: pagesim learn {nearest.number}"))


def _print_json(lesson: "Lesson") -> None:
    """The lesson's questions, with their answers: what a program can use of it."""
    from pagesim.cli.output import print_json
    from pagesim_lessons.lesson import Ask, Try

    parts = list(lesson.script())
    print_json(
        {
            "number": lesson.number,
            "name": lesson.name,
            "title": lesson.title,
            "questions": [
                {
                    "question": " ".join(part.question.split()),
                    "form": part.answer.form,
                    "options": list(getattr(part.answer, "options", ())),
                    "hint": " ".join(part.hint.split()),
                    "answer": part.answer.shown(),
                    "why": " ".join(part.why.split()),
                }
                for part in parts
                if isinstance(part, Ask)
            ],
            "commands": [part.command for part in parts if isinstance(part, Try)],
        }
    )
