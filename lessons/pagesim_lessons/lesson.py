"""What a lesson is: a script that yields parts, one after another.

A script is a generator: it runs what it talks about, looks at the outcome, and says so; nothing about a run is typed
in. Parts are plain values with pictures in them, so that a lesson can be walked with keys, printed, or tested. Knows
nothing about how parts are drawn or who reads them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import RenderableType

from pagesim.practice.answers import Answer


@dataclass(frozen=True, slots=True)
class Section:
    """The heading of what follows."""

    title: str


@dataclass(frozen=True, slots=True)
class Say:
    """Prose: paragraphs with an empty line between them, lines of a list begin with "- ", code is in backticks."""

    text: str


@dataclass(frozen=True, slots=True)
class Show:
    """A picture, with what to see in it. It must not change any more once it is yielded."""

    picture: RenderableType
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Ask:
    """A question. ``why`` is said after the answer, ``hint`` to who asks for one, both with their arithmetic."""

    question: str
    answer: Answer
    why: str
    hint: str


@dataclass(frozen=True, slots=True)
class History:
    """Where a thing belongs to the paper and to vLLM V0, and what V1 does instead."""

    text: str


@dataclass(frozen=True, slots=True)
class Try:
    """A command to type later, and what to look at in its output."""

    command: str
    what: str


@dataclass(frozen=True, slots=True)
class Remember:
    """What a lesson leaves: a few sentences."""

    points: Sequence[str]


@dataclass(frozen=True, slots=True)
class Pause:
    """The reader goes on when they want to. Questions pause by themselves."""


PAUSE = Pause()
Part = Section | Say | Show | Ask | History | Try | Remember | Pause
Script = Callable[[], Iterator[Part]]


@dataclass(frozen=True, slots=True)
class Lesson:
    """One lesson: ``about`` is one line, ``minutes`` how long it takes to read and answer, ``sections`` how many there
    are. ``script`` may take a few seconds and raises nothing on a machine with the base installation."""

    number: int
    name: str
    title: str
    about: str
    minutes: int
    sections: int
    script: Script
