"""``pagesim practice`` as a learner meets it: what is printed, kept and given back."""

import json
import os
import re
import subprocess
import sys
from code import InteractiveConsole
from pathlib import Path
from types import ModuleType

import pytest
from practice_tasks import HELPERS, RIGHT, WRONG, attempt, few_tasks
from typer.testing import CliRunner

from pagesim.cli import practice_tasks
from pagesim.cli.main import app
from pagesim.cli.practice_output import _calls
from pagesim.core.errors import InputError
from pagesim.practice.records import MARK, digest_of, read_records
from pagesim.practice.sandbox import check_file
from pagesim.replay.log import read_log


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of few exercises, and we are in it."""
    tasks = few_tasks()
    monkeypatch.setattr(practice_tasks, "all_tasks", lambda: tasks)
    monkeypatch.setenv("PYTHONPATH", str(HELPERS))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    run("init", "mine")
    monkeypatch.chdir(tmp_path / "mine")
    return tmp_path / "mine"


def run(*words: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["practice", *words])
    if isinstance(result.exception, InputError):
        raise result.exception
    assert result.exit_code == code, result.output
    return "\n".join(line.rstrip() for line in result.output.splitlines())


def refused(*words: str) -> str:
    with pytest.raises(InputError) as caught:
        run(*words)
    return str(caught.value)


# -- where to begin ------------------------------------------------------------------------------------------


def test_a_beginner_is_led_to_the_first_exercise(tmp_path, monkeypatch, mine):
    monkeypatch.chdir(tmp_path)
    said = run("init", "another one")
    assert "another one has 3 exercises, and a README.md to begin with." in said
    assert "cd 'another one'" in said
    assert "pagesim practice next" in said
    told = run("next", "--dir", "another one")
    assert "1  twice" in told
    assert re.search(r"file +another one/twice.py", told)
    assert re.search(r"write +twice\n", told)
    assert "pagesim learn 1" in told
    assert "nothing was changed" in run("init", "another one")


def test_the_readme_names_every_file(mine):
    readme = (mine / "README.md").read_text()
    assert "| 2 | `copy_on_write.py` |" in readme
    assert "Not here (needs nonesuch)" in readme
    for word in ("next", "check", "watch", "hint", "list", "reset", "solution"):
        assert f"pagesim practice {word}" in readme


def test_alone_it_lists_the_exercises_or_says_how_to_begin(mine, tmp_path, monkeypatch):
    assert run() == run("list")
    monkeypatch.chdir(tmp_path)
    assert "pagesim practice init" in " ".join(run().split())


def test_outside_a_folder_it_is_said_what_to_do(tmp_path, monkeypatch, mine):
    monkeypatch.chdir(tmp_path)
    for words in (["list"], ["next"], ["hint"], ["check"], ["check", "twice"], ["reset", "twice"]):
        assert "go to yours, name it with --dir, or make one" in refused(*words)
    assert "`pagesim practice init x` makes one" in refused("list", "--dir", "x")


def test_the_list_shows_how_far_one_is(mine):
    (mine / "twice.py").write_text(RIGHT)
    run("check", "twice")
    (mine / "copy_on_write.py").write_text("x")
    run("hint", "copy")
    lines = run("list").splitlines()
    assert re.fullmatch(r"\+ +1 +twice +Two times a number +1 +passed", lines[1])
    assert re.search(r"\* +2 +copy-on-write .* 5 +begun, 1 hint", lines[2])
    assert re.search(r"- +3 +cube +Not here +3 +needs nonesuch", "\n".join(lines))
    assert "1 of 2 exercises passed; 1 cannot be checked here." in lines[-1]
    states = json.loads(run("list", "--json"))
    assert [state["state"] for state in states] == ["passed", "begun", "lacks"]
    assert [state["hints"] for state in states] == [0, 1, 0]


# -- hints and solutions -------------------------------------------------------------------------------------


def test_hints_grow_stronger_and_are_counted(mine):
    first, second, third, fourth = (run("hint") for _ in range(4))
    assert "first of all" in first
    assert "then this" not in first
    assert "2 more: pagesim practice hint twice" in first
    assert "then this" in second
    assert "and at last that" not in second
    assert "and at last that" in third
    assert "pagesim practice solution twice --give-up" in third
    assert fourth == third
    assert read_records(mine)["twice"].hints == 3


def test_all_hints_only_after_passing(mine):
    assert "twice is not passed yet" in refused("hint", "twice", "--all")
    (mine / "twice.py").write_text(RIGHT)
    run("check", "twice")
    assert "and at last that" in run("hint", "twice", "--all")
    assert read_records(mine)["twice"].hints == 0


def test_the_solution_is_shown_after_passing_or_when_given_up(mine):
    said = refused("solution", "copy")
    assert "copy-on-write is not passed yet" in said
    assert "--give-up" in said
    assert "class Memory:" in run("solution", "copy", "--give-up")
    assert read_records(mine)["copy-on-write"].gave_up
    assert "not begun, solution seen" in run("list")
    (mine / "copy_on_write.py").write_text(attempt("copy_on_write", "right_three_cases"))
    run("check", "copy")
    shown = run("solution", "copy")
    assert shown + "\n" == few_tasks()[1].solution()


def test_begun_anew_what_was_written_is_kept(mine):
    (mine / "twice.py").write_text(WRONG)
    said = run("reset", "twice")
    assert "What you wrote is in backups/twice-1.py." in said
    assert (mine / "backups" / "twice-1.py").read_text() == WRONG
    assert "raise NotImplementedError" in (mine / "twice.py").read_text()
    assert "What you wrote" not in run("reset", "twice")


# -- checks --------------------------------------------------------------------------------------------------


def test_a_task_as_given_is_not_written_yet(mine):
    said = run("check", code=1)
    assert "1  twice  Two times a number  not written yet" in said
    assert "twice is not written yet: it raises NotImplementedError (line" in said
    assert "These calls" not in said


def test_a_broken_law_is_told_with_calls_to_paste(mine):
    (mine / "copy_on_write.py").write_text(attempt("copy_on_write", "wrong_copy_reversed"))
    said = run("check", "copy", code=1)
    task = few_tasks()[1]
    assert f"broken copy: {task.exercise.says('copy')}" in " ".join(said.split())
    assert "the wrong way round" in " ".join(said.split())
    assert re.search(r"log +logs/copy_on_write.jsonl", said)
    assert "pagesim view logs/copy_on_write.jsonl" in said
    assert "pagesim practice hint copy-on-write" in said
    lines = said.splitlines()
    first = lines.index("from copy_on_write import Memory")
    calls = lines[first : lines.index("", first)]
    assert calls[-1].startswith("memory.append(")
    pasted = subprocess.run(
        [sys.executable, "-c", "\n".join([*calls, "print(memory.copies)"])],
        cwd=mine,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "[(0, 1, " in pasted.stdout, "the calls do what was told"


def test_the_log_opens_where_the_law_broke(mine):
    (mine / "copy_on_write.py").write_text(attempt("copy_on_write", "wrong_copy_reversed"))
    run("check", "copy", code=1)
    path = mine / "logs" / "copy_on_write.jsonl"
    log = read_log(path)
    assert log.header["law"] == "copy"
    assert log.header["opens_at"] == len(log.events)
    assert "the wrong way round" in str(log.header["sentence"])
    assert log.header["title"] == "copy-on-write: copy is broken"
    (mine / "copy_on_write.py").write_text(attempt("copy_on_write", "right_counter"))
    run("check", "copy")
    assert not path.exists(), "there is nothing to see any more"


def test_passing_says_what_was_kept_and_what_comes_next(mine):
    (mine / "twice.py").write_text(RIGHT)
    said = run("check")
    assert "passed" in said
    assert re.search(r"doubled +what comes is two times what was given", said)
    assert re.search(r"ours +pagesim practice solution twice", said)
    assert re.search(r"next +copy-on-write, in copy_on_write.py", said)
    (mine / "copy_on_write.py").write_text(attempt("copy_on_write", "right_counter"))
    assert "That was the last: every exercise is passed." in run("check")
    assert "every exercise is passed" in refused("check")
    assert "Every exercise is passed." in run("next")
    assert run("next", "--json") == "null"


def test_what_the_code_printed_is_shown_the_end_of_it(mine):
    source = f"print('\\x1b[31mred')\n{WRONG}".replace("return", "print('at', number); return")
    (mine / "twice.py").write_text(source + "\n" + "print('loaded')\n" * 20)
    said = run("check", code=1)
    assert "Your code printed, the last 12 lines:" in said
    assert "  at 1" in said
    (mine / "twice.py").write_text("print('\\x1b[31mred')\n" + RIGHT)
    said = run("check")
    assert "Your code printed:\n  \\x1b[31mred" in said
    assert "\x1b" not in said


def test_a_file_anywhere_can_be_checked(mine, tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "copy_on_write.py").write_text(attempt("copy_on_write", "wrong_copy_reversed"))
    monkeypatch.chdir(tmp_path)
    said = run("check", "elsewhere/copy_on_write.py", code=1)
    assert "pagesim view elsewhere/logs/copy_on_write.jsonl" in said
    assert read_records(mine) == {}
    monkeypatch.chdir(elsewhere)
    assert run("check", "copy_on_write.py", "--dir", str(mine), code=1)
    assert read_records(mine) == {}, "a file elsewhere is not the one in the folder"
    assert run("check", str(mine / "twice.py"), code=1)
    assert read_records(mine)["twice"].checks == 1
    (elsewhere / "notes.py").write_text("")
    assert "there is no exercise 'notes.py'" in refused("check", "notes.py")
    assert "nonesuch/twice.py is no file" in refused("check", "nonesuch/twice.py")


def test_a_file_that_is_gone_can_be_written_anew(mine):
    (mine / "twice.py").unlink()
    assert "`pagesim practice reset twice` writes it anew" in refused("check", "twice")
    assert "reset twice writes it anew" in run("next")
    assert "no file" in run("list")
    run("reset", "twice")
    assert "not written yet" in run("check", "twice", code=1)


def test_what_cannot_be_checked_here_says_how_it_can(mine):
    said = refused("check", "cube")
    assert "cube needs nonesuch, which is not installed; `pip install" in said
    assert "does not count" in said


def test_all_are_checked_and_what_lacks_something_does_not_count(mine):
    (mine / "twice.py").write_text(RIGHT)
    (mine / "copy_on_write.py").write_text(attempt("copy_on_write", "wrong_never_copies"))
    said = run("check", "--all", code=1)
    assert re.search(r"1 +twice +passed", said)
    assert re.search(r"2 +copy-on-write +[a-z-]+ +\w", said)
    assert re.search(r"3 +cube +not checked +this exercise needs nonesuch", said)
    assert (mine / "logs" / "copy_on_write.jsonl").exists()
    (mine / "copy_on_write.py").write_text(attempt("copy_on_write", "right_counter"))
    results = json.loads(run("check", "--all", "--json"))
    assert [result["passed"] for result in results] == [True, True, None]
    assert "both twice and --all were given" in refused("check", "twice", "--all")


def test_programs_get_it_whole(mine):
    (mine / "twice.py").write_text(WRONG)
    result = json.loads(run("check", "--json", code=1))
    assert result["passed"] is False
    assert (result["law"], result["sentence"]) == ("doubled", "twice 1 is 2, and twice gave 1")
    assert result["operations"] == ["twice(1)  # gave 1"]
    assert result["log"] is None
    (mine / "twice.py").write_text(RIGHT)
    result = json.loads(run("check", "twice", "--json"))
    assert (result["passed"], result["law"], result["warnings"]) == (True, None, [])


def test_where_nothing_can_be_kept_it_is_checked_all_the_same(mine, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pagesim.practice.folder.update_record", refuse)
    (mine / "twice.py").write_text(RIGHT)
    said = run("check", "twice")
    assert "progress is not kept" in " ".join(said.split())
    said = run("hint")
    assert "first of all" in said
    assert "progress is not kept" in said
    assert "the next hint will be the same one" in said
    said = run("solution", "copy", "--give-up")
    assert "class Memory:" in said
    assert "progress is not kept" in said


def test_where_no_log_can_be_kept_it_is_told_all_the_same(mine):
    (mine / "copy_on_write.py").write_text(attempt("copy_on_write", "wrong_copy_reversed"))
    (mine / "logs").write_text("a file")
    said = " ".join(run("check", "copy", code=1).split())
    assert "the wrong way round" in said
    assert "the log is not kept: " in said
    assert "another file" not in said, "there is no option for it"


def test_passed_before_and_broken_since_still_counts(mine):
    (mine / "twice.py").write_text(RIGHT)
    run("check", "twice")
    (mine / "twice.py").write_text(WRONG)
    run("check", "twice", code=1)
    said = run("list")
    assert re.search(r"! +1 +twice .* passed before, not now", said)
    assert "1 of 2 exercises passed, 1 of which does not pass now" in said
    assert "copy-on-write" in run("next"), "what was never passed comes first"
    (mine / "copy_on_write.py").write_text(attempt("copy_on_write", "right_counter"))
    assert re.search(r"next +twice, in twice.py", run("check"))


def test_a_task_that_has_changed_since_it_was_given_is_said_to_be_older(mine, monkeypatch):
    assert "older" not in run("init", ".")
    given = json.loads((mine / MARK).read_text())
    given["given"] = {name: digest_of(mine / f"{name}.py") for name in ("twice", "cube")}
    (mine / MARK).write_text(json.dumps(given))
    assert "older" not in run("init", ".")
    for name in ("twice", "cube"):
        (mine / f"{name}.py").write_text("# as it was last year\n")
        given["given"][name] = digest_of(mine / f"{name}.py")
    (mine / MARK).write_text(json.dumps(given))
    said = run("init", ".")
    assert "twice.py is an older version; `pagesim practice reset twice` gives the new one." in said
    assert "not begun, older version" in run("list")
    assert "twice.py is an older version" in " ".join(run("next").split())
    (mine / "twice.py").write_text(WRONG)
    assert "twice.py was begun in an older version" in run("init", ".")
    run("reset", "twice")
    assert "twice.py" not in run("init", ".")
    assert (mine / "twice.py").read_text() == few_tasks()[0].text()


def test_calls_of_every_kind_can_be_typed_line_by_line(tmp_path, monkeypatch):
    for name, wrong in (
        ("paged_attention", "wrong_no_scale"),
        ("free_list", "wrong_first_of_dict"),
    ):
        console = InteractiveConsole()
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
        exec(attempt(name, wrong), vars(sys.modules[name]))
        monkeypatch.setattr(console, "write", lambda text: pytest.fail(text))
        monkeypatch.chdir(tmp_path)
        Path(f"{name}.py").write_text(attempt(name, wrong))
        task = practice_tasks.task_called(name, practice_tasks.all_tasks())
        outcome = check_file(task.exercise, task.checks, Path(f"{name}.py"))
        for line in _calls(task, outcome.operations):
            console.push(line)


def test_minus_infinity_can_be_pasted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("online_softmax.py").write_text(attempt("online_softmax", "wrong_masked_gives_nan"))
    lines = run("check", "online_softmax.py", code=1).splitlines()
    first = lines.index("import math")
    calls = lines[first : lines.index("", first)]
    assert "attention.add([-math.inf], [[5.0]])" in calls
    subprocess.run([sys.executable, "-c", "\n".join(calls)], check=True)


def test_watch_needs_a_terminal(mine):
    assert "watch needs a terminal" in refused("watch")


# -- the program itself --------------------------------------------------------------------------------------


def test_everything_is_plain_in_a_pipe(mine):
    """No escape byte, nothing that ASCII lacks, nothing wider than the terminal but what is to be copied."""
    (mine / "copy_on_write.py").write_text(attempt("copy_on_write", "wrong_boundary_one_late"))
    environ = {**os.environ, "COLUMNS": "80", "PYTHONIOENCODING": "ascii"}
    shown = ""
    for words, code in ((["list"], 0), (["check", "copy-on-write"], 1)):
        done = subprocess.run(
            [sys.executable, "-m", "pagesim", "practice", *words],
            cwd=mine,
            env=environ,
            capture_output=True,
            check=False,
        )
        assert done.returncode == code, done.stderr
        assert b"\x1b" not in done.stdout + done.stderr
        shown = done.stdout.decode("ascii")
        assert max(map(len, shown.splitlines())) <= 80
    assert "?" not in shown
