"""The checks of one exercise, run on one file, in this process. Meant for a process that can be lost.

Knows nothing about pipes or limits.
"""

import os
import sys
import traceback
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from pagesim.practice.contract import departure, read_contract
from pagesim.practice.drawing import Examples
from pagesim.practice.exercise import FAIR, FILE, GENERAL, RETURNS, WRITTEN, Check, Exercise, Fault
from pagesim.practice.learner import Learner
from pagesim.practice.loading import load_module
from pagesim.practice.outcome import Outcome
from pagesim.practice.untouched import changed, parts_of

Tell = Callable[[str], None]
"""Called with each law before it is examined."""
TellCalls = Callable[[list[str]], None]
"""Called with the calls of an example before each of them is made."""
LOAD_S = 5.0


def missing(exercise: Exercise) -> Outcome | None:
    """If a module that the exercise needs is not there: that it is skipped."""
    absent = [name for name in exercise.needs if find_spec(name) is None]
    if not absent:
        return None
    return Outcome(
        passed=False,
        skipped=True,
        sentence=f"this exercise needs {' and '.join(absent)}, which is not installed; "
        "`pip install 'pagesim[engine]'` brings it",
    )


def run_file(
    exercise: Exercise, task: Path, file: Path, tell: Tell, tell_calls: TellCalls | None = None
) -> Outcome:
    """Load the file and examine every law. A file that passes must not have made the checks pass anything."""
    before, path = set(sys.modules), list(sys.path)
    checks = {check.run.__module__ for check in exercise.checks}
    parts = parts_of(*checks)
    sys.path.append(str(file.parent))
    try:
        found = _run(exercise, task, file, tell, tell_calls)
        if found.passed and (touched := changed(parts, *checks)):
            return _unfair(f"the file changes the checks: {touched} is not what it was")
        if found.passed and _run(exercise, task, task, lambda _: None, shrinks=False).passed:
            return _unfair(
                "with this file loaded, the checks pass the empty task, too: it changes the checks"
            )
        return found
    finally:
        sys.path[:] = path
        for name in [name for name in sys.modules if name not in before]:
            origin = getattr(sys.modules[name], "__file__", None) or ""
            if Path(origin).parent == file.parent:
                del sys.modules[name]


def _unfair(sentence: str) -> Outcome:
    return Outcome(passed=False, law=FAIR, sentence=sentence)


def _run(
    exercise: Exercise,
    task: Path,
    file: Path,
    tell: Tell,
    tell_calls: TellCalls | None = None,
    *,
    shrinks: bool = True,
) -> Outcome:
    tell(FILE)
    try:
        module = load_module(file, exercise.module, max(LOAD_S, exercise.call_seconds))
        contract = read_contract(task, exercise.names)
        wrong = departure(module, contract)
        if wrong is not None:
            raise Fault(wrong, law=FILE)
        _refuse_solution()
    except Fault as fault:
        return _outcome(fault, FILE)
    learner = Learner(
        module, str(file), call_seconds=exercise.call_seconds, memory_mib=exercise.memory_mib
    )
    learner.shrinks = shrinks
    learner.tell = tell_calls
    learner.gives = frozenset(s.name for asked in contract for s in asked.signatures if s.gives)
    return _examine(exercise, learner, tell)


def _examine(exercise: Exercise, learner: Learner, tell: Tell) -> Outcome:
    for check in (*exercise.checks, Check(RETURNS, GENERAL[RETURNS], _errors)):
        tell(check.law)
        learner.begin()
        try:
            check.run(learner)
            _refuse_solution()
        except Fault as fault:
            return _outcome(learner.complete(fault), check.law)
        except BaseException as error:
            if os.environ.get("PAGESIM_DEBUG") == "1":
                traceback.print_exc()
            what = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            odd = Fault(f"what your code gave cannot be judged ({what})", law=RETURNS)
            return _outcome(learner.complete(odd), check.law)
    return Outcome(passed=True)


def _errors(learner: Learner) -> None:
    """Raise what ended an example before its end, now that all laws hold for what came before."""
    for examples in list(learner.kept):
        assert isinstance(examples, Examples)
        examples.errors(learner)


def _refuse_solution() -> None:
    for name in sys.modules:
        if name.startswith("pagesim_lessons.exercises.") and name.endswith(".solution"):
            raise Fault("the file imports the solution, and this is to be your own", law=FAIR)


def _outcome(fault: Fault, law: str) -> Outcome:
    if fault.law == WRITTEN:  # there is nothing to repeat
        return Outcome(passed=False, law=WRITTEN, sentence=fault.sentence)
    return Outcome(
        passed=False,
        law=fault.law or law,
        sentence=fault.sentence,
        operations=fault.operations,
        film=fault.film,
    )
