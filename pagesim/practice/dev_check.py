"""The check for those who write exercises: each problem found is a sentence; none is good.

An exercise has to fail as given, its solution and other right attempts have to pass, and wrong ones have to be refused
for what is wrong with them. Knows nothing about what any exercise is about.
"""

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pagesim.core.errors import PagesimError
from pagesim.core.types import Geometry
from pagesim.practice.contract import read_contract
from pagesim.practice.exercise import GENERAL, WRITTEN
from pagesim.practice.film_log import film_events
from pagesim.practice.outcome import Outcome
from pagesim.practice.sandbox import check_files
from pagesim.practice.task import Task, still_to_write
from pagesim.replay.log import UnknownEvent
from pagesim.replay.run_state import RunState

FILES = {"__init__.py", "task.py", "solution.py", "checks.py"}
MORE_FILES = {"script.py"}
"""Operations and how they are played, where checks.py would be too long."""
LEAST_WRONG, LEAST_RIGHT = 5, 3
LONG_LINE, LONGEST_LINE, LEAST_PICTURE, LEAST_HINT, LEAST_LAW = 25, 120, 3, 40, 20
NUM_LESSONS = 12
Problems = Iterator[str]


# -- files -------------------------------------------------------------------------------------------------


def file_problems(task: Task) -> Problems:
    """No stray files; every file says what it is; the task has a picture."""
    found = {path.name for path in task.folder.iterdir()} - {"__pycache__"}
    for name in sorted(FILES - found):
        yield f"there is no {name}"
    for name in sorted(found - FILES - MORE_FILES):
        yield f"{name} is a stray file"
    for path in sorted(task.folder.glob("*.py")):
        if not ast.get_docstring(ast.parse(path.read_text("utf-8"))):
            yield f"{path.name} does not open with a docstring"
    if task.folder.name != task.exercise.module:
        yield f"its folder is {task.folder.name}, and its name {task.name}"
    lines = (ast.get_docstring(ast.parse(task.text())) or "").splitlines()
    if sum(line.startswith("    ") for line in lines) < LEAST_PICTURE:
        yield "its task has no picture, which is indented by four"
    if any(len(line) > LONGEST_LINE for line in lines):
        yield f"a line of its task is longer than {LONGEST_LINE} characters"


def attempt_problems(attempts: Sequence[Path]) -> Problems:
    for path in attempts:
        if not re.match(r"(wrong|right)_", path.name):
            yield f"{path.name} among the attempts is neither wrong_ nor right_"
    for kind, least in (("wrong", LEAST_WRONG), ("right", LEAST_RIGHT)):
        number = sum(path.name.startswith(f"{kind}_") for path in attempts)
        if number < least:
            yield f"it has {number} {kind} attempts, and {least} are the least"


# -- words -------------------------------------------------------------------------------------------------


def signature_problems(task: Task) -> Problems:
    """Task and solution ask for the same, with annotations and docstrings."""
    names = task.exercise.names
    files = [task.folder / name for name in ("task.py", "solution.py")]
    given, solved = (read_contract(file, names) for file in files)
    if given != solved:
        yield "the signatures of task.py and solution.py differ"
    for file in files:
        for node in _public_functions(file):
            if node.returns is None:
                yield f"{node.name} in {file.name} does not say what it gives"
            if not ast.get_docstring(node) and node.name != "__init__":
                yield f"{node.name} in {file.name} has no docstring"


def _public_functions(path: Path) -> list[ast.FunctionDef]:
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    return [n for n in nodes if isinstance(n, ast.FunctionDef) and not n.name.startswith("_")]


def hint_problems(task: Task) -> Problems:
    """Hints say something, and none has a long line of the solution."""
    hints = task.exercise.hints
    if len(set(hints)) != len(hints):
        yield "it has the same hint twice"
    for number, hint in enumerate(hints, start=1):
        if len(hint.strip()) <= LEAST_HINT:
            yield f"hint {number} says next to nothing"
    given = _code_lines(task.text())
    for line in sorted(_code_lines(task.solution()) - given):
        if len(line) > LONG_LINE and any(_bare(line) in _bare(hint) for hint in hints):
            yield f"a hint has a line of the solution: {line}"


def _code_lines(text: str) -> set[str]:
    """Lines of code as Python itself writes them."""
    return {line.strip() for line in ast.unparse(ast.parse(text)).splitlines()}


def _bare(text: str) -> str:
    return "".join(text.split())


def law_problems(task: Task) -> Problems:
    """Laws have names and sentences of their own."""
    exercise = task.exercise
    laws = [check.law for check in exercise.checks]
    for law in sorted({law for law in laws if laws.count(law) > 1}):
        yield f"law {law} has two checks"
    for check in exercise.checks:
        if check.law in GENERAL:
            yield f"law {check.law} is one of the general laws"
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", check.law):
            yield f"law {check.law} is not written like-this"
        if len(check.says) <= LEAST_LAW or not check.says[0].islower():
            yield f"law {check.law} is no sentence that begins in lower case: {check.says}"
    if not 1 <= exercise.lesson <= NUM_LESSONS:
        yield f"there is no lesson {exercise.lesson}"


# -- what is accepted and refused --------------------------------------------------------------------------


def outcome_problems(task: Task, attempts: Sequence[Path]) -> Problems:
    """The task fails as given, right ones pass, and wrong ones are refused by their law, in their words."""
    files = [task.folder / "task.py", task.folder / "solution.py", *attempts]
    given, solved, *others = check_files(task.exercise, task.checks, files)
    if given.passed or given.law != WRITTEN:
        yield f"the task as given does not fail for what is to be written, but: {_told(given)}"
    elif not any(name.rpartition(".")[2] in given.sentence for name in still_to_write(task.text())):
        yield f"the task as given does not say what is to be written, but: {given.sentence}"
    if not solved.passed:
        yield f"the solution does not pass: {_told(solved)}"
    for file, outcome in zip(attempts, others, strict=True):
        yield from _attempt(task, file, outcome)


def _attempt(task: Task, file: Path, outcome: Outcome) -> Problems:
    if file.name.startswith("right_"):
        if not outcome.passed:
            yield f"{file.name} is refused: {_told(outcome)}"
    elif file.name.startswith("wrong_"):
        yield from _wrong_attempt(task, file, outcome)


def _wrong_attempt(task: Task, file: Path, outcome: Outcome) -> Problems:
    law, words = expectations(file)
    if outcome.passed:
        yield f"{file.name} is accepted"
        return
    if outcome.law != law or words not in outcome.sentence:
        yield f"{file.name} is refused, but by {_told(outcome)}"
    if law not in GENERAL and all(check.law != law for check in task.exercise.checks):
        yield f"{file.name} names law {law}, which is none"
    if "\n" in outcome.sentence:
        yield f"what is said of {file.name} has several lines"
    yield from (f"{file.name}: {problem}" for problem in film_problems(outcome))


def expectations(file: Path) -> tuple[str, str]:
    """The law that a wrong attempt breaks, and words that the message must have; empty where it does not say."""
    first, second, *_ = [*file.read_text("utf-8").splitlines()[:2], "", ""]
    return first.removeprefix("# law: "), second.removeprefix("# says: ")


def film_problems(outcome: Outcome) -> Problems:
    """The log of a fault can be read to its end, and its tables are those that were."""
    film = outcome.film
    if film is None or not film.shots:
        return
    state = RunState(Geometry(film.num_blocks, film.block_size))
    try:
        for event in film_events(film, [outcome.sentence]):
            if not isinstance(event, UnknownEvent):
                state.apply(event)
    except (PagesimError, LookupError, AssertionError, ValueError) as error:
        yield f"its log cannot be read to its end: {type(error).__name__}: {error}"
        return
    last = film.shots[-1]
    for seq, table in last.tables.items():
        if seq not in last.waiting and not isinstance(table, range):
            shown = list(state.sequences[seq].table)
            if shown != list(table):
                yield f"its log shows the table of sequence {seq} as {shown}, and it is {table}"


def _told(outcome: Outcome) -> str:
    return "it passes" if outcome.passed else f"law {outcome.law}: {outcome.sentence}"


# -- all together ------------------------------------------------------------------------------------------

WORDS: tuple[Callable[[Task], Problems], ...] = (
    file_problems,
    signature_problems,
    hint_problems,
    law_problems,
)


def problems_of(task: Task, attempts: Sequence[Path] | None) -> list[str]:
    """Everything that is wrong with an exercise. ``attempts`` ``None``: there are none to be had here."""
    found = [problem for look in WORDS for problem in look(task)]
    if attempts is not None:
        found += attempt_problems(attempts)
    if not task.lacks():
        found += outcome_problems(task, attempts or ())
    return found
