"""When a question is asked again: from how it went and how it went before.

Pure: dates are parameters, and nothing is drawn. Gaps grow by a factor of the question's own, its ease, that goes down
when it was hard and up when it was easy, in the manner of SM-2. Knows nothing about questions or files.
"""

from dataclasses import dataclass
from datetime import date, timedelta
from enum import IntEnum

MOST_DAYS = 365
FIRM_DAYS = 21
"""A question that is next due so many days after the last time is known firmly."""
START_EASE, LEAST_EASE, MOST_EASE = 2_500, 1_300, 3_000  # thousandths
HARD_FACTOR, EASY_FACTOR = 1_200, 1_300  # thousandths


class Grade(IntEnum):
    """How it went, said by who answered."""

    AGAIN = 1
    HARD = 2
    GOOD = 3
    EASY = 4


FIRST_DAYS = {Grade.AGAIN: 0, Grade.HARD: 1, Grade.GOOD: 3, Grade.EASY: 7}
_EASE_CHANGE = {Grade.AGAIN: -200, Grade.HARD: -150, Grade.GOOD: 0, Grade.EASY: 150}


@dataclass(frozen=True, slots=True)
class Memory:
    """What is known of one question: last asked on ``seen``, next due ``days`` later; ``ease`` in thousandths.

    ``times`` it was asked in all, ``lapses`` of them it was forgotten.
    """

    seen: date
    days: int
    ease: int = START_EASE
    times: int = 1
    lapses: int = 0

    @property
    def due(self) -> date:
        return self.seen + timedelta(days=self.days)

    @property
    def is_firm(self) -> bool:
        return self.days >= FIRM_DAYS


def after(memory: Memory | None, grade: Grade, today: date) -> Memory:
    """What is known once it was asked ``today``; ``None``: it never was before.

    A better grade never comes back sooner, and a gap is at least a day longer than a worse grade's. Asked before it was
    due, a question gains only from the days that have passed, and keeps the date it had if that is later.
    """
    if memory is None:
        return Memory(today, FIRST_DAYS[grade])
    ease = min(max(memory.ease + _EASE_CHANGE[grade], LEAST_EASE), MOST_EASE)
    lapses = memory.lapses + (grade is Grade.AGAIN)
    days = _days(memory, grade, today)
    return Memory(today, days, ease, memory.times + 1, lapses)


def _days(memory: Memory, grade: Grade, today: date) -> int:
    if grade is Grade.AGAIN:
        return 0
    passed = min(max((today - memory.seen).days, 0), memory.days)
    left = memory.days - passed
    hard = max(
        passed * HARD_FACTOR // 1_000, FIRST_DAYS[Grade.HARD], min(passed + 1, MOST_DAYS - 2)
    )
    good = max(passed * memory.ease // 1_000, hard + 1, FIRST_DAYS[Grade.GOOD], left)
    easy = max(
        passed * memory.ease // 1_000 * EASY_FACTOR // 1_000, good + 1, FIRST_DAYS[Grade.EASY]
    )
    capped = {
        Grade.HARD: min(hard, MOST_DAYS - 2),
        Grade.GOOD: min(good, MOST_DAYS - 1),
        Grade.EASY: min(easy, MOST_DAYS),
    }
    return capped[grade]
