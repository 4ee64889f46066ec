"""Lazy token ids: laws against a plain list."""

import sys
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagesim.core.token_ids import FIRST_FRESH_ID, MAX_TOKEN_ID, ChainedRanges, FreshIds

RANGES = st.lists(
    st.builds(
        lambda start, length: range(start, start + length), st.integers(0, 60), st.integers(0, 12)
    ),
    max_size=6,
)
BOUND = st.none() | st.integers(-80, 80)


@given(RANGES)
def test_a_chain_reads_as_the_plain_list(ranges: list[range]) -> None:
    plain, chained = list(chain(*ranges)), ChainedRanges(ranges)
    assert len(chained) == len(plain)
    assert list(chained) == plain
    assert [chained[position] for position in range(len(plain))] == plain
    assert [chained[position - len(plain)] for position in range(len(plain))] == plain
    assert list(reversed(chained)) == plain[::-1]
    for outside in (len(plain), -len(plain) - 1):
        with pytest.raises(IndexError):
            chained[outside]


@given(RANGES, BOUND, BOUND, st.none() | st.integers(-3, 3).filter(bool))
def test_every_slice_reads_as_the_slice_of_the_list(
    ranges: list[range], start: int | None, stop: int | None, step: int | None
) -> None:
    plain = list(chain(*ranges))
    assert list(ChainedRanges(ranges)[start:stop:step]) == plain[start:stop:step]


@given(RANGES, RANGES)
def test_chains_are_equal_exactly_when_their_tokens_are(
    one: list[range], other: list[range]
) -> None:
    first, second = ChainedRanges(one), ChainedRanges(other)
    assert (first == second) == (list(first) == list(second))
    again = ChainedRanges(range(token, token + 1) for token in first)
    assert first == again
    assert hash(first) == hash(again)


def test_a_block_inside_one_range_is_a_range_and_a_longer_slice_stays_lazy() -> None:
    chained = ChainedRanges([range(512), range(10**6, 10**6 + 512)])
    assert chained[512:528] == range(10**6, 10**6 + 16)
    assert chained[504:520] == ChainedRanges([range(504, 512), range(10**6, 10**6 + 8)])
    assert "range(0, 512)" in repr(chained)
    assert chained != [*chained]


def test_length_does_not_cost_memory() -> None:
    long = ChainedRanges(range(part * 10**9, part * 10**9 + 10**8) for part in range(8))
    assert len(long) == 8 * 10**8
    assert (
        sys.getsizeof(long) + sum(sys.getsizeof(part) for part in (long._starts, long._ends)) < 1000
    )


def test_a_range_with_another_step_is_refused() -> None:
    with pytest.raises(ValueError, match="step other than 1"):
        ChainedRanges([range(0, 10, 2)])


@given(st.lists(st.integers(0, 1000)))
def test_fresh_ids_are_never_given_twice_nor_meet_shared_ids(lengths: list[int]) -> None:
    fresh = FreshIds()
    taken = [fresh.take(length) for length in lengths]
    assert [len(ids) for ids in taken] == lengths
    every = list(chain(*taken))
    assert len(set(every)) == len(every)
    assert all(FIRST_FRESH_ID <= token <= MAX_TOKEN_ID for token in every)


def test_running_out_of_fresh_ids_takes_nothing() -> None:
    fresh = FreshIds(MAX_TOKEN_ID - 1)
    with pytest.raises(OverflowError):
        fresh.take(3)
    assert fresh.take(2) == range(MAX_TOKEN_ID - 1, MAX_TOKEN_ID + 1)
