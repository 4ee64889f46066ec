"""The parts of a lesson, found by what they say; for tests of what lessons state."""

from pagesim_lessons import course
from pagesim_lessons.lesson import Ask, Part


def parts_of(name: str) -> list[Part]:
    return list(course._lesson(name).script())


def asked(parts: list[Part], words: str) -> Ask:
    """The one question that has these words."""
    (found,) = [
        part for part in parts if isinstance(part, Ask) and words in " ".join(part.question.split())
    ]
    return found


def said(parts: list[Part], *kinds: type) -> str:
    """All texts of parts of these kinds."""
    return " ".join(" ".join(part.text.split()) for part in parts if isinstance(part, kinds))


def chosen(ask: Ask) -> str:
    """The right option's text."""
    return ask.answer.shown().split(") ", 1)[1]
