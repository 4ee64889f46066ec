"""Flash cards, mock interviews and true or false, with scripted keys and with keys in a terminal."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import pytest
from rich.console import Console
from terminal import Terminal

from pagesim_lessons.interview.bank import all_cards, built_in
from pagesim_lessons.interview.deck import statements
from pagesim_lessons.interview.schedule import Grade, Memory
from pagesim_lessons.interview.sitting import Desk, FlashCards, MockInterview, TrueOrFalse, clock

CARDS = all_cards(built_in())
STORIES = [card for card in CARDS if card.command == "pagesim run figure-8"]
TITLES = {topic.name: topic.title for topic in built_in()}
TODAY = date(2026, 5, 1)


class Script:
    """A keyboard: what it is asked for comes from a list. An exception in it is raised."""

    def __init__(self, *typed: str | BaseException | None) -> None:
        self.typed = list(typed)

    def key(self, seconds: float | None = None) -> str | None:
        if not self.typed:
            return ""
        found = self.typed.pop(0)
        if isinstance(found, BaseException):
            raise found
        return found

    def line(self) -> str:
        found = self.key()
        if not found:
            raise EOFError
        return found.rstrip("\n")


class Sat:
    """One sitting at a scripted keyboard."""

    def __init__(self, *typed: str | BaseException | None, keeps: bool = True) -> None:
        self.keeps = keeps
        self.text = io.StringIO()
        self.ran: list[str] = []
        console = Console(file=self.text, width=80, color_system=None)
        self.desk = Desk(console, Script(*typed), TITLES, self.ran.append)
        self.kept: dict[str, Memory] = {}

    def cards(self, number: int) -> list[Grade]:
        def tell(name: str, memory: Memory) -> bool:
            if self.keeps:
                self.kept[name] = memory
            return self.keeps

        return FlashCards(self.desk, {}, TODAY, tell).sit(STORIES[:number])

    @property
    def shown(self) -> str:
        return " ".join(self.text.getvalue().split())


def test_a_card_is_asked_answered_graded_and_kept() -> None:
    sat = Sat("my answer\n", "3")
    assert sat.cards(1) == [Grade.GOOD]
    card = STORIES[0]
    assert sat.kept == {card.id: Memory(TODAY, 3)}
    for text in (card.question, card.answer, card.wrong, card.why_wrong, card.command):
        assert " ".join(text.split()) in sat.shown
    assert sat.shown.index(card.question) < sat.shown.index(card.answer[:30])
    assert "1 again (now) 2 hard (tomorrow) 3 good (in 3 days) 4 easy (in 7 days)" in sat.shown
    assert "1 answer: 0 again, 0 hard, 1 good, 0 easy. All of it is kept." in sat.shown


def test_what_went_badly_comes_again_in_the_same_sitting() -> None:
    sat = Sat("\n", "1", "\n", "4", "\n", "x", "3")
    assert sat.cards(2) == [Grade.AGAIN, Grade.EASY, Grade.GOOD]
    for place in ("1 of 2 ", "2 of 3 (1 comes again)", "3 of 3 (again)"):
        assert place in sat.shown
    assert sat.text.getvalue().count(STORIES[0].question[:40]) == 2
    assert set(sat.kept) == {card.id for card in STORIES[:2]}
    assert sat.kept[STORIES[0].id].times == 2


def test_what_cannot_be_kept_is_not_said_to_be() -> None:
    sat = Sat("\n", "1", "\n", "4", "\n", "3", keeps=False)
    assert sat.cards(2) == [Grade.AGAIN, Grade.EASY, Grade.GOOD]
    assert "3 answers: 1 again, 0 hard, 1 good, 1 easy. Nothing of it is kept." in sat.shown
    assert "comes back" not in sat.shown


def test_the_command_runs_and_the_card_goes_on() -> None:
    sat = Sat("\n", "r", "r", "4")
    assert sat.cards(1) == [Grade.EASY]
    assert sat.ran == ["pagesim run figure-8"] * 2


@pytest.mark.parametrize("leave", ["q\n", "", KeyboardInterrupt(), "quit\n"])
def test_leaving_at_a_question_keeps_what_was_answered(leave: str | BaseException) -> None:
    sat = Sat("\n", "3", leave)
    assert sat.cards(2) == [Grade.GOOD]
    assert list(sat.kept) == [STORIES[0].id]
    assert "1 more were to come" in sat.shown or "All of it is kept" in sat.shown


@pytest.mark.parametrize("leave", ["q", "", "\x1b", KeyboardInterrupt()])
def test_leaving_at_the_grade_does_not_count_the_question(leave: str | BaseException) -> None:
    sat = Sat("\n", leave)
    assert sat.cards(2) == []
    assert sat.kept == {}
    assert "No answers." in sat.shown


class Clock:
    """Goes on by a second with every look."""

    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self) -> float:
        self.at += 1
        return self.at


def test_a_mock_interview_measures_and_sums_up() -> None:
    sat = Sat(None, None, "x", "\n", "3", "\n", "1")
    taken = MockInterview(sat.desk, Clock(), seconds=2, ticks=True).sit(STORIES[:2])
    assert [at.grade for at in taken] == [Grade.GOOD, Grade.AGAIN]
    assert taken[0].seconds > 2 >= taken[1].seconds
    text = sat.text.getvalue()
    assert "time is up" in text
    for line in text.split("\n"):
        ticks = line.split("\r")
        assert all(len(tick) < 80 for tick in ticks[1:])  # the clock stays on its line
    assert "over time" in sat.shown
    assert "1 of 2 right" in sat.shown


def test_only_enter_shows_the_answer_and_only_figures_grade() -> None:
    sat = Sat(*"it takes a \bhe age ", "\n", *"ahge ", "3")
    taken = MockInterview(sat.desk, Clock(), seconds=99, ticks=False).sit(STORIES[:1])
    assert [at.grade for at in taken] == [Grade.GOOD]


def test_without_a_terminal_the_clock_is_not_drawn() -> None:
    sat = Sat("\n", "4")
    MockInterview(sat.desk, Clock(), seconds=9, ticks=False).sit(STORIES[:1])
    assert "\r" not in sat.text.getvalue()


@pytest.mark.parametrize("leave", ["q", "", KeyboardInterrupt()])
def test_leaving_a_mock_interview(leave: str | BaseException) -> None:
    sat = Sat("\n", "3", leave)
    assert len(MockInterview(sat.desk, Clock(), seconds=9, ticks=True).sit(STORIES[:3])) == 1
    assert "1 of 1 right" in sat.shown


def test_true_or_false() -> None:
    said = statements(CARDS, 6, 3)
    right = ["t" if statement.is_true else "f" for statement in said]
    assert TrueOrFalse(Sat(*right).desk).sit(said) == (6, 6)
    wrong = ["x", *("f" if statement.is_true else "t" for statement in said[:2]), "q"]
    sat = Sat(*wrong)
    assert TrueOrFalse(sat.desk).sit(said) == (0, 2)
    assert "0 of 2 right." in sat.shown


def test_times_are_minutes_and_seconds() -> None:
    assert [clock(s) for s in (0, 59.9, 60, 125, -1)] == ["0:00", "0:59", "1:00", "2:05", "0:00"]


# In a terminal.


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def start(home: Path) -> Iterator[object]:
    opened: list[Terminal] = []

    def begin(*words: str, **environ: str) -> Terminal:
        opened.append(
            Terminal("-m", "pagesim", "interview", *words, PAGESIM_HOME=str(home), **environ)
        )
        return opened[-1]

    yield begin
    for terminal in opened:
        terminal.close()


def kept(home: Path) -> dict[str, dict[str, object]]:
    file = home / "progress.json"
    return json.loads(file.read_text())["interview"]["cards"] if file.exists() else {}


def seen(terminal: Terminal, text: str) -> None:
    assert text in terminal.read(15, text), terminal.output[-1500:]


def left_as_found(terminal: Terminal) -> None:
    assert termios.tcgetattr(terminal.slave) == terminal.before
    assert "Traceback" not in terminal.output


def test_flash_cards_with_keys(start, home: Path) -> None:
    terminal = start("--topic", "sharing", "--questions", "2")
    seen(terminal, "> ")
    terminal.type("they share it\n")
    seen(terminal, "4 easy (in 7 days)")
    terminal.type("r")
    seen(terminal, "Back at the question")
    assert "Step through it: pagesim run" in terminal.output
    terminal.type("3")
    seen(terminal, "2 of 2")
    assert len(kept(home)) == 1
    terminal.type("\n4")  # typed ahead
    seen(terminal, "2 answers")
    assert terminal.end() == 0
    left_as_found(terminal)
    assert [at["days"] for at in kept(home).values()] in ([3, 7], [7, 3])


def test_alone_it_shows_the_topics_and_enter_begins(start, home: Path) -> None:
    terminal = start()
    seen(terminal, "Enter begins with 10 questions")
    terminal.type("\n")
    seen(terminal, "1 of 10")
    seen(terminal, "> ")
    terminal.type("q\n")
    assert terminal.end() == 0
    left_as_found(terminal)
    terminal = start()
    seen(terminal, "Enter begins")
    terminal.type("q")
    assert terminal.end() == 0
    assert kept(home) == {}


def test_what_is_typed_ahead_of_the_first_question_is_not_lost(start, home: Path) -> None:
    terminal = start()
    seen(terminal, "--help has more")
    terminal.type("\n\n3\n4q\n")
    seen(terminal, "2 answers: 0 again, 0 hard, 1 good, 1 easy.")
    assert terminal.end() == 0
    assert sorted(at["days"] for at in kept(home).values()) == [3, 7]


@pytest.mark.parametrize("words", [["--topic", "kernel"], ["--timed"]])
def test_where_nothing_can_be_kept_it_is_said_once_and_goes_on(start, home, words) -> None:
    home.write_text("a file, not a folder")
    terminal = start(*words, "--questions", "1")
    seen(terminal, "note: progress cannot be kept in ")
    seen(terminal, "Enter shows")
    terminal.type("\n")
    seen(terminal, "4 ")
    terminal.type("3")
    assert terminal.end() == 0
    assert terminal.output.count("cannot be kept") == 1
    assert "All of it is kept" not in terminal.output
    left_as_found(terminal)


def test_a_damaged_file_is_told_of(start, home: Path) -> None:
    home.mkdir()
    (home / "progress.json").write_text("{")
    terminal = start()
    seen(terminal, "is damaged")
    terminal.type("q")
    assert terminal.end() == 0


def test_what_is_due_comes_first_and_nothing_due_says_when(start, home: Path) -> None:
    today = date.today()
    long_ago = (today - timedelta(9)).isoformat()
    record = {"seen": long_ago, "days": 3, "ease": 2500, "times": 1, "lapses": 0}
    home.mkdir()
    cards = {"online-softmax": record}
    (home / "progress.json").write_text(json.dumps({"interview": {"cards": cards}}))
    terminal = start("--cards")
    seen(terminal, "1 of 11")
    assert "online-softmax" in terminal.output
    terminal.type("\n")
    seen(terminal, "4 ")
    terminal.type("3")
    seen(terminal, "2 of 11")
    terminal.type("q\n")
    assert terminal.end() == 0
    days = int(str(kept(home)["online-softmax"]["days"]))
    assert days > 3
    names = {card.id for card in CARDS if card.topic == "kernel"}
    fresh = {**record, "seen": today.isoformat()}
    everything = {"interview": {"cards": dict.fromkeys(names, fresh)}}
    (home / "progress.json").write_text(json.dumps(everything))
    terminal = start("--topic", "kernel")
    assert terminal.end() == 0
    assert "Nothing is due today; the next in 3 days." in terminal.output


@pytest.mark.parametrize(
    ("typed", "code"),
    [("\x03", 0), ("\x04", 0), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 0)],
)
@pytest.mark.parametrize("at", ["question", "grade"])
def test_however_it_ends_the_terminal_is_as_found(start, home, at, typed, code) -> None:
    terminal = start("--cards")
    seen(terminal, "> ")
    if at == "grade":
        terminal.type("\n")
        seen(terminal, "4 easy")
        terminal.read(0.2)
    if isinstance(typed, str):
        terminal.type(typed)
    else:
        terminal.process.send_signal(typed)
    assert terminal.end() == code
    left_as_found(terminal)
    assert kept(home) == {}


def test_ctrl_c_in_a_command_comes_back_to_the_card(start, home: Path) -> None:
    terminal = start("--topic", "kernel", "--difficulty", "1")
    seen(terminal, "> ")
    terminal.type("\n")
    seen(terminal, "4 easy")
    terminal.type("r")
    terminal.read(0.5)
    terminal.type("\x03")
    seen(terminal, "Back at the question")
    terminal.type("4")
    assert terminal.end() == 0
    left_as_found(terminal)
    assert len(kept(home)) == 1


def test_the_clock_runs_on_one_line(start, home: Path) -> None:
    terminal = start("--timed", "--questions", "1", "--seconds", "1", "--seed", "5")
    seen(terminal, "0:01 of 0:01, time is up")
    terminal.type("\n")
    seen(terminal, "4 ")
    terminal.type("3")
    assert terminal.end() == 0
    left_as_found(terminal)
    assert "Mock interview, seed 5." in terminal.output
    ticking = terminal.output[terminal.output.index("\r0:00 of") : terminal.output.index("Answer ")]
    assert "\x1b[A" not in ticking
    saved = json.loads((home / "progress.json").read_text())["interview"]["interviews"]
    assert [(taken["questions"], taken["well"]) for taken in saved] == [(1, 1)]
    assert "cards" not in json.loads((home / "progress.json").read_text())["interview"]


def test_true_or_false_with_keys(start) -> None:
    terminal = start("--misconceptions", "--questions", "2", "--seed", "1")
    seen(terminal, "1 of 2")
    terminal.type("t")
    seen(terminal, "2 of 2")
    terminal.type("f")
    assert terminal.end() == 0
    assert re.search(r"[012] of 2 right\.", terminal.output)
    left_as_found(terminal)


def test_no_color_and_ascii_in_a_terminal(start) -> None:
    terminal = start("--cards", NO_COLOR="1", FORCE_COLOR="1", PYTHONIOENCODING="ascii")
    seen(terminal, "> ")
    terminal.type("\n")
    seen(terminal, "4 easy")
    terminal.type("q")
    assert terminal.end() == 0
    assert terminal.output.isascii()
    assert not re.search(r"\x1b\[[\d;]*3[0-7]m", terminal.output)


# In a pipe.


def interview(*words: str, home: Path, **environ: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "pagesim", "interview", *words],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PAGESIM_HOME": str(home), **environ},
        timeout=120,
        check=False,
    )


def test_in_a_pipe_cards_are_printed_straight_through(home: Path) -> None:
    done = interview("--topic", "prefix", home=home, COLUMNS="80")
    text = done.stdout.decode()
    assert done.returncode == 0
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 80
    for card in CARDS:
        assert (card.id in text) == (card.topic == "prefix")
    assert not home.exists()


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "cp949"])
def test_odd_encodings_lose_nothing(home: Path, encoding: str) -> None:
    plain = interview("--show", "os-paging", home=home).stdout
    odd = interview("--show", "os-paging", home=home, PYTHONIOENCODING=encoding).stdout
    assert odd == plain
    listed = interview(home=home, PYTHONIOENCODING=encoding)
    assert listed.returncode == 0
    assert listed.stdout.isascii()


def test_the_overview_counts(home: Path) -> None:
    done = json.loads(interview("--json", home=home).stdout)
    assert sum(topic["cards"] for topic in done["topics"]) == done["all"]["cards"] == len(CARDS)
    assert done["all"]["new"] == len(CARDS)
    assert b"interview --cards" in interview(home=home).stdout


def test_json_has_whole_cards(home: Path) -> None:
    one = json.loads(interview("--show", "full-hit", "--json", home=home).stdout)
    assert one["misconception"] == 21
    assert "{" not in one["answer"]
    listed = json.loads(interview("--list", "--json", home=home).stdout)
    assert [entry["id"] for entry in listed] == [card.id for card in CARDS]
    few = ("--misconceptions", "--topic", "prefix", "--json", "--seed", "2")
    said = json.loads(interview(*few, home=home).stdout)
    assert {entry["true"] for entry in said} == {True, False}
    sheet = interview("--timed", "--seed", "3", "--json", home=home).stdout
    assert len(json.loads(sheet)) == 5
    assert (
        sheet == interview("--timed", "--seed", "3", "--json", home=home, PYTHONHASHSEED="7").stdout
    )


@pytest.mark.parametrize(("name", "separator"), [("a.csv", ","), ("a.tsv", "\t")])
def test_an_export_has_a_row_for_every_card(home: Path, tmp_path: Path, name, separator) -> None:
    import csv

    file = tmp_path / name
    done = interview("--export", str(file), "--topic", "slabs", home=home)
    assert done.returncode == 0
    lines = file.read_text("utf-8").splitlines(keepends=True)
    heads = [line for line in lines if line.startswith("#")]
    assert heads[0] == f"#separator:{'Comma' if separator == ',' else 'Tab'}\n"
    rows = list(csv.reader(lines[len(heads) :], delimiter=separator))
    slabs = [card for card in CARDS if card.topic == "slabs"]
    assert [row[0] for row in rows] == [f"pagesim-interview-{card.id}" for card in slabs]
    assert all(len(row) == 4 and "{" not in row[2] for row in rows)
    file.write_text("mine")
    again = interview("--export", str(file), home=home)
    assert again.returncode == 2
    assert b"exists; name another file, or write over it with --force" in again.stderr
    assert file.read_text() == "mine"
    assert interview("--export", str(file), "--force", home=home).returncode == 0
    assert file.read_text("utf-8").startswith("#separator")


@pytest.mark.parametrize(
    "words",
    [
        ["--topic", "nope"],
        ["--difficulty", "0"],
        ["--show", "nope"],
        ["--cards", "--timed"],
        ["--seconds", "5"],
        ["--timed", "--seconds", "0"],
        ["--timed", "--seed", "-1"],
        ["--questions", "0"],
        ["--show", "watermark", "--topic", "cache"],
        ["--export", "cards.doc"],
        ["--force"],
        ["--export", "/nowhere/at/all.csv", "--topic", "cache"],
        ["--bank", "/nowhere"],
        ["--misconceptions", "--topic", "practice", "--difficulty", "1"],
        ["--topik", "cache"],
    ],
)
def test_bad_input_is_one_sentence(home: Path, words: list[str]) -> None:
    done = interview(*words, home=home)
    assert (done.returncode, done.stdout) == (2, b"")
    assert re.fullmatch(rb"pagesim: [^\n]+\n", done.stderr), done.stderr


def test_forgetting(home: Path) -> None:
    home.mkdir()
    file = home / "progress.json"
    file.write_text(json.dumps({"interview": {"cards": {"a": 1}}, "lessons": {"x": 1}}))
    assert interview("--forget", home=home).returncode == 0
    assert json.loads(file.read_text()) == {"interview": {}, "lessons": {"x": 1}}
