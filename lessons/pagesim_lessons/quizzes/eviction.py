"""Eviction order: what the cache forgets when blocks are taken, and what is found after.

Knows nothing about other topics."""

from pagesim.practice.answers import Whole, Wholes
from pagesim.replay.phrases import counted
from pagesim_lessons.quizzes import rules
from pagesim_lessons.quizzes.draws import Draws, first_good
from pagesim_lessons.quizzes.problem import Posed, Question
from pagesim_lessons.quizzes.script import Op, Player, Pool, given, play_all, told
from pagesim_lessons.quizzes.wording import ids, numbered

RULES = (
    "Full blocks are kept for reuse: they hold cached content even after their request has ended, until they are taken "
    "for something else, which evicts the content. A request that starts with the same prompt as an earlier one lists "
    "those of its blocks that are still cached, from the start up to the first that is not, and never the block of "
    "the prompt's last token; a free one leaves the free list for it. Prompts that are not said to be the same have "
    "nothing in common. No request writes any output here."
)


def pose(draws: Draws) -> Posed:
    return first_good(draws, _attempt)


def _attempt(draws: Draws) -> Posed | None:
    size = 4
    pool = Pool(tuple(draws.shuffled(range(draws.whole(9, 11)))), size, caching=True)
    ops, again = _script(draws, size)
    before = play_all(pool, ops[:-1])
    player = play_all(pool, ops)
    if before is None or player is None or not 2 <= len(player.evicted) <= 5:
        return None
    if not len(before.cached_free()) >= 3 or before.evicted:
        return None
    prompt = next(op.tokens for op in ops if op.name == again)
    if not player.play(Op("start", "Z", prompt, again)):
        return None
    found = player.cached["Z"]
    if not 0 < found < (prompt - 1) // size * size and draws.chance(80):
        return None  # mostly something is left of it, and something is gone
    return _posed(pool, ops, before, again, prompt)


def _script(draws: Draws, size: int) -> tuple[list[Op], str]:
    """Two or three come and end in some order, perhaps one comes again and ends; then a large new one."""
    names = ["A", "B", "C"][: draws.whole(2, 3)]
    lengths = {name: draws.whole(1, 3) * size + draws.whole(0, size - 1) for name in names}
    ops = [Op("start", name, lengths[name]) for name in names]
    ops += [Op("end", name) for name in draws.shuffled(names)]
    if draws.chance(50):
        name = draws.one_of(names)
        ops += [Op("start", "D", lengths[name], name), Op("end", "D")]
    ops.append(Op("start", "N", draws.whole(4, 7) * size - draws.whole(0, size - 1)))
    return ops, draws.one_of(names)


def _posed(pool: Pool, ops: list[Op], before: Player, again: str, prompt: int) -> Posed:
    free, cached = before.free_list(), before.cached_free()
    player = play_all(pool, ops)
    assert player is not None
    story = (
        "A paged memory with a prefix cache, at first empty:",
        rules.free_list(pool),
        RULES,
        rules.taking(pool),
        "This happens, in this order:",
        numbered([told(op) for op in ops]),
    )
    questions = (
        _free(before, free),
        _cached(before, free, cached),
        _evicted(player),
        _found(player, again, prompt),
    )
    return Posed(story, questions, {**pool.given(), "script": given(ops)})


def _free(before: Player, free: list[int]) -> Question:
    return Question(
        "What is the whole free list just before N starts, front first?",
        ("free list before N",),
        Wholes(free),
        (*before.said, f"So it is {ids(free)}."),
        (
            "Full blocks and partly filled ones part ways when a request ends.",
            (
                "For each end: a partly filled last block to the front; the full ones to the back, the last of the "
                "table first."
            ),
            before.begins,
        ),
        f"{ids(free)}. Without content first, then the content that has not been used for longest, and of one request "
        "the end of its prompt before the start.",
    )


def _cached(before: Player, free: list[int], cached: list[int]) -> Question:
    return Question(
        "Which of these hold cached content, in the same order?",
        ("cached free before N",),
        Wholes(cached),
        (*before.said, f"Of {ids(free)}, cached content is in {ids(cached)}."),
        (
            "Think of which blocks were ever filled to the end.",
            "Every full block of a prompt that was computed holds content, until it is taken again.",
            f"There are {len(cached)} of them.",
        ),
        f"{ids(cached)}: a block that came free is not empty; it keeps what it holds until it is taken.",
    )


def _evicted(player: Player) -> Question:
    evicted, taken = tuple(player.evicted), player.table("N")
    return Question(
        "N starts. Which blocks' cached content is evicted, in order?",
        ("evicted",),
        Wholes(evicted),
        (
            player.said[-1],
            f"Of these, cached content was in {ids(evicted)}.",
        ),
        (
            "N takes what stands first; ask of each block whether it held something.",
            "Cross out as many blocks at the front of the free list as N needs.",
            f"N needs {len(taken)} blocks, and begins with {taken[0]}.",
        ),
        f"N takes {ids(taken)}; {ids(evicted)} held content. The order of the free list is the order of eviction.",
    )


def _found(player: Player, again: str, prompt: int) -> Question:
    size = player.pool.block_size
    player.play(Op("start", "Z", prompt, again))
    found = player.cached["Z"]
    most = (prompt - 1) // size
    why = "As the end of a prompt is evicted before its start, what is left can be used."
    if not found:
        why = "Its start is gone, and without the start nothing of it can be found."
    return Question(
        f"After that, while N still runs, {again}'s prompt comes once more. How many of its {prompt} tokens are found?",
        ("found", again, prompt),
        Whole(found, "tokens"),
        (
            f"At most ({prompt} - 1) // {size} = {most} blocks could be found.",
            f"Still in the cache, without a gap from the start: {found // size}.",
            f"{found // size} x {size} = {found}.",
        ),
        (
            "Was the start of the prompt evicted, or its end?",
            (
                f"Follow {again}'s blocks from the first on, until one has been evicted; the block of the last token "
                "is never used."
            ),
            f"{again} has {prompt} tokens: {counted(prompt // size, 'full block')}.",
        ),
        f"{found} tokens. {why}",
    )
