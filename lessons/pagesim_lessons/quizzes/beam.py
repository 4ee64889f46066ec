"""Beam search: tables are re-pointed when beams are chosen, and what that frees and copies.

The story is a real search, told at one choice. Knows nothing about other topics.
"""

from dataclasses import dataclass

from pagesim.practice.answers import Names, Whole, Wholes
from pagesim.replay.cursor import Cursor
from pagesim.replay.keeper import Keeper
from pagesim.replay.phrases import counted
from pagesim.replay.run_state import RunState
from pagesim.sim.scenario import parse_scenario
from pagesim_lessons.quizzes.draws import Draws, first_good
from pagesim_lessons.quizzes.problem import Drawn, Posed, Question
from pagesim_lessons.quizzes.wording import LETTERS, ids, table, words

NUM_BLOCKS = 24
Tables = dict[str, tuple[int, ...]]

RULES = (
    "A beam search goes on with the best continuations of all its beams together, as many as there are beams. So a "
    "beam may go on more than once, and one that goes on not at all is dropped. A beam keeps its name for its first "
    "continuation. Further ones, those of the first beam first, take the names of dropped beams, in alphabetical "
    "order. Whoever takes a name lists the blocks of the beam that it goes on from, instead of those the name had "
    "before: tables change, and nothing is copied."
)
WRITING = (
    "In the next step every beam stores one token more. Who would write to a block that other beams list too gets a "
    "copy of it first; the last one of them writes in place; a full block is never written. (Sharing between beams is "
    "the paper's and vLLM V0's.)"
)


@dataclass(frozen=True, slots=True)
class Search:
    """One choice: tables before and after it, who went on from whom (best first), copies in the step after it."""

    block_size: int
    stored: int
    before: Tables
    parents: tuple[str, ...]
    after: Tables
    num_copies: int
    free: int  # after the choice

    @property
    def dropped(self) -> list[str]:
        return [name for name in self.before if name not in self.parents]


def pose(draws: Draws) -> Posed:
    return first_good(draws, _attempt)


def _attempt(draws: Draws) -> Posed | None:
    width, block_size = draws.whole(3, 4), draws.one_of((2, 4, 4))
    prompt = draws.whole(block_size, 2 * block_size + 1)
    num_outputs = draws.whole(3, 5)
    script = [[0] * width]
    script += [[draws.whole(0, width - 1) for _ in range(width)] for _ in range(num_outputs)]
    order = draws.shuffled(range(NUM_BLOCKS))
    search = _run(width, block_size, prompt, order, script)
    changed = [name for name in search.before if search.before[name] != search.after[name]]
    freed = _freed(search)
    if not changed or not freed or not 1 <= len(search.dropped) < width - 1:
        return None
    listed = sorted({block for one in search.after.values() for block in one})
    if len(search.before["A"]) > 5:
        return None
    return _posed(search, draws.one_of(changed), draws.one_of(listed))


def _run(
    width: int, block_size: int, prompt: int, order: list[int], script: list[list[int]]
) -> Search:
    """Search by the script; look while its last step runs, after its choice, and at the step after it."""
    lines = [
        " ".join(f"{parent}:w{step}-{rank}" for rank, parent in enumerate(parents))
        for step, parents in enumerate(script)
    ]
    text = (
        f"[memory]\nblocks = {NUM_BLOCKS}\nblock_size = {block_size}\nfree_order = {order}\n"
        f"[[request]]\nid = 'S'\nprompt = {prompt}\nbeams = {width}\n"
        f"outputs = {len(script) + 3}\nearly_stopping = 'never'\nbeam_script = {lines}\n"
    )
    keeper = Keeper()
    loop = parse_scenario("a quiz", "a quiz", text.encode()).loop(lambda _: [keeper])
    for _ in script:
        loop.step()
    place = len(keeper.events)
    plan = loop.step()
    assert plan is not None
    cursor = Cursor(loop.scheduler.memory.geometry, keeper.events)
    cursor.seek_step(len(script) - 1)
    before, stored = _tables(cursor.state), cursor.state.sequences[0].written
    cursor.seek(place)
    parents = tuple(LETTERS[parent] for parent in script[-1])
    after, free = _tables(cursor.state), cursor.state.num_free
    return Search(block_size, stored, before, parents, after, len(plan.copies), free)


def _tables(state: RunState) -> Tables:
    return {LETTERS[view.sample]: tuple(view.table) for view in state.sequences.values()}


def _freed(search: Search) -> list[int]:
    """Blocks that were listed before the choice, and are not after it."""
    after = {block for one in search.after.values() for block in one}
    return sorted({block for one in search.before.values() for block in one} - after)


def _posed(search: Search, name: str, block: int) -> Posed:
    goes_on = {parent: search.parents.count(parent) for parent in search.before}
    rows = [
        (beam, ids(listed), ("not at all", "once", "twice", "3 times", "4 times")[goes_on[beam]])
        for beam, listed in search.before.items()
    ]
    rest = search.stored % search.block_size
    last = f"{rest} of {search.block_size} slots filled" if rest else "full"
    story = (
        RULES,
        WRITING,
        Drawn(
            (
                f"blocks       {NUM_BLOCKS}, each of {search.block_size} slots",
                f"stored       {search.stored} tokens of each beam; last blocks: {last}",
            )
        ),
        "The search chooses. Before the choice the tables are, and the beams go on:",
        table(("beam", "block table", "goes on"), rows),
    )
    questions = (
        _dropped(search),
        _table(search, name),
        _freed_question(search),
        _count(search, block),
        _copies(search),
    )
    given = {
        "num_blocks": NUM_BLOCKS,
        "block_size": search.block_size,
        "stored": search.stored,
        "tables": search.before,
        "continuations": sorted(search.parents),
    }
    return Posed(story, questions, given)


def _moves(search: Search) -> tuple[str, ...]:
    """Who lists whose blocks after the choice, one sentence each."""
    sentences = []
    left = list(search.parents)
    for beam in search.before:
        if beam in left:
            left.remove(beam)
            sentences.append(f"{beam} goes on from itself: {ids(search.after[beam])}.")
    for beam, parent in zip(search.dropped, sorted(left), strict=True):
        sentences.append(f"{beam} goes on from {parent} now: {ids(search.after[beam])}.")
    return tuple(sentences)


def _dropped(search: Search) -> Question:
    dropped = search.dropped
    return Question(
        "Which beams are dropped?",
        ("dropped",),
        Names(dropped, "beams", ordered=False),
        (
            f"Going on: {words(sorted(dict.fromkeys(search.parents)))}.",
            f"Dropped: {words(dropped)}.",
        ),
        (
            "It is about whom nobody goes on from.",
            "Strike out every beam that goes on at least once.",
            f"{search.parents[0]} is not dropped, nor {counted(len(search.before) - len(dropped) - 1, 'other')}.",
        ),
        f"Nothing goes on from {words(dropped)}. The names live on; what they stood for does not.",
    )


def _table(search: Search, name: str) -> Question:
    listed = search.after[name]
    return Question(
        f"Which blocks does {name}'s block table list after the choice?",
        ("table", name),
        Wholes(listed),
        (*_moves(search), f"So {name} lists {ids(listed)}."),
        (
            "A dropped beam's name is taken by somebody else.",
            "First every beam that goes on keeps its name once; then deal out what is left, from the first beam on.",
            f"It begins so: {_moves(search)[0]}",
        ),
        f"{ids(listed)}: its table was replaced by a copy of another one; a table is a few numbers, not the K and V.",
    )


def _freed_question(search: Search) -> Question:
    freed = _freed(search)
    return Question(
        "Which blocks come free by the choice?",
        ("freed",),
        Wholes(freed, ordered=False),
        (
            *_moves(search),
            f"In the old tables and in no new one: {ids(freed)}.",
        ),
        (
            "A dropped beam's blocks come free only where no other table has them.",
            "List all blocks of the new tables; what was listed before and is not among them is free.",
            f"{len(freed)} in all; look at the tables of {words(search.dropped)}.",
        ),
        f"No table lists {ids(freed)} any more: a reference count of 0 makes a block free.",
    )


def _count(search: Search, block: int) -> Question:
    owners = [name for name, listed in search.after.items() if block in listed]
    return Question(
        f"What is the reference count of block {block} after the choice?",
        ("count", block),
        Whole(len(owners)),
        (*_moves(search), f"Block {block} stands in {words(owners)}: {len(owners)}."),
        (
            "Count tables, as they are after the choice.",
            "Write down the new tables, and look for the block in each.",
            f"{owners[0]} lists it.",
        ),
        f"Listed by {words(owners)}.",
    )


def _copies(search: Search) -> Question:
    size, copies = search.block_size, search.num_copies
    last = [listed[-1] for listed in search.after.values()]
    shared = {block: last.count(block) for block in dict.fromkeys(last) if last.count(block) > 1}
    if search.stored % size:
        each = [
            f"Block {block}: {count} beams, so {count} - 1 copies."
            for block, count in shared.items()
        ]
        why = f"{' '.join(each)} The last one of each writes in place."
    else:
        each = [f"{search.stored} tokens fill the blocks of {size} to the end."]
        why = f"{each[0]} Each beam takes a new block, and full ones stay shared."
    return Question(
        "How many blocks are copied for the next step?",
        ("copies",),
        Whole(copies, "blocks"),
        (*each, f"That makes {copies}."),
        (
            "See whether the last block is full, and who shares it.",
            "A partly filled last block with so many beams needs one copy fewer; a full one needs none.",
            f"The last blocks are {ids(last)}, and {search.stored} tokens are stored.",
        ),
        f"{why} That is all that is ever copied: less than a block for each beam.",
    )
