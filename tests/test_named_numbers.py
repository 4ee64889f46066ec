"""Answers of several named numbers: typed in order, or in any order with their names."""

import pytest

from pagesim.practice.answers import UnreadableAnswerError
from pagesim.practice.named_numbers import NamedNumbers

ANSWER = NamedNumbers(("reserved", "internal"), (9, 1051), (((10, 1050), "one too many"),))


def test_it_says_how_it_is_typed_and_what_is_right():
    assert ANSWER.form == "two numbers: reserved, then internal; such as 7 1"
    assert ANSWER.shown() == "reserved 9, internal 1,051"


@pytest.mark.parametrize(
    "typed",
    [
        "9 1051",
        "9, 1,051",
        "9,1051",
        "9 and 1051",
        "reserved 9, internal 1,051",
        "internal 1051, reserved 9",
        "9 reserved, 1051 internal",
        "1051 Internal and 9 Reserved",
        "Reserved: 9; internal: 1051",
        "reserved=9 internal=1_051",
    ],
)
def test_right_however_it_is_written(typed):
    assert ANSWER.grade(typed).right


@pytest.mark.parametrize(
    ("typed", "note"),
    [
        ("1051 9", "the right numbers, in another order"),
        ("10 1050", "one too many"),
        ("internal 1050, reserved 10", "one too many"),
        ("9 9", ""),
    ],
)
def test_a_miss_is_told(typed, note):
    verdict = ANSWER.grade(typed)
    assert not verdict.right
    assert verdict.note == note


@pytest.mark.parametrize(
    "typed", ["", "9", "9 1 2", "nine", "reserved 9, 1051", "9 apples 1051 pears", "9" * 40 + " 1"]
)
def test_what_is_no_answer_is_asked_for_again(typed):
    with pytest.raises(UnreadableAnswerError, match="two numbers: reserved, then internal"):
        ANSWER.grade(typed)
