"""Lesson 4: two requests of the paper, step by step: tables, slots and the partly filled last block."""

from collections.abc import Iterator

from pagesim.core import events as ev
from pagesim.practice.answers import Choice, Whole, Wholes
from pagesim.views.figures import counted
from pagesim_lessons.lesson import (
    PAUSE,
    Ask,
    History,
    Lesson,
    Part,
    Remember,
    Say,
    Section,
    Show,
    Try,
)
from pagesim_lessons.walk import MEMORY, TABLES, Walk


def script() -> Iterator[Part]:
    yield from _one_request()
    yield from _slots()
    yield from _two_requests()
    yield from _closing()


def _one_request() -> Iterator[Part]:
    walk = Walk.of("figure-6")
    size, blocks = walk.geometry.block_size, walk.geometry.num_blocks
    yield Section("One request grows block by block")
    walk.until("taken")
    prompt = walk.view("A").prompt_tokens
    yield Say(f"""
        Now we watch a block table being filled. The memory has {blocks} blocks of {size} slots, so
        {walk.geometry.num_slots} slots in all. Request A brings a prompt of {prompt} tokens, one a word:
        "{" ".join(walk.text("A"))}". This is Figure 6 of the PagedAttention paper.

        Before the first step is run, the scheduler asks the block manager for room for the prompt.
    """)
    table = walk.table("A")
    yield Show(walk.picture())
    yield PAUSE
    yield Say(f"""
        How to read this. First what has just happened, in a sentence. Then the map: a cell is a block, the numbers
        above are those of the blocks, in order; the letter is the sequence that holds the block, and the sign behind it
        says how full it is. Below are the block tables, a row a sequence: under each logical block stands the physical
        one.

        {counted(prompt, "token")} need {prompt} / {size}, rounded up: {counted(len(table), "block")}. A has got blocks
        {table[0]} and {table[1]}, neither side by side nor in order: any free block will do. Logical block 0, which
        holds tokens 0 to {size - 1}, is physical block {table[0]}; logical block 1 is physical block {table[1]}.
    """)
    rest = prompt - size
    yield PAUSE
    walk.step()
    yield Show(walk.picture(), "Step 0 computes the prompt and writes its K and V:")
    yield Say(f"""
        Block {table[0]} is full. Block {table[1]} holds the other {rest} tokens of the prompt, and {size - rest} of
        its slots is empty. Only in its last block has a sequence empty slots.
    """)
    yield Ask(
        f"""The step has made the first output token, "{walk.word(_first_output(walk))}". Its own K and V are written
        in the next step. How many new blocks does that step have to take?""",
        Whole(0, "blocks"),
        f"""The token's position is {prompt}, which lies in logical block {prompt} // {size} = {prompt // size}. That
        block is there already, with {size - rest} empty slot. Nothing is taken.""",
        f"Which position does the token have, and does the table cover it? It has {len(table)} entries.",
    )
    walk.step()
    yield Show(walk.picture(), "Step 1 writes that token into the last slot of the last block:")
    yield PAUSE
    taken = walk.until("taken", name="A")
    assert isinstance(taken, ev.BlocksTaken)
    yield Say(f"""
        Now A has {walk.written("A")} tokens in the cache and {len(table)} blocks of {size}: every slot is written. The
        next token has no room, so before step {walk.state.step + 1} runs, the manager takes one more block.
    """)
    yield Show(walk.picture())
    yield Say(f"""
        One block, {taken.blocks[0]}, and not a copy of everything into a larger place: what was written stays where it
        is. A request takes a new block in only one step of {size}.
    """)
    yield PAUSE


def _first_output(walk: Walk) -> int:
    sampled = next(event for event in walk.events if isinstance(event, ev.TokensSampled))
    return sampled.tokens[0]


def _slots() -> Iterator[Part]:
    walk = Walk.of("figure-6")
    walk.to_step(2)
    size, table, written = walk.geometry.block_size, walk.table("A"), walk.written("A")
    yield Section("From a position to a slot")
    position = size + 1
    slot = table[position // size] * size + position % size
    yield Say(f"""
        The kernel that writes K and V needs to know where. The memory is one long row of slots, {size} to a block, so
        block b begins at slot b x {size}. For the token at position pos:

        `slot = table[pos // {size}] * {size} + pos % {size}`

        The table of A is {table}. Position {position} lies in logical block {position} // {size} = {position // size},
        which is physical block {table[position // size]}, at offset {position} % {size} = {position % size}; so its
        slot is {table[position // size]} x {size} + {position % size} = {slot}.
    """)
    last = written - 1
    last_slot = table[last // size] * size + last % size
    yield Show(walk.picture(MEMORY, TABLES))
    yield Ask(
        f"Step {walk.state.step} writes the token at position {last}. Into which slot?",
        Whole(last_slot),
        f"""{last} // {size} = {last // size} and table[{last // size}] = {table[last // size]}; {last} % {size} =
        {last % size}; so {table[last // size]} x {size} + {last % size} = {last_slot}.""",
        f"Divide {last} by {size}: the quotient is the row of the table, the remainder the offset in the block.",
    )
    yield Say("""
        One slot for each new token: that is all the write side needs, so engines make a slot mapping, a list of such
        numbers. The whole table is for the read side: attention must find every earlier token.
    """)
    yield PAUSE


def _two_requests() -> Iterator[Part]:
    walk = Walk.of("figure-7")
    yield Section("Two requests in one memory")
    walk.step()
    a, b = walk.table("A"), walk.table("B")
    yield Say(f"""
        Now a second request comes at the same time (the paper's Figure 7). A gets its two blocks, B gets its own: A has
        {a}, B has {b}.
    """)
    yield Show(walk.picture())
    yield PAUSE
    while len(walk.table("A")) == len(a):
        walk.until("taken")
    grown = walk.table("A")
    yield Show(walk.picture(), "Two steps later A needs a third block:")
    yield Say(f"""
        A's table is now {grown}. B's blocks lie between A's, and nobody cares: no token had to move, and A had not
        reserved a place to grow into. A slab could not have done this.
    """)
    walk.step()
    size = walk.geometry.block_size
    lengths = {name: walk.written(name) for name in ("A", "B")}
    held = sum(len(walk.table(name)) for name in lengths)
    empty = held * size - sum(lengths.values())
    yield Ask(
        f"""A and B hold {held} blocks of {size} slots together. When the step has run, A has
        {lengths["A"]} tokens in the cache and B has {lengths["B"]}. How many slots are held and not written?""",
        Whole(empty, "slots"),
        f"""{held} x {size} - ({lengths["A"]} + {lengths["B"]}) = {empty}. It can never be more than {size - 1} for
        each sequence, however long the answers may become.""",
        "Slots held less tokens written.",
    )


def _closing() -> Iterator[Part]:
    yield History("""
        This part of PagedAttention has not changed since the paper. Only block sizes differ: engines use larger ones
        than these pictures.
    """)
    yield Try(
        "pagesim run figure-6 --view", "Step with the arrow keys, forward and back; `?` lists them."
    )
    yield Try("pagesim run figure-7", "The same two requests, told in sentences.")
    yield PAUSE
    yield Remember(
        (
            "A block table maps logical blocks to physical ones; any free block will do.",
            "`slot = table[pos // B] * B + pos % B`: the write side needs one slot a token, the read side the table.",
            "A new block is taken only when the last one is full: once in B steps.",
            "What a sequence holds and does not use is less than one block.",
        )
    )
    yield from _questions()


def _questions() -> Iterator[Part]:
    walk = Walk.of("figure-7")
    walk.to_end()
    size = walk.geometry.block_size
    walk.to_step(0)
    prompt = walk.view("B").prompt_tokens
    table = walk.table("B")
    yield Ask(
        f"""B's prompt has {prompt} tokens and its table is {table}, with blocks of {size}. Which tokens (positions)
        does physical block {table[1]} hold after the prompt is computed?""",
        Wholes(range(size, prompt), "positions"),
        f"""Block {table[1]} stands in row 1 of the table, so it holds positions {size} to {2 * size - 1}; of these only
        {", ".join(map(str, range(size, prompt)))} exist yet.""",
        "Row i of the table holds positions i x B to i x B + B - 1.",
    )
    full = 4 * size
    yield Ask(
        f"""A prompt of exactly {full} tokens fills its blocks of {size} to the last slot. How many blocks does its
        sequence hold when the second output token is being computed?""",
        Whole(full // size + 1, "blocks"),
        f"""The prompt takes {full // size}. The step that computes the second output token writes the K and V of the
        first, at position {full}: a new block is due. A prompt that fills its blocks has no room for one more.""",
        "The step that computes an output token writes the K and V of the one before.",
    )
    yield Ask(
        "The last block of A has an empty slot, and B needs one. May B have it?",
        Choice(
            (
                "Yes: a slot is a slot, and B's table can name it.",
                "No: a table names whole blocks, and a block has one owner who appends to it.",
                "Only if A has stopped growing.",
            ),
            1,
            (
                "a table has entries for blocks, not for slots",
                "",
                "even then: the block is A's until A gives it back",
            ),
        ),
        """Tables point to blocks. Were two sequences to append to one block, position pos % B would mean two
        different tokens. This is the internal waste that paging keeps: less than one block a sequence.""",
        "What does an entry of a block table name?",
    )


LESSON = Lesson(
    4,
    "worked-example",
    "A worked example, step by step",
    "The paper's Figures 6 and 7: tables fill, slots are computed, the last block is partly empty.",
    8,
    3,
    script,
)
