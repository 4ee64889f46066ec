"""Every exercise: its task fails as given, its solution and other right ones pass, wrong ones are refused for what is
wrong with them; and its files are as CONTRIBUTING.md says."""

import ast
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from pagesim.core.types import Geometry
from pagesim.practice.contract import read_contract
from pagesim.practice.exercise import GENERAL, Exercise
from pagesim.practice.film_log import film_events
from pagesim.practice.outcome import Outcome
from pagesim.practice.sandbox import check_files
from pagesim.replay.log import UnknownEvent
from pagesim.replay.run_state import RunState
from pagesim_lessons import exercises

ATTEMPTS = Path(__file__).parent / "attempts"
LEAST_WRONG, LEAST_RIGHT = 5, 3
FILES = {"__init__.py", "task.py", "solution.py", "checks.py"}
MORE_FILES = {"script.py"}  # operations and how they are played, where checks.py would be too long
LONG_LINE = 25

every_exercise = pytest.mark.parametrize("name", exercises.NAMES)


def attempts_of(name: str) -> list[Path]:
    return sorted((ATTEMPTS / exercises.load(name).module).glob("*.py"))


def expectations(file: Path) -> tuple[str, str]:
    """The law that a wrong attempt breaks, and words that the message must have."""
    law, says = file.read_text("utf-8").splitlines()[:2]
    assert law.startswith("# law: "), file
    assert says.startswith("# says: "), file
    return law.removeprefix("# law: "), says.removeprefix("# says: ")


def skip_without(exercise: Exercise) -> None:
    absent = [module for module in exercise.needs if find_spec(module) is None]
    if absent:
        pytest.skip(f"{exercise.name} needs {absent[0]}, which is not installed")


def fold_film(outcome: Outcome) -> None:
    """The log of a fault can be read to its end, whatever the tables are."""
    film = outcome.film
    if film is None:
        return
    state = RunState(Geometry(film.num_blocks, film.block_size))
    for event in film_events(film, [outcome.sentence]):
        if not isinstance(event, UnknownEvent):
            state.apply(event)
    shown = film.shots[-1].tables if film.shots else {}
    for seq, table in shown.items():
        if seq not in film.shots[-1].waiting and not isinstance(table, range):
            assert list(state.sequences[seq].table) == list(table)


@every_exercise
def test_task_solution_and_attempts(name: str) -> None:
    exercise, folder = exercises.load(name), exercises.folder_of(name)
    skip_without(exercise)
    files = [folder / "task.py", folder / "solution.py", *attempts_of(name)]
    task, solution, *others = check_files(exercise, exercises.checks_module(name), files)
    assert (task.passed, task.law) == (False, "written"), task
    assert any(wanted in task.sentence for wanted in _to_be_written(folder / "task.py")), task
    assert solution.passed, solution
    told = []
    for file, outcome in zip(files[2:], others, strict=True):
        if file.stem.startswith("right_"):
            assert outcome.passed, (file.name, outcome)
            continue
        law, says = expectations(file)
        told.append(outcome.sentence)
        assert not outcome.passed, f"{file.name} is accepted"
        assert outcome.law == law, (file.name, outcome)
        assert says in outcome.sentence, (file.name, outcome)
        assert "\n" not in outcome.sentence
        assert law in GENERAL or any(check.law == law for check in exercise.checks)
        fold_film(outcome)
    assert sum(file.stem.startswith("wrong_") for file in files) >= LEAST_WRONG
    assert sum(file.stem.startswith("right_") for file in files) >= LEAST_RIGHT


def _to_be_written(task: Path) -> list[str]:
    """Names of functions and methods whose body raises NotImplementedError."""
    return [
        node.name
        for node in ast.walk(ast.parse(task.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef) and "raise NotImplementedError" in ast.unparse(node)
    ]


@every_exercise
def test_files(name: str) -> None:
    exercise, folder = exercises.load(name), exercises.folder_of(name)
    assert exercise.name == name
    found = {path.name for path in folder.iterdir()} - {"__pycache__"}
    assert found - MORE_FILES == FILES
    for path in folder.glob("*.py"):
        assert ast.get_docstring(ast.parse(path.read_text("utf-8"))), path
    stray = {path.name for path in attempts_of(name) if not re.match(r"(wrong|right)_", path.name)}
    assert not stray
    task = ast.get_docstring(ast.parse((folder / "task.py").read_text("utf-8")))
    assert task is not None
    pictures = [line for line in task.splitlines() if line.startswith("    ")]
    assert len(pictures) >= 3, "a task has a picture, indented by four"
    assert max(map(len, task.splitlines())) <= 120


@every_exercise
def test_signatures_agree(name: str) -> None:
    exercise, folder = exercises.load(name), exercises.folder_of(name)
    task = read_contract(folder / "task.py", exercise.names)
    solution = read_contract(folder / "solution.py", exercise.names)
    assert task == solution
    annotated = [node for file in ("task.py", "solution.py") for node in _public(folder / file)]
    for node in annotated:
        assert node.returns is not None
        assert ast.get_docstring(node) or node.name == "__init__", node.name


def _public(path: Path) -> list[ast.FunctionDef]:
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    return [n for n in nodes if isinstance(n, ast.FunctionDef) and not n.name.startswith("_")]


@every_exercise
def test_hints_do_not_tell_the_solution(name: str) -> None:
    exercise, folder = exercises.load(name), exercises.folder_of(name)
    assert len(exercise.hints) == len(set(exercise.hints)) == 3
    assert all(len(hint.strip()) > 40 for hint in exercise.hints)
    given = _code_lines(folder / "task.py")
    for line in _code_lines(folder / "solution.py") - given:
        if len(line) > LONG_LINE:
            assert all(_bare(line) not in _bare(hint) for hint in exercise.hints), line


def _code_lines(path: Path) -> set[str]:
    """Lines of code as Python itself writes them, without docstrings."""
    return {line.strip() for line in ast.unparse(ast.parse(path.read_text("utf-8"))).splitlines()}


def _bare(text: str) -> str:
    return "".join(text.split())


@every_exercise
def test_laws_are_named_and_said(name: str) -> None:
    exercise = exercises.load(name)
    laws = [check.law for check in exercise.checks]
    assert len(laws) == len(set(laws)), "one check a law"
    assert not set(laws) & GENERAL.keys()
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", law) for law in laws)
    assert all(len(check.says) > 20 and check.says[0].islower() for check in exercise.checks)
    assert 1 <= exercise.lesson <= 12


def test_every_folder_is_an_exercise() -> None:
    folder = exercises.folder_of("x").parent
    folders = {path.name for path in folder.iterdir() if path.is_dir()} - {"__pycache__"}
    assert folders == {exercises.load(name).module for name in exercises.NAMES}


def test_exercises_are_found_by_what_people_type() -> None:
    for number, name in enumerate(exercises.NAMES, start=1):
        for typed in (name, name.replace("-", "_"), f"{name}.py", name.upper(), str(number)):
            assert exercises.known(typed) == name
