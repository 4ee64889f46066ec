"""The laws of slot mapping, and how a broken one is told."""

from collections.abc import Callable
from typing import NamedTuple

from hypothesis import strategies as st

from pagesim.practice.drawing import Mistake, for_all, for_each, recognise
from pagesim.practice.exercise import Check, Exercise, Fault
from pagesim.practice.film import Film
from pagesim.practice.learner import Learner, whole, wholes
from pagesim.replay.phrases import be, counted


class Place(NamedTuple):
    """A position in a table; blocks of ``size`` slots."""

    table: list[int]
    position: int
    size: int

    @property
    def right(self) -> int:
        return self.table[self.position // self.size] * self.size + self.position % self.size


@st.composite
def places(draw: st.DrawFn, most: int = 20) -> Place:
    table = draw(st.lists(st.integers(0, most), min_size=1, max_size=5, unique=True))
    size = draw(st.integers(1, 8))
    return Place(table, draw(st.integers(0, len(table) * size - 1)), size)


def _ask(learner: Learner, place: Place) -> int:
    """What slot_of gives; the film shows the table, filled up to the position."""
    table, position, size = place
    learner.film = Film(max(table) + 1, size)
    found = learner.call("slot_of", table, position, size)
    learner.film.shot(learner.lines[-1], {0: table}, {0: position + 1})
    return whole(found, f"what slot_of gave for position {position}")


def _told(place: Place, found: int, why: str) -> Fault:
    table, position, size = place
    block = table[position // size]
    return Fault(
        f"position {position} is place {position % size} of block {block}, which is slot {place.right}, and slot_of "
        f"gave {found}{why}"
    )


CASES = [Place([5, 2, 9], position, 4) for position in (6, 0, 1, 4, 11)]
CASES += [Place([7, 3], position, 3) for position in (4, 2)]


def usual(*mistakes: Mistake[Place, int]) -> Callable[[Learner], None]:
    """A check: the answers are not those of one of these mistakes."""

    def check(learner: Learner) -> None:
        recognise(learner, CASES, lambda case: _ask(learner, case), _right, mistakes, _told)

    return check


def _right(place: Place) -> int:
    return place.right


table_decides = usual(
    Mistake(lambda c: c.position, ", the position itself: the table was not asked")
)
whole_blocks = usual(
    Mistake(
        lambda c: c.table[c.position // c.size],
        ", the block's number: a block has several slots, and begins at slot (number x size)",
    ),
    Mistake(
        lambda c: c.table[c.position // c.size] + c.position % c.size,
        ", the block's number and the place in it: block b begins at slot b x block_size, not at slot b",
    ),
)
offset = usual(
    Mistake(
        lambda c: c.table[c.position // c.size] * c.size + c.position,
        ": the whole position was added, and only its place inside the block counts",
    ),
    Mistake(
        lambda c: c.table[c.position // c.size] * c.size,
        ", the first slot of the block: its place inside the block is left out",
    ),
)


def boundary(learner: Learner) -> None:
    """Positions at the boundary of two blocks, where an off by one shows."""

    def examine(place: Place) -> None:
        found = _ask(learner, place)
        if found != place.right:
            which = "last" if place.position % place.size else "first"
            logical = place.position // place.size
            raise _told(place, found, f": it is the {which} slot of logical block {logical}")

    for_each(learner, [Place([5, 2, 9], position, 4) for position in (0, 3, 4, 7, 8, 11)], examine)


def right_slot(learner: Learner) -> None:
    def examine(place: Place) -> None:
        found = _ask(learner, place)
        if found != place.right:
            raise _told(place, found, "")

    for_all(learner, places(), examine)


OTHER_ERRORS = (LookupError, ValueError, TypeError, AssertionError)


def has_block(learner: Learner) -> None:
    """Beyond the table there is no slot."""

    def examine(case: tuple[list[int], int, int]) -> None:
        table, position, size = case
        found = learner.attempt("slot_of", table, position, size, errors=OTHER_ERRORS)
        _wants_index_error(learner, "slot_of", found, table, position)

    cases = [([2], 1, 1), ([7, 1, 3], 12, 4), ([], 0, 4), ([7, 1, 3], -1, 4), ([7, 1], -5, 4)]
    for_each(learner, cases, examine)


def all_have_blocks(learner: Learner) -> None:
    """The same where slots_of meets such a position on its way."""

    def examine(case: tuple[list[int], int, int, int]) -> None:
        table, start, stop, size = case
        found = learner.attempt("slots_of", table, start, stop, size, errors=OTHER_ERRORS)
        missing = start if start < 0 else max(start, len(table) * size)
        if not isinstance(found, Exception):
            found = wholes(found, "what slots_of gave")
        _wants_index_error(learner, "slots_of", found, table, missing)

    cases = [([2], 0, 2, 1), ([7, 1], 3, 9, 4), ([7, 1], 8, 10, 4), ([], 0, 1, 4), ([2], -1, 1, 2)]
    for_each(learner, cases, examine)


def _wants_index_error(
    learner: Learner, name: str, found: object, table: list[int], position: int
) -> None:
    """What was given for a position that has no block: only an IndexError is right."""
    if isinstance(found, IndexError):
        return
    where = "before the first token" if position < 0 else f"beyond {_blocks_of(table)}"
    if isinstance(found, Exception):
        what = " ".join(str(found).split())[:100]
        did = f"raised {type(found).__name__}{': ' if what else ''}{what}{learner.place_of(found)}"
    else:
        did = f"gave {found!r}"
    raise Fault(f"position {position} is {where}, so IndexError is to be raised, and {name} {did}")


def _blocks_of(table: list[int]) -> str:
    return f"the table's {counted(len(table), 'block')}" if table else "the table, which is empty"


def _ranges() -> list[tuple[Place, int]]:
    """Short tables and all ranges in them, the shortest first, and empty ones last."""
    sizes = [([0, 2], 1), ([2, 0], 1), ([1], 2), ([1, 0], 2), ([0, 2], 2), ([3, 1, 4], 1)]
    found = [
        (Place(table, start, size), stop)
        for table, size in sizes
        for start in range(len(table) * size)
        for stop in range(max(start - 1, 0), len(table) * size + 1)
    ]

    def length(case: tuple[Place, int]) -> tuple[bool, int, int]:
        (table, start, size), stop = case
        return stop <= start, len(table) * size, stop - start

    return sorted(found, key=length)


@st.composite
def ranges(draw: st.DrawFn) -> tuple[Place, int]:
    place = draw(places())
    most = len(place.table) * place.size
    return place, draw(st.integers(max(place.position - 2, 0), most))


def over_ranges(
    law: Callable[[tuple[Place, int], list[int], list[int]], None],
) -> Callable[[Learner], None]:
    """A check of what slots_of gives for ranges that have blocks: the law is given what came, and what is right."""

    def check(learner: Learner) -> None:
        def examine(case: tuple[Place, int]) -> None:
            (table, start, size), stop = case
            given = learner.call("slots_of", table, start, stop, size)
            found = wholes(given, "what slots_of gave")
            law(case, found, [Place(table, at, size).right for at in range(start, stop)])

        for_each(learner, _ranges(), examine)
        for_all(learner, ranges(), examine)

    return check


def one_each(case: tuple[Place, int], found: list[int], right: list[int]) -> None:
    if len(found) == len(right):
        return
    start, stop = case[0].position, case[1]
    if not right:
        raise Fault(
            f"from start {start} to stop {stop} there is no position, so [] is to come, and slots_of gave {found}"
        )
    which = f"position {start}" if len(right) == 1 else f"positions {start} to {stop - 1}"
    raise Fault(
        f"for {which} {counted(len(right), 'slot')} {be(len(right))} to come, and slots_of gave {len(found)}: "
        f"{found}, not {right}"
    )


def slots_in_order(_: tuple[Place, int], found: list[int], right: list[int]) -> None:
    if found == right:
        return
    if sorted(found) == sorted(right):
        raise Fault(f"slots_of gave the right slots in another order: {found}, not {right}")
    raise Fault(f"the slots are {right}, and slots_of gave {found}")


EXERCISE = Exercise(
    name="slot-mapping",
    title="From a position to a slot",
    lesson=4,
    names=("slot_of", "slots_of"),
    hints=(
        (
            "Two questions: in which logical block is the position, and how far into it? Both answers come from "
            "dividing the position by block_size."
        ),
        (
            "The quotient is an index into the table, not a block. The table gives the physical block, and that block "
            "begins at slot (its number times block_size)."
        ),
        (
            "divmod gives quotient and remainder at once. Python takes a negative index from the end of a list, so a "
            "negative position must be refused first; for the others a list raises IndexError by itself."
        ),
    ),
    checks=(
        Check("table-decides", "which block a token is in, the table says", table_decides),
        Check("whole-blocks", "block b begins at slot b x block_size", whole_blocks),
        Check("offset", "inside its block a token stands at the remainder of its position", offset),
        Check(
            "boundary",
            "the next position after the last slot of a block is the first slot of the next block in the table",
            boundary,
        ),
        Check(
            "slot",
            "a token's slot is the first slot of its block, plus its place in the block",
            right_slot,
        ),
        Check("no-block", "a position without a block has no slot: IndexError", has_block),
        Check(
            "one-each",
            "slots_of gives one slot for each of the positions start to stop - 1",
            over_ranges(one_each),
        ),
        Check(
            "order",
            "the slots of positions start to stop - 1 come in the order of the positions",
            over_ranges(slots_in_order),
        ),
        Check(
            "all-have-blocks",
            "where one of the positions has no block, slots_of raises IndexError, too",
            all_have_blocks,
        ),
    ),
)
