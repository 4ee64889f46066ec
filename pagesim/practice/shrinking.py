"""Plain values made smaller, step by step, as long as they still fail.

Meant for rows of operations: a row stays a row without some of its operations, and a number that counts something
stays one if it is smaller, but not below 1. Knows nothing about what fails.
"""

from collections.abc import Callable, Iterator
from time import monotonic
from typing import TypeVar, cast

Value = TypeVar("Value")
Failure = TypeVar("Failure")

MOST_TRIES = 400


def smallest(
    value: Value, failure: Failure, fails: Callable[[Value], Failure | None], seconds: float
) -> tuple[Value, Failure]:
    """The smallest value found that fails, and its failure. ``failure`` is that of ``value``."""
    tries, until = 0, monotonic() + seconds
    found = True
    while found:
        found = False
        for candidate in simpler(value):
            tries += 1
            if tries > MOST_TRIES or monotonic() > until:
                return value, failure
            worse = fails(cast(Value, candidate))
            if worse is not None:
                value, failure, found = cast(Value, candidate), worse, True
                break
    return value, failure


def simpler(value: object) -> Iterator[object]:
    """Values of the same kind, each a little simpler, the simplest first."""
    if isinstance(value, bool):
        return
    if isinstance(value, int):
        yield from dict.fromkeys(n for n in (1, value // 2, value - 1) if 1 <= n < value)
    elif isinstance(value, list):
        yield from _shorter(value)
        for at, item in enumerate(value):
            for other in simpler(item):
                yield [*value[:at], other, *value[at + 1 :]]
    elif isinstance(value, tuple):
        for at in sorted(range(len(value)), key=lambda at: not isinstance(value[at], list)):
            for other in simpler(value[at]):
                parts = (*value[:at], other, *value[at + 1 :])
                yield type(value)(*parts) if hasattr(value, "_fields") else parts


def _shorter(row: list[object]) -> Iterator[list[object]]:
    """Without its second half, then without one item, the last first; a list of numbers keeps one."""
    least = 0 if row and isinstance(row[0], tuple) else 1
    if len(row) // 2 > least:
        yield row[: len(row) // 2]
    if len(row) > least:
        for at in reversed(range(len(row))):
            yield row[:at] + row[at + 1 :]
