"""Failing examples are made smaller: they still fail, and nothing in them could be left out."""

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from pagesim.practice.shrinking import simpler, simpler_twice, smallest


class Start(NamedTuple):
    seq: int
    tokens: int


class Free(NamedTuple):
    seq: int


operations = st.lists(
    st.builds(Start, st.integers(1, 5), st.integers(1, 40)) | st.builds(Free, st.integers(1, 5)),
    max_size=12,
)
NEVER = float("inf")
scripts = st.tuples(st.integers(1, 9), operations)
Script = tuple[int, list[Start | Free]]


def fails(script: Script) -> str | None:
    """Somebody starts with 10 tokens or more, and is freed later."""
    long: set[int] = set()
    for operation in script[1]:
        if isinstance(operation, Start) and operation.tokens >= 10:
            long.add(operation.seq)
        elif isinstance(operation, Free) and operation.seq in long:
            return f"freed {operation.seq}"
    return None


@given(scripts)
def test_what_is_found_fails_and_is_as_small_as_can_be(script: Script) -> None:
    failure = fails(script)
    if failure is None:
        return
    found, why = smallest(script, failure, fails, NEVER, simpler, 10_000)
    assert fails(found) == why
    assert found[0] == 1
    start, free = found[1]
    assert isinstance(start, Start)
    assert isinstance(free, Free)
    assert (start.tokens, free.seq) == (10, start.seq)


@given(scripts)
def test_simpler_values_are_of_the_same_kind_and_never_the_same(script: Script) -> None:
    for other in simpler(script):
        assert other != script
        assert isinstance(other, tuple)
        size, ops = other
        assert 1 <= size <= script[0]
        assert len(ops) <= len(script[1])
        assert all(isinstance(op, Start | Free) and min(op) >= 1 for op in ops)


def test_numbers_come_no_lower_than_one_and_rows_of_numbers_keep_one() -> None:
    assert list(simpler(1)) == list(simpler(0)) == list(simpler(-3)) == list(simpler(True)) == []
    assert list(simpler(9)) == [1, 4, 8]
    assert list(simpler([1])) == []
    assert [1] in list(simpler([1, 1]))
    assert [] in list(simpler([Free(1)]))
    assert list(simpler("text")) == []


def test_what_is_lowered_together_stays_together() -> None:
    row = [Start(3, 7), Free(4), Free(6)]
    assert [Start(3, 7), Free(3), Free(5)] in list(simpler(row))
    assert [Start(3, 7), Free(1), Free(5)] in list(simpler([Start(3, 7), Free(1), Free(6)]))
    assert all(len(other) < 2 for other in simpler([Free(1), Free(1)])), "no number is lowered"


def test_where_one_step_does_not_fail_two_may() -> None:
    """A memory of 8 that is just filled: neither a smaller one fails, nor a shorter prompt."""

    def full(script: tuple[int, list[Start]]) -> str | None:
        size, row = script
        return "full" if sum(start.tokens for start in row) == size else None

    begun = (8, [Start(1, 5), Start(1, 3)])
    assert smallest(begun, "full", full, NEVER, simpler, 1000)[0] == begun
    found, _ = smallest(begun, "full", full, NEVER, simpler_twice, 1000)
    assert found == (1, [Start(1, 1)])


def test_it_ends_although_there_is_always_something_simpler() -> None:
    tried = 0

    def always(_: int) -> str:
        nonlocal tried
        tried += 1
        return "no"

    assert smallest(10**9, "no", always, NEVER, simpler, 400) == (1, "no")
    tried = 0
    row = [Free(1), Start(2, 3)] * 500
    smallest(row, "no", lambda row: always(1) if len(row) > 900 else None, NEVER, simpler, 40)
    assert tried <= 40
    value = list(range(1, 50))
    assert smallest(value, "no", lambda _: "no", 0.0, simpler, 400) == (value, "no"), "no time"
