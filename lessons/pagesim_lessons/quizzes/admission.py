"""Admission: who starts in a step, under a watermark and a limit, and who waits though memory is free.

The story is a real run, told at one step. Knows nothing about other topics.
"""

from dataclasses import dataclass

from pagesim.core.memories import MemorySettings, build_memory
from pagesim.core.request import Request
from pagesim.core.scheduler_config import SchedulerConfig
from pagesim.core.types import blocks_for
from pagesim.practice.answers import Names, Whole
from pagesim.replay.phrases import counted
from pagesim.sim.executor import STEP_NS, BlankTokens, StepClock
from pagesim.sim.simulate import put_together
from pagesim_lessons.quizzes.draws import Draws, first_good
from pagesim_lessons.quizzes.problem import Drawn, Posed, Question
from pagesim_lessons.quizzes.wording import LETTERS, sums, table, words

SIZE = 4

RULES = (
    "In each step those who run are served first: each stores one more token, and takes a block if its own are full. "
    "Then waiting requests start, from the head of the queue: one starts if as many blocks are free as its whole "
    "prompt needs, and if as many as the watermark says are free after that. The first that cannot start ends it for "
    "the step; nobody passes it. The watermark holds for those who start, not for those who run. No more run at once "
    "than the limit says."
)


@dataclass(frozen=True, slots=True)
class Case:
    """A memory, its rules, the running (name, tokens stored) and the waiting (name, prompt), before a step."""

    num_blocks: int
    watermark: int
    limit: int
    running: tuple[tuple[str, int], ...]
    waiting: tuple[tuple[str, int], ...]

    @property
    def free(self) -> int:
        return self.num_blocks - sum(blocks_for(stored, SIZE) for _, stored in self.running)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the step did: who started, and how many blocks are free while it runs."""

    started: tuple[str, ...]
    free: int


def pose(draws: Draws) -> Posed:
    want = draws.whole(0, 2)
    return first_good(draws, lambda d: _attempt(d, want))


def _attempt(draws: Draws, want: int) -> Posed | None:
    """``want``: how many are to start, so that all cases are equally frequent."""
    names = iter(LETTERS)
    running = tuple((next(names), draws.whole(5, 20)) for _ in range(draws.whole(2, 3)))
    waiting = tuple((next(names), draws.whole(3, 22)) for _ in range(draws.whole(3, 4)))
    held = sum(blocks_for(stored, SIZE) for _, stored in running)
    watermark = draws.whole(1, 3)
    limit = draws.whole(len(running) + 1, len(running) + 3)
    case = Case(held + draws.whole(3, 12), watermark, limit, running, waiting)
    outcome = _run(case)
    if outcome is None or len(outcome.started) != want or len(outcome.started) == len(waiting):
        return None
    if not outcome.started and not outcome.free:
        return None
    is_at_limit = len(outcome.started) == limit - len(running)
    if is_at_limit and draws.chance(70):
        return None  # mostly it is memory that stops it
    takers = sum(stored % SIZE == 0 for _, stored in running)
    if not takers and (is_at_limit or not outcome.started or draws.chance(60)):
        return None  # something happens; mostly somebody who runs takes a block, too
    return _posed(case, outcome)


def _run(case: Case) -> Outcome | None:
    """The step in which the waiting are looked at. ``None``: somebody had to give way."""
    settings = MemorySettings(case.num_blocks * SIZE, SIZE)
    config = SchedulerConfig(max_num_seqs=case.limit, watermark_blocks=case.watermark)
    arrivals = [
        *((0, Request(name, range(stored), 3)) for name, stored in case.running),
        *((STEP_NS, Request(name, range(prompt), 3)) for name, prompt in case.waiting),
    ]
    memory = build_memory("paged", settings)
    loop = put_together(memory, config, StepClock(BlankTokens()), arrivals)
    first = loop.step()
    if first is None or len(first.admitted) != len(case.running):
        return None  # the watermark holds for them, too
    step = loop.step()
    if step is None or step.preempted:
        return None
    started = tuple(seq.name for seq in step.admitted)
    lengths = {seq.name: seq.num_computed for seq in step.sequences}
    held = sum(blocks_for(tokens, SIZE) for tokens in lengths.values())
    return Outcome(started, case.num_blocks - held)


def _posed(case: Case, outcome: Outcome) -> Posed:
    running = [(name, stored, blocks_for(stored, SIZE)) for name, stored in case.running]
    story = (
        RULES,
        Drawn(
            (
                f"blocks            {case.num_blocks}, each of {SIZE} slots; {case.free} of them free",
                f"watermark         {counted(case.watermark, 'block')}",
                f"requests at once  at most {case.limit}",
            )
        ),
        "Before a step these run:",
        table(("running", "tokens stored", "blocks held"), running),
        "and these wait, in this order:",
        table(("waiting", "prompt tokens"), case.waiting),
    )
    questions = (
        _taken(case),
        _started(case, outcome),
        _free(case, outcome),
        _head(case, outcome),
    )
    given = {
        "num_blocks": case.num_blocks,
        "block_size": SIZE,
        "watermark": case.watermark,
        "limit": case.limit,
        "running": [list(one) for one in case.running],
        "waiting": [list(one) for one in case.waiting],
    }
    return Posed(story, questions, given)


def _full(case: Case) -> list[str]:
    return [name for name, stored in case.running if stored % SIZE == 0]


def _taken(case: Case) -> Question:
    full = _full(case)
    return Question(
        "How many blocks do those who run take in this step?",
        ("taken",),
        Whole(len(full), "blocks"),
        (
            f"A block is full if the number of tokens stored is a multiple of {SIZE}.",
            f"That is so for {words(full)}: {counted(len(full), 'block')}.",
        ),
        (
            "One more token needs a block only where the last one is full.",
            f"Count those whose number of stored tokens is a multiple of {SIZE}.",
            f"{case.running[0][0]} has {case.running[0][1]} tokens in blocks of {SIZE}.",
        ),
        f"{words(full) if full else 'Nobody'}: the others still have room in their last block.",
    )


def _walk(case: Case, outcome: Outcome) -> tuple[str, ...]:
    """The queue from its head, as far as it is looked at."""
    free = case.free - len(_full(case))
    lines = [
        f"{case.free} - {len(_full(case))} = {free} blocks are free once those who run are served."
    ]
    seats = case.limit - len(case.running)
    for name, prompt in case.waiting:
        if not seats:
            lines.append(f"{case.limit} run: nobody else may start.")
            break
        need = blocks_for(prompt, SIZE)
        left = free - need
        if name not in outcome.started:
            why = f"which would leave {left}, below the watermark of {case.watermark}"
            if left < 0:
                why = f"and {free} are free"
            lines.append(f"{name} needs {need}, {why}: it waits, and all behind it.")
            break
        lines.append(f"{name} needs {need} and leaves {left}, not below the watermark: it starts.")
        free, seats = left, seats - 1
    return tuple(lines)


def _started(case: Case, outcome: Outcome) -> Question:
    walk = _walk(case, outcome)
    return Question(
        "Who starts in this step, in order?",
        ("started",),
        Names(outcome.started, "requests"),
        (*walk, f"So {words(outcome.started)}."),
        (
            "Go through the queue from its head, and stop at the first that cannot start.",
            "Free blocks, less those of the prompt, must not be fewer than the watermark.",
            walk[0],
        ),
        f"{walk[-1]} A small request behind a large one waits, too: so nobody waits for ever.",
    )


def _free(case: Case, outcome: Outcome) -> Question:
    prompts = dict(case.waiting)
    taken = [blocks_for(prompts[name], SIZE) for name in outcome.started]
    total = len(_full(case)) + sum(taken)
    parts = [len(_full(case)), *taken]
    return Question(
        "How many blocks are free while the step runs?",
        ("free",),
        Whole(outcome.free, "blocks"),
        (
            f"Taken by those who run, and by each that starts: {sums(parts)}.",
            f"{case.free} - {total} = {outcome.free}.",
        ),
        (
            "Take away what everybody took in this step.",
            "Free before, less the blocks of those who run, less the prompts of those who start.",
            f"Before the step {case.free} are free; those who run take {len(_full(case))}.",
        ),
        f"{case.free} - {total} = {outcome.free}. The watermark keeps some free, so that those who run can grow.",
    )


def _head(case: Case, outcome: Outcome) -> Question:
    name, prompt = case.waiting[len(outcome.started)]
    need = blocks_for(prompt, SIZE) + case.watermark
    missing = max(need - outcome.free, 0)
    seats = case.limit - len(case.running) - len(outcome.started)
    extra = "" if seats else f" The limit of {case.limit} would still stop it."
    return Question(
        f"{name} is the first left waiting. How many more blocks must be free for its prompt and the watermark?",
        ("missing",),
        Whole(missing, "blocks"),
        (
            f"{name} needs {counted(blocks_for(prompt, SIZE), 'block')}, and {case.watermark} must stay free: {need}.",
            f"Free: {outcome.free}. Missing: {missing}.",
        ),
        (
            "Compare what it needs, with the watermark on top, with what is free.",
            "Blocks of its whole prompt + watermark - free blocks, but not below none.",
            f"{name} needs {counted(blocks_for(prompt, SIZE), 'block')} for its prompt.",
        ),
        f"{blocks_for(prompt, SIZE)} + {case.watermark} = {need}, with {outcome.free} free.{extra}",
    )
