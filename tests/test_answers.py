"""Typed answers: what is read, what is right, and what is said of a near miss."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagesim.practice.answers import (
    Choice,
    Names,
    Pairs,
    Share,
    Size,
    UnreadableAnswerError,
    Whole,
    Wholes,
    YesNo,
)

NUMBERS = st.integers(-(10**12), 10**12)
ANSWERS = st.one_of(
    st.builds(Whole, NUMBERS, st.sampled_from(["", "blocks"])),
    st.builds(Wholes, st.lists(NUMBERS, max_size=6), ordered=st.booleans()),
    st.builds(Names, st.lists(st.sampled_from(["r1", "r2", "A", "B"]), max_size=5)),
    st.builds(Pairs, st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=4)),
    st.builds(Share, st.fractions(0, 1)),
    st.builds(YesNo, st.booleans()),
    st.builds(Choice, st.just(("one", "two", "three")), st.integers(0, 2)),
)


@given(ANSWERS)
def test_what_is_shown_is_right_when_typed(answer):
    typed = answer.shown().split(")")[0] if isinstance(answer, Choice) else answer.shown()
    assert answer.grade(typed).right


@given(ANSWERS, st.text(max_size=30))
def test_any_text_is_graded_or_refused_in_one_sentence(answer, typed):
    try:
        verdict = answer.grade(typed)
    except UnreadableAnswerError as error:
        said = str(error)
    else:
        said = f"was typed; type {verdict.note}"
    assert "\n" not in said.replace(repr(typed), "")
    assert "was typed; type" in said


@pytest.mark.parametrize("typed", ["", " ", "x", "1.5", "²", "٣", "0x10", "1e3", "nan"])
def test_no_whole_number(typed):
    with pytest.raises(UnreadableAnswerError):
        Whole(1).grade(typed)


@pytest.mark.parametrize(
    ("answer", "typed", "right", "note"),
    [
        (Whole(15, "slots"), "15 slots", True, ""),
        (Whole(1, "slots"), "1 slot", True, ""),
        (Whole(15), "16", False, "off by one"),
        (Whole(15728), "15,728", True, ""),
        (Wholes([7, 1, 3]), "[7, 1, 3]", True, ""),
        (Wholes([7, 1, 3]), "1 7 3", False, "the right block ids, in another order"),
        (Wholes([7, 1, 3], ordered=False), "1 3 7", True, ""),
        (Wholes([7, 1, 3]), "7 1", False, "2 were typed and there are 3"),
        (Wholes([]), "none", True, ""),
        (Names(["r1", "r2"]), "R1, r2", True, ""),
        (Pairs([(1, 3)]), "1 -> 3", True, ""),
        (Pairs([(1, 3)]), "3>1", False, "the wrong way round: from is written first"),
        (Share(Fraction(3, 8)), "37.5%", True, ""),
        (Share(Fraction(3, 8)), "3/8", True, ""),
        (Share(Fraction(3, 8)), "62.5", False, "that is the other part of the whole"),
        (Share(Fraction(3, 8)), "0.375", False, "give it in percent, not as a part of 1"),
        (Size(819_200), "819200", True, ""),
        (Size(819_200), "800 KiB", True, ""),
        (Size(819_200), "0.8192 MB", True, ""),
        (Size(819_200), "409600", False, "that is half the right amount"),
        (Size(17_179_869_184), "16 GiB", True, ""),
        (Size(17_179_869_184), "17.18 GB", True, ""),
        (Size(17_179_869_184), "16 GB", False, "kB and KiB (GB and GiB) are mixed up"),
        (YesNo(True), "Y", True, ""),
        (Choice(("a block", "a slot"), 1, ("too large", "")), "A", False, "too large"),
    ],
)
def test_graded(answer, typed, right, note):
    assert answer.grade(typed) == (right, note)
