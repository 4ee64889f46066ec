"""A learner's folder: a file for each exercise, what has come of it, and how it is made.

Knows nothing about how files are checked, or how anything looks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from pagesim.core.errors import InputError
from pagesim.practice.film_log import write_film
from pagesim.practice.outcome import Outcome
from pagesim.practice.records import (
    MARK,
    Record,
    digest_of,
    read_records,
    update_record,
    write_mark,
)
from pagesim.practice.task import Task

README = "README.md"
LOGS = "logs"
BACKUPS = "backups"
Change = Callable[[Record], Record]


class State(Enum):
    """How far a learner is with an exercise."""

    PASSED = "passed"
    CHANGED = "passed, changed since"
    BEGUN = "begun"
    UNTOUCHED = "not begun"
    GONE = "no file"
    LACKS = "cannot be checked here"


SOLVED = (State.PASSED, State.CHANGED)


class Standing(NamedTuple):
    task: Task
    state: State
    record: Record


class Made(NamedTuple):
    """What ``make_folder`` wrote, and what it left as it was."""

    folder: "PracticeFolder"
    new: list[str]
    kept: list[str]


@dataclass(frozen=True, slots=True)
class PracticeFolder:
    path: Path

    def file_of(self, task: Task) -> Path:
        return self.path / task.file_name

    def log_of(self, task: Task) -> Path:
        """Where the log of a broken law goes."""
        return self.path / LOGS / f"{task.exercise.module}.jsonl"

    def standing(self, task: Task, records: dict[str, Record] | None = None) -> Standing:
        """``records`` as just read, where many are asked for."""
        known = read_records(self.path) if records is None else records
        record = known.get(task.name, Record())
        return Standing(task, self._state(task, record), record)

    def standings(self, tasks: Sequence[Task]) -> list[Standing]:
        records = read_records(self.path)
        return [self.standing(task, records) for task in tasks]

    def _state(self, task: Task, record: Record) -> State:
        digest = digest_of(self.file_of(task))
        if not digest:
            return State.GONE
        if record.passed:
            return State.PASSED if digest == record.digest else State.CHANGED
        if task.lacks():
            return State.LACKS
        if digest == digest_of(task.folder / "task.py"):
            return State.UNTOUCHED
        return State.BEGUN

    def note_check(self, task: Task, outcome: Outcome, digest: str) -> str:
        """Keep what came of a check of the file with this digest. Gives a warning where it cannot be kept."""
        if outcome.skipped:
            return ""
        try:
            update_record(
                self.path, task.name, lambda old: old.checked(digest, passed=outcome.passed)
            )
        except OSError as error:
            return f"progress is not kept: {self.path / MARK} cannot be written ({error.strerror})"
        return ""

    def note_hint(self, task: Task) -> Record:
        """One more hint has been shown."""
        return self._note(task, Record.hinted)

    def note_gave_up(self, task: Task) -> Record:
        return self._note(task, Record.given_up)

    def _note(self, task: Task, change: Change) -> Record:
        try:
            return update_record(self.path, task.name, change)
        except OSError as error:
            raise InputError(
                f"progress cannot be kept in {self.path / MARK}: {error.strerror}; make the folder writable"
            ) from None

    def reset(self, task: Task) -> Path | None:
        """Write the task's file anew. The learner's is kept: gives its new place; ``None``: it was as given."""
        file, backup = self.file_of(task), None
        try:
            if file.exists() and digest_of(file) != digest_of(task.folder / "task.py"):
                backup = self._unused_backup(task)
                backup.parent.mkdir(exist_ok=True)
                file.rename(backup)
            file.write_text(task.text(), "utf-8")
        except OSError as error:
            raise InputError(
                f"{file} cannot be written anew: {error.strerror}; make it writable"
            ) from None
        self._note(task, Record.begun_anew)
        return backup

    def _unused_backup(self, task: Task) -> Path:
        number = 1
        while (backup := self._backup(task, number)).exists():
            number += 1
        return backup

    def _backup(self, task: Task, number: int) -> Path:
        return self.path / BACKUPS / f"{task.exercise.module}-{number}.py"


def write_log(path: Path, task: Task, outcome: Outcome) -> Path | None:
    """Write the film of a broken law as a log, in place of an older one; ``None``: there is none. Raises InputError."""
    film = outcome.film
    if film is None or not film.shots:
        path.unlink(missing_ok=True)
        return None
    try:
        path.parent.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"{path.parent} cannot be made: {error.strerror}") from None
    write_film(
        path,
        film,
        title=f"{task.name}: {outcome.law} is broken",
        law=outcome.law,
        sentence=outcome.sentence,
        last_line=outcome.operations[-1] if outcome.operations else "",
    )
    return path


# -- finding and making ------------------------------------------------------------------------------------


def find_folder(start: Path, tasks: Sequence[Task]) -> PracticeFolder | None:
    """The folder of exercises that ``start`` is, or lies in. One that has lost its record is one, too."""
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / MARK).is_file():
            return PracticeFolder(folder)
    if any((start / task.file_name).is_file() for task in tasks):
        return PracticeFolder(start)
    return None


def make_folder(path: Path, tasks: Sequence[Task], readme: str) -> Made:
    """Write the task files, the README and the record. In a folder of exercises only files that are missing are
    written; no file is ever written over. Raises InputError."""
    texts = {README: readme} | {task.file_name: task.text() for task in tasks}
    there = [name for name in texts if (path / name).exists()]
    if path.exists() and not path.is_dir():
        raise InputError(f"{path} is a file; name a folder")
    if there and not (path / MARK).is_file():
        raise InputError(
            f"{path} has a file {there[0]} already, and none is written over; name another folder"
        )
    try:
        path.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            if name not in there:
                with (path / name).open("x", encoding="utf-8") as file:
                    file.write(text)
        if not (path / MARK).exists():
            write_mark(path, {})
    except OSError as error:
        raise InputError(
            f"{path} cannot be made a folder of exercises: {error.strerror}; name another folder"
        ) from None
    return Made(PracticeFolder(path), [name for name in texts if name not in there], there)


def next_standing(standings: Sequence[Standing]) -> Standing | None:
    """What is to be done now: the first that is not solved, those given up last; ``None``: nothing is left."""
    left = [s for s in standings if s.state not in (*SOLVED, State.LACKS)]
    return min(left, key=lambda s: (s.record.gave_up, s.task.number), default=None)
