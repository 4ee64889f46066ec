"""The bank of questions: read from TOML files, one a topic, and checked.

A file holds ``title`` and a list of ``[[card]]``; its name, less its number, is the topic's name. Knows nothing about
who asks the questions. Whatever is wrong with a file is an InputError that names the file, the card and the field.
"""

import re
import tomllib
from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from pagesim.core.errors import InputError
from pagesim_lessons.interview.cards import CARD_FIELDS, ERAS, LEVELS, Card, FollowUp, Topic
from pagesim_lessons.interview.figures import FIGURES, names_in

_NEEDED = ("id", "difficulty", "question", "answer", "wrong", "why_wrong", "command", "look_at")
_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_FILE = re.compile(r"(?:[0-9]+-)?([a-z0-9]+(?:-[a-z0-9]+)*)\.toml")
Table = dict[str, object]


@cache
def built_in() -> tuple[Topic, ...]:
    """The questions that come with pagesim, in the order of their files."""
    return _read(list((files("pagesim_lessons.interview") / "bank").iterdir()))


def read_bank(folder: Path) -> tuple[Topic, ...]:
    """A teacher's own questions: the TOML files of a folder. Raises InputError."""
    try:
        found = list(folder.iterdir())
    except OSError as error:
        raise InputError(
            f"--bank {folder} cannot be read: {error.strerror}; name a folder of .toml files"
        ) from None
    topics = _read(found)
    if not topics:
        raise InputError(f"--bank {folder} holds no .toml file; write one, such as my-topic.toml")
    return topics


def all_cards(topics: Sequence[Topic]) -> tuple[Card, ...]:
    return tuple(card for topic in topics for card in topic.cards)


def chosen(topics: Sequence[Topic], topic: str | None, difficulty: int | None) -> tuple[Card, ...]:
    """The cards of a topic and a difficulty (``None``: all). Raises InputError for what there is not."""
    if difficulty is not None and difficulty not in LEVELS:
        raise InputError(
            f"--difficulty {difficulty} was given; it is 1 (basic), 2 (usual) or 3 (hard)"
        )
    if topic is not None and topic not in {found.name for found in topics}:
        names = [found.name for found in topics]
        near = get_close_matches(topic[:60], names, 1)
        meant = f"did you mean {near[0]}? " if near else ""
        raise InputError(
            f"--topic {topic[:60]!r} was given; {meant}the topics are {', '.join(names)}"
        )
    cards = all_cards([found for found in topics if topic in (None, found.name)])
    kept = tuple(card for card in cards if difficulty in (None, card.difficulty))
    if not kept:
        raise InputError(
            f"topic {topic} has no question of difficulty {difficulty}; leave one of them out"
        )
    return kept


def card_called(topics: Sequence[Topic], name: str) -> Card:
    """Raises InputError, with what may have been meant, if there is none."""
    cards = {card.id: card for card in all_cards(topics)}
    found = cards.get(name.strip().casefold())
    if found is None:
        near = get_close_matches(name, cards, 3, 0.5)
        meant = f"did you mean {' or '.join(near)}? " if near else ""
        raise InputError(
            f"no question is called {name[:60]!r}; {meant}`pagesim interview --list` names them all"
        )
    return found


def _read(found: Sequence[Traversable]) -> tuple[Topic, ...]:
    topics: list[Topic] = []
    seen: dict[str, str] = {}
    for file in sorted(found, key=lambda entry: entry.name):
        named = _FILE.fullmatch(file.name)
        if named is None or not file.is_file():
            if file.name.endswith(".toml"):
                raise InputError(
                    f"{file.name}: a topic's file is named in small letters, digits and hyphens"
                )
            continue
        topic = _topic(file.name, named[1], _table(file))
        for card in topic.cards:
            if card.id in seen:
                raise InputError(
                    f"{file.name}: the id {card.id} is taken in {seen[card.id]}; give another"
                )
            seen[card.id] = file.name
        if topic.name in {other.name for other in topics}:
            raise InputError(f"{file.name}: there are two files of the topic {topic.name}")
        topics.append(topic)
    return tuple(topics)


def _table(file: Traversable) -> Table:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"{file.name} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{file.name} is no TOML: {error}; mend it there") from None


def _topic(file: str, name: str, table: Table) -> Topic:
    unknown = [key for key in table if key not in ("title", "card")]
    if unknown:
        raise InputError(f"{file} has {unknown[0]!r}; it holds title and [[card]] and nothing else")
    title, entries = table.get("title"), table.get("card")
    if not isinstance(title, str) or not title.strip():
        raise InputError(f'{file} has no title; begin it with title = "..."')
    if not isinstance(entries, list) or not entries:
        raise InputError(f"{file} has no question; write one under [[card]]")
    cards = tuple(_card(file, name, place, entry) for place, entry in enumerate(entries, 1))
    return Topic(name, title, cards)


def _card(file: str, topic: str, place: int, entry: object) -> Card:
    if not isinstance(entry, dict):
        raise InputError(f"{file}: card {place} is no table; write it under [[card]]")
    known = (*(name for name in CARD_FIELDS if name not in ("topic", "follow_ups")), "follow_up")
    where = f"{file}, card {entry.get('id', place)}"
    for key in entry:
        if key not in known:
            near = get_close_matches(key, known, 1)
            raise InputError(
                f"{where}: there is no field {key!r}; {f'is {near[0]} meant' if near else 'take it out'}"
            )
    for key in _NEEDED:
        if key not in entry:
            raise InputError(f"{where}: {key} is missing; write it")
    card = Card(
        topic=topic,
        difficulty=_whole(where, "difficulty", entry["difficulty"], 1, max(LEVELS)),
        misconception=(
            _whole(where, "misconception", entry["misconception"], 1, 999)
            if "misconception" in entry
            else None
        ),
        follow_ups=_follow_ups(where, entry.get("follow_up", [])),
        **{
            key: _text(where, key, value)
            for key, value in entry.items()
            if key not in ("difficulty", "misconception", "follow_up")
        },
    )
    _check(where, card)
    return card


def _check(where: str, card: Card) -> None:
    if not _SLUG.fullmatch(card.id):
        raise InputError(f"{where}: an id is small letters, digits and hyphens, such as ref-count")
    if card.era and card.era not in ERAS:
        raise InputError(
            f"{where}: era {card.era!r} was given; it is {', '.join(ERAS)}, or left out"
        )
    if not card.command.startswith("pagesim "):
        raise InputError(f'{where}: the command {card.command!r} is to begin with "pagesim "')
    if card.misconception is not None and not card.in_short:
        raise InputError(
            f"{where}: a misconception needs in_short, the right statement in a sentence"
        )


def _follow_ups(where: str, value: object) -> tuple[FollowUp, ...]:
    if not isinstance(value, list) or not all(
        isinstance(entry, dict) and set(entry) == {"question", "answer"} for entry in value
    ):
        raise InputError(
            f"{where}: write a follow_up as question and answer under [[card.follow_up]]"
        )
    return tuple(
        FollowUp(
            _text(where, "follow_up", entry["question"]), _text(where, "follow_up", entry["answer"])
        )
        for entry in value
    )


def _text(where: str, key: str, value: object) -> str:
    """Prose on one line; every figure it names must exist."""
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{where}: {key} is to be a text that is not empty")
    text = " ".join(value.split())
    for name in names_in(text):
        if name not in FIGURES:
            near = get_close_matches(name, FIGURES, 1)
            raise InputError(
                f"{where}: {key} names a figure {{{name}}} that there is not"
                f"{f'; is {{{near[0]}}} meant' if near else ''}"
            )
    return text


def _whole(where: str, key: str, value: object, least: int, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise InputError(f"{where}: {key} is to be a whole number from {least} to {most}")
    return value
