"""``pagesim learn`` as a reader meets it: walked with keys, left, gone on with, printed."""

import json
import re

import pytest
from rich.console import Console
from terminal import Terminal
from typer.testing import CliRunner

from pagesim.cli.main import app
from pagesim.practice.answers import Whole
from pagesim.practice.progress import read_section
from pagesim_lessons import course
from pagesim_lessons.lesson import PAUSE, Ask, Lesson, Say, Section
from pagesim_lessons.reading import Reading


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.setenv("PAGESIM_HOME", str(tmp_path / "home"))


def script():
    yield Section("The one part")
    yield Say("first page")
    yield PAUSE
    yield Say("second page")
    yield Ask("How many?", Whole(3, "blocks"), "as there are three", "count them")
    yield Say("last page")


SMALL = Lesson(1, "small", "A small lesson", "about nothing", 3, 1, script)


def walked(keys="", lines=(), first=0, lesson=SMALL):
    """What is printed, what was told, and whether the end was reached."""
    told = []
    keys, lines = iter(keys), iter(lines)
    console = Console(width=80, record=True, quiet=False, file=open("/dev/null", "w"))  # noqa: PTH123, SIM115

    def read_line(prompt):
        line = next(lines, None)
        if line is None:
            raise EOFError
        return line

    reading = Reading(
        lesson,
        console,
        lambda: next(keys, "q"),
        read_line,
        lambda *facts: told.append(facts),
        first,
    )
    with console.file:
        ended = reading.walk()
    return console.export_text(), told, ended


def test_it_is_read_to_its_end():
    text, told, ended = walked("\r\r\r", ["3"])
    assert ended
    assert told == [(0, None), (1, True), (2, None)]
    assert text.index("first page") < text.index("second page") < text.index("last page")
    assert "Right  3 blocks" in text


def test_only_the_first_answer_counts_and_the_way_to_it_is_said():
    text, told, _ = walked("\r\rq", ["x", "", "4", "hint", "3"])
    assert told == [(0, None), (1, False)]
    assert "'x' was typed; type a whole number of blocks" in text
    assert "No: off by one" in text
    assert "Hint  count them" in text


def test_who_asks_for_the_answer_gets_it_and_no_point():
    text, told, _ = walked("\r\r", ["answer"])
    assert (1, False) in told
    assert "as there are three" in text


@pytest.mark.parametrize(
    ("keys", "lines"), [("q", []), ("\r", []), ("\r", ["quit"]), ("\r\r", ["q"]), ("\x04", [])]
)
def test_it_can_be_left_anywhere(keys, lines):
    assert not walked(keys, lines)[2]


def test_back_shows_the_page_before_again():
    text, _, _ = walked("\r\rq", ["back", "back"])
    shown = re.findall(r"^(first|second) page", text, re.MULTILINE)
    assert shown == ["first", "second", "first", "second", "first"]


def test_keys_that_mean_nothing_are_passed_over():
    assert walked("xyz\r\r\r", ["3"])[2]


def test_it_goes_on_where_it_was_left_also_if_it_has_become_shorter():
    assert "second page" not in walked("q", first=2)[0]
    assert "Going on at page 3" in walked("q", first=2)[0]
    assert "last page" in walked("q", first=99)[0]


def learn(*words):
    return CliRunner().invoke(app, ["learn", *words])


def test_the_table_says_what_is_done_and_what_comes_next():
    lesson = course.find("worked-example")
    course.note(lesson, 3, right=True)
    assert re.search(r"at page 5, 1 of 1 right", learn().output)
    course.note_end(lesson)
    rows = json.loads(learn("--json").output)
    row = next(row for row in rows if row["name"] == "worked-example")
    assert row["ended"]
    assert row["right"] == row["asked"] == 1
    assert learn("--forget").exit_code == 0
    assert read_section(course.SECTION) == {}


@pytest.mark.parametrize("word", ["13", "0", "-", "nonsense", "\x1b[31m"])
def test_no_such_lesson_is_one_sentence(word):
    result = learn("--", word)
    assert result.exit_code
    assert "there is no lesson" in str(result.exception)


def test_into_a_pipe_it_is_printed_whole_with_or_without_answers():
    with_answers = learn("worked-example").output
    without = learn("worked-example", "--no-answers").output
    assert with_answers.count("Answer") == with_answers.count("Question")
    assert "Answer" not in without
    assert "(a whole number of slots)" in without
    assert learn("worked-example", "--json").exit_code == 0


def test_forgetting_one_lesson_leaves_the_others():
    for name in ("4", "5"):
        course.note_end(course.find(name))
    assert "lesson 4 is forgotten" in learn("4", "--forget").output
    assert not course.done(course.find("4")).ended
    assert course.done(course.find("5")).ended


def test_a_name_that_is_nearly_right_is_guessed():
    assert "did you mean slabs?" in str(learn("slab").exception)


def test_a_page_higher_than_the_screen_stops_on_its_way():
    def high():
        yield Section("high")
        for number in range(30):
            yield Say(f"line {number}")
        yield PAUSE
        yield Say("over")

    text, _, ended = walked("\r" * 12, [], 0, Lesson(1, "high", "High", "high", 3, 1, high))
    assert ended
    assert text.count("[more]") >= 2
    screens = re.split(r"\[(?:more|part)", text)
    assert all(screen.count("\n") <= 25 for screen in screens)


def test_where_nothing_can_be_kept_that_is_said_once_and_reading_goes_on(tmp_path):
    (tmp_path / "file").write_text("")
    terminal = Terminal("-m", "pagesim", "learn", "4", PAGESIM_HOME=str(tmp_path / "file" / "x"))
    try:
        assert "Enter: go on" in terminal.read(10, "leave")
        press(terminal, "\r", "one of:")
        assert terminal.output.count("progress cannot be kept") == 1
    finally:
        terminal.close()


def test_damage_is_said(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "progress.json").write_text("{bad")
    assert "is damaged" in learn().stderr
    course.note_end(course.find("4"))
    assert (tmp_path / "home" / "progress.json.damaged").read_text() == "{bad"
    assert "is damaged" not in learn().stderr


def test_damaged_progress_hinders_nobody(tmp_path):
    course.note(course.find("4"), 1, right=False)
    for text in (
        '{"lessons": {"worked-example": 3}}',
        '{"lessons": {"worked-example": {"page": "x"}}}',
        "[",
    ):
        (tmp_path / "home" / "progress.json").write_text(text)
        assert learn().exit_code == 0
        course.note(course.find("4"), 1, right=True)


def test_in_a_terminal_it_is_walked_left_and_gone_on_with(tmp_path):
    terminal = Terminal("-m", "pagesim", "learn", "worked-example")
    try:
        assert "Enter: go on" in terminal.read(10, "leave")
        press(terminal, "\r", "one of:")
        terminal.output = ""
        terminal.type("1 block\r")
        assert "No: off by one" in terminal.read(5, "Try again")
        terminal.type("0\r")
        assert "Right" in terminal.read(5, "leave")
        press(terminal, "q", "goes on from this page")
        assert terminal.end() == 0
        terminal_as_before(terminal)
    finally:
        terminal.close()
    entry = read_section(course.SECTION)["worked-example"]
    assert entry == {"page": 3, "answers": {"2": False}}
    again = Terminal("-m", "pagesim", "learn", "worked-example")
    try:
        assert "Going on at page 4" in again.read(10, "leave")
        press(again, "\x03", "interrupted")
        assert again.end() == 130
        terminal_as_before(again)
        assert "Traceback" not in again.output
    finally:
        again.close()


def press(terminal, key, until):
    """What is typed before a key is waited for is dropped; so press it until it is heard."""
    for _ in range(20):
        terminal.type(key)
        if until in terminal.read(0.5, until):
            return
    raise AssertionError(terminal.output[-1500:])


def terminal_as_before(terminal):
    import termios

    assert termios.tcgetattr(terminal.slave) == terminal.before


def test_help_says_what_there_is():
    assert "from-start" in learn("--help").output
