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
    note_given,
    read_given,
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
    FAILS = "passed before, not now"
    BEGUN = "begun"
    UNTOUCHED = "not begun"
    GONE = "no file"
    LACKS = "cannot be checked here"


SOLVED = (State.PASSED, State.CHANGED, State.FAILS)
"""What counts as passed: what was passed once still does while it is being changed."""


class Standing(NamedTuple):
    """``older``: the file was given by an older pagesim, whose task was another."""

    task: Task
    state: State
    record: Record
    older: bool = False


class Made(NamedTuple):
    """What ``make_folder`` wrote, and what it left as it was. ``older`` of these were given by an older pagesim."""

    folder: "PracticeFolder"
    new: list[str]
    kept: list[str]
    older: list[Standing]


@dataclass(frozen=True, slots=True)
class PracticeFolder:
    path: Path

    def file_of(self, task: Task) -> Path:
        return self.path / task.file_name

    def log_of(self, task: Task) -> Path:
        """Where the log of a broken law goes."""
        return self.path / LOGS / f"{task.exercise.module}.jsonl"

    def standing(self, task: Task) -> Standing:
        return self.standings([task])[0]

    def standings(self, tasks: Sequence[Task]) -> list[Standing]:
        records, given = read_records(self.path), read_given(self.path)
        return [
            self._standing(task, records.get(task.name, Record()), given.get(task.name, ""))
            for task in tasks
        ]

    def _standing(self, task: Task, record: Record, given: str) -> Standing:
        """``given`` is the digest that the file had when it was given; empty, if that is not known."""
        now = digest_of(task.folder / "task.py")
        state = self._state(task, record, (given, now))
        return Standing(
            task, state, record, older=given not in ("", now) and state is not State.GONE
        )

    def _state(self, task: Task, record: Record, given: tuple[str, str]) -> State:
        digest = digest_of(self.file_of(task))
        if not digest:
            return State.GONE
        if record.passed:
            return State.PASSED if digest == record.digest else State.CHANGED
        if task.lacks():
            return State.LACKS
        if digest in given:
            return State.UNTOUCHED
        return State.FAILS if record.solved and record.digest else State.BEGUN

    def note_check(self, task: Task, outcome: Outcome, digest: str) -> str:
        """Keep what came of a check of the file with this digest. Gives a warning where it cannot be kept."""
        if outcome.skipped:
            return ""
        try:
            update_record(
                self.path, task.name, lambda old: old.checked(digest, passed=outcome.passed)
            )
        except OSError as error:
            return self._not_kept(error)
        return ""

    def note_hint(self, task: Task) -> tuple[Record, str]:
        """One more hint is shown. Gives the record with it, and a warning where it cannot be kept."""
        return self._note(task, Record.hinted)

    def note_gave_up(self, task: Task) -> str:
        """The solution is shown. Gives a warning where that cannot be kept."""
        return self._note(task, Record.given_up)[1]

    def _note(self, task: Task, change: Change) -> tuple[Record, str]:
        try:
            return update_record(self.path, task.name, change), ""
        except OSError as error:
            return change(self.standing(task).record), self._not_kept(error)

    def _not_kept(self, error: OSError) -> str:
        return f"progress is not kept: {self.path / MARK} cannot be written ({error.strerror})"

    def reset(self, task: Task) -> Path | None:
        """Write the task's file anew. The learner's is kept: gives its new place; ``None``: it was as given."""
        file, backup = self.file_of(task), None
        try:
            if file.exists() and digest_of(file) != digest_of(task.folder / "task.py"):
                backup = self._unused_backup(task)
                backup.parent.mkdir(exist_ok=True)
                file.rename(backup)
            file.write_text(task.text(), "utf-8")
            note_given(self.path, {task.name: digest_of(file)})
            update_record(self.path, task.name, Record.begun_anew)
        except OSError as error:
            raise InputError(
                f"{file} cannot be written anew: {error.strerror}; make the folder writable"
            ) from None
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
    try:
        if film is None or not film.shots:
            path.unlink(missing_ok=True)
            return None
        path.parent.mkdir(exist_ok=True)
        path.open("ab").close()
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror})") from None
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
    fresh = [task for task in tasks if task.file_name not in there]
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
            write_mark(path, {}, {})
        if fresh:
            note_given(path, {task.name: digest_of(path / task.file_name) for task in fresh})
    except OSError as error:
        raise InputError(
            f"{path} cannot be made a folder of exercises: {error.strerror}; name another folder"
        ) from None
    folder = PracticeFolder(path)
    older = [standing for standing in folder.standings(tasks) if standing.older]
    return Made(folder, [name for name in texts if name not in there], there, older)


def next_standing(standings: Sequence[Standing]) -> Standing | None:
    """What is to be done now: the first that was never solved, those given up last, and then those that are broken
    now; ``None``: nothing is left."""
    left = [s for s in standings if s.state not in (State.PASSED, State.CHANGED, State.LACKS)]
    return min(
        left,
        key=lambda s: (s.state is State.FAILS, s.record.gave_up, s.task.number),
        default=None,
    )
