"""Slabs that come and go, as data; how they are drawn, and how they are played on a learner's class.

What is held is our own book: which slab began where, by the learner's answers. The holes follow from it.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from hypothesis import strategies as st

from pagesim.practice.exercise import RETURNS, Fault
from pagesim.practice.film import Film
from pagesim.practice.learner import Learner, Subject, items, whole_or_none, wholes

OTHER_ERRORS = (LookupError, ValueError, TypeError, AttributeError)
Piece = tuple[int, int]
"""A slab or a hole: its first slot, and its number of slots."""


class Place(NamedTuple):
    size: int


class Free(NamedTuple):
    """The slab that was placed as so manieth, from 1 on; left out if it is not held."""

    number: int


class FreeNobody(NamedTuple):
    """A slot where no slab begins; left out if one does."""

    slot: int


class FreeAgain(NamedTuple):
    """The slot where a slab began that is no longer held; becomes a FreeNobody, or is left out."""

    number: int


Operation = Place | Free | FreeNobody | FreeAgain


class Script(NamedTuple):
    """For the buddy system ``slots`` is the exponent of 2."""

    slots: int
    operations: list[Operation]


@st.composite
def scripts(
    draw: st.DrawFn, slots: st.SearchStrategy[int], sizes: st.SearchStrategy[int]
) -> Script:
    """First the memory fills, with slabs of all sizes or of one; then slabs come and go."""
    one_size = draw(st.integers(0, 2))
    first = [one_size] * 8 if one_size else draw(st.lists(sizes, min_size=2, max_size=6))
    row: list[Operation] = [Place(size) for size in first]
    placed, live = len(row), list(range(1, len(row) + 1))
    for choice in draw(st.lists(st.integers(0, 9), min_size=4, max_size=14)):
        if choice == 0:
            row.append(FreeNobody(draw(st.integers(0, 8))))
        elif choice == 1:
            row.append(FreeAgain(draw(st.integers(1, placed))))
        elif choice < 4 or not live:
            row.append(Place(draw(sizes)))
            placed += 1
            live.append(placed)
        else:
            row.append(Free(live.pop(draw(st.integers(0, len(live) - 1)))))
    return Script(draw(slots), row)


first_fit_scripts = scripts(
    st.sampled_from([10, 8, 12, 14]), st.sampled_from([2, 1, 3, 1, 4, 2, 5])
)
buddy_scripts = scripts(st.sampled_from([4, 3, 4]), st.sampled_from([1, 2, 1, 3, 2, 1, 4, 5, 8]))


class Moment(NamedTuple):
    """One operation: the holes that there are before and after it by our book, and what the learner says.

    ``held`` are the slabs before it, and ``length`` what a new one takes. ``freed`` is the slab that it ends.
    """

    operation: Operation
    call: str
    held: list[Piece]
    before: list[Piece]
    right: list[Piece]
    holes: list[Piece]
    came: int | Exception | None
    length: int
    freed: Piece
    num_slots: int


def first_fit_holes(held: list[Piece], num_slots: int) -> list[Piece]:
    """The gaps between slabs."""
    holes, at = [], 0
    for start, length in [*sorted(held), (num_slots, 0)]:
        if start > at:
            holes.append((at, start - at))
        at = start + length
    return holes


def buddy_holes(held: list[Piece], num_slots: int) -> list[Piece]:
    """The largest pieces in which nothing is held."""
    return _halves(held, (0, num_slots))


def _halves(held: list[Piece], piece: Piece) -> list[Piece]:
    start, size = piece
    inside = [slab for slab in held if overlap(slab, piece)]
    if not inside:
        return [piece]
    if piece in inside or size == 1:
        return []
    half = size // 2
    return [*_halves(held, (start, half)), *_halves(held, (start + half, half))]


def overlap(a: Piece, b: Piece) -> bool:
    return a[0] < b[0] + b[1] and b[0] < a[0] + a[1]


def rounded(size: int) -> int:
    """The next power of two."""
    return next(power for power in (1 << bit for bit in range(64)) if power >= size)


class Kind(NamedTuple):
    """One of the two classes, and what is right for it."""

    name: str
    num_slots: Callable[[int], int]
    length: Callable[[int], int]
    holes: Callable[[list[Piece], int], list[Piece]]

    def play(self, learner: Learner, script: Script) -> Iterator[Moment]:
        """What there is to see after each operation; what makes no sense is left out."""
        num_slots = self.num_slots(script.slots)
        memory = learner.make("memory", self.name, num_slots)
        learner.film = film = Film(num_slots, 1)
        held, starts = dict[int, Piece](), dict[int, int]()
        placed = 0
        for operation in script.operations:
            if isinstance(operation, FreeAgain):
                if operation.number not in starts:
                    continue
                operation = FreeNobody(starts[operation.number])
            if not _makes_sense(operation, held):
                continue
            was = list(held.values())
            came = _perform(memory, operation, held)
            freed, length = (0, 0), 0
            if isinstance(operation, Place):
                placed += 1
                length = self.length(operation.size)
                if isinstance(came, int):
                    held[placed] = (came, length)
                    starts[placed] = came
            elif isinstance(operation, Free):
                freed = held.pop(operation.number)
            film.shot(learner.lines[-1], {n: range(a, a + b) for n, (a, b) in held.items()})
            call = learner.lines[-1].partition("  #")[0].removeprefix("memory.")
            before, right = (self.holes(p, num_slots) for p in (was, list(held.values())))
            found = sorted(_pieces(memory.ask("holes")))
            yield Moment(operation, call, was, before, right, found, came, length, freed, num_slots)


FIRST_FIT = Kind("FirstFit", lambda slots: slots, lambda size: size, first_fit_holes)
BUDDY = Kind("Buddy", lambda slots: 1 << slots, rounded, buddy_holes)


def _makes_sense(operation: Operation, held: dict[int, Piece]) -> bool:
    match operation:
        case Free(number):
            return number in held
        case FreeNobody(slot):
            return slot not in [start for start, _ in held.values()]
        case _:
            return True


def _perform(
    memory: Subject, operation: Operation, held: dict[int, Piece]
) -> int | Exception | None:
    match operation:
        case Place(size):
            return whole_or_none(memory.call("place", size), f"what place({size}) gave")
        case Free(number):
            memory.call("free", held[number][0])
            return None
        case FreeNobody(slot):
            came = memory.attempt("free", slot, errors=OTHER_ERRORS)
            return came if isinstance(came, Exception) else None
        case FreeAgain():
            raise AssertionError("it has become a FreeNobody")


def _pieces(value: object) -> list[Piece]:
    found = []
    for item in items(value, "what holes() gave"):
        pair = wholes(item, "a hole that holes() gave")
        if len(pair) != 2:
            raise Fault(
                f"a hole that holes() gave is {item!r}, and the task wants (first slot, number of slots)",
                law=RETURNS,
            )
        found.append((pair[0], pair[1]))
    return found
