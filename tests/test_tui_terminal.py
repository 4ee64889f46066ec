"""The viewer in a real pseudo-terminal: however it ends, the terminal is left as it was found."""

import os
import re
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from terminal import Terminal
from viewer_logs import write_run

from pagesim.tui.terminal import why_not

# What switches on, what switches off, by what is switched.
PAIRS = {
    "alternate screen": (r"\x1b\[\?1049h", r"\x1b\[\?1049l"),
    "hidden cursor": (r"\x1b\[\?25l", r"\x1b\[\?25h"),
    "mouse": (r"\x1b\[\?1000h", r"\x1b\[\?1000l"),
    "mouse moves": (r"\x1b\[\?1003h", r"\x1b\[\?1003l"),
    "mouse, urxvt": (r"\x1b\[\?1015h", r"\x1b\[\?1015l"),
    "mouse, sgr": (r"\x1b\[\?1006h", r"\x1b\[\?1006l"),
    "focus reports": (r"\x1b\[\?1004h", r"\x1b\[\?1004l"),
    "paste": (r"\x1b\[\?2004h", r"\x1b\[\?2004l"),
    "no line wrap": (r"\x1b\[\?7l", r"\x1b\[\?7h"),
    "key reports": (r"\x1b\[>\d+u", r"\x1b\[<\d*u"),
}
FAIL = """
import sys
from pagesim.cli.main import main
from pagesim.tui import viewed
def fail(self, count):
    raise RuntimeError("a made-up\\nfault")
viewed.ViewedRun.step_place = fail
sys.argv = ["pagesim", "view", sys.argv[1]]
main()
"""


def check_left_as_found(terminal: Terminal) -> None:
    assert termios.tcgetattr(terminal.slave) == terminal.before
    for what, (on, off) in PAIRS.items():
        switched = [match.end() for match in re.finditer(on, terminal.output)]
        assert switched, f"{what}: never switched on, so this test sees nothing"
        last_off = max((match.end() for match in re.finditer(off, terminal.output)), default=-1)
        assert last_off > switched[-1], f"{what}: not switched off"
    assert "Traceback" not in terminal.output


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("logs") / "run.jsonl")


def ended(log: Path, end: str | int, code: int, *arguments: str, wait: str = "") -> Terminal:
    """A viewer that was started, drew, and was ended by keys or a signal; by q after it showed ``wait``."""
    terminal = Terminal(*(arguments or ("-m", "pagesim", "view")), str(log))
    try:
        terminal.read(5, "quit")  # the last word of the last line
        assert "quit" in terminal.output, terminal.output[-1500:]
        assert "Memory" in terminal.output
        if isinstance(end, str):
            terminal.type(end)
            if wait:
                assert wait in terminal.read(5, wait), terminal.output[-1500:]
                terminal.type("q")
        else:
            terminal.process.send_signal(end)
        assert terminal.end() == code, terminal.output[-500:]
        check_left_as_found(terminal)
    finally:
        terminal.close()
    return terminal


def test_q_and_ctrl_c_quit(log: Path) -> None:
    ended(log, "q", 0)
    assert "interrupted" not in ended(log, "\x03", 0).output


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT])
def test_signals_leave_the_terminal_as_found(log: Path, number: int) -> None:
    ended(log, number, 128 + number)


def test_ctrl_c_in_a_prompt_and_in_the_help(log: Path) -> None:
    ended(log, "/r1\x03", 0)
    ended(log, "?\x03", 0)


def test_fast_typing_at_a_prompt_is_not_taken_for_keys(log: Path) -> None:
    terminal = ended(log, "/r5\r", 0, wait="following r5")
    assert "no refusal" not in terminal.output
    ended(log, ":e33\r", 0, wait="event 33 of")


def test_an_error_inside_is_one_sentence(log: Path) -> None:
    terminal = ended(log, "j", 1, "-c", FAIL)
    left = terminal.output.rpartition("\x1b[?1049l")[2]
    assert "pagesim: the viewer failed inside (RuntimeError: a made-up fault)" in left
    assert left.count("\n") <= 2


def test_a_terminal_that_goes_away_ends_it(log: Path) -> None:
    terminal = Terminal("-m", "pagesim", "view", str(log))
    try:
        terminal.read(15, "quit")
        os.close(terminal.slave)
        os.close(terminal.master)
        assert terminal.process.wait(timeout=15) != 0
    finally:
        terminal.close()


def test_no_color_in_a_terminal(log: Path) -> None:
    terminal = Terminal("-m", "pagesim", "view", f"{log}@3", NO_COLOR="1", FORCE_COLOR="1")
    try:
        terminal.read(15, "quit")
        terminal.type("jq")
        assert terminal.end() == 0
        colours = re.findall(
            r"\x1b\[[\d;]*\b(?:3[0-7]|4[0-7]|9[0-7]|38;[25]|48;[25])[;m]", terminal.output
        )
        assert not colours
        assert "Memory" in terminal.output
    finally:
        terminal.close()


def test_ascii_where_the_encoding_has_no_more(log: Path) -> None:
    terminal = Terminal("-m", "pagesim", "view", f"{log}@3", PYTHONIOENCODING="ascii")
    try:
        terminal.read(15, "quit")
        terminal.type("q")
        assert terminal.end() == 0
        assert terminal.output.isascii()
        assert "\\u" not in terminal.output
        check_left_as_found(terminal)
    finally:
        terminal.close()


def test_refuses_a_dumb_terminal_in_a_sentence(log: Path) -> None:
    terminal = Terminal("-m", "pagesim", "view", str(log), TERM="dumb")
    try:
        assert terminal.end() == 2
        assert re.fullmatch(
            r"pagesim: the viewer cannot draw .*pagesim show.*\r\n", terminal.output
        )
    finally:
        terminal.close()


def test_refuses_a_pipe_in_a_sentence(log: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pagesim", "view", str(log)], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"pagesim: the viewer needs a terminal.*pagesim events.*\n", done.stderr)


def test_refuses_three_logs_and_places_that_are_not_there(log: Path) -> None:
    for arguments, words in (
        ([str(log)] * 3, "3 logs were given"),
        ([f"{log}@99999999"], "there is no step 99,999,999"),
        ([str(log.parent / "none.jsonl")], "cannot be read"),
    ):
        terminal = Terminal("-m", "pagesim", "view", *arguments)
        try:
            assert terminal.end() == 2
            assert words in terminal.output
            assert "\x1b" not in terminal.output
        finally:
            terminal.close()


def test_help_needs_neither_rich_nor_textual() -> None:
    code = (
        "import sys, pagesim.cli.main; print([m for m in ('rich', 'textual') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_why_not_names_the_terminal() -> None:
    assert "'dumb'" in (why_not({"TERM": "dumb"}) or "")
    assert "'none'" in (why_not({}) or "")
    assert why_not({"TERM": "xterm"}) is None
