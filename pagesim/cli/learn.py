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
    forget: Annotated[
        bool, typer.Option("--forget", help="Forget the progress in this lesson, or in all.")
    ] = False,
    as_json: opt.AsJson = False,
) -> None:
    """Twelve lessons, from what a token costs to sizing a deployment.

    In a terminal a lesson is walked page by page, with questions to answer; into a pipe it is printed whole.
    """
    from pagesim_lessons import course

    if forget and lesson is None:
        _forget_all()
        return
    if lesson is None:
        _table(as_json=as_json)
        return
    found = course.find(lesson)
    if forget:
        course.forget(found)
        typer.echo(f"Progress in lesson {found.number} is forgotten.")
        return
    if as_json:
        _print_json(found)
        return
    from pagesim.practice.keys import at_a_terminal
    from pagesim.views.console import make_console
    from pagesim_lessons.reading import read_through

    if whole or not at_a_terminal():
        read_through(found, make_console(), answers=answers)
        return
    _walk(found, from_start=from_start)


def _walk(lesson: "Lesson", *, from_start: bool) -> None:
    from rich.text import Text

    from pagesim.practice.keys import Keys, tidy_end
    from pagesim.practice.progress import can_keep
    from pagesim.views.console import make_console
    from pagesim_lessons import course
    from pagesim_lessons.reading import Reading

    console, keys = make_console(), Keys()
    _note_damage()
    why_not = can_keep()
    if why_not is not None:
        typer.echo(f"note: {why_not}", err=True)
    answers: dict[int, bool] = {}

    def tell(page: int, right: bool | None) -> None:
        if right is not None:
            answers.setdefault(page, right)
        if why_not is None:
            course.note(lesson, page, right=right)

    def read_line(prompt: str) -> str:
        typer.echo(prompt, nl=False)
        return keys.line()

    first = 0 if from_start else course.done(lesson).page
    reading = Reading(lesson, console, keys.key_or_end, read_line, tell, first, keys.forget)
    with tidy_end():
        ended = reading.walk()
    if not ended:
        on = f"; pagesim learn {lesson.number} goes on from this page" if why_not is None else ""
        console.print(Text(f"Left here{on}.", style="dim"))
        return
    if why_not is None:
        course.note_end(lesson)
    earlier = course.done(lesson)
    score = f"{sum(answers.values())} of {len(answers)} right at once"
    if earlier.asked and (earlier.right, earlier.asked) != (sum(answers.values()), len(answers)):
        score += f" this time ({earlier.right} of {earlier.asked} at first)"
    console.print(Text(f"That was lesson {lesson.number}: {score}."))
    if lesson.number < len(course.LESSONS):
        console.print(Text(f"Next: pagesim learn {lesson.number + 1}"))


def _note_damage() -> None:
    from pagesim.practice.progress import damage

    harm = damage()
    if harm is not None:
        typer.echo(f"note: {harm}", err=True)


def _forget_all() -> None:
    from pagesim.practice.keys import at_a_terminal
    from pagesim_lessons import course

    if at_a_terminal() and not typer.confirm("Forget the progress in all lessons?"):
        return
    course.forget()
    typer.echo("Progress in all lessons is forgotten.")


def _table(*, as_json: bool) -> None:
    from pagesim_lessons import course

    _note_damage()
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
