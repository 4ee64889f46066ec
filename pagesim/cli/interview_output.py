"""What ``pagesim interview`` prints where nobody answers: cards, lists, sheets, JSON, files for flash-card programs.

Knows nothing about keys or schedules.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pagesim.core.errors import InputError

if TYPE_CHECKING:
    from pagesim_lessons.interview.cards import Card, Topic
    from pagesim_lessons.interview.deck import Standing, Statement

SUFFIXES = (".csv", ".tsv")


def print_standings(
    topics: "Sequence[Topic]",
    standings: "Mapping[str, Standing]",
    together: "Standing",
    today: date,
) -> None:
    """One JSON object: how far somebody is."""
    from pagesim.cli.output import print_json

    listed = [
        {"topic": topic.name, "title": topic.title, **_plain(standings[topic.name])}
        for topic in topics
    ]
    print_json({"date": today.isoformat(), "topics": listed, "all": _plain(together)})


def _plain(at: "Standing") -> dict[str, object]:
    due = None if at.next_due is None else at.next_due.isoformat()
    return {"cards": at.cards, "new": at.new, "due": at.due, "firm": at.firm, "next_due": due}


def print_cards(
    cards: "Sequence[Card]", topics: "Sequence[Topic]", *, as_json: bool, single: bool = False
) -> None:
    from pagesim_lessons.interview.drawing import whole
    from pagesim_lessons.interview.text import as_json as plain
    from pagesim_lessons.interview.text import complete

    if as_json:
        from pagesim.cli.output import print_json

        values = [plain(complete(card)) for card in cards]
        print_json(values[0] if single else values)
        return
    from pagesim.views.console import make_console

    console = make_console()
    titles = {topic.name: topic.title for topic in topics}
    for number, card in enumerate(cards, 1):
        if number > 1:
            console.print()
        place = "" if single else f"{number} of {len(cards)}"
        console.print(whole(complete(card), titles[card.topic], place))


def print_list(cards: "Sequence[Card]", topics: "Sequence[Topic]", *, as_json: bool) -> None:
    from pagesim_lessons.interview.drawing import listing
    from pagesim_lessons.interview.figures import filled

    if as_json:
        from pagesim.cli.output import print_json

        print_json(
            [
                {
                    "id": card.id,
                    "topic": card.topic,
                    "difficulty": card.difficulty,
                    "misconception": card.misconception,
                    "question": filled(card.question),
                    "command": card.command,
                }
                for card in cards
            ]
        )
        return
    from pagesim.views.console import make_console

    questions = {card.id: filled(card.question) for card in cards}
    make_console().print(listing(topics, questions))


def export_cards(
    file: Path, cards: "Sequence[Card]", topics: "Sequence[Topic]", *, force: bool
) -> None:
    """Raises InputError; also if the file is there, unless ``force``."""
    from pagesim.cli.export import check_output, write_file
    from pagesim_lessons.interview.text import anki, complete

    check_output(file, SUFFIXES)
    if file.exists() and not force:
        raise InputError(f"{file} exists; name another file, or write over it with --force")
    separator = "," if file.suffix.lower() == ".csv" else "\t"
    write_file(file, anki([complete(card) for card in cards], topics, separator).encode())
    typer.echo(f"{file}: {len(cards)} {'card' if len(cards) == 1 else 'cards'}")


def print_statements(sentences: "Sequence[Statement]", *, as_json: bool) -> None:
    """True or false, with the answers."""
    from pagesim.views.console import make_console
    from pagesim_lessons.interview.sitting import explained

    if as_json:
        from pagesim.cli.output import print_json

        print_json(
            [
                {"id": s.card.id, "statement": s.text, "true": s.is_true, "why": explained(s)}
                for s in sentences
            ]
        )
        return
    console = make_console()
    for place, sentence in enumerate(sentences, 1):
        if place > 1:
            console.print()
        console.print(f"{place}. {sentence.text}")
        console.print(f"{'True' if sentence.is_true else 'False'}. {explained(sentence)}")
