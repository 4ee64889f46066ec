"""The laws of first fit and of the buddy system, and how a broken one is told."""

from itertools import pairwise

from pagesim.practice.drawing import Examples
from pagesim.practice.exercise import Check, Exercise, Fault
from pagesim.replay.phrases import counted
from pagesim_lessons.exercises.placement.script import (
    BUDDY,
    FIRST_FIT,
    Free,
    FreeNobody,
    Moment,
    Piece,
    Place,
    buddy_scripts,
    first_fit_scripts,
    overlap,
)


def _slots(piece: Piece) -> str:
    """ "slots 3 to 6", "slot 3"."""
    start, length = piece
    return f"slot {start}" if length == 1 else f"slots {start} to {start + length - 1}"


def _listed(pieces: list[Piece]) -> str:
    return " ".join(map(str, pieces)) or "no hole"


# -- both --------------------------------------------------------------------------------------------------


def nobodys_slots(moment: Moment) -> None:
    """A new slab lies in the memory, and in nobody else's slots."""
    operation, came = moment.operation, moment.came
    if not isinstance(operation, Place) or not isinstance(came, int):
        return
    slab = came, operation.size
    if came < 0 or came + operation.size > moment.num_slots:
        raise Fault(
            f"{moment.call} gave slot {came}; {counted(operation.size, 'slot')} from there on are {_slots(slab)}, and "
            f"the memory has {_slots((0, moment.num_slots))}"
        )
    for other in moment.held:
        if overlap(slab, other):
            raise Fault(
                f"{moment.call} gave slot {came}; {counted(operation.size, 'slot')} from there on are {_slots(slab)}, "
                f"and {_slots(other)} are held"
            )


def nobody(moment: Moment) -> None:
    came = moment.came
    if not isinstance(moment.operation, FreeNobody):
        return
    if not isinstance(came, KeyError):
        did = f"raised {type(came).__name__}" if isinstance(came, Exception) else "raised nothing"
        raise Fault(
            f"{moment.call} {did}, and no slab (any more) begins at slot {moment.operation.slot}, so KeyError is to be "
            "raised"
        )
    if moment.holes != moment.right:
        raise Fault(
            f"{moment.call} raised KeyError, and the holes were {_listed(moment.right)} and are "
            f"{_listed(moment.holes)}: it is to change nothing"
        )


def fits(moment: Moment) -> None:
    operation, length = moment.operation, moment.length
    if not isinstance(operation, Place) or moment.came is not None:
        return
    rounding = f" (rounded up to {length})" if length != operation.size else ""
    for hole in moment.before:
        if hole[1] >= length:
            enough = "has just so many" if hole[1] == length else "is long enough"
            raise Fault(
                f"{moment.call} gave None; it needs {counted(operation.size, 'slot')}{rounding}, and the hole {hole} "
                f"{enough}"
            )
    if moment.holes != moment.right:
        raise Fault(
            f"{moment.call} gave None, and the holes were {_listed(moment.right)} and are {_listed(moment.holes)}: it "
            "is to change nothing"
        )


def no_empty_holes(moment: Moment) -> None:
    for hole in moment.holes:
        if hole[1] < 1:
            raise Fault(f"after {moment.call} holes() lists {hole}, a hole without any slot")


def free_slots(moment: Moment) -> None:
    """Slots are counted: none lost, none in two holes, none both held and free."""
    holes, right = _each(moment.holes), _each(moment.right)
    if holes == right or isinstance(moment.operation, FreeNobody):
        return
    told = f"after {moment.call} the holes are {_listed(moment.holes)}"
    for slot in range(moment.num_slots):
        if holes.count(slot) > 1:
            raise Fault(f"{told}, and slot {slot} is in two of them")
        if slot in holes and slot not in right:
            raise Fault(f"{told}, and slot {slot} is held")
        if slot in right and slot not in holes:
            raise Fault(f"{told}, and slot {slot}, which nobody holds, is in none of them")
    raise Fault(f"{told}, and the memory has {_slots((0, moment.num_slots))}")


def _each(pieces: list[Piece]) -> list[int]:
    return sorted([slot for start, length in pieces for slot in range(start, start + length)])


# -- first fit ---------------------------------------------------------------------------------------------


def lowest(moment: Moment) -> None:
    operation, came = moment.operation, moment.came
    if not isinstance(operation, Place) or not isinstance(came, int):
        return
    long_enough = [hole for hole in moment.before if hole[1] >= operation.size]
    right = long_enough[0][0]
    if came == right:
        return
    mine = next(hole for hole in long_enough if overlap(hole, (came, 1)))
    first = f"the lowest hole that is long enough is {long_enough[0]}, so it is slot {right}"
    if mine == long_enough[0]:
        raise Fault(
            f"{moment.call} gave slot {came}, in the hole {mine}: a slab is cut from the low end, so it is slot {right}"
        )
    sizes = [hole[1] for hole in long_enough]
    which = ""
    if mine[1] == min(sizes) < long_enough[0][1]:
        which = ", the shortest one that is long enough"
    elif mine[1] == max(sizes) > long_enough[0][1]:
        which = ", the longest one"
    elif mine == long_enough[-1]:
        which = ", the highest one"
    raise Fault(f"{moment.call} gave slot {came}, in the hole {mine}{which}; {first}")


def joined(moment: Moment) -> None:
    if not isinstance(moment.operation, Free) or moment.holes == moment.right:
        return
    for a, b in pairwise(moment.holes):
        if sum(a) == b[0]:
            raise Fault(
                f"after {moment.call} the holes are {_listed(moment.holes)}, and {a} and {b} touch: they are one, "
                f"({a[0]}, {a[1] + b[1]})"
            )


def cut(moment: Moment) -> None:
    if moment.holes != moment.right and not isinstance(moment.operation, FreeNobody):
        raise Fault(
            f"after {moment.call} the holes are {_listed(moment.holes)}, and they should be {_listed(moment.right)}"
        )


# -- buddies -----------------------------------------------------------------------------------------------


def powers(moment: Moment) -> None:
    """What is asked for is rounded up to a power of two."""
    operation, came = moment.operation, moment.came
    if not isinstance(operation, Place) or not isinstance(came, int):
        return
    taken = sum(length for _, length in moment.before) - sum(length for _, length in moment.holes)
    if taken == moment.length:
        return
    size = operation.size
    if size == moment.length:
        why = f"{size} is a power of two already"
    else:
        why = f"{size} is rounded up to the next power of two, {moment.length}"
    raise Fault(
        f"{moment.call} takes {counted(taken, 'slot')} from the holes, which were {_listed(moment.before)} and are "
        f"{_listed(moment.holes)}; {why}"
    )


def smallest(moment: Moment) -> None:
    operation, came, length = moment.operation, moment.came, moment.length
    if not isinstance(operation, Place) or not isinstance(came, int):
        return
    enough = [hole for hole in moment.before if hole[1] >= length]
    holes = f"the holes were {_listed(moment.before)}"
    if not enough:
        raise Fault(
            f"{moment.call} gave slot {came}; {holes}, and none has the {counted(length, 'slot')} that it needs, so it "
            "is to give None"
        )
    right = min(enough, key=lambda hole: (hole[1], hole[0]))
    if came == right[0]:
        return
    mine = next((hole for hole in moment.before if overlap(hole, (came, 1))), right)
    if mine == right:
        upper = "the upper half of " if came == right[0] + right[1] - length else "in "
        raise Fault(
            f"{moment.call} gave slot {came}, {upper}the hole {right}; the lower half is taken, so it is slot "
            f"{right[0]}"
        )
    if mine[1] == right[1]:
        raise Fault(
            f"{moment.call} gave slot {came}, in the hole {mine}; {right} is as large and lower, so it is slot "
            f"{right[0]}"
        )
    raise Fault(
        f"{moment.call} gave slot {came}, in the hole {mine}; {right} is large enough and smaller, so it is slot "
        f"{right[0]}"
    )


def halves(moment: Moment) -> None:
    """What is left of a hole are the upper halves."""
    if not isinstance(moment.operation, Place) or moment.holes == moment.right:
        return
    told = f"after {moment.call} the holes are {_listed(moment.holes)}"
    for hole in moment.holes:
        if hole[1] & (hole[1] - 1):
            raise Fault(
                f"{told}, and {hole[1]} is no power of two; the hole was split in halves again and again, and the "
                f"upper halves are left: {_listed(moment.right)}"
            )
    raise Fault(
        f"{told}; splitting in halves, and keeping the lower one, leaves {_listed(moment.right)}"
    )


def no_strangers(moment: Moment) -> None:
    """Only buddies are joined."""
    if not isinstance(moment.operation, Free):
        return
    for start, size in moment.holes:
        inside = [hole for hole in moment.right if overlap(hole, (start, size))]
        if len(inside) < 2 or inside[0][0] != start or sum(length for _, length in inside) != size:
            continue
        a, b = inside[:2]
        why = f"the buddy of {a} is ({a[0] ^ a[1]}, {a[1]})"
        if a[1] != b[1]:
            why = "buddies have the same size"
        raise Fault(
            f"{moment.call} makes the hole ({start}, {size}) of {_listed(inside)}, and they are not buddies: {why}"
        )


def aligned(moment: Moment) -> None:
    if not isinstance(moment.operation, Free):
        return
    for start, size in moment.holes:
        if size > 0 and start % size:
            raise Fault(
                f"{moment.call} makes the hole ({start}, {size}), and {start} is no multiple of {size}; two buddies "
                f"begin, when they are one, where the lower of them began: {_listed(moment.right)}"
            )


def merged(moment: Moment) -> None:
    if not isinstance(moment.operation, Free) or moment.holes == moment.right:
        return
    for a in moment.holes:
        buddy = a[0] ^ a[1], a[1]
        if a < buddy and buddy in moment.holes:
            raise Fault(
                f"after {moment.call} the holes are {_listed(moment.holes)}; {a} and {buddy} are buddies, so they "
                f"become ({a[0]}, {2 * a[1]}), and so on: {_listed(moment.right)}"
            )
    raise Fault(
        f"after {moment.call} the holes are {_listed(moment.holes)}, and they should be {_listed(moment.right)}"
    )


first_fit = Examples(first_fit_scripts, FIRST_FIT.play, examples=150)
buddy = Examples(buddy_scripts, BUDDY.play, examples=150)
EXERCISE = Exercise(
    name="placement",
    title="Slabs: first fit, and buddies",
    lesson=2,
    names=("FirstFit", "Buddy"),
    hints=(
        (
            "Both need two things: the holes, and the size of each slab by its first slot, as free is only told where "
            "it begins. For first fit keep the holes in the order of their slots; for buddies by their size."
        ),
        (
            "FirstFit.free: put the slab among the holes, in order, and then join neighbours where one ends at the "
            "slot at which the next one begins; there may be two such places. Buddy.place: of the sizes that are large "
            "enough and have a hole, the smallest; while the piece is larger than needed, halve it, and put its upper "
            "half among the holes."
        ),
        (
            "A piece of the buddy system begins at a multiple of its size. If that multiple is even, it is a lower "
            "half and its buddy begins one size above; if odd, one size below. In bits, the two first slots differ in "
            "the bit of the size, which an exclusive or (^) turns over. free is a loop: as long as the buddy is a hole "
            "of just this size, take it out, and go on with the lower start and twice the size; at the end put the "
            "piece among the holes."
        ),
    ),
    checks=(
        Check(
            "free-slots", "a new slab lies where nobody has one", first_fit.always(nobodys_slots)
        ),
        Check("fits", "first fit places what fits into some hole", first_fit.always(fits)),
        Check(
            "lowest",
            "first fit takes the low end of the lowest hole that is long enough",
            first_fit.always(lowest),
        ),
        Check("no-empty-hole", "a hole has at least one slot", first_fit.always(no_empty_holes)),
        Check("joined", "holes that touch are one", first_fit.always(joined)),
        Check("counted", "every slot is either held or in one hole", first_fit.always(free_slots)),
        Check("cut", "the holes are what lies between slabs", first_fit.always(cut)),
        Check(
            "nobody",
            "where no slab begins, none can be freed: KeyError",
            first_fit.always(nobody),
        ),
        Check(
            "buddy-free-slots",
            "a new slab of the buddy system lies where nobody has one",
            buddy.always(nobodys_slots),
        ),
        Check(
            "rounded-up",
            "the buddy system rounds up to the next power of two, and no further",
            buddy.always(powers),
        ),
        Check("buddy-fits", "the buddy system places what fits into some hole", buddy.always(fits)),
        Check(
            "smallest",
            "the buddy system takes the low end of the smallest hole that is large enough",
            buddy.always(smallest),
        ),
        Check("halves", "a hole is split in halves, and those again", buddy.always(halves)),
        Check("only-buddies", "only buddies become one hole", buddy.always(no_strangers)),
        Check("aligned", "a piece begins at a multiple of its size", buddy.always(aligned)),
        Check(
            "buddy-counted",
            "every slot of the buddy system is either held or in one hole",
            buddy.always(free_slots),
        ),
        Check(
            "merged", "two buddies that are holes become one, at each size", buddy.always(merged)
        ),
        Check(
            "buddy-nobody",
            "where no slab begins, the buddy system can free none: KeyError",
            buddy.always(nobody),
        ),
    ),
)
