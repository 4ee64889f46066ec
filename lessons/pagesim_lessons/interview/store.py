"""What was learnt so far, in the progress file's section ``interview``.

Its only writer. A record that cannot be read counts as none. Knows nothing about terminals.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from pagesim.practice.progress import Section, read_section, update_section
from pagesim_lessons.interview.schedule import LEAST_EASE, MOST_DAYS, MOST_EASE, Memory

SECTION = "interview"
MOST_INTERVIEWS = 50


@dataclass(frozen=True, slots=True)
class Interview:
    """A mock interview that was taken: how many questions, how many of them went well, in how many seconds."""

    day: date
    questions: int
    well: int
    seconds: int


def memories() -> dict[str, Memory]:
    """What is known of each question that was ever asked, by its id."""
    cards = read_section(SECTION).get("cards")
    found = cards if isinstance(cards, dict) else {}
    read = {name: _memory(value) for name, value in found.items()}
    return {name: memory for name, memory in read.items() if memory is not None}


def remember(name: str, memory: Memory) -> None:
    """Raises InputError where it cannot be written."""

    def change(section: Section) -> None:
        cards = section.get("cards")
        section["cards"] = {**(cards if isinstance(cards, dict) else {}), name: _plain(memory)}

    update_section(SECTION, change)


def interviews() -> list[Interview]:
    """The last mock interviews, the latest last."""
    listed = read_section(SECTION).get("interviews")
    found = [_interview(value) for value in (listed if isinstance(listed, list) else [])]
    return [interview for interview in found if interview is not None]


def remember_interview(interview: Interview) -> None:
    """Raises InputError where it cannot be written."""

    def change(section: Section) -> None:
        listed = section.get("interviews")
        kept = [
            value for value in (listed if isinstance(listed, list) else []) if _interview(value)
        ]
        new = {
            "day": interview.day.isoformat(),
            "questions": interview.questions,
            "well": interview.well,
            "seconds": interview.seconds,
        }
        section["interviews"] = [*kept, new][-MOST_INTERVIEWS:]

    update_section(SECTION, change)


def forget() -> None:
    """Forget everything, mock interviews too. Raises InputError where it cannot be written."""
    update_section(SECTION, lambda section: section.clear())


def _plain(memory: Memory) -> dict[str, object]:
    return {
        "seen": memory.seen.isoformat(),
        "days": memory.days,
        "ease": memory.ease,
        "times": memory.times,
        "lapses": memory.lapses,
    }


def _memory(value: object) -> Memory | None:
    if not isinstance(value, dict):
        return None
    seen = _day(value.get("seen"))
    days = _whole(value, "days", 0, MOST_DAYS)
    ease = _whole(value, "ease", LEAST_EASE, MOST_EASE)
    times, lapses = _whole(value, "times", 1, 10**9), _whole(value, "lapses", 0, 10**9)
    if seen is None or days is None or ease is None or times is None or lapses is None:
        return None
    return Memory(seen, days, ease, times, lapses)


def _interview(value: object) -> Interview | None:
    if not isinstance(value, dict):
        return None
    day, questions = _day(value.get("day")), _whole(value, "questions", 1, 10**9)
    well, seconds = _whole(value, "well", 0, 10**9), _whole(value, "seconds", 0, 10**9)
    if day is None or questions is None or well is None or seconds is None:
        return None
    return Interview(day, questions, well, seconds)


def _day(text: object) -> date | None:
    """Years far off are no dates that anything can be reckoned from."""
    try:
        day = date.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return day if day is not None and 1970 <= day.year <= 9000 else None


def _whole(value: Mapping[object, object], key: str, least: int, most: int) -> int | None:
    found = value.get(key)
    right = isinstance(found, int) and not isinstance(found, bool) and least <= found <= most
    return found if right and isinstance(found, int) else None
