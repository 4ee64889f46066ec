"""``pagesim practice grade``: a whole class, a row for each student and exercise, whatever the files do."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from practice_tasks import HELPERS, RIGHT, WRONG, attempt, few_tasks
from typer.testing import CliRunner, Result

from pagesim.cli import practice_tasks
from pagesim.cli.main import app
from pagesim.cli.practice_grade import cell
from pagesim.core.errors import InputError
from pagesim.practice.grading import MISSING, find_submissions
from pagesim.practice.pool import work_through

TWICE, COPY, CUBE = TASKS = few_tasks()
HEAD = ["student", "exercise", "passed", "law", "sentence", "seconds"]


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(practice_tasks, "all_tasks", lambda: TASKS)
    monkeypatch.setenv("PYTHONPATH", str(HELPERS))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)


def put(path: str, text: str | bytes = RIGHT) -> None:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())


def run(*words: str, code: int = 0) -> Result:
    result = CliRunner().invoke(app, ["practice", "grade", *words])
    if isinstance(result.exception, InputError):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


def rows_of(text: str) -> list[list[str]]:
    head, *rows = csv.reader(io.StringIO(text))
    assert head == HEAD
    return rows


# -- finding -------------------------------------------------------------------------------------------------


def found(*paths: str) -> tuple[dict[tuple[str, str], str | None], list[str]]:
    """Of these files: which is whose, and which are left over."""
    for path in paths:
        put(f"class/{path}")
    folder = Path("class")
    result = find_submissions(folder, TASKS, [TWICE, COPY])
    theirs = {
        (s.student, s.task.name): None if s.file is None else str(s.file.relative_to(folder))
        for s in result.submissions
    }
    return theirs, [str(path.relative_to(folder)) for path in result.strays]


def test_folders_of_students() -> None:
    theirs, strays = found("bob/twice.py", "ann/copy_on_write.py", "ann/notes.py", "ann/x.txt")
    assert theirs == {
        ("ann", "twice"): None,
        ("ann", "copy-on-write"): "ann/copy_on_write.py",
        ("bob", "twice"): "bob/twice.py",
        ("bob", "copy-on-write"): None,
    }
    assert strays == ["ann/notes.py"]


def test_files_with_the_student_in_their_name() -> None:
    theirs, strays = found(
        "ann_twice.py",
        "Bob-copy-on-write.py",
        "twice (carl).py",
        "copy_on_write_dora.py",
        "nice.py",
    )
    assert {place: file for place, file in theirs.items() if file} == {
        ("ann", "twice"): "ann_twice.py",
        ("Bob", "copy-on-write"): "Bob-copy-on-write.py",
        ("carl", "twice"): "twice (carl).py",
        ("dora", "copy-on-write"): "copy_on_write_dora.py",
    }
    assert strays == ["nice.py"]


def test_a_learners_own_folder_is_one_student() -> None:
    theirs, strays = found("twice.py", "copy_on_write.py", "backups/twice-1.py", "logs/x.py")
    assert theirs == {
        ("class", "twice"): "twice.py",
        ("class", "copy-on-write"): "copy_on_write.py",
    }
    assert strays == []


def test_files_deep_in_a_students_folder_the_shallowest_with_the_right_name_counts() -> None:
    theirs, strays = found(
        "ann/hand in/pagesim-practice/twice.py",
        "ann/hand in/pagesim-practice/backups/twice-1.py",
        "ann/hand in/twice_v2.py",
        "ann/.git/copy_on_write.py",
        "ann/a/b/c/d/copy_on_write.py",
    )
    assert theirs["ann", "twice"] == "ann/hand in/pagesim-practice/twice.py"
    assert theirs["ann", "copy-on-write"] is None
    assert strays == ["ann/hand in/twice_v2.py"]


def test_a_link_to_itself_is_not_followed() -> None:
    put("class/ann/twice.py")
    Path("class/ann/again").symlink_to(Path("class").resolve())
    theirs, strays = found()
    assert theirs["ann", "twice"] == "ann/twice.py"
    assert strays == []


def test_nobody_there_is_one_sentence(tmp_path: Path) -> None:
    Path("class").mkdir()
    with pytest.raises(
        InputError, match=r"class has no submissions; they are class/STUDENT/twice\.py"
    ):
        run("class")
    for words in (["nonesuch"], ["class", "--jobs", "0"], ["class", "--json", "--csv", "-"]):
        with pytest.raises(InputError):
            run(*words)
    put("class/ann/twice.py")
    with pytest.raises(InputError, match="cannot be written"):
        run("class", "--csv", "no/such/folder.csv")


# -- grading -------------------------------------------------------------------------------------------------

HOSTILE = {
    "binary": bytes(range(256)),
    "crash": b"import os; os._exit(3)",
    "empty": b"",
    "hang": b"import time\nwhile True:\n    try: time.sleep(9)\n    except BaseException: pass",
    "huge": b"#" * 2_000_000,
    "killer": b"import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "right": RIGHT.encode(),
    "wrong": WRONG.encode(),
}


def test_whatever_a_file_does_all_are_judged() -> None:
    for student, text in HOSTILE.items():
        put(f"class/{student}/twice.py", text)
    result = run("class", "--csv", "-", "--exercise", "twice", "--jobs", "3")
    rows = rows_of(result.stdout)
    assert [row[0] for row in rows] == sorted(HOSTILE)
    told = {row[0]: row for row in rows}
    assert {student for student, row in told.items() if row[2] == "yes"} == {"right"}
    assert told["right"][3:5] == ["", ""]
    assert told["wrong"][3:5] == ["doubled", "twice 1 is 2, and twice gave 1"]
    assert told["empty"][3:5] == ["file", "twice.py is empty"]
    for student, row in told.items():
        assert student == "right" or (row[2] == "no" and row[3] and row[4])
        assert float(row[5]) < 10


def test_rows_are_the_same_however_many_at_a_time() -> None:
    for number in range(4):
        put(f"class/student {number}/twice.py", RIGHT if number % 2 else WRONG)
    one, many = (
        [row[:5] for row in rows_of(run("class", "--csv", "-", "--jobs", jobs).stdout)]
        for jobs in ("1", "5")
    )
    assert one == many
    assert len(one) == 12


def test_missing_files_and_what_cannot_be_judged_here_are_rows() -> None:
    put("class/ann/cube.py")
    rows = rows_of(run("class", "--csv", "-").stdout)
    assert [row[1:4] for row in rows] == [
        ["twice", "no", MISSING],
        ["copy-on-write", "no", MISSING],
        ["cube", "", ""],
    ]
    assert rows[0][4] == "there is no twice.py"
    assert "needs nonesuch" in rows[2][4]


def test_what_is_said_besides_the_rows_is_on_standard_error() -> None:
    put("class/ann/twice.py")
    put("class/bob/twice.py", WRONG)
    put("class/bob/notes.py")
    result = run("class", "--csv", "grades.csv")
    assert result.stdout == ""
    assert len(rows_of(Path("grades.csv").read_text())) == 6
    words = " ".join(result.stderr.split())
    assert "twice 1 of 2 doubled (1)" in words
    assert "copy-on-write 0 of 2 missing (2)" in words
    assert "cube 0 of 2 missing (2)" in words
    assert "2 students, 6 rows" in words
    assert "class/bob/notes.py" in words
    assert [path.name for path in Path().iterdir() if path.suffix != ""] == ["grades.csv"]


def test_without_a_file_for_the_rows_each_student_has_a_line() -> None:
    put("class/anna/twice.py")
    put("class/anna/copy_on_write.py", attempt("copy_on_write", "wrong_copy_reversed"))
    put("class/bob [red]/twice.py", WRONG)
    said = [" ".join(line.split()) for line in run("class").stdout.splitlines()]
    assert said == [
        "student passed broken",
        "anna 1 of 3 copy-on-write (copy), 1 missing",
        "bob [red] 0 of 3 twice (doubled), 2 missing",
        "",
    ]
    assert json.loads(run("class", "--json").stdout)[0]["student"] == "anna"


def test_programs_get_it_as_json() -> None:
    put("class/ann/twice.py")
    put("class/ann/copy_on_write.py", attempt("copy_on_write", "wrong_never_copies"))
    rows = json.loads(run("class", "--json", "--csv", "grades.csv").stdout)
    assert [(row["exercise"], row["passed"]) for row in rows] == [
        ("twice", True),
        ("copy-on-write", False),
        ("cube", False),
    ]
    assert rows[1]["law"]
    assert Path("grades.csv").exists()


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_no_cell_is_a_formula(start: str) -> None:
    assert cell(f"{start}cmd|' /C calc'!A0").startswith("'")
    assert cell(f"a{start}b")[0] == "a"


def test_names_of_students_are_made_safe() -> None:
    put('class/=HYPERLINK("x")/twice.py')
    put("class/two\nlines, and a comma/twice.py")
    put(os.fsdecode(b"class/latin-\xe9/twice.py"))
    rows = rows_of(run("class", "--csv", "-", "--exercise", "1").stdout)
    assert [row[0] for row in rows] == [
        '\'=HYPERLINK("x")',
        "latin-?",
        "two\\nlines, and a comma",
    ]
    assert all(row[2] == "yes" for row in rows)


def test_an_error_of_the_system_is_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("pagesim.practice.grading.check_file", refuse)
    put("class/ann/twice.py")
    row = rows_of(run("class", "--csv", "-", "--exercise", "twice").stdout)[0]
    assert row[2:5] == ["", "", "it could not be judged: Resource temporarily unavailable"]


# -- interrupted ---------------------------------------------------------------------------------------------

PROGRAM = """
import sys
import practice_tasks
from pagesim.cli import main, practice_tasks as real
tasks = practice_tasks.few_tasks()
real.all_tasks = lambda: tasks
sys.argv = ["pagesim", "practice", "grade", *sys.argv[1:]]
main.main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_what_is_done_is_written(number: signal.Signals, code: int) -> None:
    put("class/ann/twice.py")
    pid = Path("pid").resolve()
    put(
        "class/bob/copy_on_write.py",
        f"import os, time\nopen({str(pid)!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)\n",
    )
    put("grades.csv", "what was there before")
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "class", "--csv", "grades.csv", "--jobs", "1"],
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 30
    while not (pid.exists() and pid.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert Path("grades.csv").read_text() == "what was there before"
    program.send_signal(number)
    _, said = program.communicate(timeout=15)
    assert program.returncode == code
    rows = rows_of(Path("grades.csv").read_text())
    assert [row[0] for row in rows][:3] == ["ann"] * 3
    assert len(rows) < 6
    assert f"Ended early: {6 - len(rows)} of 6 are not done." in said
    assert "Traceback" not in said
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_the_pool_ends_all_processes_when_it_is_interrupted() -> None:
    began, ended = threading.Event(), []

    def work(item: int, running: object) -> int:
        if item == 0:
            return item
        began.set()
        while not running.ended:  # type: ignore[attr-defined]
            time.sleep(0.01)
        ended.append(item)
        return item

    def tell(place: int, result: int) -> None:
        began.wait(5)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work_through([0, 1, 2, 3], work, 2, tell)
    assert len(ended) <= 2, "what had not begun is not begun"
