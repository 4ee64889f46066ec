"""What lesson 4 says, against the paper's Figures 6 and 7 and arithmetic by hand."""

from pagesim_lessons.lesson import Ask, Say
from pagesim_lessons.lessons.worked_example import LESSON

PARTS = list(LESSON.script())
ASKED = [part for part in PARTS if isinstance(part, Ask)]
SAID = " ".join(" ".join(part.text.split()) for part in PARTS if isinstance(part, Say))


def test_the_tables_are_the_papers():
    assert "A has got blocks 7 and 1" in SAID
    assert "The table of A is [7, 1, 3]" in SAID
    assert "A has [7, 1], B has [5, 2]" in SAID


def test_answers_worked_out_by_hand():
    assert [ask.answer.shown() for ask in ASKED] == [
        "0 blocks",  # 7 tokens leave one slot of 2 x 4 empty
        "12",  # position 8: row 2 is block 3, offset 0
        "4 slots",  # 3 + 2 blocks of 4, 9 + 7 tokens
        "4",  # of 5 tokens the second block holds the last
        "5 blocks",  # 16 tokens fill 4 blocks, and the 17th needs one more
        "b) No: a table names whole blocks, and a block has one owner who appends to it.",
    ]


def test_a_position_becomes_a_slot():
    assert "so its slot is 1 x 4 + 1 = 5" in SAID
