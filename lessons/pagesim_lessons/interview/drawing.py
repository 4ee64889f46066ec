"""How cards, lists and summaries look. Knows nothing about keys, schedules or files."""

from collections.abc import Mapping, Sequence
from datetime import date

from rich.console import Group, RenderableType
from rich.constrain import Constrain
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pagesim_lessons.interview.cards import LEVELS, Card, Topic
from pagesim_lessons.interview.deck import Standing
from pagesim_lessons.interview.text import facts

WIDEST = 92
"""Prose is not set wider: longer lines are hard to read."""


def question(card: Card, title: str, place: str = "") -> RenderableType:
    """The side of a card that is shown first."""
    head = Text(f"{place}  " if place else "", style="bold")
    head.append(f"{card.id} | {facts(card, title)}", style="dim not bold")
    return Constrain(Group(head, Text(card.question, style="bold")), WIDEST)


def solution(card: Card) -> RenderableType:
    """The other side."""
    rows = [
        ("Answer", Text(card.answer)),
        ("Often said", Text(f'"{card.wrong}"')),
        ("But", Text(card.why_wrong)),
        ("See it", Text(card.command, style="cyan")),
        ("", Text(card.look_at)),
    ]
    for up in card.follow_ups:
        rows += [("And then", Text(up.question, style="italic")), ("", Text(up.answer))]
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for label, text in rows:
        table.add_row(label, text)
    return Constrain(table, WIDEST)


def whole(card: Card, title: str, place: str = "") -> RenderableType:
    return Group(question(card, title, place), solution(card))


def overview(
    topics: Sequence[Topic], standings: Mapping[str, Standing], together: Standing, today: date
) -> RenderableType:
    """The topics, how many questions each has, and how far somebody is with them."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column()
    for _ in range(4):
        table.add_column(justify="right")
    table.add_row(
        *(Text(head, style="dim") for head in ("topic", "", "cards", "new", "due", "firm"))
    )
    for topic in topics:
        at = standings[topic.name]
        table.add_row(Text(topic.name, style="bold"), Text(topic.title), *_counts(at))
    table.add_row(Text("all", style="bold"), Text(), *_counts(together))
    note = "new: never asked; due: to be asked again; firm: known for three weeks or more"
    return Group(table, Text(), Text(due_line(together, today)), Text(note, style="dim"))


def _counts(at: Standing) -> list[str]:
    return [str(number) for number in (at.cards, at.new, at.due, at.firm)]


def due_line(at: Standing, today: date) -> str:
    """How many are due today, or when the next ones are."""
    if at.due:
        return f"{at.due} {'question is' if at.due == 1 else 'questions are'} due today."
    if at.next_due is None:
        return "Nothing has been asked yet."
    return f"Nothing is due today; the next {when(at.next_due, today)}."


def when(day: date, today: date) -> str:
    """A day, as seen from today."""
    days = (day - today).days
    return "today" if days <= 0 else "tomorrow" if days == 1 else f"in {days} days"


def listing(topics: Sequence[Topic], questions: Mapping[str, str]) -> RenderableType:
    """Ids and questions, by topic; ``questions`` are those of the chosen cards, by id."""
    parts: list[RenderableType] = []
    for topic in topics:
        rows = [card for card in topic.cards if card.id in questions]
        if not rows:
            continue
        if parts:
            parts.append(Text())
        parts.append(Text(f"{topic.title} ({topic.name})", style="bold"))
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True, style="dim")
        table.add_column()
        for card in rows:
            table.add_row(card.id, LEVELS[card.difficulty], Text(questions[card.id]))
        parts.append(Padding(table, (0, 0, 0, 2)))
    return Group(*parts)
