"""The laws of a free list, and how a broken one is told."""

from time import perf_counter

from pagesim.practice.drawing import Examples, Mistake, recognise
from pagesim.practice.exercise import Check, Exercise, Fault
from pagesim.practice.learner import Learner, Subject, whole
from pagesim.replay.phrases import be, counted, listed
from pagesim_lessons.exercises.free_list.script import Give, Moment, Take, play, scripts


def once(moment: Moment) -> None:
    """What is handed out must be there, and nobody else's."""
    operation, num_blocks, free, came, _ = moment
    if not isinstance(operation, Take) or not isinstance(came, int) or came in free:
        return
    if not 0 <= came < num_blocks:
        raise Fault(
            f"take() gave {came}, and there is no such block: there {be(num_blocks)} "
            f"{counted(num_blocks, 'block')}, numbered from 0"
        )
    raise Fault(
        f"take() gave block {came}, which was taken before and has not been given back since: two sequences would "
        "write into it"
    )


def order(moment: Moment) -> None:
    operation, _, free, came, _ = moment
    if isinstance(operation, Take) and isinstance(came, int) and came in free and came != free[0]:
        raise _not_next(free, came, "")


def _not_next(free: list[int], came: int, which: str) -> Fault:
    return Fault(
        f"take() gave block {came}{which}; {listed(free)} became free in this order, so block {free[0]} has been free "
        "the longest and is next"
    )


played = Examples(scripts(), play)
played_once, played_order = played.always(once), played.always(order)


def usual_orders(learner: Learner) -> None:
    """All blocks are taken and come back in another order: which one is next tells what the learner goes by."""

    def ask(back: list[int]) -> int:
        free_list = learner.make("free_list", "FreeList", len(back))
        for _ in back:
            free_list.call("take")
        for block in back:
            free_list.call("give", block)
        return whole(free_list.call("take"), "what take() gave")

    recognise(
        learner,
        [[1, 0], [0, 1], [2, 0, 1], [1, 2, 0, 3]],
        ask,
        lambda back: back[0],
        [
            Mistake(lambda back: back[-1], ", the one that came back last"),
            Mistake(min, ", the one with the lowest number"),
            Mistake(max, ", the one with the highest number"),
        ],
        _not_next,
    )
    played_order(learner)


def nothing_free(moment: Moment) -> None:
    operation, _, free, came, _ = moment
    if not isinstance(operation, Take):
        return
    if free and came is None:
        raise Fault(f"take() gave None, and {listed(free)} {be(len(free))} free")
    if not free and isinstance(came, Exception):
        raise Fault(
            f"take() raised {type(came).__name__}, and where no block is free it is to give None"
        )


def give_back(moment: Moment) -> None:
    operation, num_blocks, free, came, _ = moment
    if not isinstance(operation, Give) or operation.block in free:
        return
    if 0 <= operation.block < num_blocks and isinstance(came, Exception):
        raise Fault(
            f"give({operation.block}) raised ValueError, and block {operation.block} is not free: it was taken, and is "
            "now given back"
        )


def twice(moment: Moment) -> None:
    operation, _, free, came, _ = moment
    if isinstance(operation, Give) and operation.block in free and not isinstance(came, ValueError):
        raise Fault(
            f"give({operation.block}) {_raised(came)}, and block {operation.block} is free already, so ValueError is "
            "to be raised: a block that is free twice is handed to two sequences"
        )


def outside(moment: Moment) -> None:
    operation, num_blocks, _, came, _ = moment
    if not isinstance(operation, Give) or 0 <= operation.block < num_blocks:
        return
    if not isinstance(came, ValueError):
        raise Fault(
            f"give({operation.block}) {_raised(came)}, and there is no block {operation.block} (the blocks are 0 to "
            f"{num_blocks - 1}), so ValueError is to be raised"
        )


def _raised(came: object) -> str:
    return f"raised {type(came).__name__}" if isinstance(came, Exception) else "raised nothing"


def refused(moment: Moment) -> None:
    operation, _, _, came, (before, after) = moment
    if isinstance(operation, Give) and isinstance(came, ValueError) and before != after:
        raise Fault(
            f"give({operation.block}) raised ValueError and has changed num_free from {before} to {after} all the "
            "same: look first, change then"
        )


def count(moment: Moment) -> None:
    operation, _, free, came, (before, after) = moment
    right = len(free)
    if isinstance(operation, Take):
        right -= bool(free)
    elif came is None:
        right += 1
    if isinstance(operation, Take) and free and after == before:
        raise Fault(
            f"take() gave block {came}, and num_free is {after} before and after: a block that is taken is not free "
            "any more"
        )
    if after != right:
        call = "take()" if isinstance(operation, Take) else f"give({operation.block})"
        raise Fault(
            f"after {call} num_free is {after}, and {counted(right, 'block')} {be(right)} free"
        )


FEW, MANY, CALLS, TRIES = 400, 300_000, 50, 3
IN_A_ROW = 30_000
SLOWER, SPARE_S = 10, 150e-6


def constant_time(learner: Learner) -> None:
    """Rows of calls are timed, among few blocks and among many; what copies or searches is a thousand times slower."""
    few, many = _times(learner, FEW), _times(learner, MANY)
    makes = f"free_list = FreeList({MANY})"
    for name, does, quick, slow in (
        ("take", "moves all of them, or searches them", few[0], many[0]),
        ("give", "searches all of them, or moves them", few[1], many[1]),
    ):
        if slow > SLOWER * quick + SPARE_S:
            raise Fault(
                f"{name} takes much longer with {MANY:,} free blocks than with {FEW}, so something in it {does}: a "
                "call must take the same time however many there are",
                (makes, "free_list.take()", *["free_list.give(0)"] * (name == "give")),
            )
    _steady(learner, makes)


def _steady(learner: Learner, makes: str) -> None:
    """Many takes in a row: the last are as quick as the first."""
    learner.begin()
    free_list = learner.make("free_list", "FreeList", MANY)
    first = min(_timed(free_list, "take", [()] * CALLS) for _ in range(TRIES))
    _timed(free_list, "take", [()] * IN_A_ROW)
    last = min(_timed(free_list, "take", [()] * CALLS) for _ in range(TRIES))
    if last > SLOWER * first + SPARE_S:
        raise Fault(
            f"many takes in a row get slower and slower: after {IN_A_ROW:,} a take needs much longer than the first "
            "did, so something in it walks over all that was taken before (next(iter(...)) of a dict does; the first "
            "of an OrderedDict or a deque is found at once)",
            (makes, f"taken = [free_list.take() for _ in range({IN_A_ROW})]", "free_list.take()"),
        )


def _times(learner: Learner, num_blocks: int) -> tuple[float, float]:
    """Seconds that a row of takes, and a row of gives, takes at best."""
    learner.begin()
    free_list = learner.make("free_list", "FreeList", num_blocks)
    takes = [_timed(free_list, "take", [()] * CALLS) for _ in range(TRIES)]
    rows = [[(block,) for block in range(n * CALLS, (n + 1) * CALLS)] for n in range(TRIES)]
    gives = [_timed(free_list, "give", row) for row in rows]
    return min(takes), min(gives)


def _timed(free_list: Subject, name: str, calls: list[tuple[()]] | list[tuple[int]]) -> float:
    method = free_list.look(name)
    assert callable(method)

    def row() -> float:
        begin = perf_counter()
        for arguments in calls:
            method(*arguments)
        return perf_counter() - begin

    line = f"free_list.{name}(%s)  # {len(calls)} times"
    seconds = free_list.learner.run(row, name, (), {}, line=line, quiet=True)
    assert isinstance(seconds, float)
    return seconds


EXERCISE = Exercise(
    name="free-list",
    title="Free blocks, in order",
    lesson=3,
    names=("FreeList",),
    hints=(
        (
            "It is a queue: who came back first is taken first. Which container of the standard library adds at one "
            "end and takes from the other, without moving what is in between?"
        ),
        (
            "collections.deque does. But to ask whether a block is in it means to search all of it. Keep something "
            "beside it that answers at once: for each block, whether it is free."
        ),
        (
            "take: nothing free, None; else take the block from the left of the queue, and mark it as not free. give: "
            "refuse a number that is below 0 or too large, then a block that is marked as free; only then mark it, and "
            "add it on the right. Look at the number first: Python takes a negative index from the end of a list."
        ),
    ),
    checks=(
        Check("once", "a block that is handed out is nobody else's", played_once),
        Check("order", "the block that has been free the longest is taken", usual_orders),
        Check(
            "nothing-free",
            "take gives None where no block is free, and only there",
            played.always(nothing_free),
        ),
        Check("give-back", "a block that was taken can be given back", played.always(give_back)),
        Check("twice", "a block that is free already is refused", played.always(twice)),
        Check("no-such-block", "a block that is not there is refused", played.always(outside)),
        Check("refused", "a give that is refused changes nothing", played.always(refused)),
        Check("num-free", "num_free is the number of free blocks", played.always(count)),
        Check(
            "constant-time",
            "take and give take the same time, however many blocks there are, and after many calls, too",
            constant_time,
        ),
    ),
)
