"""The laws of allocate and free, and how a broken one is told."""

from pagesim.practice.drawing import Examples
from pagesim.practice.exercise import Check, Exercise, Fault
from pagesim.replay.phrases import be, counted, listed
from pagesim_lessons.exercises.allocate_and_free.script import (
    Allocate,
    Free,
    Moment,
    play,
    scripts,
)
from pagesim_lessons.exercises.no_table import must_raise_key_error


def _needs(num_tokens: int, size: int) -> str:
    """ "10 tokens need 3 blocks of 4"."""
    blocks = -(-num_tokens // size)
    verb = "needs" if num_tokens == 1 else "need"
    return f"{counted(num_tokens, 'token')} {verb} {counted(blocks, 'block')} of {size}"


def all_or_nothing(moment: Moment) -> None:
    operation, before, after, came, size, _ = moment
    if not isinstance(operation, Allocate):
        return
    seq, num_tokens = operation
    needed, free = -(-num_tokens // size), len(before.free)
    if came is True and needed > free:
        raise Fault(
            f"{moment.call} gave True; {_needs(num_tokens, size)}, and {free} {be(free)} free, so it is to give False "
            "and take nothing"
        )
    if came is False and seq in after.tables:
        raise Fault(
            f"{moment.call} gave False, and sequence {seq} has the table {after.tables[seq]} all the same: without "
            "all of its blocks it is to have none"
        )
    if came is False and after.free != before.free:
        raise Fault(
            f"{moment.call} gave False and has changed free_blocks from {before.free} to {after.free} all the same"
        )


def enough(moment: Moment) -> None:
    operation, before, _, came, size, _ = moment
    if not isinstance(operation, Allocate) or came is not False:
        return
    needed, free = -(-operation.num_tokens // size), len(before.free)
    if needed <= free:
        exactly = "exactly " if needed == free else ""
        tokens = ": blocks are to be compared, not tokens" if operation.num_tokens > free else ""
        raise Fault(
            f"{moment.call} gave False; {_needs(operation.num_tokens, size)}, and {exactly}{free} {be(free)} "
            f"free{tokens}"
        )


def rounding(moment: Moment) -> None:
    operation, _, after, came, size, _ = moment
    if not isinstance(operation, Allocate) or came is not True:
        return
    seq, num_tokens = operation
    if seq not in after.tables:
        raise Fault(f"{moment.call} gave True, and sequence {seq} has no entry in tables")
    right, given = -(-num_tokens // size), len(after.tables[seq])
    gives = f"{moment.call} gives a table of {counted(given, 'block')}"
    if given < right:
        left = num_tokens - given * size
        raise Fault(
            f"{gives}; {_needs(num_tokens, size)}, so {counted(left, 'token')} would have no slot"
        )
    if given == num_tokens != right:
        raise Fault(
            f"{gives}, one for each token; {_needs(num_tokens, size)}, as a block has {size} slots"
        )
    if given > right:
        full = "" if num_tokens % size else ", with no slot left over"
        raise Fault(f"{gives}; {_needs(num_tokens, size)}{full}")


def gone(moment: Moment) -> None:
    operation, before, after, _, _, _ = moment
    if not isinstance(operation, Free) or operation.seq not in before.tables:
        return
    if operation.seq in after.tables:
        raise Fault(
            f"after {moment.call} sequence {operation.seq} has the table {after.tables[operation.seq]}, and it is to "
            "have none any more"
        )


def others(moment: Moment) -> None:
    operation, before, after, _, _, _ = moment
    for seq, table in before.tables.items():
        if seq != operation.seq and after.tables.get(seq) != table:
            raise Fault(
                f"{moment.call} changes the table of sequence {seq} from {table} to {after.tables.get(seq)}"
            )


def conserved(moment: Moment) -> None:
    after = moment.after
    for block in range(moment.num_blocks):
        times, held = after.free.count(block), after.listing(block)
        if times > 1:
            raise Fault(f"after {moment.call} block {block} is {times} times in free_blocks")
        if len(held) > 1:
            raise Fault(
                f"after {moment.call} sequences {held[0]} and {held[1]} both list block {block}: they would write "
                "into each other"
            )
        if times and held:
            raise Fault(
                f"after {moment.call} block {block} is in the table of sequence {held[0]}, and still in free_blocks"
            )
        if not times and not held:
            raise Fault(
                f"after {moment.call} block {block} is lost: no table lists it, and it is not in free_blocks"
            )


def from_the_left(moment: Moment) -> None:
    operation, before, after, came, _, _ = moment
    if not isinstance(operation, Allocate) or came is not True:
        return
    table = after.tables[operation.seq]
    right, rest = before.free[: len(table)], before.free[len(table) :]
    was = f"free_blocks was {before.free}"
    if sorted(table) == sorted(right) and table != right:
        raise Fault(
            f"{moment.call} gives the table {table}; {was}, and the table is to list {right}, as they were taken"
        )
    if table != right and table in (
        before.free[: -len(table) - 1 : -1],
        before.free[-len(table) :],
    ):
        raise Fault(
            f"{moment.call} takes {listed(table)} from the right; {was}, and blocks are taken from the left, so the "
            f"table is {right}"
        )
    if table != right:
        raise Fault(f"{moment.call} gives the table {table}; {was}, so it is to be {right}")
    if after.free != rest:
        raise Fault(
            f"{moment.call} leaves free_blocks as {after.free}; {was}, so it is to be {rest}"
        )


def tail_first(moment: Moment) -> None:
    operation, before, after, _, _, _ = moment
    if not isinstance(operation, Free) or operation.seq not in before.tables:
        return
    table, free = before.tables[operation.seq], before.free
    right = [*free, *reversed(table)]
    if after.free == right:
        return
    leaves = f"{moment.call} of the table {table} leaves free_blocks as {after.free}"
    if after.free == free + table:
        raise Fault(
            f"{leaves}, the head first; the tail is to come first, so {right}: then block {table[0]}, the beginning of "
            "the sequence, is overwritten last"
        )
    if free and after.free in ([*table, *free], [*reversed(table), *free]):
        raise Fault(
            f"{leaves}, with its blocks on the left, where they are taken next; they go to the right, so {right}"
        )
    raise Fault(f"{leaves}; before it was {free}, so it is to be {right}")


def unknown(moment: Moment) -> None:
    operation, before, after, came, _, _ = moment
    if isinstance(operation, Free) and operation.seq not in before.tables:
        must_raise_key_error(moment.call, operation.seq, came, before=before, after=after)


played = Examples(scripts(), play)
EXERCISE = Exercise(
    name="allocate-and-free",
    title="All the blocks, or none",
    lesson=3,
    names=("Memory",),
    hints=(
        (
            "Two questions come before any change. How many blocks do so many tokens fill, if a block that is only "
            "begun counts as a whole one? And are so many free?"
        ),
        (
            "Rounding up with whole numbers: // rounds towards minus infinity, so divide the negative number, and turn "
            "the sign back. If enough are free, take that many from the left, one after the other, into a list: that "
            "is the table."
        ),
        (
            "A deque has popleft, and extend adds several on its right. A dict's pop gives an entry and removes it, "
            "and raises KeyError by itself where there is none: let it come before all else in free. The built-in "
            "reversed turns the table round."
        ),
    ),
    checks=(
        Check(
            "all-or-nothing",
            "where too few blocks are free, allocate gives False and takes none",
            played.always(all_or_nothing),
        ),
        Check(
            "rounding",
            "a table has just as many blocks as its tokens need",
            played.always(rounding),
        ),
        Check("enough", "where enough blocks are free, allocate gives them", played.always(enough)),
        Check("gone", "a sequence that was freed has no table", played.always(gone)),
        Check("others", "nobody else's table is changed", played.always(others)),
        Check(
            "conservation",
            "every block is either free, once, or in one table",
            played.always(conserved),
        ),
        Check(
            "from-the-left",
            "blocks are taken from the left of free_blocks, in that order",
            played.always(from_the_left),
        ),
        Check(
            "tail-first",
            "a table's blocks go back to the right of free_blocks, its last one first",
            played.always(tail_first),
        ),
        Check(
            "unknown",
            "a sequence without a table cannot be freed: KeyError",
            played.always(unknown),
        ),
    ),
)
