"""How the parts of a lesson are drawn, in a terminal or a pipe.

Knows nothing about keys or progress.
"""

import re
from collections.abc import Iterator, Sequence

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.constrain import Constrain
from rich.jupyter import JupyterMixin
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pagesim.practice.answers import Answer, Choice
from pagesim.views.frame import heading
from pagesim.views.marks import marks_of
from pagesim_lessons.lesson import (
    Ask,
    History,
    Lesson,
    Part,
    Pause,
    Remember,
    Say,
    Section,
    Show,
    Try,
)

WIDEST = 92
"""Prose is not set wider than this: longer lines are hard to read."""
CODE = "bold cyan"


class Drawn(JupyterMixin):
    """One part as a picture. ``number`` is that of a section or a question."""

    def __init__(self, part: Part, number: int = 0) -> None:
        self.part = part
        self.number = number

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        part, narrow = self.part, options.update(max_width=min(options.max_width, WIDEST))
        for drawn in self._lines(part, options):
            wide = isinstance(part, Show | Section)
            yield from console.render(drawn, options if wide else narrow)

    def _lines(self, part: Part, options: ConsoleOptions) -> Iterator[RenderableType]:
        match part:
            case Section(title):
                yield from heading(f"{self.number}. {title}", options)
            case Say(text):
                yield from prose(text)
            case Show(picture, caption):
                if caption:
                    yield Constrain(prose_line(caption), min(options.max_width, WIDEST))
                yield Padding(picture, (0, 0, 0, 2))
            case Ask():
                yield from question(part, self.number)
            case History(text):
                yield labelled("History", text)
            case Try(command, what):
                yield labelled("Try", f"`{command}`", what)
            case Remember(points):
                yield Text("Remember", style="bold")
                yield bullets(points, options)
            case Pause():
                return


def prose(text: str) -> Iterator[RenderableType]:
    """Paragraphs and lists; single line breaks in the source mean nothing."""
    for number, paragraph in enumerate(re.split(r"\n\s*\n", text.strip())):
        if number:
            yield Text()
        lines = re.split(r"\n\s*(?=- )", "\n" + paragraph.strip())
        before, items = lines[0].strip(), lines[1:]
        if before:
            yield prose_line(before)
        for item in items:
            yield _item("-", item.removeprefix("- "))


def prose_line(text: str) -> Text:
    """One paragraph; what stands in backticks is set off, and keeps them."""
    line = Text(" ".join(text.split()))
    line.highlight_regex(r"`[^`]+`", CODE)
    return line


def labelled(label: str, *texts: str) -> Table:
    """A word, and beside it paragraphs about it."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for number, text in enumerate(texts):
        table.add_row(label if not number else "", prose_line(text))
    return table


def bullets(points: Sequence[str], options: ConsoleOptions) -> Table:
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column()
    for point in points:
        table.add_row(marks_of(options).changed, prose_line(point))
    return table


def question(ask: Ask, number: int) -> Iterator[RenderableType]:
    yield labelled(f"Question {number}", ask.question)
    if isinstance(ask.answer, Choice):
        table = Table.grid(padding=(0, 1, 0, 0))
        table.add_column(no_wrap=True)
        table.add_column()
        for letter, option in zip(ask.answer.letters, ask.answer.options, strict=True):
            table.add_row(f"{letter})", prose_line(option))
        yield Padding(table, (0, 0, 0, 4))


def narrow(drawn: RenderableType) -> Constrain:
    return Constrain(drawn, WIDEST)


def answered(answer: Answer, why: str, label: str = "Answer") -> RenderableType:
    """The right answer and why it is."""
    return narrow(labelled(label, answer.shown(), why))


def title(lesson: Lesson, more: str = "") -> Text:
    line = Text(f"Lesson {lesson.number}: {lesson.title}", style="bold")
    if more:
        line.append(f"   {more}", "dim not bold")
    return line


def _item(mark: str, text: str) -> Table:
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column()
    table.add_row(mark, prose_line(text))
    return table
