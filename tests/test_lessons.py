"""Every lesson runs to its end without a terminal, ends as lessons end, and has no figure typed into it."""

import ast
import re
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from commands import check_command
from rich.console import Console

import pagesim_lessons
from pagesim_lessons import course
from pagesim_lessons.drawing import Drawn
from pagesim_lessons.lesson import PAUSE, Ask, Part, Remember, Section, Show, Try
from pagesim_lessons.reading import Page, pages, read_through

FOLDER = Path(pagesim_lessons.__file__).parent / "lessons"
NAMES = course.LESSONS
# What may stand in prose as it is: names of things, and places in the paper.
NAMED = re.compile(
    r"\bV[01]\b|\b[AH][12]00s?\b|\b[lL]40[sS]\b|[Ff]igures? \d+[a-d]?(?: and \d+[a-d]?)?"
    r"|[Ll]essons? \d+(?: to \d+| and \d+)?"
    r"|[Ss]ection \d+(?:\.\d+)?|[Tt]able \d+|SOSP 2023|SHA-256|\b(?:fp|bf|int)\d+\b|\bOPT-\d+B\b|\b128k\b"
    r"|[Ll]lama[- ]\d(?:\.\d)?(?:-\d+[bB])?|\b[\w.]+-\d[\w.-]*\b"
)


@pytest.fixture(scope="module", params=NAMES)
def walked(request):
    """A lesson and its parts: run once, and then read from what was yielded."""
    lesson = course._lesson(request.param)
    parts = list(lesson.script())
    return replace(lesson, script=lambda: iter(parts)), parts


def asked(parts: list[Part]) -> list[Ask]:
    return [part for part in parts if isinstance(part, Ask)]


def test_lessons_are_numbered_in_order_and_named_as_their_modules():
    found = course.lessons()
    assert [lesson.number for lesson in found] == list(range(1, len(NAMES) + 1))
    assert [lesson.name.replace("-", "_") for lesson in found] == list(NAMES)


def test_no_lesson_is_left_out():
    there = {path.stem for path in FOLDER.glob("*.py")} - {"__init__"}
    assert there == set(NAMES)


def test_it_ends_with_what_to_remember_and_three_questions(walked):
    _, parts = walked
    last = [part for part in parts if part != PAUSE]
    assert isinstance(last[-4], Remember)
    assert 3 <= len(last[-4].points) <= 6
    assert len(asked(last[-3:])) == 3


def test_its_sections_are_as_many_as_it_says(walked):
    lesson, parts = walked
    assert isinstance(parts[0], Section)
    assert sum(isinstance(part, Section) for part in parts) == lesson.sections
    assert any(isinstance(part, Show) for part in parts)
    assert any(isinstance(part, Try) for part in parts)
    assert 3 <= lesson.minutes <= 20


def test_every_answer_is_right_when_typed_and_every_hint_keeps_it_back(walked):
    _, parts = walked
    for ask in asked(parts):
        shown = ask.answer.shown()
        typed = shown.split(")")[0] if hasattr(ask.answer, "options") else shown
        assert ask.answer.grade(typed.split(" (")[0]).right, ask.question
        assert ask.why.strip()
        assert ask.hint.strip()
        assert shown not in ask.hint


def height(page: Page) -> int:
    """Rows of a page at 80 columns, with the empty ones between its parts, as a reader draws it."""
    console = Console(width=80, file=StringIO())
    for part, number in page.parts:
        if not isinstance(part, Section):
            console.print()
        console.print(Drawn(part, number))
    return console.file.getvalue().count("\n")


def test_every_page_fits_a_reader(walked):
    """A terminal of 24 rows shows a page and the line below it; only a picture alone on its page may be taller."""
    lesson, _ = walked
    for page in pages(lesson):
        is_picture = len(page.parts) == 1 and isinstance(page.parts[0][0], Show)
        assert height(page) <= (30 if is_picture else 22), page.parts[0]


def minutes_of(parts: list[Part]) -> float:
    """200 words a minute, those in pictures left out, and half a minute a question."""
    fields = ("text", "caption", "question", "why", "what", "title", "command")
    words = [getattr(part, name, "") for part in parts for name in fields]
    words += [point for part in parts for point in getattr(part, "points", ())]
    words += [option for ask in asked(parts) for option in getattr(ask.answer, "options", ())]
    return sum(len(text.split()) for text in words) / 200 + len(asked(parts)) / 2


def test_it_takes_as_long_as_it_says(walked):
    lesson, parts = walked
    assert abs(minutes_of(parts) - lesson.minutes) < 1


def test_the_first_five_take_less_than_an_hour():
    assert sum(lesson.minutes for lesson in course.lessons()[:5]) < 60


@pytest.mark.parametrize("width", [80, 120])
def test_it_is_read_through_in_a_pipe(walked, capsys, monkeypatch, width):
    from pagesim.views.console import make_console

    lesson, _ = walked
    monkeypatch.setenv("COLUMNS", str(width))
    read_through(lesson, make_console())
    text = capsys.readouterr().out
    assert "\x1b" not in text
    assert all(len(line) <= width for line in text.splitlines())
    assert text.count("Question") >= 3


def test_its_prose_is_plain_ascii(walked):
    """So that it reads the same in every encoding; pictures have their own ASCII forms."""
    _, parts = walked
    for part in parts:
        words = [
            getattr(part, name, "")
            for name in ("text", "title", "caption", "question", "why", "hint", "what")
        ]
        words += getattr(part, "points", ())
        for text in words:
            assert text.isascii(), text


def test_every_command_it_names_exists_and_its_options_are_known(walked):
    _, parts = walked
    for part in parts:
        if isinstance(part, Try):
            check_command(part.command)
        for text in re.findall(r"`(pagesim [^`]*)`", getattr(part, "text", "")):
            check_command(text)


@pytest.mark.parametrize("name", NAMES)
def test_no_figure_is_typed_into_it(name):
    """Every number in its prose is computed: strings hold none but names' and the paper's places."""
    tree = ast.parse((FOLDER / f"{name}.py").read_text())
    inside = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.FormattedValue)
        for part in ast.walk(node)
    }
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) else None
        if not isinstance(text, str) or id(node) in inside or is_docstring(node, tree):
            continue
        if "[memory]" in text or text.startswith("pagesim "):  # a scenario or a command: the input
            continue
        left = NAMED.sub("", re.sub(r"`[^`]*`", "", text))
        assert not re.search(r"\d{2,}|(?<![\w.])\d(?![\w])(?<![01])", left), (node.lineno, text)


def is_docstring(node: ast.AST, tree: ast.Module) -> bool:
    return any(
        isinstance(owner, ast.Module | ast.FunctionDef | ast.ClassDef)
        and owner.body
        and isinstance(owner.body[0], ast.Expr)
        and owner.body[0].value is node
        for owner in ast.walk(tree)
    )
