"""The laws of admission with a watermark, and how a broken one is told."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from hypothesis import strategies as st

from pagesim.practice.drawing import Mistake, for_all, for_each, recognise
from pagesim.practice.exercise import Check, Exercise, Fault
from pagesim.practice.learner import Learner, flag, wholes
from pagesim.replay.phrases import counted
from pagesim_lessons.exercises.watermark.script import (
    Case,
    Request,
    Slip,
    answer,
    cases,
    film_of,
    reason,
)

# -- those that run ------------------------------------------------------------------------------------------


class Grower(NamedTuple):
    """The arguments of may_grow."""

    tokens: int
    free: int
    size: int
    watermark: int

    @property
    def right(self) -> bool:
        return self.tokens % self.size > 0 or self.free > 0


def _ask_grow(learner: Learner, case: Grower) -> bool:
    more = {"num_free": case.free, "block_size": case.size, "watermark": case.watermark}
    return flag(learner.call("may_grow", case.tokens, **more), "what may_grow gave")


def _told_grow(case: Grower, gave: object, words: str) -> Fault:
    tokens, free, size, _ = case
    used = tokens % size or size
    room = (
        f"full, so it needs a new one, and {free} {'is' if free == 1 else 'are'} free"
        if used == size
        else f"not full ({used} of {size} slots), so it needs no new one"
    )
    right = "it may" if case.right else "it may not"
    return Fault(
        f"a running sequence has {counted(tokens, 'token')}, its last block is {room}: {right}, and may_grow gave "
        f"{gave}{words}"
    )


GROWERS = [
    Grower(8, 2, 4, 2),
    Grower(8, 1, 4, 2),
    Grower(8, 3, 4, 2),
    Grower(8, 0, 4, 0),
    Grower(7, 0, 4, 2),
    Grower(7, 2, 4, 2),
    Grower(9, 0, 4, 0),
    Grower(12, 1, 4, 0),
]
KEPT_FOR = "; the blocks of the watermark are kept for exactly this"
GROW_MISTAKES: tuple[Mistake[Grower, bool], ...] = (
    Mistake(lambda c: c.free > c.watermark, KEPT_FOR),
    Mistake(lambda c: c.tokens % c.size > 0 or c.free > c.watermark, KEPT_FOR),
    Mistake(lambda c: c.tokens % c.size > 0 or c.free - 1 > c.watermark, KEPT_FOR),
    Mistake(lambda c: c.free >= c.watermark and c.free > 0, KEPT_FOR),
    Mistake(lambda c: c.tokens % c.size > 0 or (c.free > 0 and c.free >= c.watermark), KEPT_FOR),
    Mistake(lambda c: c.free > 0, ": a free block is needed only where the last one is full"),
    Mistake(
        lambda c: (c.tokens + 1) % c.size > 0 or c.free > 0,
        ": is the token that is to be written counted as if it were there already?",
    ),
)


def running(learner: Learner) -> None:
    recognise(
        learner,
        GROWERS,
        lambda case: _ask_grow(learner, case),
        lambda case: case.right,
        GROW_MISTAKES,
        _told_grow,
    )

    def examine(case: Grower) -> None:
        gave = _ask_grow(learner, case)
        if gave != case.right:
            raise _told_grow(case, gave, "")

    for_each(learner, GROWERS, examine)
    drawn = st.builds(
        Grower, st.integers(1, 12), st.integers(0, 4), st.integers(1, 4), st.integers(0, 4)
    )
    for_all(learner, drawn, examine)


# -- those that wait -----------------------------------------------------------------------------------------


def _ask(learner: Learner, case: Case) -> list[int]:
    waiting = [tuple(request) for request in case.waiting]
    names = ("num_running", "num_free", "block_size", "watermark", "budget")
    more = dict(zip(names, case[1:], strict=True))
    gave = wholes(learner.call("admit", waiting, **more), "what admit gave")
    learner.film = film_of(case, learner.lines[-1], gave)
    return gave


def _told(case: Case, gave: list[int], words: str) -> Fault:
    return Fault(f"{reason(case, gave)}; right is {answer(case)}, and admit gave {gave}{words}")


def law(examples: Sequence[Case], slips: dict[Slip, str]) -> Callable[[Learner], None]:
    """A check: the answers to these cases are right. If they are those of a usual slip, its words are told, too."""
    mistakes = [Mistake(_slipping(slip), words) for slip, words in slips.items()]

    def check(learner: Learner) -> None:
        recognise(learner, examples, lambda case: _ask(learner, case), answer, mistakes, _told)
        for_each(learner, examples, lambda case: _examine(learner, case))

    return check


def _slipping(slip: Slip) -> Callable[[Case], list[int]]:
    return lambda case: answer(case, slip)


def _examine(learner: Learner, case: Case) -> None:
    gave = _ask(learner, case)
    if gave != answer(case):
        raise _told(case, gave, "")


def one(tokens: int, found: int = 0, found_free: int = 0, *, free: int, **more: int) -> Case:
    """A case with one request; somebody runs."""
    return Case([Request(tokens, found, found_free)], 1, free, **more)


fits = law(
    [
        one(8, free=3),
        one(8, free=2),
        one(9, free=2),
        one(9, free=3),
        one(7, free=1),
        one(4, free=1),
    ],
    {
        Slip.SAMPLED_TOKEN: (
            ": is room counted for the token that comes out of this step? It is written in the next one"
        ),
        Slip.NOT_THE_LAST_BLOCK: ": without a watermark the last free block may be taken, too",
    },
)
hits = law(
    [
        one(9, 2, 0, free=1),
        one(9, 2, 2, free=3),
        one(9, 2, 2, free=2),
        one(9, 2, 1, free=2),
        one(9, 2, 1, free=1),
        one(9, 2, free=9),
        one(12, 2, 2, free=4),
    ],
    {
        Slip.FOUND_AS_NEW: (
            ": is a block that is found counted among the new ones? It is there already"
        ),
        Slip.FOUND_TWICE: (
            ": are the found blocks counted twice? What is found is not taken as a new block besides"
        ),
        Slip.FOUND_FREE_FOR_NOTHING: (
            ": a found block that is free now leaves the free queue, so there is one free block less"
        ),
        Slip.FOUND_IS_COMPUTED: ": the tokens of found blocks are not computed again",
    },
)
budget = law(
    [
        one(20, free=2, budget=8),
        one(20, free=1, budget=8),
        one(9, free=9, budget=8),
        Case([Request(6), Request(6)], 1, 9, budget=8),
        Case([Request(6), Request(6), Request(6)], 1, 9, budget=12),
        Case([Request(6)], 1, 9, budget=0),
    ],
    {
        Slip.WHOLE_PROMPT: (
            ": are blocks counted for the whole prompt? What is computed later takes its blocks later"
        ),
        Slip.WHOLE_OR_NOT: (
            ": what is longer than the budget begins with a part, and goes on in the next step"
        ),
        Slip.BUDGET_FOR_EACH: (
            ": the budget is one for all, and what a request computes is gone from it"
        ),
        Slip.WITHOUT_BUDGET: ": a request that computes nothing is not admitted",
    },
)
each_takes = law(
    [
        Case([Request(8), Request(8)], 1, 3),
        Case([Request(8), Request(8)], 1, 4),
        Case([Request(4), Request(4), Request(4)], 1, 2),
    ],
    {Slip.MEMORY_FOR_EACH: ": what an admitted request takes is not free for the next one"},
)
head = law(
    [
        Case([Request(9), Request(4)], 1, 2),
        Case([Request(4), Request(9), Request(4)], 1, 3),
        Case([Request(4), Request(4)], 1, 2),
    ],
    {Slip.OVERTAKES: ": if small ones overtook it, a large request might wait for ever"},
)
watermark = law(
    [
        one(8, free=4, watermark=2),
        one(8, free=3, watermark=2),
        one(8, free=2, watermark=2),
        one(8, free=5, watermark=2),
        one(12, free=4, watermark=2),
        Case([Request(4), Request(4), Request(4)], 1, 5, watermark=2),
    ],
    {
        Slip.NO_WATERMARK: ": so many must be free after it has started as the watermark says",
        Slip.NOT_THE_LAST_BLOCK: ": as many as the watermark says are enough, it needs not be one more",
        Slip.WATERMARK_BEFORE: (
            ": is the watermark compared with what is free before? It says what must be free afterwards"
        ),
    },
)
idle = law(
    [
        Case([Request(8)], 0, 2, watermark=2),
        Case([Request(8)], 0, 3, watermark=1),
        Case([Request(8), Request(4)], 0, 4, watermark=2),
        Case([Request(8), Request(4)], 0, 5, watermark=2),
        Case([Request(4), Request(4), Request(4)], 0, 3, watermark=1),
    ],
    {
        Slip.WATERMARK_ALWAYS: (
            ": where nobody runs, nobody needs room to grow, and what waits for more might wait for ever"
        ),
        Slip.NO_WATERMARK: ": whoever was admitted before it in this step runs, and needs room to grow",
        Slip.RUNNING_BEFORE: (
            ": whoever was admitted before it in this step runs, and needs room to grow"
        ),
    },
)


def admitted(learner: Learner) -> None:
    for_all(learner, cases(), lambda case: _examine(learner, case), examples=150)


EXERCISE = Exercise(
    name="watermark",
    title="Admit with a watermark",
    lesson=8,
    names=("may_grow", "admit"),
    hints=(
        (
            "One of the two functions has a parameter that it does not need. For the other: go through the queue, and "
            "keep three numbers up to date, what is free, what is left of the budget, and how many run."
        ),
        (
            "For the head of the queue: how many tokens does it compute (what is not found, but no more than the "
            "budget)? Up to which token is its table filled then, and how many blocks is that? Some of these are "
            "found. What leaves the free queue are the new ones and such found ones as are free now."
        ),
        (
            "Compare what would be free afterwards with the watermark, or with 0 if nobody runs; equal is enough. The "
            "first that cannot start, or has no budget, ends the loop: break, not continue. After an admission all "
            "three numbers change, so the second in an empty memory has to leave the watermark free."
        ),
    ),
    checks=(
        Check("running", "who runs may take the last free block", running),
        Check(
            "fits", "a request starts exactly if there are blocks for what it computes now", fits
        ),
        Check("hits", "what is found is not computed, and takes no new block", hits),
        Check("budget", "a step computes no more tokens than its budget", budget),
        Check("each-takes", "what one request takes is not free for the next", each_takes),
        Check("head", "nobody overtakes the first that has to wait", head),
        Check(
            "watermark", "after an admission as many blocks as the watermark are free", watermark
        ),
        Check("idle", "where nobody runs, no block has to stay free", idle),
        Check("admitted", "the head of the queue starts as long as it fits", admitted),
    ),
)
