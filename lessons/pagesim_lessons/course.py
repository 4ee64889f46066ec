"""The course: its lessons in order, and what a reader has done of each.

Knows nothing about keys or drawing.
"""

from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from typing import NamedTuple

from pagesim.core.errors import InputError
from pagesim.practice.progress import Section, read_section, update_section
from pagesim_lessons.lesson import Lesson

LESSONS = (
    "kv_cache",
    "slabs",
    "blocks_and_tables",
    "worked_example",
    "sharing",
    "beam_search",
    "prefix_caching",
    "out_of_memory",
    "continuous_batching",
    "kernel",
    "in_practice",
    "capstone",
)
"""Modules of ``pagesim_lessons.lessons``, in the order in which they build on each other: the first is lesson 1."""
SECTION = "lessons"


class Done(NamedTuple):
    """What a reader has done of a lesson: the ``page`` to go on at, first answers by page, the end reached?"""

    page: int
    right: int
    asked: int
    ended: bool


def lessons() -> list[Lesson]:
    return [_lesson(name) for name in LESSONS]


def find(text: str) -> Lesson:
    """A lesson by its number or name, or the ``next`` one that is not done. Raises InputError."""
    if text == "next":
        known = lessons()
        return next((lesson for lesson in known if not done(lesson).ended), known[-1])
    names = [module.replace("_", "-") for module in LESSONS]
    for number, name in enumerate(names, start=1):
        if text in (str(number), name):
            return _lesson(LESSONS[number - 1])
    near = get_close_matches(text, names, 1)
    meant = f"; did you mean {near[0]}?" if near else ";"
    raise InputError(
        f"there is no lesson {text!r}{meant} type a number from 1 to {len(names)}, next, or one of "
        f"{', '.join(names)}"
    )


def done(lesson: Lesson) -> Done:
    found = read_section(SECTION).get(lesson.name)
    if not isinstance(found, dict):
        return Done(0, 0, 0, ended=False)
    page, answers = found.get("page"), found.get("answers")
    marks = list(answers.values()) if isinstance(answers, dict) else []
    return Done(
        page if isinstance(page, int) and page > 0 else 0,
        sum(mark is True for mark in marks),
        len(marks),
        ended=found.get("ended") is True,
    )


def note(lesson: Lesson, page: int, *, right: bool | None = None) -> None:
    """Page ``page`` was read; ``right``: the first answer to its question, which is noted once."""

    def change(entry: Section) -> None:
        entry["page"] = page + 1
        if right is not None:
            entry.setdefault("answers", {}).setdefault(str(page), right)

    _change(lesson, change)


def note_end(lesson: Lesson) -> None:
    """It was read to its end; the next reading begins at its start."""

    def change(entry: Section) -> None:
        entry.update(ended=True, page=0)

    _change(lesson, change)


def forget(lesson: Lesson | None = None) -> None:
    """Forget what was done of a lesson, or of all."""
    if lesson is None:
        update_section(SECTION, Section.clear)
    else:
        update_section(SECTION, lambda section: section.pop(lesson.name, None))


def _change(lesson: Lesson, change: Callable[[Section], None]) -> None:
    def alter(section: Section) -> None:
        entry = section.get(lesson.name)
        if not isinstance(entry, dict):
            entry = section[lesson.name] = {}
        change(entry)

    update_section(SECTION, alter)


def _lesson(name: str) -> Lesson:
    lesson = import_module(f"pagesim_lessons.lessons.{name}").LESSON
    assert isinstance(lesson, Lesson)
    return lesson
