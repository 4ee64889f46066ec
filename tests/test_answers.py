"""Typed answers: what is read, what is right, and what is said of a near miss."""

import re
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
from pagesim.practice.named_numbers import NamedNumbers
from pagesim.practice.numerals import whole

TWO = NamedNumbers(("reserved", "internal"), (9, 51), (((10, 50), "the last one is never stored"),))
SIZES = Choice(("None: they are full.", "7.5", "about 15", "30 tokens"), 2, ("no", "no", "", "no"))
NUMBERS = st.integers(-(10**12), 10**12)
ANSWERS = st.one_of(
    st.builds(Whole, NUMBERS, st.sampled_from(["", "blocks"])),
    st.builds(Wholes, st.lists(NUMBERS, max_size=6), ordered=st.booleans()),
    st.builds(Names, st.lists(st.sampled_from(["r1", "r2", "A", "B"]), max_size=5)),
    st.builds(Pairs, st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=4)),
    st.builds(Share, st.fractions(0, 1)),
    st.builds(NamedNumbers, st.just(("block", "slot")), st.tuples(*[st.integers(0, 10**12)] * 2)),
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
        (Size(17_179_869_184), "16 GB", False, "16 GB is 16,000,000,000 bytes; did you mean GiB?"),
        (Size(819_200), "800kb", False, "800 kB is 800,000 bytes; did you mean KiB?"),
        (Size(800_000), "800 KiB", False, "800 KiB is 819,200 bytes; did you mean kB?"),
        (Size(819_200), "800000", False, "kB and KiB (GB and GiB) are mixed up"),
        (Size(819_200), "0.8 MB", False, "close; more digits, please"),
        (Size(819_200), "0.82 MB", True, ""),
        (Size(819_200), "1 MB", False, ""),
        (Size(819_200), "2*40*40*128*2", True, ""),
        (Size(819_200), "2 x 40 x 40 x 128 x 2 bytes", True, ""),
        (Size(819_200), "(400 + 400) KiB", True, ""),
        (Size(819_200), "0.5*2 MB", None, ""),
        (Share(Fraction(15, 22)), "68%", True, ""),
        (Share(Fraction(15, 22)), "68.0", False, ""),
        (Share(Fraction(15, 22)), "0.68", False, "give it in percent, not as a part of 1"),
        (Share(Fraction(15, 22)), "32", False, "that is the other part of the whole"),
        (Whole(271), "33*8+7", True, ""),
        (Whole(271), "(30 + 3) x 8 + 21 // 3", True, ""),
        (Whole(271), "542/2", True, ""),
        (Whole(271), "542/4", None, ""),
        (Whole(15), "1,5", None, ""),
        (Whole(12), "slot 12", True, ""),
        (Whole(12), "Position 12", True, ""),
        (Whole(6, "steps"), "step 6", True, ""),
        (Whole(12, "slots"), "block 12", None, ""),
        (Whole(5, "blocks"), "five blocks", True, ""),
        (Whole(20), "Twenty", True, ""),
        (Whole(0, "blocks"), "zero", True, ""),
        (Whole(0, "blocks"), "none", True, ""),
        (Whole(0), "none", None, ""),
        (Wholes([9, 51]), "9 and 51", True, ""),
        (Wholes([9, 51]), "blocks 9, fifty", None, ""),
        (Wholes([9, 1]), "block 9, block one", True, ""),
        (Wholes([9, 51], "reserved, then internal"), "reserved 9, internal 51", True, ""),
        (TWO, "9 and 51", True, ""),
        (TWO, "internal: 51, reserved: 9", True, ""),
        (TWO, "9 reserved, 51 internal", True, ""),
        (TWO, "51 9", False, "the right numbers, in another order"),
        (TWO, "10 50", False, "the last one is never stored"),
        (TWO, "none", None, ""),
        (TWO, "reserved internal", None, ""),
        (Names(["r1", "r2"], "requests"), "requests r1 and r2", True, ""),
        (Pairs([(1, 3), (2, 4)]), "1 to 3 and 2 to 4", True, ""),
        (YesNo(True), "Y", True, ""),
        (SIZES, "7.5", False, "no"),
        (SIZES, "About 15.", True, ""),
        (SIZES, "15", True, ""),
        (SIZES, "none", False, "no"),
        (SIZES, "9", None, ""),
        (Choice(("a block", "a slot"), 1, ("too large", "")), "A", False, "too large"),
    ],
)
def test_graded(answer, typed, right, note):
    if right is None:
        with pytest.raises(UnreadableAnswerError, match="was typed; type "):
            answer.grade(typed)
    else:
        assert answer.grade(typed) == (right, note)


def test_numbers_that_mean_different_things_say_so():
    assert TWO.form == "two numbers: reserved, then internal; such as 7 1"
    assert TWO.shown() == "reserved 9, internal 51"


def spelt(tree):
    """A sum as it is typed, with every bracket."""
    return str(tree) if isinstance(tree, int) else f"({spelt(tree[0])} {tree[1]} {spelt(tree[2])})"


TREES = st.recursive(
    st.integers(0, 99),
    lambda inner: st.tuples(inner, st.sampled_from(["+", "-", "*", "//"]), inner),
    max_leaves=8,
)


@given(TREES)
def test_sums_come_to_what_python_says(tree):
    text = spelt(tree)
    try:
        value = eval(text)
    except ZeroDivisionError:
        value = None
    assert whole(text) == value


@given(st.lists(st.integers(1, 9), min_size=2, max_size=9), st.data())
def test_products_come_before_sums(numbers, data):
    signs = [data.draw(st.sampled_from(["+", "-", "*", "//", "/"])) for _ in numbers]
    text = "".join(f"{n}{sign}" for n, sign in zip(numbers, signs, strict=True)).rstrip("+-*/")
    value = eval(re.sub(r"(\d)", r"Fraction(\1)", text))
    assert whole(text) == (int(value) if value == int(value) else None)


@pytest.mark.parametrize(
    "text",
    ["9" * 31, "1+" * 150 + "1", "(" * 25 + "1" + ")" * 25, "(1", "1)", "()", "1 2", "+", "1 +"],
)
def test_no_sum_and_none_too_long(text):
    assert whole(text) is None


@pytest.mark.parametrize(
    "text", ["2**3", "3%2", "1/0", "__import__('os')", "1e3", "0x10", "2(3)", "one + two"]
)
def test_no_other_kind_of_sum(text):
    assert whole(text) is None


def test_long_sums_are_refused_at_once():
    with pytest.raises(UnreadableAnswerError):
        Size(1).grade("9*" * 100_000 + "9")
    with pytest.raises(UnreadableAnswerError):
        Whole(1).grade("(" * 100_000)
