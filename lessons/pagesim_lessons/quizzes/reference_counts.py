"""Reference counts after a fork script: how many tables list a block, and what comes free when one ends.

Knows nothing about other topics.
"""

from pagesim.practice.answers import Whole, Wholes
from pagesim_lessons.quizzes import rules
from pagesim_lessons.quizzes.draws import Draws, first_good
from pagesim_lessons.quizzes.problem import Posed, Question
from pagesim_lessons.quizzes.script import Op, Player, Pool, given, play_all, told
from pagesim_lessons.quizzes.table_question import table_question
from pagesim_lessons.quizzes.wording import LETTERS, ids, numbered, words

FORKS = (
    "A fork makes a second sequence with the same tokens: its table lists the same blocks, and nothing is copied. A "
    "block's reference count is the number of tables that list it. Who is about to write to a block with a count above "
    "1 takes a free block in its place first, and the tokens are copied there (copy-on-write)."
)


def pose(draws: Draws) -> Posed:
    return first_good(draws, _attempt)


def _attempt(draws: Draws) -> Posed | None:
    size = 4
    pool = Pool(tuple(draws.shuffled(range(draws.whole(10, 13)))), size)
    ops = _script(draws, size)
    player = play_all(pool, ops)
    if player is None or len(player.living) < 3 or not player.copies:
        return None
    counts = {block: player.ref_count(block) for block in sorted(pool.free)}
    shared = [block for block, count in counts.items() if count >= 2]
    single = [block for block, count in counts.items() if count == 1]
    ending = draws.one_of(player.living)
    freed = [block for block in player.table(ending) if counts[block] == 1]
    if not shared or not single or not freed or len(freed) == len(player.table(ending)):
        return None
    most = max(counts.values())
    first = draws.one_of([block for block in shared if counts[block] == most])
    second = draws.one_of([block for block in shared + single if block != first])
    return _posed(pool, ops, player, (first, second), ending)


def _script(draws: Draws, size: int) -> list[Op]:
    """A prompt that fills its last block in part; forks; writes in some order; one ends."""
    prompt = draws.whole(1, 2) * size + draws.whole(1, size - 1)
    names = LETTERS[: draws.whole(3, 4)]
    tokens = dict.fromkeys(names, prompt)
    ops = [Op("start", "A", prompt)]
    ops += [Op("fork", name, prompt, "A") for name in names[1:]]
    for name in draws.shuffled(names)[: draws.whole(2, len(names))]:
        tokens[name] += draws.whole(1, size - 1)
        ops.append(Op("grow", name, tokens[name]))
    if len(names) > 3:
        ops.append(Op("end", draws.one_of(names)))
    else:
        name, last = draws.one_of(names), LETTERS[3]
        ops.append(Op("fork", last, tokens[name], name))
    return ops


def _posed(pool: Pool, ops: list[Op], player: Player, asked: tuple[int, int], ending: str) -> Posed:
    story = (
        "A paged memory, at first empty:",
        rules.free_list(pool),
        rules.taking(pool),
        FORKS,
        "This happens, in this order:",
        numbered([told(op) for op in ops]),
    )
    questions = (
        _count(player, asked[0]),
        _count(player, asked[1]),
        _free(player),
        _table(player, _other(player, ending)),
        _freed(player, ending),
    )
    return Posed(story, questions, {**pool.given(), "script": given(ops)})


def _other(player: Player, ending: str) -> str:
    """Whose table to ask for: somebody else's, who joined last."""
    return next(name for name in reversed(player.living) if name != ending)


def _listed(player: Player, block: int) -> list[str]:
    return [name for name in player.living if block in player.table(name)]


def _tables(player: Player) -> str:
    return "; ".join(f"{name}: {ids(player.table(name))}" for name in player.living)


def _count(player: Player, block: int) -> Question:
    count, owners = player.ref_count(block), _listed(player, block)
    return Question(
        f"What is the reference count of block {block} at the end?",
        ("count", block),
        Whole(count),
        (
            *player.said,
            f"The tables at the end: {_tables(player)}.",
            f"Block {block} stands in {count} of them: {words(owners)}.",
        ),
        (
            "A count is about tables, neither about tokens nor about requests.",
            "Write down every table at the end, and count those with the block in them.",
            player.begins,
        ),
        f"Listed by {words(owners)}: {count}.",
    )


def _free(player: Player) -> Question:
    free, blocks = player.free_list(), len(player.pool.free)
    held = blocks - len(free)
    return Question(
        "How many blocks are free at the end?",
        ("free",),
        Whole(len(free), "blocks"),
        (
            *player.said,
            f"The tables at the end: {_tables(player)}. That is {held} different blocks.",
            f"{blocks} - {held} = {len(free)}.",
        ),
        (
            "A block that two tables list is still one block.",
            "Count the different blocks in all tables, and take them from all there are.",
            player.begins,
        ),
        f"Tables list {sum(len(player.table(name)) for name in player.living)} entries, but only {held} different "
        f"blocks: {blocks} - {held} = {len(free)} are free.",
    )


def _table(player: Player, name: str) -> Question:
    hints = (
        "A fork's table begins as its parent's, and changes only where it writes to what others list.",
        "Only the partly filled last block can be replaced; full ones are never written again.",
    )
    shared = ids(block for block in player.table(name) if player.ref_count(block) > 1)
    return table_question(player, name, hints, f"; of these, {shared} are shared")


def _freed(player: Player, ending: str) -> Question:
    table = player.table(ending)
    freed = [block for block in table if player.ref_count(block) == 1]
    kept = [block for block in table if player.ref_count(block) > 1]
    return Question(
        f"Now {ending} ends. Which blocks come free?",
        ("freed", ending),
        Wholes(freed, ordered=False),
        (
            f"{ending}'s table is {ids(table)}.",
            f"Others list {ids(kept)} too: their counts go down by 1 and stay above 0.",
            f"Free are those that only {ending} lists: {ids(freed)}.",
        ),
        (
            "A block comes free when its count reaches zero.",
            "Of the table of who ends, take the blocks that nobody else lists.",
            f"{ending}'s table is {ids(table)}.",
        ),
        f"Only {ids(freed)} had a count of 1; {ids(kept)} stay with the others.",
    )
