"""``pagesim quiz``: a generated problem, shown, asked, graded, or written to sheets.

Knows nothing about how problems are made.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pagesim.cli import options as opt

if TYPE_CHECKING:
    from collections.abc import Callable

    from pagesim_lessons.quizzes.problem import Problem

MOST_RANDOM = 1_000_000


@dataclass(frozen=True, slots=True)
class Typed:
    """What was typed, option by option."""

    topic: str | None
    scenario: str | None
    seed: int | None
    answers: bool
    steps: bool
    up_to: int | None
    hint: int | None
    grade: str | None
    batch: int | None
    out: Path | None
    force: bool
    as_json: bool

    def given(self) -> list[str]:
        """The options that need to know of which problem."""
        there = {
            "--seed": self.seed is not None,
            "--answers": self.answers,
            "--steps": self.steps,
            "--hint": self.hint is not None,
            "--grade": self.grade is not None,
            "--batch": self.batch is not None,
        }
        return [name for name, is_there in there.items() if is_there]


def quiz(
    topic: Annotated[
        str | None, typer.Argument(help="What the problem is about.  [default: list the topics]")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Which problem; the same one for ever.  [default: drawn]")
    ] = None,
    scenario: Annotated[
        str | None,
        typer.Option(help="Ask about a run of this scenario instead: a name, or a .toml file."),
    ] = None,
    answers: Annotated[
        bool, typer.Option("--answers", "-c", help="Show the answers, and why.")
    ] = False,
    steps: Annotated[
        bool,
        typer.Option("--steps", help="Show the working; in a terminal, a step at each Enter."),
    ] = False,
    up_to: Annotated[
        int | None, typer.Option(help="With --steps: print the first so many of each question.")
    ] = None,
    hint: Annotated[
        int | None, typer.Option(help="Show a hint: 1 (weak), 2 (medium) or 3 (strong).")
    ] = None,
    grade: Annotated[
        str | None,
        typer.Option(help="Grade this file, a line for each answer; - is standard input."),
    ] = None,
    batch: Annotated[
        int | None, typer.Option(help="Write so many problem sheets, from --seed on (0).")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="With --batch: the folder; its answer keys lie apart.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="With --batch: write into a folder that has files.")
    ] = False,
    as_json: opt.AsJson = False,
) -> None:
    """Problems to solve by hand; the simulator knows the answers.

    In a terminal the questions are asked and graded one by one: type an answer, or hint, steps, skip, again or quit.
    Into a pipe the problem is printed. With --grade, exit code 1 says that an answer is wrong. With --json, answers
    are there with -c only.
    """
    _check(
        Typed(topic, scenario, seed, answers, steps, up_to, hint, grade, batch, out, force, as_json)
    )
    if topic is None and scenario is None:
        _list(as_json=as_json)
        return
    make = _maker(topic, scenario)
    if batch is not None and out is not None:
        _batch(make, batch, seed or 0, out, force=force)
        return
    problem = make(_drawn() if seed is None else seed)
    if grade is not None:
        raise typer.Exit(_grade(problem, grade, answers=answers, as_json=as_json))
    if as_json:
        from pagesim.cli.output import print_json
        from pagesim_lessons.quizzes.plain import plain_problem

        print_json(plain_problem(problem, answers=answers))
        return
    _show(problem, answers=answers, steps=steps, up_to=up_to, hint=hint)


def _check(typed: Typed) -> None:
    """What was typed goes together. Raises InputError."""
    from pagesim.core.errors import InputError

    topic, scenario, hint, up_to = typed.topic, typed.scenario, typed.hint, typed.up_to
    given = typed.given()
    if topic is not None and scenario is not None:
        raise InputError(
            f"the topic {topic!r} and the scenario {scenario!r} were both given; name one of them"
        )
    if topic is None and scenario is None and given:
        raise InputError(f"{given[0]} was given without a topic; `pagesim quiz` lists the topics")
    if hint is not None and hint not in (1, 2, 3):
        raise InputError(f"--hint {hint} was given; give 1 (weak), 2 (medium) or 3 (strong)")
    if up_to is not None and (not typed.steps or up_to < 1):
        raise InputError(f"--up-to {up_to} was given; give 1 or more, and --steps with it")
    if "--grade" in given and typed.seed is None:
        raise InputError("--grade was given without --seed, which says of which problem; give both")
    together = [name for name in given if name in ("--steps", "--hint")]
    if "--grade" in given and together:
        raise InputError(f"{together[0]} was given with --grade; leave one out")
    _check_batch(typed, given)


def _check_batch(typed: Typed, given: list[str]) -> None:
    """Raises InputError."""
    from pagesim.core.errors import InputError

    alone = typed.force and typed.batch is None
    if (typed.batch is None) != (typed.out is None) or alone:
        raise InputError(
            "--batch, a number of sheets, and --out, a folder, belong together; give both"
        )
    if typed.batch is None:
        return
    others = [name for name in given if name not in ("--batch", "--seed")]
    others += ["--json"] if typed.as_json else []
    if others:
        raise InputError(f"{others[0]} was given with --batch, which writes files; leave one out")


def _maker(topic: str | None, scenario: str | None) -> "Callable[[int], Problem]":
    """From a seed to a problem. Raises InputError for a topic or scenario that is none."""
    if scenario is not None:
        from pagesim_lessons.quizzes.scenarios import scenario_maker

        return scenario_maker(scenario)
    from pagesim_lessons.quizzes.topics import TOPICS, check_topic, problem

    assert topic is not None
    if topic not in TOPICS:
        _suggest_scenario(topic)
    check_topic(topic)
    return lambda seed: problem(topic, seed)


def _suggest_scenario(name: str) -> None:
    """Raises InputError if it is the name of a scenario."""
    from pagesim.cli.scenario import is_scenario
    from pagesim.core.errors import InputError

    if is_scenario(name):
        raise InputError(f"{name!r} is a scenario, not a topic; write --scenario {name}")


def _drawn() -> int:
    from secrets import randbelow

    return randbelow(MOST_RANDOM)


def _list(*, as_json: bool) -> None:
    from pagesim_lessons.quizzes.topics import TOPICS

    if as_json:
        from pagesim.cli.output import print_json

        print_json(
            [{"topic": name, "title": t.title, "about": t.about} for name, t in TOPICS.items()]
        )
        return
    width = max(map(len, TOPICS))
    typer.echo("Topics of the quiz; every seed is another problem:\n")
    for name, found in TOPICS.items():
        typer.echo(f"  {name:<{width}}  {found.about}")
    typer.echo("\nOne problem:        pagesim quiz slots")
    typer.echo("The same again:     pagesim quiz slots --seed 7")
    typer.echo("A scenario's run:   pagesim quiz --scenario figure-8")
    typer.echo("Sheets for a class: pagesim quiz slots --batch 30 --out sheets")


def _batch(
    make: "Callable[[int], Problem]", count: int, first: int, folder: Path, *, force: bool
) -> None:
    from pagesim.core.errors import InputError
    from pagesim_lessons.quizzes.sheets import ANSWERS, MOST_SHEETS, PROBLEMS, write_batch

    if not 1 <= count <= MOST_SHEETS:
        raise InputError(f"--batch {count} was given; give 1 to {MOST_SHEETS:,} sheets")
    sheets = write_batch(make, range(first, first + count), folder, force=force)
    typer.echo(
        f"{len(sheets)} problem sheets are in {folder / PROBLEMS}, their answers in {folder / ANSWERS}."
    )


def _grade(problem: "Problem", source: str, *, answers: bool, as_json: bool) -> int:
    """Grade lines; the exit code."""
    from pagesim.cli.quiz_lines import grade_lines, read_lines

    return grade_lines(problem, read_lines(source), answers=answers, as_json=as_json)


def _show(
    problem: "Problem", *, answers: bool, steps: bool, up_to: int | None, hint: int | None
) -> None:
    from pagesim.cli.quiz_session import Session
    from pagesim.practice.keys import at_a_terminal
    from pagesim.views.console import make_console

    session = Session(problem, make_console(), input)
    session.show_story()
    is_asked = at_a_terminal()  # somebody is there to answer
    if steps and up_to is None and is_asked and not answers and hint is None:
        session.reveal_steps()
    elif answers or steps or hint is not None:
        session.print_questions(
            answers=answers, steps=(up_to or sys.maxsize) if steps else 0, hint=hint
        )
    elif is_asked:
        raise typer.Exit(session.ask_all())
    else:
        session.print_questions()
    session.show_repeat()
