"""Many learners' files, found in a folder, checked, and made rows of.

Whatever a file does, the others are judged. Knows nothing about how rows are written.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from pagesim.core.errors import InputError
from pagesim.practice.folder import BACKUPS, LOGS
from pagesim.practice.outcome import Outcome
from pagesim.practice.pool import work_through
from pagesim.practice.running import missing
from pagesim.practice.sandbox import Running, check_file
from pagesim.practice.task import Task

MISSING = "missing"
"""What stands for the law where there is no file."""
DEEPEST = 4
"""Folders inside a student's that are looked into."""
NOT_THEIRS = (BACKUPS, LOGS, "__pycache__", "__MACOSX")


@dataclass(frozen=True, slots=True)
class Submission:
    """``file`` is ``None`` where a student has none for the exercise."""

    student: str
    task: Task
    file: Path | None


@dataclass(frozen=True, slots=True)
class Found:
    """``strays`` are Python files that are not graded: it cannot be told what they are for, or there is another."""

    submissions: list[Submission] = field(default_factory=list)
    strays: list[Path] = field(default_factory=list)


class Row(NamedTuple):
    """``passed`` is ``None`` where a file could not be judged here."""

    student: str
    exercise: str
    passed: bool | None
    law: str
    sentence: str
    seconds: float


# -- finding -----------------------------------------------------------------------------------------------


def find_submissions(folder: Path, tasks: Sequence[Task], wanted: Sequence[Task]) -> Found:
    """FOLDER/student/exercise.py, at any depth inside the student's folder, and FOLDER/student_exercise.py or
    FOLDER/exercise.py, in the order of students and exercises. ``tasks`` are all that a name may mean, and ``wanted``
    those that are graded. Raises InputError if there is nobody."""
    found = Found()
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise InputError(f"{folder} cannot be read: {error.strerror}; name a folder") from None
    students: dict[str, dict[str, Path]] = {}
    for entry in entries:
        if entry.name.startswith(".") or entry.name in NOT_THEIRS:
            continue
        if entry.is_dir():
            files = list(_python_files(entry))
            theirs = students.setdefault(entry.name, {})
            _sort_in(files, tasks, theirs, found.strays)
        elif entry.suffix == ".py":
            _flat(entry, folder, tasks, students, found.strays)
    for student in sorted(students):
        files_of = students[student]
        found.submissions.extend(
            Submission(student, task, files_of.get(task.name)) for task in wanted
        )
    if not found.submissions:
        raise InputError(
            f"{folder} has no submissions; they are {folder}/STUDENT/{wanted[0].file_name}, or "
            f"{folder}/STUDENT_{wanted[0].file_name}"
        )
    return found


def _python_files(top: Path) -> Iterator[Path]:
    """The shallowest first, in the order of their names. Links to folders are not followed."""
    level = [top]
    for _ in range(DEEPEST):
        below: list[Path] = []
        for folder in level:
            try:
                entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
            except OSError:
                continue
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in NOT_THEIRS and not entry.name.startswith("."):
                        below.append(Path(entry.path))
                elif entry.name.endswith(".py"):
                    yield Path(entry.path)
        level = below


def _sort_in(
    files: Sequence[Path], tasks: Sequence[Task], theirs: dict[str, Path], strays: list[Path]
) -> None:
    """A student's files to their exercises: the first that has the right name, then one that has it in its name."""
    exact = [task.file_name for task in tasks]
    for file in sorted(files, key=lambda file: file.name not in exact):
        meant = _task_in(file.stem, tasks)
        if meant is None or meant[0].name in theirs:
            strays.append(file)
        else:
            theirs[meant[0].name] = file


def _flat(
    file: Path,
    folder: Path,
    tasks: Sequence[Task],
    students: dict[str, dict[str, Path]],
    strays: list[Path],
) -> None:
    meant = _task_in(file.stem, tasks)
    task, rest = meant or (None, "")
    theirs = students.setdefault(rest or folder.resolve().name, {}) if task else {}
    if task is None or task.name in theirs:
        strays.append(file)
    else:
        theirs[task.name] = file


def _task_in(stem: str, tasks: Sequence[Task]) -> tuple[Task, str] | None:
    """The exercise that a file name ends or begins with, the longest, and what else the name has."""
    plain = stem.replace("-", "_").lower()
    for task in sorted(tasks, key=lambda task: -len(task.exercise.module)):
        module = task.exercise.module
        if plain == module:
            return task, ""
        if re.search(rf"[_. ]{module}$", plain):
            return task, stem[: -len(module) - 1].rstrip("_-. ")
        if re.match(rf"{module}[_. (]", plain):
            return task, stem[len(module) :].strip("_-. ()")
    return None


# -- grading -----------------------------------------------------------------------------------------------


def grade(submissions: Sequence[Submission], jobs: int, tell: Callable[[int, Row], None]) -> None:
    """Check each, so many at a time, and ``tell`` its place and its row whenever one is done."""
    work_through(submissions, _judge, jobs, tell)


def _judge(submission: Submission, running: Running) -> Row:
    task = submission.task
    outcome = _outcome(task, submission.file, running)
    passed = None if outcome.skipped else outcome.passed
    return Row(
        submission.student,
        task.name,
        passed,
        outcome.law,
        outcome.sentence,
        round(outcome.seconds, 2),
    )


def _outcome(task: Task, file: Path | None, running: Running) -> Outcome:
    if file is None:
        return Outcome(passed=False, law=MISSING, sentence=f"there is no {task.file_name}")
    lacking = missing(task.exercise)
    if lacking is not None:
        return lacking
    try:
        return check_file(task.exercise, task.checks, file, running)
    except OSError as error:
        said = f"it could not be judged: {error.strerror or error}"
        return Outcome(passed=False, skipped=True, sentence=said)
