"""The process that runs a learner's code: ``python -m pagesim.practice.child``, started by ``sandbox``.

It reads a job from standard input and answers in JSON lines on what was its standard output; what the learner's code
prints goes to standard error. Every answer carries the job's secret word, so that a print is no answer. When its
standard input ends, whoever asked has gone, and it ends, too.
"""

import json
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import IO, cast

from pagesim.practice.exercise import Exercise
from pagesim.practice.limits import set_limits
from pagesim.practice.outcome import Outcome, to_plain
from pagesim.practice.running import missing, run_file

Say = Callable[[dict[str, object]], None]
CPU_SPARE_S = 10
MOST_CALLS = 60


def main() -> None:
    serve(_do)


def serve(do: Callable[[dict[str, object], Say], None]) -> None:
    """Read the job, do it, and end; ``do`` is given the job and how to answer. Does not return."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    asked = os.fdopen(os.dup(0), "r", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    job = json.loads(asked.readline())
    threading.Thread(target=_end_with, args=(asked,), daemon=True).start()
    do(job, _speaker(answers, job.pop("secret")))
    with suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(0)  # threads and exit handlers of a learner's are not waited for


def _speaker(answers: IO[str], secret: str) -> Say:
    write, flush = answers.write, answers.flush

    def say(what: dict[str, object]) -> None:
        write(json.dumps({"secret": secret, **what}) + "\n")
        flush()

    return say


def _end_with(asked: IO[str]) -> None:
    while asked.read(1):
        pass
    os._exit(1)


def _do(job: dict[str, object], say: Say) -> None:
    """Check every file of the job, one after another."""
    sys.dont_write_bytecode = True
    checks = import_module(str(job["checks"]))
    exercise = cast(Exercise, checks.EXERCISE)
    task = Path(cast(str, checks.__file__)).with_name("task.py")
    files = [Path(file) for file in cast("list[str]", job["files"])]
    absent = missing(exercise)
    if absent is None:
        for name in exercise.needs:
            import_module(name)
        set_limits(exercise.memory_mib, int(exercise.seconds * len(files)) + CPU_SPARE_S)
    say({"ready": True})
    if sys.stdout is not None:
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    tell_calls = (lambda lines: say({"calls": lines[-MOST_CALLS:]})) if job.get("calls") else None
    for file in files:
        found = absent or run_file(exercise, task, file, lambda law: say({"law": law}), tell_calls)
        _answer(found, say)


def _answer(found: Outcome, say: Say) -> None:
    with suppress(Exception):
        sys.stdout.flush()
    say({"outcome": to_plain(found)})


if __name__ == "__main__":
    main()
