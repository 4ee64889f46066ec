"""The laws of copy-on-write, and how a broken one is told."""

from collections.abc import Callable
from itertools import count as numbers

from pagesim.practice.drawing import Examples
from pagesim.practice.exercise import Check, Exercise, Fault
from pagesim.replay.phrases import be, counted
from pagesim_lessons.exercises.copy_on_write.script import (
    Append,
    Fork,
    Free,
    Moment,
    Start,
    State,
    play,
    scripts,
)


def fork_shares(moment: Moment) -> None:
    operation, before, after, _, _ = moment
    if not isinstance(operation, Fork):
        return
    parent, child = operation
    name = f"fork({parent}, {child})"
    if len(after.copies) > len(before.copies):
        raise Fault(f"{name} orders a copy, and a fork copies nothing: a later write does")
    if after.tables.get(child) != before.tables[parent]:
        raise Fault(
            f"after {name} the child's table is {after.tables.get(child)}, and it is to list its parent's blocks, "
            f"{before.tables[parent]}"
        )
    if after.free != before.free:
        raise Fault(f"{name} changes the free blocks: {before.free} before, {after.free} after")
    if after.lengths.get(child) != before.lengths[parent]:
        raise Fault(
            f"after {name} the child's length is {after.lengths.get(child)}, and its parent's is "
            f"{before.lengths[parent]}"
        )


def fork_counts(moment: Moment) -> None:
    operation, before, after, _, _ = moment
    if not isinstance(operation, Fork):
        return
    for block in before.tables[operation.parent]:
        if after.counts[block] != before.counts[block] + 1:
            raise Fault(
                f"{_shown(moment)} leaves the count of block {block} at {after.counts[block]}, and "
                f"{len(after.listing(block))} tables list it now"
            )


def own_table(moment: Moment) -> None:
    operation, before, after, _, _ = moment
    own = operation.child if isinstance(operation, Fork) else operation.seq
    for seq, table in before.tables.items():
        if seq != own and after.tables.get(seq) != table:
            raise Fault(
                f"the table of sequence {seq} was {table} and is {after.tables.get(seq)}, and only sequence {own} was "
                "to change: do two sequences have one list?"
            )


def refused(moment: Moment) -> None:
    operation, before, after, gave, size = moment
    if not isinstance(operation, Append):
        return
    seq, table, written = operation.seq, before.tables[operation.seq], before.lengths[operation.seq]
    own_room = written % size and len(before.listing(table[-1])) == 1
    needs = not own_room
    if gave is False and before.free:
        raise Fault(f"append({seq}) gave False, and {len(before.free)} blocks are free")
    if gave is False and not needs:
        raise Fault(
            f"append({seq}) gave False, and it needs no free block: block {table[-1]} is its own and not full"
        )
    if gave and needs and not before.free:
        raise Fault(f"append({seq}) gave True, and it needs a free block and there is none")
    if gave is False and after != before:
        changed = [name for name, a, b in zip(before._fields, before, after, strict=True) if a != b]
        raise Fault(
            f"append({seq}) gave False and has changed {' and '.join(changed)} all the same"
        )


def boundary(moment: Moment) -> None:
    operation, before, after, gave, size = moment
    if not isinstance(operation, Append) or not gave:
        return
    seq, written = operation.seq, before.lengths[operation.seq]
    if after.lengths.get(seq) != written + 1:
        raise Fault(f"append({seq}) makes {written} tokens {after.lengths.get(seq)}")
    more = len(after.tables[seq]) - len(before.tables[seq])
    if written % size and more:
        raise Fault(
            f"append({seq}) lengthens the table by {more}, and its last block had room: {written % size} of {size} "
            "slots were written"
        )
    if not written % size and more != 1:
        raise Fault(
            f"append({seq}) lengthens the table by {more}, and after {counted(written, 'token')} every block of {size} "
            "is full: the next token needs one more block"
        )
    if before.tables[seq][: written // size] != after.tables[seq][: written // size]:
        raise Fault(
            f"append({seq}) changes the table from {before.tables[seq]} to {after.tables[seq]}, and full blocks are "
            "never written again, so they stay shared"
        )


def alone(moment: Moment) -> None:
    operation, _, after, gave, _ = moment
    if not isinstance(operation, Append) or not gave:
        return
    block = after.tables[operation.seq][-1]
    others = [seq for seq in after.listing(block) if seq != operation.seq]
    if others:
        raise Fault(
            f"append({operation.seq}) writes into block {block}, and sequence {others[0]} lists it, too: it will read "
            "a token that is not its own"
        )


def copied(moment: Moment) -> None:
    operation, before, after, gave, size = moment
    new = after.copies[len(before.copies) :]
    if not isinstance(operation, Append) or not gave:
        return
    seq, old, written = (
        operation.seq,
        before.tables[operation.seq],
        before.lengths[operation.seq] % size,
    )
    block, now = old[-1], after.tables[operation.seq][-1]
    sharers = len(before.listing(block))
    if not written:
        if new:
            raise Fault(
                f"append({seq}) orders the copy {new[0]}, and its last block was full: nothing in it is to be changed"
            )
        return
    if sharers == 1:
        if new or now != block:
            raise Fault(
                f"append({seq}) moves its last tokens from block {block} to block {now}, and nobody else lists block "
                f"{block}: the last owner writes in place"
            )
        return
    if not new:
        raise Fault(
            f"append({seq}) puts block {now} in the place of block {block} and orders no copy: what is written there, "
            f"{counted(written, 'token')}, is lost"
        )
    _right_copy(seq, new, (block, now, written))


def _right_copy(seq: int, new: list[tuple[int, int, int]], right: tuple[int, int, int]) -> None:
    source, target, slots = new[0]
    if len(new) > 1:
        raise Fault(f"append({seq}) orders {len(new)} copies, and one block is written: {new}")
    if (source, target) == (right[1], right[0]) and source != target:
        raise Fault(
            f"append({seq}) orders the copy {new[0]}, which is the wrong way round: it is to be {right}, from the old "
            f"block {right[0]} to the new block {right[1]}"
        )
    if (source, target) != right[:2]:
        raise Fault(f"append({seq}) orders the copy {new[0]}, and {right} is needed")
    if slots != right[2]:
        raise Fault(
            f"append({seq}) copies {counted(slots, 'slot')}, and {right[2]} {be(right[2])} written before the new token"
        )


def refcount(moment: Moment) -> None:
    after = moment.after
    for block, count in enumerate(after.counts):
        true = len(after.listing(block))
        if count != true:
            lists = f"{true} table lists" if true == 1 else f"{true} tables list"
            raise Fault(
                f"after {_shown(moment)} the count of block {block} is {count}, and {lists} it"
            )


def conserved(moment: Moment) -> None:
    after = moment.after
    for block in range(len(after.counts)):
        times, held = after.free.count(block), after.listing(block)
        if times > 1:
            raise Fault(
                f"after {_shown(moment)} block {block} is {times} times among the free ones"
            )
        if times and held:
            raise Fault(
                f"after {_shown(moment)} block {block} is free, and sequence {held[0]} lists it"
            )
        if not times and not held:
            raise Fault(
                f"after {_shown(moment)} block {block} is lost: no table lists it, and it is not free"
            )


def _shown(moment: Moment) -> str:
    operation = moment.operation
    return f"{type(operation).__name__.lower()}({', '.join(map(str, operation))})"


def content() -> Callable[[Moment], None]:
    """Run the copies, write the tokens, and read every sequence through its table."""
    slots: dict[tuple[int, int], int] = {}
    own: dict[int, list[int]] = {}
    fresh = numbers(1)

    def look(moment: Moment) -> None:
        operation, before, after, gave, size = moment
        for source, target, most in after.copies[len(before.copies) :]:
            for at in range(min(most, size)):
                slots[target, at] = slots.get((source, at), 0)
        new = range(0)
        match operation:
            case Start(seq, num_tokens):
                own[seq], new = [], range(num_tokens)
            case Fork(parent, child):
                own[child] = own[parent].copy()
            case Append(seq) if gave:
                new = range(len(own[seq]), len(own[seq]) + 1)
            case Free(seq):
                del own[seq]
        for at in new:
            own[operation[0]].append(next(fresh))
            slots[_slot(after, operation[0], at, size)] = own[operation[0]][at]
        _read_all(moment, slots, own)

    return look


def _read_all(moment: Moment, slots: dict[tuple[int, int], int], own: dict[int, list[int]]) -> None:
    for seq, tokens in own.items():
        for at, token in enumerate(tokens):
            place = _slot(moment.after, seq, at, moment.size)
            if slots.get(place) != token:
                raise Fault(
                    f"after {_shown(moment)} sequence {seq} reads another's token at position {at}, in block "
                    f"{place[0]}"
                )


def _slot(state: State, seq: int, position: int, size: int) -> tuple[int, int]:
    """The block, and the place in it, of a sequence's token."""
    table = state.tables.get(seq, [])
    if position // size >= len(table):
        raise Fault(f"sequence {seq} has a token at position {position}, and its table is {table}")
    return table[position // size], position % size


played = Examples(scripts(), play)
EXERCISE = Exercise(
    name="copy-on-write",
    title="Fork without copying, copy before writing",
    lesson=5,
    names=("Memory",),
    hints=(
        (
            "A fork makes a second list of the same block ids, and each of these blocks is now in one more table. For "
            "append there are three cases; which one it is depends on two things: is the last block full, and how many "
            "tables list it?"
        ),
        (
            "Full: take a block and put it behind the others. Not full and nobody else's: only the length changes. Not "
            "full and shared: take a block, order the copy, and put the new block in the old one's place in this table "
            "alone. The old block then has one table less."
        ),
        (
            "The number of written slots in the last block is the length's remainder by block_size; if it is 0, the "
            "block is full. In the shared case the copy is (old block, new block, that remainder). Look whether a "
            "block is free before you change anything. list.copy() gives the child a list of its own, and the counts "
            "go up by one for each block of it."
        ),
    ),
    checks=(
        Check(
            "fork-shares",
            "a fork lists its parent's blocks, and copies nothing",
            played.always(fork_shares),
        ),
        Check(
            "fork-counts",
            "after a fork, one more table lists each of the parent's blocks, and is counted",
            played.always(fork_counts),
        ),
        Check(
            "own-table",
            "what is done to one sequence changes no other's table",
            played.always(own_table),
        ),
        Check(
            "boundary",
            "a table grows by a block exactly when the last one is full",
            played.always(boundary),
        ),
        Check(
            "single-writer",
            "a token is only written into a block that no other table lists",
            played.always(alone),
        ),
        Check(
            "copy",
            "a copy is ordered exactly when the last block is partly filled and shared",
            played.always(copied),
        ),
        Check(
            "refcount",
            "a block's count is the number of tables that list it",
            played.always(refcount),
        ),
        Check(
            "conservation",
            "every block is either free, once, or in a table",
            played.always(conserved),
        ),
        Check(
            "refused",
            "append gives False where a block is needed and none is free, and only there, and then nothing has changed",
            played.always(refused),
        ),
        Check(
            "content",
            "every sequence reads its own tokens through its table",
            played.throughout(content),
        ),
    ),
)
