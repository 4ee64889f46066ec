"""Slots: from a position to a place in memory through the block table, and back. Knows nothing about other topics."""

from typing import NamedTuple

from pagesim.core.block_manager import BlockManager
from pagesim.core.content import Content
from pagesim.core.types import Room, blocks_for
from pagesim.practice.answers import Whole
from pagesim_lessons.quizzes.draws import Draws
from pagesim_lessons.quizzes.problem import Drawn, Posed, Question
from pagesim_lessons.quizzes.wording import ids


class Held(NamedTuple):
    """A request's table as the manager gave it, the blocks free after it, and how long the request is."""

    table: tuple[int, ...]
    free: tuple[int, ...]
    block_size: int
    length: int

    def slot(self, position: int) -> int:
        return (
            self.table[position // self.block_size] * self.block_size + position % self.block_size
        )


def pose(draws: Draws) -> Posed:
    size = draws.one_of((4, 4, 8, 16))
    num_blocks = draws.whole(20, 60)
    order = draws.shuffled(range(num_blocks))
    # every third problem has a length that just fills its blocks: the next token needs a new one
    length = draws.whole(2, 4) * size + (0 if draws.chance(33) else draws.whole(1, size - 1))
    manager = BlockManager(num_blocks, size, free_order=order)
    manager.allocate(0, Content(range(length)), Room(now=length, present=length, limit=length + 1))
    held = Held(tuple(manager.table(0)), tuple(manager.pool.free_queue())[:4], size, length)
    manager.extend(0, length + 1)
    after = held._replace(table=tuple(manager.table(0)))

    position = draws.whole(size, length - 1)
    other = draws.one_of([p for p in range(length) if p != position])
    story = (
        (
            "A request holds these blocks of a paged memory. A slot is room for the K and V of one token; slots, "
            "blocks, positions and logical blocks are all counted from 0."
        ),
        Drawn(
            (
                f"block size   {size} slots",
                f"tokens       {length}, at positions 0 to {length - 1}; K and V of all are stored",
                f"block table  {ids(held.table)}   (logical block 0 first)",
                f"free list    {ids(held.free)} ...   (front first: the next to be taken)",
            )
        ),
    )
    questions = (
        _slot(held, position),
        _position(held, other),
        _next(held, after),
        _empty(held),
    )
    return Posed(story, questions, _given(held))


def _given(held: Held) -> dict[str, object]:
    return {
        "block_size": held.block_size,
        "table": held.table,
        "free_list": held.free,
        "tokens": held.length,
    }


def _slot(held: Held, position: int) -> Question:
    size = held.block_size
    logical, offset = divmod(position, size)
    block, slot = held.table[logical], held.slot(position)
    return Question(
        f"In which slot of the whole memory are K and V of the token at position {position}?",
        ("slot", position),
        Whole(slot),
        (
            f"Logical block: {position} // {size} = {logical}.",
            f"Offset in it: {position} % {size} = {offset}.",
            f"The table's entry {logical} is block {block}.",
            f"Slot: {block} x {size} + {offset} = {slot}.",
        ),
        (
            "The position names a logical block and an offset; only the block is translated.",
            "slot = table[position // block size] x block size + position % block size.",
            f"Position {position} is in logical block {position} // {size} = {logical}, at offset {offset}.",
        ),
        f"{block} x {size} + {offset} = {slot}. The offset is the same in the logical and in the physical block, as a "
        "page's is in an operating system.",
    )


def _position(held: Held, position: int) -> Question:
    size, slot = held.block_size, held.slot(position)
    block, offset = divmod(slot, size)
    logical = held.table.index(block)
    return Question(
        f"Which position's token lies in slot {slot}?",
        ("position", slot),
        Whole(position),
        (
            f"Slot {slot} is in block {slot} // {size} = {block}, at offset {slot} % {size} = {offset}.",
            f"Block {block} stands at logical place {logical} of the table.",
            f"Position: {logical} x {size} + {offset} = {position}.",
        ),
        (
            "Go the other way: from the slot to its physical block, and look for that in the table.",
            "The slot divided by the block size is the physical block; the rest is the offset.",
            f"Slot {slot} is at offset {offset} of block {block}; find {block} in the table.",
        ),
        f"Block {block} is logical block {logical}, so the position is {logical} x {size} + {offset} = {position}.",
    )


def _next(held: Held, after: Held) -> Question:
    size, position = held.block_size, held.length
    logical, offset = divmod(position, size)
    block, slot = after.table[logical], after.slot(position)
    is_new = len(after.table) > len(held.table)
    where = (
        f"All {len(held.table)} blocks are full, so block {block} is taken from the free list."
        if is_new
        else f"Block {block} still has room, so nothing is taken."
    )
    return Question(
        f"One more token comes, at position {position}. In which slot are its K and V written?",
        ("next slot",),
        Whole(slot),
        (
            f"Logical block {position} // {size} = {logical}, offset {position} % {size} = {offset}.",
            where,
            f"Slot: {block} x {size} + {offset} = {slot}.",
        ),
        (
            "First see whether the last block has room left.",
            (
                "If the length is a multiple of the block size, all blocks are full, and the front of the free list is "
                "taken."
            ),
            f"{position} // {size} = {logical}, and the table has the entries 0 to {len(held.table) - 1}.",
        ),
        f"{where} {block} x {size} + {offset} = {slot}.",
    )


def _empty(held: Held) -> Question:
    size, blocks = held.block_size, blocks_for(held.length, held.block_size)
    slots = blocks * size
    return Question(
        "How many slots does the request hold now, before that token?",
        ("held slots",),
        Whole(slots, "slots"),
        (f"It holds {blocks} blocks.", f"{blocks} x {size} = {slots}."),
        (
            "Memory is held in whole blocks, filled or not.",
            "Count the table's entries.",
            f"The table has {blocks} entries, each of {size} slots.",
        ),
        f"{blocks} blocks x {size} = {slots} slots for {held.length} tokens: {slots - held.length} are empty.",
    )
