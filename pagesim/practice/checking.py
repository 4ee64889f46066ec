"""A learner's file checked, and all that is kept of it: the record, and the log of what broke.

Knows nothing about how it is told.
"""

from pathlib import Path
from typing import NamedTuple

from pagesim.core.errors import InputError
from pagesim.practice.folder import LOGS, PracticeFolder, write_log
from pagesim.practice.outcome import Outcome
from pagesim.practice.records import digest_of
from pagesim.practice.sandbox import Running, check_file
from pagesim.practice.task import Task


class Checked(NamedTuple):
    """``log`` is ``None`` where there is nothing to see. ``warnings``: what could not be kept."""

    task: Task
    file: Path
    outcome: Outcome
    log: Path | None
    warnings: list[str]


def check_task(
    task: Task, file: Path, folder: PracticeFolder | None, running: Running | None = None
) -> Checked:
    """Check a file; its result is kept if it is the one in the folder. The log lies in the folder, or beside the
    file."""
    digest = digest_of(file)
    outcome = check_file(task.exercise, task.checks, file, running)
    own = folder is not None and _same(file, folder.file_of(task))
    warnings: list[str] = []
    log = file.parent / LOGS / f"{task.exercise.module}.jsonl"
    written = None
    try:
        written = write_log(folder.log_of(task) if folder and own else log, task, outcome)
    except InputError as error:
        warnings.append(f"the log is not kept: {error}")
    if folder is not None and own and (warning := folder.note_check(task, outcome, digest)):
        warnings.append(warning)
    return Checked(task, file, outcome, written, warnings)


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()
