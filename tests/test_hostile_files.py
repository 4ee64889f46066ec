"""Learners' files that do anything at all: each is judged, in time, by a message that fits; nothing is left over."""

import os
import sys
import time
from pathlib import Path

import pytest

from pagesim.practice.exercise import FAIR, FILE, RETURNS, WRITTEN
from pagesim.practice.outcome import Outcome
from pagesim.practice.sandbox import MOST_OUTPUT, check_file, check_files

HELPERS = Path(__file__).parent / "helpers"
sys.path.append(str(HELPERS))

from tiny_exercise.checks import EXERCISE  # noqa: E402

CHECKS = "tiny_exercise.checks"
MOST_S = 6.0

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits are POSIX's")


@pytest.fixture(autouse=True)
def _findable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(HELPERS))


def checked(tmp_path: Path, source: str | bytes) -> Outcome:
    file = tmp_path / "twice.py"
    file.write_bytes(source if isinstance(source, bytes) else source.encode())
    began = time.monotonic()
    outcome = check_file(EXERCISE, CHECKS, file)
    assert time.monotonic() - began < MOST_S
    assert "\n" not in outcome.sentence
    assert len(outcome.output) <= MOST_OUTPUT + 10
    return outcome


def within(body: str, before: str = "") -> str:
    """A file whose function does this."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return f"import os, sys, signal, time\n{before}\ndef twice(number):\n{lines}\n    return 2 * number\n"


IN_A_CALL = {
    "endless loop": ("while True: pass", RETURNS, "did not come back within 0.3 s (line 4)"),
    "endless sleep": ("time.sleep(1e6)", RETURNS, "did not come back within 0.3 s"),
    "endless loop in C": ("sum(iter(int, 1))", RETURNS, "did not come to an end within 1.5 s"),
    "alarm swallowed": (
        "while True:\n    try:\n        time.sleep(9)\n    except BaseException: pass",
        RETURNS,
        "did not come to an end within 1.5 s",
    ),
    "alarm taken away": (
        "signal.signal(signal.SIGALRM, signal.SIG_IGN)\ntime.sleep(9)",
        RETURNS,
        "did not come to an end within 1.5 s",
    ),
    "flood of output": (
        "while True: print('x' * 10_000)",
        RETURNS,
        "did not come back within 0.3 s",
    ),
    "error": ("[][1]", RETURNS, "raised IndexError: list index out of range (line 4)"),
    "exit": ("sys.exit()", RETURNS, "your twice ends the program (SystemExit) (line 4)"),
    "hard exit": ("os._exit(0)", RETURNS, "your code ended the program, while doubled was checked"),
    "killed": (
        "os.kill(os.getpid(), 9)",
        RETURNS,
        "was ended (SIGKILL), perhaps for want of memory",
    ),
    "interrupt": ("raise KeyboardInterrupt", RETURNS, "your twice raised KeyboardInterrupt"),
    "recursion": ("return twice(number)", RETURNS, "calls itself again and again"),
    "recursion without limit": (
        "sys.setrecursionlimit(10**9)\nreturn twice(number)",
        RETURNS,
        "calls itself again and again",
    ),
    "much memory": ("[0] * 10**9", RETURNS, "your twice wants more memory than 128 MiB (line 4)"),
    "ever more memory": (
        "row = []\nwhile True: row.append(bytes(1_000_000))",
        RETURNS,
        "your twice wants more memory than 128 MiB",
    ),
    "input": (
        "input()",
        RETURNS,
        "your twice asks for input, and nothing can be typed inside a check (line 4)",
    ),
    "debugger": (
        "breakpoint()",
        RETURNS,
        "your twice stops for a debugger, and nothing can be typed",
    ),
    "closed ways out": ("os.closerange(0, 200)", RETURNS, "your code "),
    "large file": (
        "with open('x', 'wb', buffering=0) as file:\n    file.seek(70 << 20)\n    file.write(b'x')",
        RETURNS,
        "your twice raised OSError",
    ),
    "gone": ("del globals()['twice']\nreturn 2 * number", FILE, "twice is gone"),
    "text": ("return '2'", RETURNS, "is '2', and the task wants a whole number"),
    "nothing": ("return None", RETURNS, "is None, and the task wants a whole number"),
    "wrong": ("return number * number", "doubled", "twice 1 is 2, and twice gave 1"),
    "written in part": (
        "if number: raise NotImplementedError",
        WRITTEN,
        "twice is not written yet",
    ),
    "odd repr": (
        "class Odd:\n    def __repr__(self): return self\nreturn Odd()",
        RETURNS,
        "is <Odd>, and the task wants a whole number",
    ),
    "odd class": (
        "class Odd:\n    __index__ = property(lambda self: 1 / 0)\nreturn Odd()",
        RETURNS,
        "the task wants a whole number",
    ),
    "forged result": (
        """import json
passed = {"outcome": {"passed": True, "law": "", "sentence": "", "operations": [], "film": None, "skipped": False}}
for number in range(3, 30):
    try: os.write(number, json.dumps(passed | {"secret": ""}).encode() + b"\\n")
    except OSError: pass
return 0""",
        "doubled",
        "twice 1 is 2, and twice gave 0",
    ),
}


@pytest.mark.parametrize("name", IN_A_CALL)
def test_what_a_call_does_is_told(tmp_path: Path, name: str) -> None:
    body, law, words = IN_A_CALL[name]
    outcome = checked(tmp_path, within(body))
    assert not outcome.passed
    assert (outcome.law, words in outcome.sentence) == (law, True), outcome.sentence


def test_what_ends_the_program_is_told_with_the_calls_that_led_there(tmp_path: Path) -> None:
    for body in ("if number == 3: os._exit(0)", "if number == 3: os.kill(os.getpid(), 11)"):
        outcome = checked(tmp_path, within(body))
        assert outcome.sentence.endswith("while doubled was checked, in the last of these calls")
        assert outcome.operations == ("twice(3)",)
    once = within("if not os.path.exists(MARK): open(MARK, 'w').close(); os._exit(0)")
    outcome = checked(tmp_path, once.replace("MARK", repr(str(tmp_path / "mark"))))
    assert outcome.operations == (), "it does not happen again"


WHEN_LOADED = {
    "no Python": ("def twice(number:\n", FILE, "line 1, is no Python: '(' was never closed"),
    "empty": (" \n", FILE, "twice.py is empty"),
    "binary": (bytes(range(256)), FILE, "twice.py is no Python"),
    "half a character": (b"x = '\xc3'\n", FILE, "is no Python"),
    "huge": (b"#" * 1_000_001, FILE, "has 1,000,001 bytes, and no task needs so many"),
    "deep": ("(" * 5_000, FILE, "is no Python"),
    "without it": ("def thrice(number): return 3\n", FILE, "there is no function twice"),
    "no function": ("twice = 2\n", FILE, "twice is of type int, and the task asks for a function"),
    "no parameter": ("def twice(): return 2\n", FILE, "takes (), and the task asks for (number)"),
    "two parameters": ("def twice(number, more): ...\n", FILE, "takes (number, more)"),
    "another name": ("def twice(n): return 2 * n\n", FILE, "takes (n)"),
    "error": ("1 / 0\n", FILE, "line 1, raises ZeroDivisionError: division by zero when it is loaded"),
    "exit": ("raise SystemExit\n", FILE, "line 1, ends the program (SystemExit) when it is loaded"),
    "unknown module": ("import nonesuch\n", FILE, "line 1, imports nonesuch, which is not installed"),
    "memory": ("x = [0] * 10**9\n", FILE, "wants more memory than there is when it is loaded"),
    "ours": ("from pagesim.core.errors import InputError\n", FAIR, "line 1 imports pagesim.core.errors"),
    "the solution": (
        """
import importlib
importlib.import_module("pagesim_lessons.exercises.slot_mapping.solution")
def twice(number): return 2 * number
""",
        FAIR,
        "the file imports the solution",
    ),
}  # fmt: skip


def test_what_a_file_is_is_told(tmp_path: Path) -> None:
    """One process suffices: these files do not harm each other. The last one is right, and passes all the same."""
    files = []
    for number, (source, _, _) in enumerate([*WHEN_LOADED.values(), (within(""), "", "")]):
        file = tmp_path / str(number) / "twice.py"
        file.parent.mkdir()
        file.write_bytes(source if isinstance(source, bytes) else source.encode())
        files.append(file)
    *outcomes, right = check_files(EXERCISE, CHECKS, [*files[:-2], files[-1]])
    outcomes.append(check_file(EXERCISE, CHECKS, files[-2]))
    for name, outcome in zip(WHEN_LOADED, outcomes, strict=True):
        _, law, words = WHEN_LOADED[name]
        assert (outcome.law, words in outcome.sentence) == (law, True), (name, outcome.sentence)
    assert right.passed, right


def test_a_file_that_never_ends_loading(tmp_path: Path) -> None:
    outcome = checked(tmp_path, "import time\ntime.sleep(9)\n")
    assert outcome.sentence.startswith(
        "your code did not come to an end within 1.5 s, while the file"
    )


@pytest.mark.parametrize("kind", ["folder", "pipe", "device", "nothing"])
def test_what_is_no_file(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "twice.py"
    if kind == "folder":
        file.mkdir()
    elif kind == "pipe":
        os.mkfifo(file)
    elif kind == "device":
        file.symlink_to("/dev/zero")
    outcome = check_file(EXERCISE, CHECKS, file)
    assert outcome.law == FILE
    assert outcome.sentence.endswith("is not there" if kind == "nothing" else "is no file")


HARMLESS = {
    "right": "",
    "much printed": "print('x' * 400_000)",
    "thread left over": "import threading; threading.Thread(target=time.sleep, args=(60,)).start()",
    "exit handler": "import atexit; atexit.register(time.sleep, 60)",
    "elsewhere": "os.chdir('/')",
    "standard output closed": "sys.stdout.close()",
    "standard output taken away": "sys.stdout = None",
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_does_no_harm_passes(tmp_path: Path, name: str) -> None:
    outcome = checked(tmp_path, within(HARMLESS[name] or "pass"))
    if name.startswith("standard output"):
        assert outcome.passed or outcome.law == RETURNS
    else:
        assert outcome.passed, outcome.sentence


def test_of_very_much_that_is_printed_the_end_is_kept(tmp_path: Path) -> None:
    body = "print(*range(6_000), sep='\\n')\nprint('of', number)\nif number == 3: return 7"
    outcome = checked(tmp_path, within(body))
    assert outcome.law == "doubled"
    assert outcome.output.rstrip().endswith("5999\nof 3")
    assert outcome.output.startswith("...")


def test_processes_left_over_are_ended(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    before = f"""
import subprocess
child = subprocess.Popen(["sleep", "60"])
open({str(pids)!r}, "w").write(str(child.pid))
"""
    outcome = checked(tmp_path, within("pass", before))
    assert outcome.passed, outcome.sentence
    deadline = time.monotonic() + 5
    while _runs(int(pids.read_text())) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _runs(int(pids.read_text()))


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not (status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z")


PATCHES = {
    "what is checked": """
for check in sys.modules["tiny_exercise.checks"].EXERCISE.checks:
    object.__setattr__(check, "run", lambda learner: None)
""",
    "the learner": """
sys.modules["pagesim.practice.learner"].Learner.call = lambda self, name, number: 2 * number
""",
    "the comparison": """
sys.modules["tiny_exercise.checks"].whole = lambda value, what: int(what.split()[-1]) * 2
""",
}


@pytest.mark.parametrize("name", PATCHES)
def test_a_file_that_changes_the_checks_is_found_out(tmp_path: Path, name: str) -> None:
    outcome = checked(tmp_path, f"import sys\n{PATCHES[name]}\ndef twice(number): return 0\n")
    assert not outcome.passed
    assert outcome.law == FAIR
    assert "changes the checks" in outcome.sentence


def test_a_file_that_takes_things_away_is_judged(tmp_path: Path) -> None:
    for line in ("import builtins; builtins.len = None", "import json; json.dumps = None"):
        outcome = checked(tmp_path, f"{line}\ndef twice(number): return 3 * number\n")
        assert not outcome.passed
        assert outcome.law
