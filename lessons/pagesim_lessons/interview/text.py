"""A card with its figures computed, as plain text, JSON, or rows that flash-card programs import.

Knows nothing about schedules or terminals.
"""

import csv
import io
from collections.abc import Sequence
from html import escape

from pagesim_lessons.interview.cards import ERAS, LEVELS, TEXTS, Card, FollowUp, Topic, with_texts
from pagesim_lessons.interview.figures import filled


def complete(card: Card) -> Card:
    """The card with its figures computed; this may run small simulations."""
    texts = {name: filled(getattr(card, name)) for name in TEXTS}
    ups = tuple(FollowUp(filled(up.question), filled(up.answer)) for up in card.follow_ups)
    return with_texts(card, texts, ups)


def facts(card: Card, title: str) -> str:
    """One line about a card: topic, difficulty, era."""
    parts = [title, LEVELS[card.difficulty]]
    if card.era:
        parts.append(ERAS[card.era])
    return " | ".join(parts)


def as_json(card: Card) -> dict[str, object]:
    """A complete card as plain values."""
    return {
        "id": card.id,
        "topic": card.topic,
        "difficulty": card.difficulty,
        "misconception": card.misconception,
        "era": card.era or None,
        "question": card.question,
        "answer": card.answer,
        "in_short": card.in_short or None,
        "wrong": card.wrong,
        "why_wrong": card.why_wrong,
        "command": card.command,
        "look_at": card.look_at,
        "follow_ups": [{"question": up.question, "answer": up.answer} for up in card.follow_ups],
    }


def anki(cards: Sequence[Card], topics: Sequence[Topic], separator: str) -> str:
    """The cards as a file that Anki imports: notes keep their identity, so importing again updates them."""
    names = {"\t": "Tab", ",": "Comma"}
    titles = {topic.name: topic.title for topic in topics}
    text = io.StringIO()
    text.write(f"#separator:{names[separator]}\n#html:true\n#guid column:1\n#tags column:4\n")
    text.write(f"#columns:{separator.join(('ID', 'Front', 'Back', 'Tags'))}\n")
    rows = csv.writer(text, delimiter=separator, lineterminator="\n")
    for card in cards:
        front = (
            f"{escape(card.question)}<br><small>{escape(facts(card, titles[card.topic]))}</small>"
        )
        tags = f"pagesim {card.topic} difficulty-{card.difficulty}"
        if card.misconception is not None:
            tags += " misconception"
        rows.writerow((f"pagesim-interview-{card.id}", front, _back(card), tags))
    return text.getvalue()


def _back(card: Card) -> str:
    parts = [
        escape(card.answer),
        f"<i>Usual wrong answer:</i> {escape(card.wrong)}",
        f"<i>Why it is wrong:</i> {escape(card.why_wrong)}",
        f"<i>See it:</i> <code>{escape(card.command)}</code><br>{escape(card.look_at)}",
    ]
    parts += [f"<i>Then:</i> {escape(up.question)} {escape(up.answer)}" for up in card.follow_ups]
    return "<br><br>".join(parts)
