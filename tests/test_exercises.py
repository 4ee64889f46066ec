"""Every exercise: its task fails as given, its solution and other right ones pass, wrong ones are refused for what is
wrong with them; and its files are as CONTRIBUTING.md says. The same as `pagesim practice dev`."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pagesim.cli.main import app
from pagesim.cli.practice_tasks import all_tasks, task_called
from pagesim.practice import dev_check
from pagesim.practice.task import Task
from pagesim_lessons import exercises

ATTEMPTS = Path(__file__).parent / "attempts"

every_exercise = pytest.mark.parametrize("name", exercises.NAMES)


def task_of(name: str) -> Task:
    return task_called(name, all_tasks())


def attempts_of(task: Task) -> list[Path]:
    return sorted((ATTEMPTS / task.exercise.module).glob("*.py"))


@every_exercise
def test_task_solution_and_attempts(name: str) -> None:
    task = task_of(name)
    if lacks := task.lacks():
        pytest.skip(f"{name} needs {lacks[0]}, which is not installed")
    attempts = attempts_of(task)
    assert [*dev_check.outcome_problems(task, attempts)] == []
    assert [*dev_check.attempt_problems(attempts)] == []


@every_exercise
@pytest.mark.parametrize("look", dev_check.WORDS)
def test_files_and_words(name: str, look) -> None:
    assert [*look(task_of(name))] == []


@every_exercise
def test_attempts_that_are_wrong_say_so(name: str) -> None:
    for file in attempts_of(task_of(name)):
        if file.name.startswith("wrong_"):
            first, second = file.read_text("utf-8").splitlines()[:2]
            assert first.startswith("# law: "), file
            assert second.startswith("# says: "), file


def test_every_folder_is_an_exercise() -> None:
    folder = exercises.folder_of("x").parent
    folders = {path.name for path in folder.iterdir() if path.is_dir()} - {"__pycache__"}
    assert folders == {exercises.load(name).module for name in exercises.NAMES}


def test_exercises_are_found_by_what_people_type() -> None:
    for number, name in enumerate(exercises.NAMES, start=1):
        for typed in (name, name.replace("-", "_"), f"{name}.py", name.upper(), str(number)):
            assert exercises.known(typed) == name


# -- the dev check itself finds what is wrong ----------------------------------------------------------------


@pytest.fixture
def copied(tmp_path: Path) -> Task:
    """The first exercise, in a folder where its files can be spoilt."""
    task = task_of("slot-mapping")
    folder = tmp_path / task.folder.name
    shutil.copytree(task.folder, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return replace(task, folder=folder)


def spoil(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")


def found(task: Task) -> str:
    return "\n".join(problem for look in dev_check.WORDS for problem in look(task))


def test_as_it_is_there_is_nothing_to_find(copied: Task) -> None:
    assert found(copied) == ""


def test_stray_and_missing_files_are_found(copied: Task) -> None:
    (copied.folder / "notes.txt").write_text("x")
    assert "notes.txt is a stray file" in found(copied)
    (copied.folder / "__init__.py").unlink()
    assert "there is no __init__.py" in found(copied)


def test_a_task_without_picture_is_found(copied: Task) -> None:
    spoil(copied.folder / "task.py", copied.text(), '"""No picture."""\n' + _stubs(copied))
    assert "no picture" in found(copied)


def _stubs(task: Task) -> str:
    text = task.text()
    return text[text.index("\ndef ") :]


def test_other_signatures_are_found(copied: Task) -> None:
    spoil(copied.folder / "solution.py", "block_size", "size")
    assert "signatures of task.py and solution.py differ" in found(copied)


def test_a_hint_that_tells_the_solution_is_found(copied: Task) -> None:
    given = [line.strip() for line in copied.text().splitlines()]
    solved = [line.strip() for line in copied.solution().splitlines()]
    line = next(line for line in solved if line.startswith("return") and line not in given)
    exercise = replace(copied.exercise, hints=(f"write {line} there" + " " * 40, "b" * 50, "c" * 9))
    problems = found(replace(copied, exercise=exercise))
    assert "a hint has a line of the solution" in problems
    assert "hint 3 says next to nothing" in problems


def test_a_task_that_passes_and_a_solution_that_does_not_are_found(copied: Task) -> None:
    solved, given = copied.solution(), copied.text()
    (copied.folder / "task.py").write_text(solved)
    (copied.folder / "solution.py").write_text(given)
    problems = [*dev_check.outcome_problems(copied, [])]
    assert problems[0].startswith("the task as given does not fail")
    assert problems[1].startswith("the solution does not pass")


def test_attempts_judged_otherwise_than_they_say_are_found(copied: Task, tmp_path: Path) -> None:
    wrong = (ATTEMPTS / "slot_mapping" / "wrong_no_table.py").read_text("utf-8")
    law = wrong.splitlines()[0]
    (right, accepted, other) = files = [
        tmp_path / name for name in ("right_x.py", "wrong_x.py", "wrong_y.py")
    ]
    right.write_text(wrong)
    accepted.write_text("# law: slot\n# says: x\n" + copied.solution())
    other.write_text(wrong.replace(law, "# law: nonesuch"))
    problems = "\n".join(dev_check.outcome_problems(copied, files))
    assert "right_x.py is refused" in problems
    assert "wrong_x.py is accepted" in problems
    assert "wrong_y.py is refused, but by law" in problems
    assert "wrong_y.py names law nonesuch, which is none" in problems
    assert "2 wrong attempts, and 5" in "\n".join(dev_check.attempt_problems(files))


def test_the_command_says_what_it_finds(tmp_path: Path) -> None:
    (tmp_path / "slot_mapping").mkdir()
    (tmp_path / "slot_mapping" / "odd.py").write_text("")
    args = ["practice", "dev", "slot-mapping", "--attempts", str(tmp_path)]
    result = CliRunner().invoke(app, args)
    assert result.exit_code == 1
    assert "slot-mapping: 3 problems" in result.output
    assert "odd.py among the attempts is neither wrong_ nor right_" in result.output
