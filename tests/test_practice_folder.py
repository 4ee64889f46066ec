"""A learner's folder: made without writing over anything, found, begun anew, and its record kept whatever happens."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest
from practice_tasks import RIGHT, WRONG, few_tasks

from pagesim.core.errors import InputError
from pagesim.practice.folder import (
    PracticeFolder,
    State,
    find_folder,
    make_folder,
    next_standing,
)
from pagesim.practice.outcome import Outcome
from pagesim.practice.records import MARK, Record, digest_of, read_records, update_record
from pagesim.practice.task import name_meant, still_to_write

TWICE, COPY, CUBE = TASKS = few_tasks()
PASSED, FAILED = Outcome(passed=True), Outcome(passed=False, law="doubled", sentence="no")


@pytest.fixture
def folder(tmp_path: Path) -> PracticeFolder:
    return make_folder(tmp_path / "mine", TASKS, "read me").folder


def solve(folder: PracticeFolder, text: str, outcome: Outcome) -> None:
    file = folder.file_of(TWICE)
    file.write_text(text)
    assert folder.note_check(TWICE, outcome, digest_of(file)) == ""


def test_it_has_a_file_for_each_exercise_as_it_is_given(folder: PracticeFolder) -> None:
    names = {path.name for path in folder.path.iterdir()}
    assert names == {"README.md", "twice.py", "copy_on_write.py", "cube.py", MARK}
    assert folder.file_of(COPY).read_text() == COPY.text()


def test_nothing_is_ever_written_over(tmp_path: Path) -> None:
    (tmp_path / "twice.py").write_text("mine")
    with pytest.raises(InputError, match=r"has a file twice\.py already, and none is written over"):
        make_folder(tmp_path, TASKS, "read me")
    assert [path.name for path in tmp_path.iterdir()] == ["twice.py"]
    with pytest.raises(InputError, match="is a file; name a folder"):
        make_folder(tmp_path / "twice.py", TASKS, "read me")


def test_made_again_only_what_is_missing_is_written(folder: PracticeFolder) -> None:
    solve(folder, RIGHT, PASSED)
    folder.file_of(COPY).unlink()
    made = make_folder(folder.path, TASKS, "another")
    assert made.new == ["copy_on_write.py"]
    assert folder.file_of(TWICE).read_text() == RIGHT
    assert (folder.path / "README.md").read_text() == "read me"
    assert folder.standing(TWICE).state is State.PASSED


def test_a_folder_is_found_from_within(folder: PracticeFolder, tmp_path: Path) -> None:
    inner = folder.path / "logs" / "deep"
    inner.mkdir(parents=True)
    assert find_folder(inner, TASKS) == folder
    assert find_folder(tmp_path, TASKS) is None
    (folder.path / MARK).unlink()
    assert find_folder(folder.path, TASKS) == folder, "its files are known"


def test_states_follow_the_file(folder: PracticeFolder) -> None:
    def state() -> State:
        return folder.standing(TWICE).state

    assert state() is State.UNTOUCHED
    solve(folder, WRONG, FAILED)
    assert state() is State.BEGUN
    solve(folder, RIGHT, PASSED)
    assert state() is State.PASSED
    folder.file_of(TWICE).write_text(RIGHT + "# tidied\n")
    assert state() is State.CHANGED
    solve(folder, WRONG, FAILED)
    assert state() is State.FAILS
    folder.reset(TWICE)
    assert state() is State.UNTOUCHED
    folder.file_of(TWICE).unlink()
    assert state() is State.GONE
    assert folder.standing(CUBE).state is State.LACKS


def test_what_was_solved_once_stays_solved(folder: PracticeFolder) -> None:
    solve(folder, RIGHT, PASSED)
    solve(folder, WRONG, FAILED)
    record = folder.standing(TWICE).record
    assert (record.passed, record.solved, record.checks) == (False, True, 2)


def test_next_is_the_first_unsolved_those_given_up_last(folder: PracticeFolder) -> None:
    def following() -> str | None:
        standing = next_standing(folder.standings(TASKS))
        return None if standing is None else standing.task.name

    assert following() == "twice"
    folder.note_gave_up(TWICE)
    assert following() == "copy-on-write"
    folder.note_check(COPY, PASSED, digest_of(folder.file_of(COPY)))
    assert following() == "twice"
    solve(folder, RIGHT, PASSED)
    assert following() is None, "what cannot be checked here does not count"


def test_begun_anew_the_old_file_is_kept_every_time(folder: PracticeFolder) -> None:
    assert folder.reset(TWICE) is None, "it is as it was given"
    for number in (1, 2):
        solve(folder, f"# {number}\n{RIGHT}", PASSED)
        backup = folder.reset(TWICE)
        assert backup == folder.path / "backups" / f"twice-{number}.py"
        assert backup.read_text().startswith(f"# {number}")
    assert folder.standing(TWICE).state is State.UNTOUCHED
    assert folder.standing(TWICE).record.solved
    folder.file_of(TWICE).unlink()
    assert folder.reset(TWICE) is None
    assert folder.file_of(TWICE).read_text() == TWICE.text()


def test_a_check_that_could_not_be_made_is_not_kept(folder: PracticeFolder) -> None:
    folder.note_check(TWICE, Outcome(passed=False, skipped=True), "x")
    assert folder.standing(TWICE).record == Record()


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "nonsense", '{"exercises": 3}', '{"exercises": {"twice": 4}}', "[" * 9999],
)
def test_a_damaged_record_is_begun_anew_and_set_aside(folder: PracticeFolder, text: str) -> None:
    (folder.path / MARK).write_text(text)
    assert folder.standing(TWICE).record == Record()
    assert find_folder(folder.path, TASKS) == folder
    folder.note_hint(TWICE)
    assert read_records(folder.path) == {"twice": Record(hints=1)}
    if text and "exercises" not in text:
        assert (folder.path / f"{MARK}.damaged").read_text() == text


def test_values_of_the_wrong_kind_are_left_out(folder: PracticeFolder) -> None:
    odd = {"passed": 1, "digest": [], "hints": True, "checks": -4, "gave_up": "yes", "more": {}}
    (folder.path / MARK).write_text(json.dumps({"exercises": {"twice": odd, "cube": {"hints": 9}}}))
    assert read_records(folder.path) == {"twice": Record(), "cube": Record(hints=3)}


def _hint_often(path: Path, name: str) -> None:
    for _ in range(30):
        update_record(path, name, lambda old: replace(old, checks=old.checks + 1))


@pytest.mark.skipif(sys.platform == "win32", reason="no such locks")
def test_two_programs_lose_nothing_of_each_other(folder: PracticeFolder) -> None:
    programs = [  # a lock that is opened twice is held by one of them only, threads too
        Thread(target=_hint_often, args=(folder.path, name)) for name in ("twice", "twice", "cube")
    ]
    for program in programs:
        program.start()
    for program in programs:
        program.join()
    records = read_records(folder.path)
    assert (records["twice"].checks, records["cube"].checks) == (60, 30)


def test_what_is_still_to_write_is_read_from_the_file() -> None:
    assert still_to_write(COPY.text()) == ["Memory.fork", "Memory.append"]
    assert still_to_write(RIGHT) == []
    assert still_to_write("def (") == []
    assert still_to_write("x = '\0'") == []


def test_names_are_found_by_what_people_type() -> None:
    names = ("free-list", "fork", "copy-on-write")
    for typed in ("copy-on-write", "copy_on_write.py", "COPY", "3", " c "):
        assert name_meant(typed, names) == "copy-on-write"
    with pytest.raises(InputError, match="'f' may be free-list, fork; write more of the name"):
        name_meant("f", names)
    for typed in ("", "4", "0", "nonesuch", "²"):
        with pytest.raises(InputError, match="there is no exercise"):
            name_meant(typed, names)
