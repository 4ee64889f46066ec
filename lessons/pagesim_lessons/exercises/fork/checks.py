"""The laws of fork and free, and how a broken one is told."""

from pagesim.practice.drawing import Examples
from pagesim.practice.exercise import Check, Exercise, Fault
from pagesim.replay.phrases import be, counted, listed
from pagesim_lessons.exercises.fork.script import (
    Fork,
    Free,
    Moment,
    State,
    WouldFree,
    play,
    scripts,
)
from pagesim_lessons.exercises.no_table import must_raise_key_error


def shares(moment: Moment) -> None:
    operation, before, after, _ = moment
    if not isinstance(operation, Fork):
        return
    parent, child = operation
    found, right = after.tables.get(child), before.tables[parent]
    if found is None:
        raise Fault(f"after {moment.call} sequence {child} has no table")
    if after.free != before.free:
        raise Fault(
            f"{moment.call} changes free_blocks from {before.free} to {after.free}, and a fork takes no block: the "
            "child lists those of its parent"
        )
    if found != right:
        raise Fault(
            f"after {moment.call} the child's table is {found}, and it is to list its parent's blocks, {right}"
        )


def counts_more(moment: Moment) -> None:
    operation, before, after, _ = moment
    if not isinstance(operation, Fork):
        return
    for block in before.tables[operation.parent]:
        was, found = before.counts[block], _count(after, block)
        if found != was + 1:
            change = "stays" if found == was else f"goes from {was} to"
            raise Fault(
                f"with {moment.call} the count of block {block} {change} {found}, and "
                f"{_lists(len(after.listing(block)))} it now"
            )


def _count(state: State, block: int) -> int | None:
    return state.counts[block] if block < len(state.counts) else None


def _lists(number: int) -> str:
    return f"{counted(number, 'table')} {'lists' if number == 1 else 'list'}"


def own_table(moment: Moment) -> None:
    operation, before, after, _ = moment
    own = operation.child if isinstance(operation, Fork) else operation.seq
    for seq, table in before.tables.items():
        if seq != own and after.tables.get(seq) != table:
            raise Fault(
                f"{moment.call} changes the table of sequence {seq}, too, from {table} to {after.tables.get(seq)}: do "
                "two sequences have one list?"
            )


def gone(moment: Moment) -> None:
    operation, before, after, _ = moment
    if isinstance(operation, Free) and operation.seq in before.tables:
        table = after.tables.get(operation.seq)
        if table is not None:
            raise Fault(
                f"after {moment.call} sequence {operation.seq} has the table {table}, and it is to have none any more"
            )


def still_listed(moment: Moment) -> None:
    """What another table lists is not given back."""
    after = moment.after
    for block in after.free:
        held = after.listing(block)
        if held:
            raise Fault(
                f"after {moment.call} block {block} is free, and sequence {held[0]} still lists it (its count is "
                f"{_count(after, block)}): somebody else would take it, and write over what that sequence reads"
            )


def given_back(moment: Moment) -> None:
    operation, before, after, _ = moment
    for block in range(len(after.counts)):
        times = after.free.count(block)
        if times > 1:
            raise Fault(f"after {moment.call} block {block} is {times} times in free_blocks")
        if times or after.listing(block):
            continue
        last = isinstance(operation, Free) and block in before.tables.get(operation.seq, [])
        who = f"sequence {operation[0]} was the last to list it" if last else "no table lists it"
        raise Fault(
            f"after {moment.call} block {block} is lost: {who}, its count is {after.counts[block]}, and it is not in "
            "free_blocks"
        )


def refcount(moment: Moment) -> None:
    after = moment.after
    for block, count in enumerate(after.counts):
        true = len(after.listing(block))
        if count != true:
            raise Fault(
                f"after {moment.call} the count of block {block} is {count}, and {_lists(true)} it"
            )


def foretold(moment: Moment) -> None:
    operation, before, after, came = moment
    if not isinstance(operation, WouldFree):
        return
    seq, table = operation.seq, before.tables[operation.seq]
    own = [block for block in table if len(before.listing(block)) == 1]
    if after != before:
        pairs = zip(("tables", "counts", "free_blocks"), before, after, strict=True)
        changed = [name for name, a, b in pairs if a != b]
        raise Fault(f"{moment.call} changes {' and '.join(changed)}, and it is only to look")
    if came != len(own):
        shared = [block for block in table if block not in own]
        others = f"{listed(shared)} {be(len(shared))} in other tables, too"
        alone = f"{listed(own)} {be(len(own))} in the table of sequence {seq} alone"
        if not shared:
            why = f"{alone}"
        elif not own:
            why = f"{others}, and nothing would come back"
        else:
            why = f"{alone}, and {others}"
        raise Fault(f"{moment.call} gave {came}; {why}, so it is {len(own)}")


def unknown(moment: Moment) -> None:
    operation, before, after, came = moment
    if isinstance(operation, Free) and operation.seq not in before.tables:
        must_raise_key_error(moment.call, operation.seq, came, before=before, after=after)


played = Examples(scripts(), play)
EXERCISE = Exercise(
    name="fork",
    title="Who still lists this block?",
    lesson=5,
    names=("Memory",),
    hints=(
        (
            "Nothing is copied in a fork but the list of block ids. What else has changed, for each of these blocks? "
            "And what is the opposite of it in free?"
        ),
        (
            "fork: a list of the child's own, and every count up by one. free: every count down by one; a block whose "
            "count has come to 0 is free again, any other stays as it is. The table goes in either case."
        ),
        (
            "Two names for one list is the trap in fork: list.copy() makes another. In free, a dict's pop gives the "
            "table, takes it out, and raises KeyError by itself. would_free counts the blocks in the table whose count "
            "is 1: their only table is this one."
        ),
    ),
    checks=(
        Check("shares", "a fork lists its parent's blocks, and takes none", played.always(shares)),
        Check(
            "fork-counts",
            "after a fork, one more table lists each of the parent's blocks, and is counted",
            played.always(counts_more),
        ),
        Check(
            "own-table",
            "what is done to one sequence changes no other's table",
            played.always(own_table),
        ),
        Check("gone", "a sequence that was freed has no table", played.always(gone)),
        Check(
            "still-listed",
            "a block that a table lists is not free",
            played.always(still_listed),
        ),
        Check(
            "given-back",
            "a block that no table lists is free, once",
            played.always(given_back),
        ),
        Check(
            "refcount",
            "a block's count is the number of tables that list it",
            played.always(refcount),
        ),
        Check(
            "foretold",
            "would_free is the number of blocks that no other table lists",
            played.always(foretold),
        ),
        Check(
            "unknown",
            "a sequence without a table cannot be freed: KeyError",
            played.always(unknown),
        ),
    ),
)
