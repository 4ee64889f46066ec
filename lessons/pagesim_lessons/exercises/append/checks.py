"""The laws of append, and how a broken one is told."""

from pagesim.practice.drawing import Examples, for_each
from pagesim.practice.exercise import Check, Exercise, Fault
from pagesim.practice.learner import Learner, items, tables
from pagesim.replay.phrases import be, counted, joined, verb
from pagesim_lessons.exercises.append.script import Append, Moment, Read, State, play, scripts


def _is(number: int, noun: str) -> str:
    return f"{counted(number, noun)} {be(number)}"


def room(moment: Moment) -> None:
    """No block is taken where the last one has room, not even for tokens to come."""
    operation, call, before, after, came, tokens, own, size, _ = moment
    if not isinstance(operation, Append) or came is not True:
        return
    table, total = after.tables.get(operation.seq, []), len(own[operation.seq]) + len(tokens)
    left = len(before.tables[operation.seq]) * size - len(own[operation.seq])
    if left and len(table) > moment.needed and total % size:
        raise Fault(
            f"{call} takes {counted(len(table) - len(before.tables[operation.seq]), 'new block')}, and the last block "
            f"still had room for {counted(left, 'token')}: {counted(total, 'token')} "
            f"{verb(total, 'needs')} {counted(moment.needed, 'block')} of {size}"
        )


def due(moment: Moment) -> None:
    """The table has just the blocks that its tokens need."""
    operation, call, before, after, came, tokens, own, size, _ = moment
    if not isinstance(operation, Append) or came is False:
        return
    seq, right = operation.seq, moment.needed
    had, has = len(before.tables[seq]), len(after.tables.get(seq, []))
    if right - had > len(before.free):
        return
    took = f"{call} takes {counted(has - had, 'new block')}"
    total = len(own[seq]) + len(tokens)
    needs = f"{counted(total, 'token')} in all {verb(total, 'needs')} {counted(right, 'block')} of {size}"
    if isinstance(came, IndexError):
        if has < right:
            table = counted(has, "block")
            raise Fault(f"{call} raised IndexError, and the table has {table}: {needs}")
        return
    if has == right + 1 and not total % size:
        raise Fault(
            f"{took}; with {counted(total, 'token')} all slots of {counted(right, 'block')} are just full, and one "
            "more is due only with the next token"
        )
    if has != right:
        raise Fault(f"{took} and the table has {has}; {needs}")


def refused(moment: Moment) -> None:
    operation, call, before, after, came, _, own, size, _ = moment
    if not isinstance(operation, Append):
        return
    seq, free = operation.seq, len(before.free)
    more = moment.needed - len(before.tables[seq])
    wants = f"{_is(more, 'new block')} due, and {free} {be(free)} free"
    if came is False and more <= free:
        left = len(before.tables[seq]) * size - len(own[seq])
        if not more:
            wants = f"the last block has room for {counted(left, 'token')}, so no block is due"
        raise Fault(f"{call} gave False; {wants}")
    if came is not False and more > free:
        did = "gave True" if came is True else "raised IndexError"
        raise Fault(f"{call} {did}; {wants}, so it is to give False")
    if came is False and after != before:
        raise Fault(
            f"{call} gave False and has changed {_changed(before, after, seq)} all the same: all of the tokens or none"
        )


def _changed(before: State, after: State, seq: int) -> str:
    if before.tables.get(seq) != after.tables.get(seq):
        return f"tables[{seq}] from {before.tables.get(seq)} to {after.tables.get(seq)}"
    pairs = zip(State._fields, before, after, strict=True)
    return " and ".join(
        ["free_blocks" if name == "free" else name for name, a, b in pairs if a != b]
    )


def length(moment: Moment) -> None:
    operation, call, _, after, came, tokens, own, _, _ = moment
    if not isinstance(operation, Append) or came is not True:
        return
    right, found = len(own[operation.seq]) + len(tokens), after.lengths.get(operation.seq)
    if found != right:
        raise Fault(
            f"after {call} lengths[{operation.seq}] is {found}, and the sequence has {counted(right, 'token')}"
        )


def stays(moment: Moment) -> None:
    """Tables that are there keep what they list."""
    operation, call, before, after, _, _, _, _, _ = moment
    for seq, table in before.tables.items():
        if seq not in after.tables and seq == operation.seq:
            continue
        found = after.tables.get(seq, [])
        if seq != operation.seq and found != table:
            raise Fault(f"{call} changes the table of sequence {seq} from {table} to {found}")
        if found[: len(table)] != table:
            raise Fault(
                f"{call} changes the table from {table} to {found}, and the blocks that it had are to stay where they "
                "are"
            )


def conserved(moment: Moment) -> None:
    after, call = moment.after, moment.call
    for block in range(len(after.slots) // moment.size):
        times, held = after.free.count(block), after.listing(block)
        if times > 1:
            raise Fault(f"after {call} block {block} is {times} times in free_blocks")
        if len(held) > 1:
            raise Fault(f"after {call} sequences {held[0]} and {held[1]} both list block {block}")
        if times and held:
            raise Fault(
                f"after {call} block {block} is in the table of sequence {held[0]}, and still in free_blocks"
            )
        if not times and not held:
            raise Fault(
                f"after {call} block {block} is lost: no table lists it, and it is not in free_blocks"
            )


def in_its_slot(moment: Moment) -> None:
    """Each new token is in the slot of its position."""
    operation, call, _, after, came, tokens, own, size, _ = moment
    if not isinstance(operation, Append) or came is not True:
        return
    seq, table = operation.seq, after.tables[operation.seq]
    for position, token in enumerate(tokens, start=len(own[seq])):
        block, place = table[position // size], position % size
        slot = block * size + place
        if slot >= len(after.slots) or after.slots[slot] != token:
            raise Fault(
                f"after {call} token {token}, at position {position}, is to be in slot {slot} (place {place} of block "
                f"{block}), and {_where(token, slot, moment)}"
            )


def _where(token: int, slot: int, moment: Moment) -> str:
    """Where a token is instead."""
    slots = moment.after.slots
    if token not in slots:
        there = slots[slot] if slot < len(slots) else 0
        return f"it is in no slot; slot {slot} has {f'token {there}' if there else 'nothing'}"
    found = slots.index(token)
    was = moment.before.slots[found]
    for seq, tokens in moment.own.items():
        if was in tokens:
            whose = "the same sequence" if seq == moment.operation.seq else f"sequence {seq}"
            return f"it is in slot {found}, over token {was} of {whose}"
    return f"it is in slot {found}"


def nothing_else(moment: Moment) -> None:
    """What others wrote is still there, and one's own earlier tokens are."""
    _, call, _, after, _, _, own, size, _ = moment
    for seq, tokens in own.items():
        table = after.tables.get(seq, [])
        for position, token in enumerate(tokens):
            if position // size < len(table):
                slot = table[position // size] * size + position % size
                if slot < len(after.slots) and after.slots[slot] != token:
                    raise Fault(
                        f"{call} writes into slot {slot}, where token {token} of sequence {seq} is (its position "
                        f"{position})"
                    )


def reads(moment: Moment) -> None:
    operation, call, before, after, came, _, own, _, _ = moment
    if not isinstance(operation, Read):
        return
    right = own[operation.seq]
    if came == right:
        if after != before:
            raise Fault(
                f"{call} changes {_changed(before, after, operation.seq)}, and it is only to read"
            )
        return
    assert isinstance(came, list)
    _of_one_that_ended(moment, came, right)
    if came[: len(right)] == right:
        raise Fault(
            f"{call} gave {came}, and the sequence has {counted(len(right), 'token')}: what follows in its last block "
            "is not its own"
        )
    if right[: len(came)] == came:
        raise Fault(
            f"{call} gave {counted(len(came), 'token')}, and the sequence has {len(right)}: {right}"
        )
    table = after.tables.get(operation.seq)
    raise Fault(f"{call} gave {came}; through the table {table} the tokens are {right}")


def _of_one_that_ended(moment: Moment, came: list[int | None], right: list[int]) -> None:
    """Tokens that are in no block of the sequence, and were those of one with the same number."""
    seq, after, size = moment.operation.seq, moment.after, moment.size
    table = after.tables.get(seq, [])
    held = [token for block in table for token in after.slots[block * size : (block + 1) * size]]
    stale = [t for t in came if t in moment.ended and t not in held]
    if stale:
        begun = f"with {counted(len(right), 'token')}" if right else "without any token yet"
        raise Fault(
            f"{moment.call} gave {came}, and this sequence {seq} is a new one, {begun}: "
            f"{joined(list(map(str, stale)))} belonged to the one that was freed"
        )


CHANGED = 99
"""A token that nobody appended."""


def from_slots(learner: Learner) -> None:
    """Somebody else writes into a slot, and read is to find it there."""

    def examine(position: int) -> None:
        memory = learner.make("memory", "Memory", 3, 2)
        memory.call("start", 0)
        memory.call("append", 0, [11, 12, 13])
        memory.call("read", 0)
        table = tables(memory.look("tables"))[0]
        slot = table[position // 2] * 2 + position % 2
        if not memory.put("slots", slot, CHANGED):
            return
        right = [11, 12, 13]
        right[position] = CHANGED
        found = items(memory.call("read", 0), "what read(0) gave")
        if found != right:
            raise Fault(
                f"slot {slot}, where position {position} of sequence 0 is, has token {CHANGED} now, and read(0) gave "
                f"{found}, not {right}: what is read is not what the slots have, but was kept beside them"
            )

    for_each(learner, [0, 2], examine)


played = Examples(scripts(), play)
EXERCISE = Exercise(
    name="append",
    title="A new block only when due",
    lesson=4,
    names=("Memory",),
    hints=(
        (
            "First count: how many blocks does the sequence need with the new tokens, and how many has it? The "
            "difference is what is due, and it may be none. Only if so many are free, change anything."
        ),
        (
            "The blocks needed follow from the length with the new tokens, rounded up to whole blocks; not from the "
            "new tokens alone, as the last block may have room for some. With the blocks in the table, write token "
            "after token, each into the slot of its position; the positions go on from the old length."
        ),
        (
            "A method that gives the slot of a position, as in slot-mapping, serves both append and read. read looks "
            "at the positions from 0 up to the length, and no further: behind the last token there may still be tokens "
            "of a sequence that has ended. Set the length last."
        ),
    ),
    checks=(
        Check(
            "room",
            "as long as the last block has room, no block is taken",
            played.always(room),
        ),
        Check("due", "a table has just the blocks that its tokens need", played.always(due)),
        Check(
            "refused",
            "append gives False where too few blocks are free, and only there, and then nothing has changed",
            played.always(refused),
        ),
        Check("stays", "the blocks in a table stay where they are", played.always(stays)),
        Check(
            "conservation",
            "every block is either free, once, or in one table",
            played.always(conserved),
        ),
        Check("slot", "each new token is in the slot of its position", played.always(in_its_slot)),
        Check("length", "the length counts the new tokens", played.always(length)),
        Check(
            "nothing-else",
            "tokens that are there are not written over",
            played.always(nothing_else),
        ),
        Check("read", "read gives the tokens of the sequence, and no others", played.always(reads)),
        Check("from-slots", "what is read is what the slots have", from_slots),
    ),
)
