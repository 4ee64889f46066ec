"""Copy-on-write: who copies what, in which order, and who writes in place. Knows nothing about other topics."""

from pagesim.practice.answers import Names, Pairs, Whole
from pagesim.replay.phrases import counted
from pagesim_lessons.quizzes import rules
from pagesim_lessons.quizzes.draws import Draws, first_good
from pagesim_lessons.quizzes.problem import Posed, Question
from pagesim_lessons.quizzes.script import Op, Player, Pool, given, play_all, told
from pagesim_lessons.quizzes.table_question import table_question
from pagesim_lessons.quizzes.wording import ids, numbered, sums, words

RULES = (
    "A fork lists the same blocks as its parent; nothing is copied. Blocks are taken from the front of the free list, "
    "when a token needs one. Who is about to write to a block that other tables list, too, first takes a block in its "
    "place, and what is in the old one is copied there: a copy, of as many slots as hold tokens. Who is the only one "
    "left that lists a block writes in place. A full block is never written again. (Copy-on-write is the paper's and "
    "vLLM V0's; V1 shares full blocks only, by its prefix cache, and copies nothing.)"
)


def pose(draws: Draws) -> Posed:
    return first_good(draws, _attempt)


def _attempt(draws: Draws) -> Posed | None:
    size = draws.one_of((4, 4, 8))
    pool = Pool(tuple(draws.shuffled(range(draws.whole(12, 16)))), size)
    ops = _script(draws, size)
    player = play_all(pool, ops)
    if player is None or len(player.copies) < 2 or not player.in_place:
        return None
    if len(player.in_place) > len(set(player.in_place)):
        return None
    return _posed(pool, ops, player, draws.one_of([op.name for op in ops if op.kind == "fork"]))


def _script(draws: Draws, size: int) -> list[Op]:
    """A group that forks inside a block, and often a pair that forks where one just ends; then everybody writes."""
    prompt = draws.whole(1, 2) * size + draws.whole(1, size - 1)
    first = ("A", "B", "C", "D")[: draws.whole(3, 4)]
    tokens = dict.fromkeys(first, prompt)
    ops = [Op("start", "A", prompt), *(Op("fork", name, prompt, "A") for name in first[1:])]
    if draws.chance(60):
        full = draws.whole(1, 2) * size + (0 if draws.chance(60) else draws.whole(1, size - 1))
        tokens |= {"P": full, "Q": full}
        ops += [Op("start", "P", full), Op("fork", "Q", full, "P")]
    for name in draws.shuffled(list(tokens)):
        ops.append(Op("grow", name, tokens[name] + draws.whole(1, 2)))
    return ops


def _posed(pool: Pool, ops: list[Op], player: Player, name: str) -> Posed:
    story = (
        "A paged memory, at first empty:",
        rules.free_list(pool),
        RULES,
        "This happens, in this order:",
        numbered([told(op) for op in ops]),
    )
    questions = (_copies(player), _slots(player), _in_place(player), _table(player, name))
    return Posed(story, questions, {**pool.given(), "script": given(ops)})


def _copies(player: Player) -> Question:
    pairs = [(copy.source, copy.target) for copy in player.copies]
    answer = Pairs(pairs)
    return Question(
        "Which blocks are copied to which, in the order in which it happens?",
        ("copies",),
        answer,
        (*player.said, f"The copies, in order: {answer.shown()}."),
        (
            "A fork copies nothing; look at each write, one after another.",
            (
                "At each write, count the tables that list the block it goes to. If there are more than one, the next "
                "free block is taken and the count goes down."
            ),
            f"There are {len(pairs)} copies. {player.begins}",
        ),
        f"{answer.shown()}: of n sequences that share a partly filled block, n - 1 copy it and the last one writes in "
        "place. Nobody copies a full block.",
    )


def _slots(player: Player) -> Question:
    slots = [copy.num_slots for copy in player.copies]
    return Question(
        "How many slots are copied in all?",
        ("copied slots",),
        Whole(sum(slots), "slots"),
        (
            *[
                f"Block {source} held {counted(num_slots, 'token')} when it was copied to {target}."
                for source, target, num_slots in player.copies
            ],
            f"Together: {sums(slots)}.",
        ),
        (
            "Only slots that hold a token are copied.",
            "For each copy: how many tokens of the forked sequence are in its last block?",
            f"There are {len(slots)} copies; the first is of {counted(slots[0], 'slot')}.",
        ),
        f"{sums(slots)}. A copy is of less than a block, whatever the length of the prompt.",
    )


def _in_place(player: Player) -> Question:
    answer = Names(player.in_place, "sequences", ordered=False)
    return Question(
        "Which sequences write in place to a block that they had shared?",
        ("in place",),
        answer,
        (*player.said, f"In place wrote {words(player.in_place)}."),
        (
            "Somebody is left alone with the old block.",
            "For each block that was copied: who wrote to it last?",
            (
                f"Follow the writes to the blocks {ids(dict.fromkeys(c.source for c in player.copies))}, and see whose "
                "comes last."
            ),
        ),
        f"{words(player.in_place)}: by then everybody else had a copy, so the count was 1.",
    )


def _table(player: Player, name: str) -> Question:
    hints = (
        "Start from the parent's table as it was at the fork.",
        "The last entry changes if the write needed a copy; a write past the last block adds an entry.",
    )
    return table_question(player, name, hints)
