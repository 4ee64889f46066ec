"""``pagesim practice watch`` in a terminal: it checks what is saved, obeys keys, and leaves the terminal as it was."""

import os
import signal
import sys
import termios
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from practice_tasks import HELPERS, RIGHT, WRONG, few_tasks
from terminal import Terminal

from pagesim.practice.folder import make_folder
from pagesim.practice.records import read_records

PROGRAM = """
import sys
import practice_tasks
from pagesim.cli import main, practice_tasks as real
tasks = practice_tasks.few_tasks()
real.all_tasks = lambda: tasks
{more}
sys.argv = ["pagesim", "practice", "watch", "--dir", "."]
main.main()
"""
KEYS = "save: check   n next   h hint   l list   c check   q quit"
Begin = Callable[..., Terminal]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no such terminals")


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    return make_folder(tmp_path / "mine", few_tasks(), "read me").folder.path


@pytest.fixture
def begin(mine: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Begin]:
    monkeypatch.chdir(mine)
    opened: list[Terminal] = []

    def open_one(more: str = "", **environ: str) -> Terminal:
        path = os.pathsep.join([str(HELPERS)])
        terminal = Terminal("-c", PROGRAM.format(more=more), PYTHONPATH=path, **environ)
        opened.append(terminal)
        assert KEYS in terminal.read(20, KEYS)
        return terminal

    yield open_one
    for terminal in opened:
        terminal.close()


def shows(terminal: Terminal, words: str) -> None:
    """It shows these words, and then its keys; what was there before is forgotten."""
    assert words in terminal.read(15, words)
    rest = terminal.output.partition(words)[2]
    terminal.output = rest
    assert KEYS in terminal.read(15, KEYS)
    terminal.output = terminal.output.partition(KEYS)[2]


def is_sane(terminal: Terminal) -> bool:
    return termios.tcgetattr(terminal.slave) == terminal.before


def test_it_checks_what_is_saved_and_obeys_keys(begin: Begin, mine: Path) -> None:
    terminal = begin()
    assert "not written yet" in terminal.output
    terminal.output = ""
    (mine / "twice.py").write_text(WRONG)
    shows(terminal, "twice 1 is 2, and twice gave 1")
    terminal.type("h")
    shows(terminal, "first of all")
    terminal.type("h")
    shows(terminal, "then this")
    terminal.type("l")
    shows(terminal, "begun, 2 hints")
    fresh = mine / "fresh"  # many editors save like this
    fresh.write_text(RIGHT)
    fresh.replace(mine / "twice.py")
    shows(terminal, "These laws are kept")
    terminal.type("n")
    shows(terminal, "Memory.fork, Memory.append")
    terminal.type("c")
    shows(terminal, "not written yet")
    terminal.type("x")
    terminal.type("q")
    assert terminal.end() == 0
    assert "Go on with: pagesim practice watch" in terminal.output
    assert is_sane(terminal)
    records = read_records(mine)
    assert (records["twice"].passed, records["twice"].hints, records["twice"].checks) == (
        True,
        2,
        3,
    )
    assert records["copy-on-write"].checks == 1


def test_a_file_that_goes_and_comes_again(begin: Begin, mine: Path) -> None:
    terminal = begin()
    terminal.output = ""
    (mine / "twice.py").unlink()
    shows(terminal, "twice.py is gone; pagesim practice reset twice writes it anew")
    (mine / "twice.py").write_text(RIGHT)
    shows(terminal, "These laws are kept")


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("\x03", 130),
        ("\x04", 0),
        (signal.SIGTERM, 143),
        (signal.SIGHUP, 129),
    ],
)
def test_however_it_ends_the_terminal_is_as_it_was(
    begin: Begin, end: str | signal.Signals, code: int
) -> None:
    terminal = begin()
    terminal.read(0.3)
    if isinstance(end, str):
        terminal.type(end)
    else:
        terminal.process.send_signal(end)
    assert terminal.end() == code
    assert is_sane(terminal)
    assert "Traceback" not in terminal.output
    assert terminal.output.count("\x1b[?25l") == terminal.output.count("\x1b[?25h"), "the cursor"


def test_ended_in_the_midst_of_a_check_nothing_is_left(begin: Begin, mine: Path) -> None:
    terminal = begin()
    source = "import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(60)\n"
    (mine / "twice.py").write_text(source.replace("'pid'", repr(str(mine / "pid"))))
    while not (mine / "pid").exists() or not (mine / "pid").read_text():
        terminal.read(0.1)
    terminal.type("\x03")
    assert terminal.end() == 130
    assert is_sane(terminal)
    with pytest.raises(ProcessLookupError):
        os.kill(int((mine / "pid").read_text()), 0)


def test_an_error_of_ours_leaves_the_terminal_as_it_was(begin: Begin) -> None:
    broken = """
from pagesim.cli.practice_watch import Watch
def fail(self): raise RuntimeError("oh")
Watch._hint = fail
"""
    terminal = begin(broken)
    terminal.type("h")
    assert terminal.end() == 1
    assert is_sane(terminal)
    assert "this should not happen" in terminal.output


def test_without_colour_there_is_none(begin: Begin) -> None:
    terminal = begin(NO_COLOR="1")
    terminal.type("l")
    shows(terminal, "exercises passed")
    assert "\x1b[3" not in terminal.output
