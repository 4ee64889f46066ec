"""Which questions are asked, in which order. Pure: knows nothing about files or terminals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from random import Random

from pagesim_lessons.interview.cards import Card
from pagesim_lessons.interview.schedule import Memory

MOST_NEW = 10
"""Questions never asked before, in one sitting, unless a number was asked for."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How far somebody is with some cards: ``new`` were never asked, ``due`` are to be asked again today, ``firm`` are
    known for weeks. ``next_due`` is the first day on which any is due, ``None`` if none was ever asked."""

    cards: int
    new: int
    due: int
    firm: int
    next_due: date | None


def standing(cards: Sequence[Card], known: Mapping[str, Memory], today: date) -> Standing:
    asked = [known[card.id] for card in cards if card.id in known]
    return Standing(
        cards=len(cards),
        new=len(cards) - len(asked),
        due=sum(memory.due <= today for memory in asked),
        firm=sum(memory.is_firm and memory.due > today for memory in asked),
        next_due=min((memory.due for memory in asked), default=None),
    )


def to_ask(
    cards: Sequence[Card], known: Mapping[str, Memory], today: date, most: int | None = None
) -> list[Card]:
    """What is due, longest due first, then what is new, the easiest first; ``most`` in all.

    Without ``most``: all that is due, and at most MOST_NEW new ones.
    """
    due = [card for card in cards if card.id in known and known[card.id].due <= today]
    new = [card for card in cards if card.id not in known]
    due.sort(key=lambda card: known[card.id].due)
    new.sort(key=lambda card: card.difficulty)
    if most is None:
        return due + new[:MOST_NEW]
    return (due + new)[:most]


def drawn(cards: Sequence[Card], number: int, seed: int) -> list[Card]:
    """So many questions of a mock interview, easier ones first; all of them where there are fewer."""
    random = Random(f"pagesim interview {seed}")
    found = random.sample(list(cards), min(number, len(cards)))
    return sorted(found, key=lambda card: card.difficulty)


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence about a misconception: the misconception itself, or what is right."""

    card: Card
    text: str
    is_true: bool


def statements(cards: Sequence[Card], number: int, seed: int) -> list[Statement]:
    """True or false: of each misconception either the wrong or the right sentence, in mixed order."""
    random = Random(f"pagesim statements {seed}")
    known = [card for card in cards if card.misconception is not None]
    found = random.sample(known, min(number, len(known)))
    sides = [random.random() < 0.5 for _ in found]
    return [
        Statement(card, card.in_short if side else card.wrong, side)
        for card, side in zip(found, sides, strict=True)
    ]
