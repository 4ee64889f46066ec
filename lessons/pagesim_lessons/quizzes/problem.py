"""What a generated problem is made of. Values only; knows nothing about how one is made, shown or graded."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from pagesim.practice.answers import Answer


class Drawn(NamedTuple):
    """Lines that are shown as they are: a table, or a list of what happens. At most 76 columns, plain ASCII."""

    lines: tuple[str, ...]


Part = str | Drawn
"""Of a story: a paragraph, which is wrapped where it is shown, or something drawn."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question. ``asks`` says it for programs: a word and what it is about, such as ("table", "A").

    ``steps`` is the working, one sentence a step, the last one with the answer. ``hints`` are weak (what to think
    of), medium (how to go about it) and strong (the first step, done). ``why`` is shown with the answer.
    """

    prompt: str
    asks: tuple[str | int, ...]
    answer: Answer
    steps: tuple[str, ...]
    hints: tuple[str, str, str]
    why: str


class Posed(NamedTuple):
    """What a topic makes. ``given`` is all that the story gives, for programs."""

    story: tuple[Part, ...]
    questions: tuple[Question, ...]
    given: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Problem:
    """``repeat`` is the command that shows the same problem again."""

    topic: str
    title: str
    seed: int
    repeat: str
    story: tuple[Part, ...]
    questions: tuple[Question, ...]
    given: Mapping[str, object]
