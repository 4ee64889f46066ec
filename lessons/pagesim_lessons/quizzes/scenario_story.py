"""A scenario as the story of a problem: its memory, its rules and its requests. Knows nothing about questions."""

from collections.abc import Iterator
from textwrap import shorten, wrap

from pagesim.core.request import Abort, Request, ResetCache
from pagesim.replay.phrases import one_line
from pagesim.sim.executor import STEP_NS
from pagesim.sim.scenario import Scenario
from pagesim_lessons.quizzes import rules
from pagesim_lessons.quizzes.preemption import POLICIES
from pagesim_lessons.quizzes.problem import Drawn, Part
from pagesim_lessons.quizzes.script import Pool
from pagesim_lessons.quizzes.wording import ids, table

MOST_ROWS, MOST_NAME, MOST_LINES, FREE_WIDTH = 20, 16, 4, 45
STEPS = (
    "Steps are counted from 0. In each step every running request computes one token more, or a chunk of its prompt, "
    "and K and V of it are stored in that step; the first output is sampled in the step that ends the prompt."
)


def story_parts(story: Scenario) -> Iterator[Part]:
    title = one_line(story.title)
    yield f"{title} (scenario {one_line(story.name)})."
    yield Drawn(tuple(_memory(story)))
    if story.allocator == "paged":
        yield rules.taking(_pool(story))
    yield STEPS
    settings = list(_rules(story))
    if settings:
        yield Drawn(tuple(settings))
    rows = [_row(at, one) for at, one in story.arrivals if isinstance(one, Request)]
    yield table(("request", "from step", "prompt tokens", "outputs", "further"), rows[:MOST_ROWS])
    if len(rows) > MOST_ROWS:
        yield f"and {len(rows) - MOST_ROWS:,} more."
    requests = [one for _, one in story.arrivals if isinstance(one, Request)]
    prompts = [line for one in requests[:MOST_ROWS] for line in _prompt(story, one)]
    if prompts:
        yield "Their prompts; equal words (or numbers) are equal tokens:"
        yield Drawn(tuple(prompts))
    others = [text for at, one in story.arrivals if (text := _other(at, one))]
    if others:
        yield " ".join(others[:MOST_ROWS])
    policy = POLICIES.get(story.scheduler.chosen_victim.name)
    if policy is not None and len(requests) > 1:
        yield f"If a request needs memory and none is free: {policy[0].lower()}{policy[1:]}"
    if any(isinstance(one, Request) and one.num_samples > 1 for _, one in story.arrivals):
        yield "Of several samples or beams of one request the first has its name; the others are .1, .2 and so on."


def _pool(story: Scenario) -> Pool:
    memory = story.memory
    num_blocks = memory.num_slots // memory.block_size
    order = tuple(range(num_blocks)) if story.free_order is None else tuple(story.free_order)
    return Pool(order, memory.block_size, memory.keep_unkeyed_first, memory.prefix_caching)


def _memory(story: Scenario) -> Iterator[str]:
    memory = story.memory
    if story.allocator != "paged":
        yield f"memory        {memory.num_slots} slots, in runs ({story.allocator}), placed by {memory.placer}"
        yield f"longest       {memory.max_model_len} tokens"
        return
    pool = _pool(story)
    yield f"memory        {len(pool.free)} blocks, each of {pool.block_size} slots"
    first = shorten(ids(pool.free), FREE_WIDTH, placeholder=" ...")
    yield f"free list     {first}   (front first)"
    yield f"prefix cache  {'on' if memory.prefix_caching else 'off'}"
    if memory.host_slots:
        yield f"host          {memory.host_slots // memory.block_size} blocks"


def _rules(story: Scenario) -> Iterator[str]:
    """What differs from the plainest rules, and the policies."""
    config = story.scheduler
    if config.max_num_seqs < 256:
        yield f"requests at once  at most {config.max_num_seqs}"
    if config.max_tokens_per_step < 100_000:
        yield f"token budget      {config.max_tokens_per_step} a step"
    if config.long_prefill_chunk:
        yield f"longest chunk     {config.long_prefill_chunk} tokens"
    if not config.chunked_prefill:
        yield "prompts           whole, in one step"
    if config.watermark_blocks:
        when = "always" if config.watermark_always else "while something runs"
        yield f"watermark         {config.watermark_blocks} blocks, {when}"
    yield f"order             {config.order.name}"
    yield f"who gives way     {config.chosen_victim.name}, by {config.preempt.name}"


def _row(at: int, request: Request) -> tuple[str, int, int, int, str]:
    further = []
    if request.beam is not None:
        further.append(f"{request.num_samples} beams")
    elif request.num_samples > 1:
        further.append(f"{request.num_samples} samples")
    if request.priority:
        further.append(f"priority {request.priority}")
    if request.adapter or request.salt:
        further.append(one_line(request.adapter or request.salt)[:12])
    if request.stop_ids:
        further.append("has stop words")
    name = one_line(request.id)[:MOST_NAME]
    further_text = ", ".join(further)[:24]
    return name, at // STEP_NS, len(request.prompt), request.max_tokens, further_text


def _prompt(story: Scenario, request: Request) -> list[str]:
    """Its words, or its token ids; nothing for tokens that nobody else has."""
    tokens = request.prompt
    if isinstance(tokens, range):
        return []
    if all(token < len(story.words) for token in tokens):
        text = " ".join(one_line(story.words[token]) for token in tokens)
    else:
        text = ids(tokens)
    name = one_line(request.id)[:MOST_NAME]
    lines = wrap(text, 76, initial_indent=f"{name}: ", subsequent_indent=" " * (len(name) + 2))
    return lines if len(lines) <= MOST_LINES else [*lines[:MOST_LINES], "   ..."]


def _other(at: int, arrival: object) -> str:
    if isinstance(arrival, Abort):
        return f"{one_line(arrival.request)} is aborted before step {at // STEP_NS}."
    if isinstance(arrival, ResetCache):
        return f"The cache is reset before step {at // STEP_NS}."
    return ""
