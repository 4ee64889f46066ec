"""Exercises for tests of ``pagesim practice``: a tiny one, a real one with a film, and one that cannot be checked."""

from dataclasses import replace
from pathlib import Path

from pagesim.practice.exercise import Exercise
from pagesim.practice.task import Task
from pagesim_lessons import exercises

HELPERS = Path(__file__).parent
TWICE = HELPERS / "tiny_exercise"
ATTEMPTS = HELPERS.parent / "attempts"
RIGHT = "def twice(number):\n    return 2 * number\n"
WRONG = "def twice(number):\n    return number * number\n"


def few_tasks() -> list[Task]:
    """Twice, copy-on-write, and one that needs what nobody has."""
    from tiny_exercise.checks import EXERCISE

    long_hints = ("first of all", "then this", "and at last that")
    twice = Task(replace(EXERCISE, hints=long_hints), 1, "tiny_exercise.checks", TWICE)
    name = "copy-on-write"
    copy = Task(exercises.load(name), 2, exercises.checks_module(name), exercises.folder_of(name))
    lacking = Exercise("cube", "Not here", 3, ("cube",), ("", "", ""), (), needs=("nonesuch",))
    return [twice, copy, Task(lacking, 3, "tiny_exercise.checks", TWICE)]


def attempt(exercise: str, name: str) -> str:
    """The text of a right or wrong attempt."""
    return (ATTEMPTS / exercise / f"{name}.py").read_text("utf-8")
