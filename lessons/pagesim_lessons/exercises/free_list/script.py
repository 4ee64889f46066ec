"""Takes and gives as data, how they are drawn, and how they are played beside a plain list of what is free."""

from collections.abc import Iterator
from typing import NamedTuple

from hypothesis import strategies as st

from pagesim.practice.film import Film
from pagesim.practice.learner import Learner, Subject, whole, whole_or_none

OTHER_ERRORS = (LookupError, ValueError, TypeError)


class Take(NamedTuple):
    """Take a block."""


class Give(NamedTuple):
    """Give this block back, whether it is free, held or not there at all."""

    block: int


Operation = Take | Give


class Script(NamedTuple):
    num_blocks: int
    operations: list[Operation]


kinds = st.sampled_from(["take", "take", "take", "give", "give", "again", "outside"])


@st.composite
def scripts(draw: st.DrawFn) -> Script:
    """Mostly takes, and gives of what was taken; in the end all that is free is taken."""
    num_blocks = draw(st.sampled_from([3, 2, 4, 1, 5]))
    free, held = list(range(num_blocks)), list[int]()
    row: list[Operation] = []
    for kind in draw(st.lists(kinds, min_size=4, max_size=16)):
        if kind == "take":
            row.append(Take())
            held += free[:1]
            del free[:1]
        elif kind == "give" and held:
            block = held.pop(draw(st.integers(0, len(held) - 1)))
            row.append(Give(block))
            free.append(block)
        elif kind == "again" and free:
            row.append(Give(draw(st.sampled_from(free))))
        elif kind == "outside":
            row.append(Give(draw(st.sampled_from([num_blocks, -1, num_blocks + 3]))))
    return Script(num_blocks, [*row, *[Take()] * (len(free) + 1)])


class Moment(NamedTuple):
    """One operation: what was free before it, by our own list; what came; ``num_free`` before and after it."""

    operation: Operation
    num_blocks: int
    free: list[int]
    came: int | Exception | None
    counted: tuple[int, int]


def play(learner: Learner, script: Script) -> Iterator[Moment]:
    """What there is to see after each operation."""
    num_blocks = script.num_blocks
    free_list = learner.make("free_list", "FreeList", num_blocks)
    learner.film = film = Film(num_blocks, 1)
    free, held = list(range(num_blocks)), list[int]()
    before = _num_free(free_list)
    for operation in script.operations:
        came = _perform(free_list, operation, free, num_blocks)
        after = _num_free(free_list)
        was = free.copy()
        _follow(operation, free, held)
        film.shot(learner.lines[-1], {0: held})
        yield Moment(operation, num_blocks, was, came, (before, after))
        before = after


def _num_free(free_list: Subject) -> int:
    return whole(free_list.look("num_free"), "num_free")


def _perform(
    free_list: Subject, operation: Operation, free: list[int], num_blocks: int
) -> int | Exception | None:
    """Errors are allowed where they are asked for, and where one has to say that there is nothing."""
    if isinstance(operation, Take):
        came = free_list.call("take") if free else free_list.attempt("take", errors=OTHER_ERRORS)
        return came if isinstance(came, Exception) else whole_or_none(came, "what take() gave")
    wrong = operation.block in free or not 0 <= operation.block < num_blocks
    errors = OTHER_ERRORS if wrong else (ValueError,)
    came = free_list.attempt("give", operation.block, errors=errors)
    return came if isinstance(came, Exception) else None


def _follow(operation: Operation, free: list[int], held: list[int]) -> None:
    """What the operation does, by the task."""
    if isinstance(operation, Take):
        held += free[:1]
        del free[:1]
    elif operation.block in held:
        held.remove(operation.block)
        free.append(operation.block)
