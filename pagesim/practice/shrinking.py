"""Plain values made smaller, step by step, as long as they still fail.

Meant for rows of operations: a row stays a row without some of its operations, and a number that counts something
stays one if it is smaller, but not below 1. Knows nothing about what fails.
"""

from collections.abc import Callable, Iterator
from time import monotonic
from typing import TypeVar, cast

Value = TypeVar("Value")
Failure = TypeVar("Failure")

Simpler = Callable[[object], Iterator[object]]


def smallest(
    value: Value,
    failure: Failure,
    fails: Callable[[Value], Failure | None],
    until: float,
    simpler: Simpler,
    most: int,
) -> tuple[Value, Failure]:
    """The smallest value found that fails, and its failure, after at most so many tries; no try begins after ``until``
    on the monotonic clock, which only slow code ever reaches. ``failure`` is that of ``value``."""
    found, tried = True, {repr(value)}
    while found:
        found = False
        for candidate in simpler(value):
            if (told := repr(candidate)) in tried:
                continue
            tried.add(told)
            if len(tried) > most + 1 or monotonic() > until:
                return value, failure
            worse = fails(cast(Value, candidate))
            if worse is not None:
                value, failure, found = cast(Value, candidate), worse, True
                break
    return value, failure


def simpler_twice(value: object) -> Iterator[object]:
    """Simpler in one way, and then in two: a smaller memory, and a shorter prompt for it."""
    yield from simpler(value)
    for once in simpler(value):
        yield from simpler(once)


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
        yield from _lower_together(value)
    elif isinstance(value, tuple):
        for at in sorted(range(len(value)), key=lambda at: not isinstance(value[at], list)):
            for other in simpler(value[at]):
                yield _with(value, at, other)


def _with(value: tuple[object, ...], at: int, part: object) -> tuple[object, ...]:
    """The same tuple, of the same type, with another part."""
    parts = (*value[:at], part, *value[at + 1 :])
    make = cast(Callable[..., tuple[object, ...]], type(value))
    return make(*parts) if hasattr(value, "_fields") else parts


def _shorter(row: list[object]) -> Iterator[list[object]]:
    """Without its second half, then without one item, the last first; a list of numbers keeps one."""
    least = 0 if row and isinstance(row[0], tuple) else 1
    if len(row) // 2 > least:
        yield row[: len(row) // 2]
    if len(row) > least:
        for at in reversed(range(len(row))):
            yield row[:at] + row[at + 1 :]


def _lower_together(row: list[object]) -> Iterator[list[object]]:
    """One number of all operations of one kind, where several have it, one less: what belongs together stays so."""
    tuples = [item for item in row if isinstance(item, tuple)]
    for kind in dict.fromkeys(map(type, tuples)):
        same = [item for item in tuples if type(item) is kind]
        for at, number in enumerate(same[0]):
            if type(number) is not int or sum(cast(int, item[at]) > 1 for item in same) < 2:
                continue
            yield [
                _with(item, at, max(cast(int, item[at]) - 1, min(cast(int, item[at]), 1)))
                if isinstance(item, tuple) and type(item) is kind
                else item
                for item in row
            ]
