"""``pagesim practice watch``: checks whenever a file is saved, and takes keys meanwhile.

The terminal is only changed while a key is waited for, in ``practice.keys``. Knows nothing about how files are
checked.
"""

from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from pagesim.cli.practice_output import (
    after_passing,
    checked_parts,
    command,
    hint_parts,
    lacking,
    list_parts,
    next_parts,
    print_parts,
    summary,
)
from pagesim.practice.checking import check_task
from pagesim.practice.folder import PracticeFolder, next_standing
from pagesim.practice.keys import END, Keys
from pagesim.practice.task import Task
from pagesim.views.console import make_console

POLL_S = 0.25
KEYS = "save: check   n next   h hint   l list   c check   q quit"

Stamp = tuple[int, int, int]
"""Of a file: when it was written, its size, and which one it is."""


class Watch:
    """What is on the screen is about ``task``: the one chosen, or whose file was saved last."""

    def __init__(self, folder: PracticeFolder, tasks: Sequence[Task], task: Task) -> None:
        self._folder = folder
        self._tasks = tasks
        self._task = task
        self._console = make_console()
        self._keys = Keys()
        self._stamps = self._look()
        self._unsettled: dict[str, Stamp | None] = {}

    def run(self) -> None:
        """Until somebody quits."""
        self._check()
        while True:
            key = self._keys.key(POLL_S)
            if key in (END, "q", "Q"):
                self._console.print(f"Go on with: {command('watch')}")
                return
            if key is not None:
                self._obey(key.lower())
            elif (saved := self._saved()) is not None:
                self._task = saved
                self._check()

    def _obey(self, key: str) -> None:
        if key == "n":
            self._next()
        elif key == "h":
            self._hint()
        elif key == "l":
            self._list()
        elif key == "c":
            self._check()

    # -- what was saved ----------------------------------------------------------------------------------

    def _look(self) -> dict[str, Stamp | None]:
        """The stamps of all files; ``None``: it is not there."""
        return {task.name: _stamp(self._folder.file_of(task)) for task in self._tasks}

    def _saved(self) -> Task | None:
        """A file that has changed since it was last checked, and no more since we last looked: it is whole. The one
        that is shown may be gone, too, for longer than an editor needs to write it anew."""
        for task in self._tasks:
            stamp = _stamp(self._folder.file_of(task))
            gone = stamp is None and task is not self._task
            if gone or stamp == self._stamps.get(task.name):
                self._unsettled.pop(task.name, None)
            elif task.name in self._unsettled and self._unsettled[task.name] == stamp:
                del self._unsettled[task.name]
                self._stamps[task.name] = stamp
                return task
            else:
                self._unsettled[task.name] = stamp
        return None

    # -- what is shown -----------------------------------------------------------------------------------

    def _check(self) -> None:
        task, file = self._task, self._folder.file_of(self._task)
        self._console.clear()
        stamp = _stamp(file)
        self._stamps[task.name] = stamp
        if stamp is None:
            self._say(f"{file.name} is gone; {command('reset', task.name)} writes it anew")
        elif task.lacks():
            self._say(lacking(task))
        else:
            with self._console.status(f"checking {task.name}"):
                checked = check_task(task, file, self._folder)
            if checked.outcome.skipped:
                self._say(checked.outcome.sentence)
            else:
                print_parts(self._console, checked_parts(checked, self._console.encoding))
                if checked.outcome.passed:
                    print_parts(self._console, after_passing(task, self._folder, self._tasks))
        self._show_keys()

    def _next(self) -> None:
        standings = self._folder.standings(self._tasks)
        later = [s for s in standings if s.task.number > self._task.number]
        standing = next_standing(later) or next_standing(standings)
        self._console.clear()
        if standing is None:
            print_parts(self._console, next_parts(None, None))
        else:
            self._task = standing.task
            print_parts(self._console, next_parts(standing, self._folder.file_of(standing.task)))
        self._show_keys()

    def _hint(self) -> None:
        before = self._folder.standing(self._task).record.hints
        noted, warning = self._folder.note_hint(self._task)
        self._console.print()
        print_parts(self._console, hint_parts(self._task, noted.hints, noted.hints - before))
        if warning:
            self._say(warning)
        self._show_keys()

    def _list(self) -> None:
        standings = self._folder.standings(self._tasks)
        self._console.clear()
        print_parts(self._console, list_parts(standings))
        self._say(f"\n{summary(standings)}")
        self._show_keys()

    def _say(self, sentence: str) -> None:
        self._console.print(Text(sentence))

    def _show_keys(self) -> None:
        self._console.print()
        self._console.print(Text(f"{self._folder.file_of(self._task).name}   {KEYS}", "dim"))


def _stamp(file: Path) -> Stamp | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
