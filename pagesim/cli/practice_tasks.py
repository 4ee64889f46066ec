"""The exercises as ``pagesim practice`` uses them, and the folder and the one that were meant.

Knows nothing about checking and printing.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pagesim.core.errors import InputError
from pagesim.practice.folder import PracticeFolder, find_folder
from pagesim.practice.task import Task, name_meant


class Meant(NamedTuple):
    """An exercise, the file that is to be checked, and the learner's folder, if it lies in one."""

    task: Task
    file: Path
    folder: PracticeFolder | None


def all_tasks() -> list[Task]:
    """In the order in which they are taught."""
    from pagesim_lessons import exercises

    return [
        Task(exercises.load(name), number, exercises.checks_module(name), exercises.folder_of(name))
        for number, name in enumerate(exercises.NAMES, start=1)
    ]


def task_called(typed: str, tasks: Sequence[Task]) -> Task:
    """By its name, number, file name, or the only beginning. Raises InputError."""
    name = name_meant(typed, [task.name for task in tasks])
    return next(task for task in tasks if task.name == name)


def folder_meant(given: Path | None, tasks: Sequence[Task]) -> PracticeFolder:
    """``--dir``, or the folder of exercises that we are in. Raises InputError."""
    start = Path.cwd() if given is None else given
    if given is not None and not given.is_dir():
        raise InputError(f"--dir {given} is no folder; `pagesim practice init {given}` makes one")
    found = find_folder(start, tasks)
    if found is None:
        where = "this folder" if given is None else str(given)
        raise InputError(
            f"{where} is no folder of exercises; go to yours, name it with --dir, or make one with "
            "`pagesim practice init`"
        )
    return found


def file_meant(typed: str, given: Path | None, tasks: Sequence[Task]) -> Meant:
    """A file that is there is checked as it lies; anything else names an exercise of the folder."""
    path = Path(typed)
    if path.suffix == ".py" and path.is_file():
        task = task_called(path.name, tasks)
        start = path.parent if given is None else given
        return Meant(task, path, find_folder(start, tasks))
    if len(path.parts) > 1:
        raise InputError(f"{typed} is no file; name an exercise, or a file of one")
    task, folder = task_called(typed, tasks), folder_meant(given, tasks)
    return Meant(task, folder.file_of(task), folder)


def shown_path(path: Path) -> str:
    """As short as it can be typed here."""
    here = Path.cwd()
    path = path.resolve()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
