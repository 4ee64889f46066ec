"""The token budget: who computes how many tokens in which step, and when a prompt is through.

Knows nothing about memory."""

from dataclasses import dataclass

from pagesim.core.memories import MemorySettings, build_memory
from pagesim.core.request import Request
from pagesim.core.scheduler_config import SchedulerConfig
from pagesim.practice.answers import Names, Whole, Wholes
from pagesim.sim.executor import STEP_NS, BlankTokens, StepClock
from pagesim.sim.simulate import put_together
from pagesim_lessons.quizzes.draws import Draws, first_good
from pagesim_lessons.quizzes.problem import Drawn, Posed, Question
from pagesim_lessons.quizzes.wording import LETTERS, ids, table, words

NUM_SLOTS = 16 * 1024  # memory is never short here
Batch = dict[str, int]  # tokens computed by each, in the step's order

RULES = (
    "Each step may compute so many tokens, the token budget. First come those who run, in the order in which they "
    "started: who has its whole prompt computed takes one token (it decodes), who has not takes as much of the rest of "
    "its prompt as is left of the budget (a chunk). Then, while budget is left, waiting requests start in the order in "
    "which they came, each with as much of its prompt as is left of the budget; no more run at once than the limit "
    "says. The step that computes the last token of a prompt samples the first output; each step after it computes "
    "that token and samples one more, until there are as many as were asked for. Who has them ends with that step. "
    "Memory is not short."
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request: prompt and output tokens, and before which step it comes."""

    name: str
    prompt: int
    outputs: int
    arrival: int


@dataclass(frozen=True, slots=True)
class Served:
    """What the scheduler did: each step's batch, and in which step each sampled its first output and ended."""

    steps: list[Batch]
    first: dict[str, int]
    last: dict[str, int]


def pose(draws: Draws) -> Posed:
    return first_good(draws, _attempt)


def _attempt(draws: Draws) -> Posed | None:
    budget = draws.one_of((8, 10, 12, 16))
    limit = draws.one_of((2, 3, 3, 4))
    late = sorted(draws.whole(0, 2) for _ in range(draws.whole(1, 2)))
    asked = [
        Asked(name, draws.whole(3, 2 * budget + 4), draws.whole(2, 6), arrival)
        for name, arrival in zip(LETTERS, [0, 0, *late], strict=False)
    ]
    served = _run(budget, limit, asked)
    if len(served.steps) < 4:
        return None
    mixed = [
        step
        for step, batch in enumerate(served.steps)
        if 1 <= step <= 6 and len(batch) >= 2 and max(batch.values()) > 1 and 1 in batch.values()
    ]
    chunked = [one for one in asked if _num_chunks(one, served) > 1]
    if not mixed or not chunked:
        return None
    last = max(chunked, key=lambda one: served.first[one.name])
    if not 1 <= served.first[last.name] <= 7:
        return None
    return _posed(budget, limit, asked, served, draws.one_of(mixed), last)


def _run(budget: int, limit: int, asked: list[Asked]) -> Served:
    memory = build_memory("paged", MemorySettings(NUM_SLOTS))
    config = SchedulerConfig(max_num_seqs=limit, max_tokens_per_step=budget)
    arrivals = [
        (one.arrival * STEP_NS, Request(one.name, range(one.prompt), one.outputs)) for one in asked
    ]
    loop = put_together(memory, config, StepClock(BlankTokens()), arrivals)
    served = Served([], {}, {})
    while (plan := loop.step()) is not None:
        batch = {seq.name: n for seq, n in zip(plan.sequences, plan.counts, strict=True)}
        served.steps.append(batch)
        for seq in plan.sampling:
            served.first.setdefault(seq.name, plan.step)
            served.last[seq.name] = plan.step
    return served


def _num_chunks(one: Asked, served: Served) -> int:
    """In how many steps its prompt is computed."""
    return sum(one.name in batch for batch in served.steps[: served.first[one.name] + 1])


def _posed(
    budget: int, limit: int, asked: list[Asked], served: Served, step: int, late: Asked
) -> Posed:
    rows = [(one.name, one.prompt, one.outputs, one.arrival) for one in asked]
    story = (
        RULES,
        Drawn((f"token budget       {budget} a step", f"requests at once   at most {limit}")),
        "These come; those of one step in the order of the table. Steps are counted from 0:",
        table(("request", "prompt tokens", "outputs", "comes before step"), rows),
    )
    questions = [
        _who(served, step),
        _tokens(served, step),
        _chunks(served, late),
        _first(served, late),
    ]
    if sum(served.steps[step].values()) < budget:
        questions.append(_idle(budget, served, step))
    given = {"budget": budget, "limit": limit, "requests": [list(row) for row in rows]}
    return Posed(story, tuple(questions), given)


def _line(served: Served, step: int) -> str:
    parts = ", ".join(f"{name} {count}" for name, count in served.steps[step].items())
    return f"Step {step}: {parts}; {sum(served.steps[step].values())} tokens."


def _lines(served: Served, last: int) -> tuple[str, ...]:
    return tuple(_line(served, step) for step in range(last + 1))


def _begins(served: Served) -> str:
    return f"It begins so: {_line(served, 0)}"


def _who(served: Served, step: int) -> Question:
    names = list(served.steps[step])
    return Question(
        f"Who computes tokens in step {step}, in the order in which they are served?",
        ("batch", step),
        Names(names, "requests"),
        (*_lines(served, step), f"So in step {step}: {words(names)}."),
        (
            "Those who run come before those who wait.",
            "Go step by step: ones for who decodes, the rest of the budget for prompts, the first one first.",
            _begins(served),
        ),
        f"{words(names)}. The running come first, in the order in which they started; new ones get what they leave.",
    )


def _tokens(served: Served, step: int) -> Question:
    counts = list(served.steps[step].values())
    return Question(
        f"And how many tokens does each of them compute in step {step}?",
        ("counts", step),
        Wholes(counts, "numbers"),
        (*_lines(served, step), f"So {ids(counts)}."),
        (
            "Who decodes needs little; a prompt takes what is left.",
            "Give one token to each that decodes, in order, and to a prompt the smaller of its rest and the budget's.",
            _begins(served),
        ),
        f"{_line(served, step)} Prompts and decodes share a step: that is chunked prefill.",
    )


def _chunks(served: Served, late: Asked) -> Question:
    first = served.first[late.name]
    parts = [batch[late.name] for batch in served.steps[: first + 1] if late.name in batch]
    return Question(
        f"Into which chunks is {late.name}'s prompt of {late.prompt} tokens cut?",
        ("chunks", late.name),
        Wholes(parts, "sizes"),
        (*_lines(served, first), f"{late.name}: {ids(parts)}, {sum(parts)} in all."),
        (
            "Each step leaves it another rest of the budget.",
            f"Note for each step what is left of the budget when {late.name}'s turn comes.",
            f"There are {len(parts)} chunks. {_begins(served)}",
        ),
        f"{ids(parts)}. A long prompt never holds up who decodes for a whole step; it takes what they leave.",
    )


def _first(served: Served, late: Asked) -> Question:
    first = served.first[late.name]
    return Question(
        f"In which step is {late.name}'s first output token sampled?",
        ("first output", late.name),
        Whole(first),
        (*_lines(served, first), f"In step {first} the last of {late.name}'s prompt is computed."),
        (
            "It is the step in which the end of the prompt is computed.",
            "Add up the chunks, step by step, until the prompt is through.",
            _begins(served),
        ),
        f"Step {first}: the logits of a prompt's last token give the first output.",
    )


def _idle(budget: int, served: Served, step: int) -> Question:
    used = sum(served.steps[step].values())
    return Question(
        f"How much of the budget is left over in step {step}?",
        ("left over", step),
        Whole(budget - used, "tokens"),
        (_line(served, step), f"{budget} - {used} = {budget - used}."),
        (
            "Add up what the step computes.",
            "The budget, less all tokens of that step.",
            f"The budget is {budget}. {_begins(served)}",
        ),
        f"{budget} - {used} = {budget - used}. It is left over only if nobody can use it: nobody waits, or as many run "
        "as may.",
    )
