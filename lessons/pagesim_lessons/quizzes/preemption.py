"""Preemption: who gives way when memory runs out, what is lost, and who waits in which order after it.

The story is a real run, told from a few steps before its first preemption. Knows nothing about other topics.
"""

from dataclasses import dataclass

from pagesim.core.memories import MemorySettings, build_memory
from pagesim.core.plan import StepPlan
from pagesim.core.request import Request
from pagesim.core.scheduler import Scheduler
from pagesim.core.scheduler_config import SchedulerConfig
from pagesim.core.types import blocks_for
from pagesim.core.victim import VICTIMS
from pagesim.practice.answers import Names, Whole
from pagesim.replay.phrases import counted
from pagesim.sim.executor import STEP_NS, BlankTokens, StepClock
from pagesim.sim.simulate import put_together
from pagesim_lessons.quizzes.draws import Draws, first_good
from pagesim_lessons.quizzes.problem import Drawn, Posed, Question
from pagesim_lessons.quizzes.wording import LETTERS, sums, table, words

SIZE = 4
LONGEST_PROMPT = 12
POLICIES = {
    "latest": "Who gives way is the one that was admitted last (the policy of today's engines, and of the paper).",
    "least-progress": "Who gives way is the one with the fewest outputs so far, among equals the one that arrived "
    "last; but never the one that was admitted first, as long as others run.",
    "largest": "Who gives way is the one with the most tokens stored before this step or given to it in this step, "
    "among equals the one that arrived last; but never the one that was admitted first, as long as others run.",
}

RULES = (
    "In each step, those who run are served in the order in which they were admitted. Each stores one more token, and "
    "takes a block if its own are full. If no block is free, somebody has to give way: it leaves with all its blocks "
    "(what it was given in this very step is taken back first), and waits; its stored tokens are lost and will be "
    "computed again. That is repeated until the one who wanted a block gets it, or has given way itself. Nobody is "
    "admitted in a step in which somebody gave way. The queue is in order of arrival, whoever has run before."
)


@dataclass(frozen=True, slots=True)
class Row:
    """A running request as the problem shows it, between two steps."""

    name: str
    stored: int
    outputs: int

    @property
    def blocks(self) -> int:
        return blocks_for(self.stored, SIZE)


@dataclass(frozen=True, slots=True)
class Before:
    """The state that the problem gives, before step ``step``."""

    step: int
    running: tuple[Row, ...]
    waiting: tuple[str, ...]
    free: int


@dataclass(frozen=True, slots=True)
class After:
    """What came of the step in which somebody gave way; ``lost`` tokens by who lost them."""

    step: int
    victims: tuple[str, ...]
    lost: dict[str, int]
    served: tuple[str, ...]
    queue: tuple[str, ...]
    free: int


def pose(draws: Draws) -> Posed:
    policy = draws.one_of(("latest", "latest", "least-progress", "largest"))
    several = draws.chance(35)
    return first_good(draws, lambda d: _attempt(d, policy, several=several))


def _attempt(draws: Draws, policy: str, *, several: bool) -> Posed | None:
    """``several``: more than one has to give way in a step, which takes many small ones."""
    arrivals = []
    arrival = 0
    for name in LETTERS[: draws.whole(5, 6) if several else draws.whole(4, 6)]:
        arrivals.append((arrival, name, draws.whole(2, 5 if several else LONGEST_PROMPT)))
        arrival += draws.whole(0, 1 if several else 2)
    num_blocks = draws.whole(6, 9) if several else draws.whole(9, 14)
    before, after = _run(num_blocks, policy, arrivals, draws.whole(0, 3))
    if before is None or after is None or len(before.running) < 3 or not before.waiting:
        return None
    if after.step < before.step or before.step < arrivals[-1][0] + 1:
        return None
    if (len(after.victims) > 1) != several:
        return None
    left = tuple(row.name for row in before.running if row.name not in after.victims)
    if after.served != left:
        return (
            None  # who gives way for itself ends the step: hard to tell, where others come after it
        )
    return _posed(num_blocks, policy, [name for _, name, _ in arrivals], before, after)


def _run(
    num_blocks: int, policy: str, arrivals: list[tuple[int, str, int]], ahead: int
) -> tuple[Before | None, After | None]:
    """The state so many steps before the first preemption, if nobody is admitted in between, and the step with it."""
    settings = MemorySettings(num_blocks * SIZE, SIZE)
    config = SchedulerConfig(victim=VICTIMS[policy])
    outputs = num_blocks * SIZE - LONGEST_PROMPT  # as many as could ever be stored
    requests = [
        (step * STEP_NS, Request(name, range(prompt), outputs)) for step, name, prompt in arrivals
    ]
    loop = put_together(build_memory("paged", settings), config, StepClock(BlankTokens()), requests)
    states: list[Before] = []
    while True:
        states.append(_state(loop.scheduler))
        plan = loop.step()
        if plan is None:
            return None, None
        if plan.admitted:
            states.clear()
        if plan.preempted:
            break
    if len(states) <= ahead:
        return None, None
    return states[-1 - ahead], _after(states[-1], plan, loop.scheduler)


def _state(scheduler: Scheduler) -> Before:
    running = tuple(Row(s.name, s.num_computed, s.num_outputs) for s in scheduler.running)
    waiting = tuple(seq.name for seq in scheduler.waiting)
    return Before(scheduler.num_steps, running, waiting, scheduler.memory.usage().free)


def _after(before: Before, plan: StepPlan, scheduler: Scheduler) -> After:
    stored = {row.name: row.stored for row in before.running}
    victims = tuple(seq.name for seq in plan.preempted)
    return After(
        plan.step,
        victims,
        {name: stored[name] for name in victims},
        tuple(seq.name for seq in plan.sequences),
        tuple(seq.name for seq in scheduler.waiting),
        scheduler.memory.usage().free,
    )


def _posed(num_blocks: int, policy: str, arrived: list[str], before: Before, after: After) -> Posed:
    rows = [(row.name, row.stored, row.outputs, row.blocks) for row in before.running]
    story = (
        RULES,
        POLICIES[policy],
        f"Before step {before.step}, in order of admission:",
        table(("running", "tokens stored", "outputs", "blocks held"), rows),
        Drawn(
            (
                f"blocks    {num_blocks}, each of {SIZE} slots; {before.free} of them free",
                f"waiting   {words(before.waiting)}   (head first)",
                f"arrived   {words(arrived)}   (in this order)",
            )
        ),
        "From then on nobody ends, and nobody new comes or is admitted: the head of the queue does not fit.",
    )
    working = _working(before, after)
    questions = (
        _when(after, working),
        _victims(policy, before, after, working),
        _lost(after, working),
        _queue(arrived, after, working),
        _free(num_blocks, before, after, working),
    )
    given = {
        "num_blocks": num_blocks,
        "block_size": SIZE,
        "policy": policy,
        "step": before.step,
        "running": [[row.name, row.stored, row.outputs] for row in before.running],
        "waiting": before.waiting,
        "arrived": arrived,
    }
    return Posed(story, questions, given)


def _working(before: Before, after: After) -> tuple[str, ...]:
    lines = []
    free = before.free
    for step in range(before.step, after.step + 1):
        full = [row.name for row in before.running if (row.stored + step - before.step) % SIZE == 0]
        needs = (
            f"{words(full)} need a block each" if len(full) > 1 else f"{words(full)} needs a block"
        )
        if not full:
            needs = "nobody needs a block"
        lines.append(f"Step {step}: {needs}; {free} free.")
        free -= len(full)
    gone = "; ".join(
        f"{name} gives way, with {counted(blocks_for(after.lost[name], SIZE), 'block')}"
        for name in after.victims
    )
    lines.append(f"In step {after.step}: {gone}.")
    return tuple(lines)


def _when(after: After, working: tuple[str, ...]) -> Question:
    return Question(
        "In which step does somebody give way for the first time?",
        ("when",),
        Whole(after.step),
        (*working[:-1], f"In step {after.step} the free blocks do not suffice."),
        (
            "A request needs a block only when its own are full.",
            (
                f"For each: after how many more tokens is the number stored a multiple of {SIZE}? The token after that "
                "takes a block."
            ),
            working[0],
        ),
        f"{working[-2]} That is more than there are, so somebody has to give way.",
    )


def _victims(policy: str, before: Before, after: After, working: tuple[str, ...]) -> Question:
    first = before.running[0].name
    return Question(
        "Who gives way in that step, in order?",
        ("victims",),
        Names(after.victims, "requests"),
        (*working, f"So {words(after.victims)}."),
        (
            "Look at the policy, and go on until it is enough.",
            "Serve those who run in order, until one finds no block; then apply the policy, and try again.",
            f"It happens in step {after.step}; {first}, which was admitted first, stays.",
        ),
        f"{words(after.victims)}. {POLICIES[policy]} It gives back all its blocks: half a sequence is of no use.",
    )


def _lost(after: After, working: tuple[str, ...]) -> Question:
    each = [f"{name}: {after.lost[name]}" for name in after.victims]
    total = sum(after.lost.values())
    return Question(
        "How many stored tokens are lost, and have to be computed again?",
        ("lost",),
        Whole(total, "tokens"),
        (
            *working,
            f"Stored before that step: {', '.join(each)}.",
            f"Together: {sums(list(after.lost.values()))}.",
        ),
        (
            "What it was to store in that very step does not count: it was taken back.",
            "For who gives way: the tokens stored now, and one more for each step in between.",
            f"It happens in step {after.step}.",
        ),
        f"{', '.join(each)}. The text is kept; only its K and V are computed again, those of the prompt and of the "
        "outputs in one pass.",
    )


def _queue(arrived: list[str], after: After, working: tuple[str, ...]) -> Question:
    return Question(
        "Who waits after that step, head first?",
        ("queue",),
        Names(after.queue, "requests"),
        (*working, f"By arrival ({words(arrived)}): {words(after.queue)}."),
        (
            "Who has run before does not go to the end of the queue.",
            "Those who waited and those who gave way, in order of arrival.",
            f"{counted(len(after.queue), 'request')} wait in all.",
        ),
        f"{words(after.queue)}: first come, first served survives a preemption.",
    )


def _free(num_blocks: int, before: Before, after: After, working: tuple[str, ...]) -> Question:
    stored = {row.name: row.stored + after.step - before.step + 1 for row in before.running}
    held = [blocks_for(stored[name], SIZE) for name in after.served]
    each = [f"{name}: {n}" for name, n in zip(after.served, held, strict=True)]
    return Question(
        "How many blocks are free after that step?",
        ("free",),
        Whole(after.free, "blocks"),
        (
            *working,
            f"Blocks held by those still running: {', '.join(each)}; {sums(held)}.",
            f"{num_blocks} - {sum(held)} = {after.free}.",
        ),
        (
            "Who gave way gave back all it had.",
            "Count the blocks of those who are left, with the token of this step, and take them from all.",
            f"Left are {words(after.served)}.",
        ),
        f"{num_blocks} - {sum(held)} = {after.free}.",
    )
