"""``pagesim practice check --all``: every exercise of a folder, several at a time.

Knows nothing about how a file is checked.
"""

from collections.abc import Sequence
from pathlib import Path

from pagesim.practice.checking import Checked, check_task
from pagesim.practice.exercise import FILE
from pagesim.practice.folder import PracticeFolder
from pagesim.practice.outcome import Outcome
from pagesim.practice.pool import default_jobs, work_through
from pagesim.practice.running import missing
from pagesim.practice.sandbox import Running
from pagesim.practice.task import Task


def check_all(folder: PracticeFolder, tasks: Sequence[Task], *, as_json: bool) -> int:
    """Check and print; the exit code. What cannot be checked here does not count."""
    from pagesim.cli.output import print_json
    from pagesim.cli.practice_output import all_parts, command, print_parts
    from pagesim.cli.practice_plain import plain_check
    from pagesim.cli.progress import progress_bars
    from pagesim.views.console import make_console

    results: dict[int, Checked] = {}
    with progress_bars(len(tasks)) as tell:

        def done(place: int, checked: Checked) -> None:
            results[place] = checked
            tell("checking", len(results))

        work_through(
            tasks, lambda task, running: _check(task, folder, running), default_jobs(), done
        )
    in_order = [results[place] for place in sorted(results)]
    failed = any(not (c.outcome.passed or c.outcome.skipped) for c in in_order)
    if as_json:
        print_json([plain_check(checked) for checked in in_order])
        return int(failed)
    console = make_console()
    print_parts(console, all_parts(in_order, console.encoding))
    if failed:
        console.print(f"\nOf one, in full: {command('check', 'NAME')}")
    return int(failed)


def _check(task: Task, folder: PracticeFolder, running: Running) -> Checked:
    file = folder.file_of(task)
    lacking = missing(task.exercise)
    if lacking is not None:
        return _unchecked(task, file, lacking)
    if not file.exists():
        sentence = f"there is no {task.file_name}; reset writes it anew"
        return _unchecked(task, file, Outcome(passed=False, law=FILE, sentence=sentence))
    return check_task(task, file, folder, running)


def _unchecked(task: Task, file: Path, outcome: Outcome) -> Checked:
    return Checked(task, file, outcome, None, [])
