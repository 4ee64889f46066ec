"""Grading answers that come as lines: from a file or a pipe. Knows nothing about problems' subjects."""

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import typer

from pagesim.core.errors import InputError
from pagesim.practice.answers import UnreadableAnswerError
from pagesim.replay.phrases import one_line
from pagesim_lessons.quizzes.problem import Problem, Question

MOST_BYTES = 100_000


@dataclass(frozen=True, slots=True)
class Graded:
    """One line's fate. ``note`` says what kind of miss it is, or why the line could not be read."""

    number: int
    typed: str
    right: bool
    note: str


def read_lines(source: str) -> list[str]:
    """The file's lines; ``-`` is standard input. Raises InputError."""
    try:
        if source == "-":
            data = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with Path(source).open("rb") as file:
                data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(f"{source} cannot be read: {error.strerror}") from None
    if len(data) > MOST_BYTES:
        raise InputError(
            f"{source} has more than {MOST_BYTES:,} bytes; give a line for each answer"
        )
    lines = data.decode("utf-8-sig", "replace").splitlines()
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


def grade_lines(problem: Problem, lines: Sequence[str], *, answers: bool, as_json: bool) -> int:
    """Say of each line whether it is right; 0 if all are. Raises InputError for more lines than questions."""
    questions = problem.questions
    if len(lines) > len(questions):
        raise InputError(
            f"{len(lines)} lines were given and there are {len(questions)} questions; give a line for each, an empty "
            "one where you have no answer"
        )
    padded = [*lines, *[""] * (len(questions) - len(lines))]
    graded = [
        _graded(number, question, typed)
        for number, (question, typed) in enumerate(zip(questions, padded, strict=True), start=1)
    ]
    num_right = sum(one.right for one in graded)
    if as_json:
        from pagesim.cli.output import print_json
        from pagesim_lessons.quizzes.plain import plain_problem

        print_json(
            {
                **plain_problem(problem, answers=answers),
                "graded": [asdict(one) for one in graded],
                "num_right": num_right,
            }
        )
    else:
        _print(problem, graded, answers=answers)
    return 0 if num_right == len(questions) else 1


def _graded(number: int, question: Question, typed: str) -> Graded:
    if not typed.strip():
        return Graded(number, "", right=False, note="no answer")
    try:
        verdict = question.answer.grade(typed)
    except UnreadableAnswerError as error:
        return Graded(number, typed, right=False, note=f"not readable: {error}")
    return Graded(number, typed, verdict.right, verdict.note)


def _print(problem: Problem, graded: Sequence[Graded], *, answers: bool) -> None:
    typer.echo(f"{problem.title}, problem {problem.seed}")
    for one, question in zip(graded, problem.questions, strict=True):
        word = "right" if one.right else "wrong"
        note = f" ({one_line(one.note)})" if one.note else ""
        typer.echo(f"{one.number}. {word}: {one_line(one.typed)[:60] or '-'}{note}")
        if answers and not one.right:
            typer.echo(f"   It is {question.answer.shown()}. {question.why}")
    typer.echo(f"{sum(one.right for one in graded)} of {len(graded)} right")
