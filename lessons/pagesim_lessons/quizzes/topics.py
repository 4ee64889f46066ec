"""The topics of quizzes by name, and the problem that a topic and a seed mean."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import NamedTuple

from pagesim.core.errors import InputError
from pagesim_lessons.quizzes import (
    admission,
    beam,
    block_tables,
    buddy,
    budget,
    bytes_per_token,
    concurrency,
    copy_on_write,
    eviction,
    preemption,
    prefix_hits,
    reference_counts,
    slots,
    waste,
)
from pagesim_lessons.quizzes.draws import Draws
from pagesim_lessons.quizzes.problem import Posed, Problem

MOST_SEED = 10**15
VERSION = 1
"""Part of every seed's text. A change of what is given or what is right must raise it, one of wording alone need not;
either writes the stored sheets anew."""


class Topic(NamedTuple):
    """``about`` is one line for a list of topics."""

    title: str
    about: str
    pose: Callable[[Draws], Posed]


TOPICS: dict[str, Topic] = {
    "bytes-per-token": Topic(
        "Bytes per token", "what K and V of a token take, for real models", bytes_per_token.pose
    ),
    "concurrency": Topic(
        "Concurrency", "how many requests fit on a real GPU at once", concurrency.pose
    ),
    "waste": Topic("The waste split", "slots used, reserved, and lost in and outside", waste.pose),
    "buddy": Topic("Buddy placement", "where runs go, split and join; what is lost", buddy.pose),
    "block-tables": Topic(
        "Block tables", "which physical blocks a request holds", block_tables.pose
    ),
    "slots": Topic("Slots", "from a position through the table to a slot, and back", slots.pose),
    "reference-counts": Topic(
        "Reference counts", "how many tables list a block, after forks", reference_counts.pose
    ),
    "copy-on-write": Topic(
        "Copy-on-write", "who copies which block, in which order", copy_on_write.pose
    ),
    "beam": Topic("Beam search", "whose blocks a beam lists after a choice", beam.pose),
    "prefix-hits": Topic(
        "Prefix hits", "how much of a new prompt the cache holds", prefix_hits.pose
    ),
    "eviction": Topic("Eviction order", "what the prefix cache forgets first", eviction.pose),
    "admission": Topic(
        "Admission", "who starts, and who waits though memory is free", admission.pose
    ),
    "preemption": Topic(
        "Preemption", "who gives way, what is lost, and who waits then", preemption.pose
    ),
    "budget": Topic("Token budget and chunks", "who computes how much in which step", budget.pose),
}


def problem(topic: str, seed: int) -> Problem:
    """The problem of a topic and a seed: the same one for ever. Raises InputError for a topic or seed that is none."""
    found = check_topic(topic)
    check_seed(seed)
    posed = found.pose(Draws(f"pagesim quiz {VERSION} {topic} {seed}"))
    repeat = f"pagesim quiz {topic} --seed {seed}"
    return Problem(topic, found.title, seed, repeat, *posed)


def check_topic(name: str) -> Topic:
    """The topic of that name. Raises InputError."""
    found = TOPICS.get(name)
    if found is None:
        near = near_names(name, TOPICS)
        if near:
            raise InputError(
                f"{name[:40]!r} is no topic of the quiz; did you mean {' or '.join(near)}? `pagesim quiz` lists them"
            )
        topics = ", ".join(TOPICS)
        raise InputError(f"{name[:40]!r} is no topic of the quiz; the topics are {topics}")
    return found


def near_names(name: str, names: Iterable[str]) -> list[str]:
    """Those that may have been meant: they begin alike, or are spelt nearly so."""
    known, name = list(names), name[:40].casefold()
    begin_alike = [one for one in known if len(name) > 2 and one.startswith(name)]
    return (begin_alike or get_close_matches(name, known, 3))[:3]


def check_seed(seed: int) -> None:
    """Raises InputError."""
    if not 0 <= seed <= MOST_SEED:
        raise InputError(f"seed {seed} was given; give a whole number from 0 to {MOST_SEED:,}")
