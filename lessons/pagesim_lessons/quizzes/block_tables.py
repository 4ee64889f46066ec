"""Block tables: requests come, grow and go; which physical block stands where. Knows nothing about other topics."""

from pagesim.practice.answers import Whole, Wholes
from pagesim_lessons.quizzes import rules
from pagesim_lessons.quizzes.draws import Draws, first_good
from pagesim_lessons.quizzes.problem import Posed, Question
from pagesim_lessons.quizzes.script import Op, Player, Pool, given, play_all, told
from pagesim_lessons.quizzes.wording import LETTERS, ids, numbered

NUM_OPS = 7
NUM_FIRST = 3  # of the free list, asked for at the end


def pose(draws: Draws) -> Posed:
    return first_good(draws, _attempt)


def _attempt(draws: Draws) -> Posed | None:
    block_size = draws.one_of((4, 4, 4, 8))
    num_blocks = draws.whole(9, 12)
    pool = Pool(tuple(draws.shuffled(range(num_blocks))), block_size, to_front=draws.chance(65))
    ops = _script(draws, block_size)
    player = play_all(pool, ops)
    if player is None or not _good(player, ops):
        return None
    return _posed(pool, ops, player)


def _script(draws: Draws, block_size: int) -> list[Op]:
    """Two start; then whatever comes, with one or two ends, and somebody who takes blocks after them."""
    names = iter(LETTERS)
    living: dict[str, int] = {}
    ops: list[Op] = []

    def start() -> None:
        name, tokens = next(names), draws.whole(block_size // 2, 3 * block_size)
        living[name] = tokens
        ops.append(Op("start", name, tokens))

    start()
    start()
    while len(ops) < NUM_OPS:
        kind = draws.one_of(("start", "grow", "grow", "grow", "end"))
        if kind == "start":
            start()
        elif kind == "grow":
            name = draws.one_of(list(living))
            living[name] += draws.whole(1, block_size)
            ops.append(Op("grow", name, living[name]))
        elif len(living) > 1:
            name = draws.one_of(list(living))
            del living[name]
            ops.append(Op("end", name))
    return ops


def _good(player: Player, ops: list[Op]) -> bool:
    ends = [place for place, op in enumerate(ops) if op.kind == "end"]
    if len(player.living) < 2 or not 1 <= len(ends) <= 2 or ends[-1] > len(ops) - 2:
        return False
    took = ["; it takes" in text and "takes none" not in text for text in player.said]
    tables = [player.table(name) for name in player.living[-2:]]
    return (
        any(took[ends[0] + 1 :])
        and sum(took) < len(ops) - len(ends)  # somebody grows within a block
        and all(2 <= len(table) <= 5 for table in tables)
        and len(player.free_list()) >= NUM_FIRST
    )


def _posed(pool: Pool, ops: list[Op], player: Player) -> Posed:
    story = (
        "A paged memory, at first empty:",
        rules.free_list(pool),
        rules.taking(pool),
        "This happens, in this order:",
        numbered([told(op) for op in ops]),
    )
    working = tuple(player.said)
    questions = [_table(player, working, name) for name in player.living[-2:]]
    questions.append(_free(player, working))
    questions.append(_empty(player, player.living[-1]))
    return Posed(story, tuple(questions), {**pool.given(), "script": given(ops)})


def _table(player: Player, working: tuple[str, ...], name: str) -> Question:
    table, tokens = player.table(name), player.tokens[name]
    size = player.pool.block_size
    return Question(
        f"Which blocks does {name}'s block table list at the end?",
        ("table", name),
        Wholes(table),
        (*working, f"{name}'s table is what it has taken, in that order: {ids(table)}."),
        (
            "Keep the free list on paper and cross out its front whenever somebody takes a block.",
            f"A request of n tokens has n / {size} blocks, rounded up. A step that does not raise this takes nothing.",
            f"{name} has {tokens} tokens at the end: {len(table)} blocks. {player.begins}",
        ),
        f"A table lists blocks in the order in which tokens filled them: {ids(table)}. That they lie anywhere in "
        "memory does not matter; only the table has to know.",
    )


def _free(player: Player, working: tuple[str, ...]) -> Question:
    free = player.free_list()
    first = free[:NUM_FIRST]
    place = "front" if player.pool.to_front else "back"
    return Question(
        f"Which {NUM_FIRST} blocks stand first in the free list at the end?",
        ("free list", NUM_FIRST),
        Wholes(first),
        (
            *working,
            f"The free list at the end is {ids(free)}; its first {NUM_FIRST} are {ids(first)}.",
        ),
        (
            "Follow the free list, not the tables; what ends changes it, too.",
            f"Who takes blocks crosses them out at the front; who ends puts its own to the {place}, in reverse.",
            f"In all {len(free)} blocks are free at the end. {player.begins}",
        ),
        f"The order of the free list decides who gets which block next: {ids(free)}.",
    )


def _empty(player: Player, name: str) -> Question:
    table, tokens, size = player.table(name), player.tokens[name], player.pool.block_size
    empty = len(table) * size - tokens
    sum_ = f"{len(table)} blocks x {size} - {tokens} tokens = {empty}"
    return Question(
        f"How many slots of {name}'s last block hold no token at the end?",
        ("empty", name),
        Whole(empty, "slots"),
        (
            f"{name} has {tokens} tokens.",
            f"It holds {len(table)} blocks of {size} slots.",
            f"{sum_}.",
        ),
        (
            "Only the last block of a table can be filled in part.",
            "Slots of all its blocks, less its tokens.",
            f"{name} has {tokens} tokens in {len(table)} blocks of {size}.",
        ),
        f"{sum_}: less than a block, whatever the length. It is all that paging wastes of a request.",
    )
