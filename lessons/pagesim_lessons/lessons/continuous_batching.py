"""Lesson 9: static against continuous batching, seats made of memory, and the token budget."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from rich.console import RenderableType
from rich.constrain import Constrain

from pagesim.core.request import Request
from pagesim.core.token_ids import FreshIds
from pagesim.practice.answers import Choice, Whole, Wholes
from pagesim.replay.latency import LatencyMeter
from pagesim.replay.report import RunReport
from pagesim.sim import paper
from pagesim.sim.allocators import ALLOCATORS, TITLES
from pagesim.sim.simulate import simulate
from pagesim.sim.workload import Arrival, Workload
from pagesim.views.figures import format_duration, format_percent
from pagesim.views.paper import row_table
from pagesim.views.timeline import Timeline
from pagesim_lessons.lesson import (
    PAUSE,
    Ask,
    History,
    Lesson,
    Part,
    Remember,
    Say,
    Section,
    Show,
    Try,
)
from pagesim_lessons.pictures import Share, StepTokens, figures
from pagesim_lessons.serving import Engine
from pagesim_lessons.static_batches import StaticBatches
from pagesim_lessons.walk import Walk

BATCH, CONTEXT = 32, 400
"""Sequences in a step, and tokens that each of them has in the cache."""
REQUESTS = 600
BUDGETS = (512, 2048, 8192)
SHORT, LONG = 200, 8000
"""Prompts of section 3's chat and of the one that comes between."""
COLUMNS_A_STEP, LABEL = 4, 5

STORY = """
[memory]
blocks = 64
block_size = 4
[rules]
max_num_seqs = 4
[[request]]
id = "A"
prompt = 4
outputs = 2
[[request]]
id = "B"
prompt = 4
outputs = 3
[[request]]
id = "C"
prompt = 4
outputs = 8
[[request]]
id = "D"
prompt = 4
outputs = 3
[[request]]
id = "E"
prompt = 4
outputs = 5
[[request]]
id = "F"
prompt = 4
outputs = 4
[[request]]
id = "G"
prompt = 4
outputs = 2
[[request]]
id = "H"
prompt = 4
outputs = 5
"""


def script() -> Iterator[Part]:
    yield from _static()
    yield from _seats_are_memory()
    yield from _budget()
    yield from _closing()


# -- 1 ---------------------------------------------------------------------------------------------------


def _step_ms(batch: int) -> float:
    """A step in which ``batch`` sequences of ``CONTEXT`` tokens decode, in milliseconds."""
    keys = batch * CONTEXT
    return paper.settings().cost.step_ns(batch, keys, keys) / 1e6


def _lanes(walk: Walk) -> RenderableType:
    """One lane a request, with as many columns a step in every picture."""
    steps = walk.lanes.num_steps
    return Constrain(Timeline(walk.lanes), LABEL + COLUMNS_A_STEP * steps)


def _outputs(walk: Walk) -> dict[str, int]:
    return {
        arrival.id: arrival.max_tokens
        for _, arrival in walk.story.arrivals
        if isinstance(arrival, Request)
    }


def _recap() -> Say:
    alone, most, size = _step_ms(1), _step_ms(BATCH), BATCH
    weights = paper.settings().cost.weights_fs / 1e12
    return Say(f"""
        Lesson 1 said why there are batches: a step reads all weights once, however many sequences take part. With
        sequences of {CONTEXT} tokens, on the paper's GPU, a step with one takes {alone:.1f} ms, of which {weights:.1f}
        are spent reading weights; a step with {size} takes {most:.1f} ms, and makes {size} tokens. So whoever serves
        wants a large batch in every step. This lesson is about how to keep it large.
    """)


def _static() -> Iterator[Part]:
    continuous = Walk.told("continuous", STORY)
    seats = continuous.story.scheduler.max_num_seqs
    geometry = continuous.geometry
    static = Walk.told(
        "static", STORY, StaticBatches(geometry.num_blocks, geometry.block_size, seats)
    )
    outputs = _outputs(static)
    busy, steps = sum(outputs.values()), static.lanes.num_steps
    names, lengths = list(outputs), list(outputs.values())
    first, second = max(lengths[:seats]), max(lengths[seats:])
    assert steps == first + second
    yield Section("The batch that waits for its slowest")
    yield _recap()
    yield PAUSE
    yield Say(f"""
        {len(outputs)} requests are there, {", ".join(names)}, and the program has {seats} seats: so many sequences may
        run at once. Their answers are {", ".join(map(str, lengths))} tokens long. In this picture every step makes one
        token for each that runs; the step that computes the prompt makes the first one.

        Static batching fills the seats, and runs that batch to its end. Then comes the next batch.
    """)
    yield PAUSE
    yield Show(_lanes(static), f"Static batching, {COLUMNS_A_STEP} columns a step:")
    longest = names[lengths.index(first)]
    yield Say(f"""
        {longest} needs {first} steps, and the others of its batch leave their seats empty while it goes on.
        {names[seats]} could have sat down when {names[lengths.index(min(lengths))]} left. The run takes {first} +
        {second} = {steps} steps: each batch as long as its longest answer. Of {seats} x {steps} = {seats * steps}
        seats in these steps, {busy} were used: {format_percent(100 * busy / (seats * steps))}.
    """)
    yield PAUSE
    taken = continuous.lanes.num_steps
    for seq in static.lanes.names:
        assert continuous.lanes.spans(seq)[-1].stop <= static.lanes.spans(seq)[-1].stop
    yield Say("""
        Continuous batching looks at the queue before every step. Whoever has finished leaves at once, and the head of
        the queue sits down in the next step. (In pagesim this is how the scheduler always works.)
    """)
    yield Ask(
        f"""The same {len(outputs)} requests, {seats} seats, continuous batching, first come first served. How many
        steps does the run take?""",
        Whole(taken, "steps"),
        _seating(lengths, seats, names),
        f"""Write down when each of the {seats} seats becomes free for the first time. The next in the queue takes the
        earliest.""",
    )
    yield Show(_lanes(continuous), "Continuous batching:")
    yield Say(f"""
        {taken} steps instead of {steps}, and {format_percent(100 * busy / (seats * taken))} of the seats are used.
        Nobody had to wait longer for it. The more answers differ in length, the more a static batch wastes;
        and nobody knows the lengths beforehand.
    """)
    yield History("""
        Deciding anew before each step (an iteration, in the papers) was Orca's idea (Yu et al., OSDI). The
        PagedAttention paper builds on it, and every engine since does it. Orca's memory, though, was still handed out
        in slabs.
    """)
    yield PAUSE


def _seating(lengths: Sequence[int], seats: int, names: Sequence[str]) -> str:
    """How the queue takes its seats, in a sentence for each who had to wait."""
    free = [*lengths[:seats]]
    said = [f"The first {seats} seats become free after steps {', '.join(map(str, free))}."]
    for name, length in zip(names[seats:], lengths[seats:], strict=True):
        start = min(free)
        seat = free.index(start)
        free[seat] = start + length
        said.append(f"{name} starts after {start} and ends after {free[seat]}.")
    return " ".join(said)


# -- 2 ---------------------------------------------------------------------------------------------------


def _seats_are_memory() -> Iterator[Part]:
    workload = paper.workload(REQUESTS, 0, None)
    reports = {name: simulate(workload, name, paper.settings()).report for name in ALLOCATORS}
    at_once = {name: report.mean_requests or 0.0 for name, report in reports.items()}
    used = {name: _used(report) for name, report in reports.items()}
    yield Section("Seats are made of memory")
    slots = paper.settings().memory.num_slots
    guess = at_once["max"] * used["paged"] / used["max"]
    assert abs(guess / at_once["paged"] - 1) < 0.15
    yield Say(f"""
        So continuous batching keeps the seats taken. But how many seats are there? Engines have a limit
        (`max_num_seqs`), and seldom reach it: a sequence needs memory for its K and V, so the seats end where the
        memory ends (Lesson 1). Lesson 2 reserved the maximum for everybody, and {at_once["max"]:.0f} fitted.

        That run was done again just now, on your machine, and longer: {REQUESTS} requests with ShareGPT's lengths,
        OPT-13B, {slots:,} slots, a queue that never empties.
    """)
    right = f"About {at_once['paged']:.0f}."
    yield Ask(
        f"""Reserving the maximum, {at_once["max"]:.0f} requests at once fill {used["max"]:.0f} % of the memory with
        tokens. Blocks of {paper.BLOCK_SIZE} fill {used["paged"]:.0f} %. How many requests will run at once?""",
        Choice(
            (
                f"About {2 * at_once['max']:.0f}: no more than twice as many.",
                right,
                f"About {slots // paper.BLOCK_SIZE:,}: one for each block.",
                f"{at_once['max']:.0f}: the requests are the same.",
            ),
            1,
            (
                "compare the two percentages",
                "",
                "a request needs many blocks, one for each so many tokens",
                "the requests are the same, but what each of them holds is not",
            ),
        ),
        f"""The same kind of requests fill a larger share: {at_once["max"]:.0f} x
        {used["paged"]:.1f} / {used["max"]:.1f} = {guess:.0f}, and the run says {at_once["paged"]:.1f}.""",
        "A request holds about as many tokens in both. So requests grow as the share that is filled.",
    )
    yield from _beside_the_paper(reports)


def _used(report: RunReport) -> float:
    assert report.waste is not None
    return report.waste.percent()["used"]


def _beside_the_paper(reports: dict[str, RunReport]) -> Iterator[Part]:
    rows = [replace(row, what=_short(row.what)) for row in paper.figures(reports)]
    out = paper.disagreeing(rows)
    yield Show(
        row_table(rows, ascii_only=True),
        "All four memories, beside what the paper printed (percent of the memory; requests at once):",
    )
    yield PAUSE
    verdict = "All agree" if not out else f"{len(rows) - len(out)} of {len(rows)} agree"
    ours = {name: reports[name].mean_requests or 0.0 for name in ALLOCATORS}
    printed = {name: value for name, (value, _) in paper.FIGURE_13A.items()}
    yield Say(f"""
        {verdict} within what is fair for {REQUESTS} requests. So paging runs {ours["paged"] / ours["oracle"]:.1f}
        times as many requests at once as slabs that know the true length, and {ours["paged"] / ours["max"]:.1f} times
        as many as slabs of the maximum; the paper has {printed["paged"] / printed["oracle"]:.1f} and
        {printed["paged"] / printed["max"]:.1f}.
    """)
    yield PAUSE
    yield from _throughput(reports)


def _short(what: str) -> str:
    """The allocator's name in place of its title."""
    for name, title in TITLES.items():
        if what.startswith(title):
            return name + what.removeprefix(title)
    return what


def _throughput(reports: dict[str, RunReport]) -> Iterator[Part]:
    best, worst = reports["paged"], reports["max"]
    batch = (best.mean_requests or 0) / (worst.mean_requests or 1)
    rate = (best.requests_per_s or 0) / (worst.requests_per_s or 1)
    assert 1 < rate < batch
    yield Ask(
        f"The batch is {batch:.1f} times as large. Is the throughput {batch:.1f} times as high?",
        Choice(
            (
                "Yes: that many more tokens come out of every step.",
                "No, it is the same: the GPU was busy before, too.",
                "It is higher, but by less than that.",
            ),
            2,
            (
                "is a step with more sequences as short as before?",
                "it was busy reading weights; Lesson 1 says who shares that",
                "",
            ),
        ),
        f"""{rate:.1f} times. A step makes more tokens, but it also lasts longer: more K and V are read, and more
        prompts are computed.""",
        "What is in a step besides the weights? Think of the table of steps in Lesson 1.",
    )
    rows = [
        (
            name,
            f"{report.mean_requests or 0:.1f}",
            f"{_used(report):.0f} %",
            f"{report.requests_per_s or 0:.2f}",
            f"{report.output_tokens_per_s or 0:,.0f}",
        )
        for name, report in reports.items()
    ]
    headings = ("", "at once,\nmean", "memory\nused", "served\na second", "tokens\na second")
    yield Show(figures(headings, rows), "Less waste, a larger batch, more throughput:")
    yield Say("""
        That is the chain this course is about. Paging does not make a step faster. It lets more sequences take part
        in it.
    """)
    yield PAUSE


# -- 3 ---------------------------------------------------------------------------------------------------


def _budget() -> Iterator[Part]:
    walk = Walk.of("chunked-prefill")
    steps = _steps_of(walk)
    budget = walk.story.scheduler.max_tokens_per_step
    first, second = (arrival for _, arrival in walk.story.arrivals if isinstance(arrival, Request))
    chunks = [
        share.prompt for _, shares in steps for share in shares if share.number and share.prompt
    ]
    yield Section("The token budget, and prompts in chunks")
    yield Say(f"""
        One thing is left. A newcomer's whole prompt must be computed before its first token. A step that computes a
        prompt of thousands of tokens takes long, and all others wait for that step.

        So engines give a step a budget of tokens. Running sequences are served first, one token each. What is left
        goes to prompts, and a prompt that does not fit is computed in chunks.

        A small case: a budget of {budget}; {first.id} has a prompt of {len(first.prompt)} and asks for
        {first.max_tokens} tokens, {second.id} has a prompt of {len(second.prompt)}. Both arrive together.
    """)
    yield Show(
        StepTokens(steps[:1], budget),
        f"The first step; {first.id} is drawn as a and A, {second.id} as b and B:",
    )
    yield Ask(
        f"""From then on {first.id} makes one token a step. In which chunks is the prompt of
        {second.id}, {len(second.prompt)} tokens, computed? Begin with the first step's {chunks[0]}.""",
        Wholes(chunks, "chunk sizes"),
        f"""{chunks[0]} in the first step; then {budget} - 1 = {budget - 1} a step, as {first.id}'s token comes first;
        {" + ".join(map(str, chunks))} = {sum(chunks)}.""",
        f"How many of the {budget} are left in a step after {first.id} has had its token?",
    )
    yield Show(StepTokens(steps, budget), "All steps:")
    yield PAUSE
    yield from _stall()


def _steps_of(walk: Walk) -> list[tuple[int, list[Share]]]:
    """What each step computes."""
    found = []
    for number in range(walk.lanes.num_steps):
        walk.to_step(number)
        planned, views = walk.state.planned, walk.state.sequences
        assert planned is not None
        shares = []
        for seq, count in zip(planned.seqs, planned.counts, strict=True):
            view = views[seq]
            begun = view.written - count
            prompt = min(count, max(view.prompt_tokens - begun, 0))
            shares.append(Share(seq, prompt, count - prompt))
        found.append((number, shares))
    return found


def _chat_and_a_long_one() -> Workload:
    """Short chats that decode, and one long prompt that comes in between."""
    fresh = FreshIds()
    chats = [Request(f"chat {n}", fresh.take(SHORT), SHORT, known_output=SHORT) for n in range(16)]
    late = Request("long", fresh.take(LONG), SHORT, known_output=SHORT)
    arrivals = [Arrival(0, chat) for chat in chats] + [Arrival(10**9, late)]
    return Workload("chat", "chats, and a long prompt", tuple(arrivals))


def _pauses(workload: Workload, budget: int) -> tuple[float, float]:
    """The longest time between two steps, and the longest to a first token, in seconds."""
    meter = LatencyMeter()
    engine = Engine("llama-3.1-8b", "a100-80gb", 2 * LONG, budget=budget)
    simulate(workload, "paged", engine.settings(), watch=lambda _: [meter])
    gap = max(later - earlier for earlier, later in pairwise(meter.end_series))
    return gap / 1e9, max(meter.first_token_ns) / 1e9


def _stall() -> Iterator[Part]:
    rows, gaps, firsts = [], [], []
    workload = _chat_and_a_long_one()
    for budget in BUDGETS:
        gap, first = _pauses(workload, budget)
        rows.append((f"{budget:,}", format_duration(gap), format_duration(first)))
        gaps.append(gap)
        firsts.append(first)
    others = len(workload.arrivals) - 1
    assert gaps == sorted(gaps)
    yield Say(f"""
        Does it matter? {others} chats decode on an A100 (Llama 3.1 8B), and somebody sends a prompt of {LONG:,} tokens.
        We run that with {len(BUDGETS)} budgets, and note the longest pause between two tokens that a chat has to bear,
        and how long the newcomer waits for its first token.
    """)
    headings = ("budget,\ntokens a step", "longest pause\nof a chat", "the newcomer's\nfirst token")
    yield Show(figures(headings, rows, left=0))
    slower = firsts[0] / firsts[-1]
    assert slower > 1
    yield Say(f"""
        With a budget of {BUDGETS[-1]:,} the whole prompt goes into one step, and every chat stands still for
        {format_duration(gaps[-1])}: the stutter that users see. With {BUDGETS[0]} it is {format_duration(gaps[0])}. The
        newcomer pays: its first token takes {slower:.2f} times as long, since the weights are read again for every
        chunk. The budget sets that trade: smooth answers against quick first tokens.
    """)
    yield History("""
        The paper, and vLLM V0 by default, computed whole prompts, in steps of their own. Chunked prefill came later
        (Sarathi, Agrawal et al.); in V1 it is the usual way, and running sequences are served first.
    """)
    yield PAUSE


# -- the end ---------------------------------------------------------------------------------------------


def _closing() -> Iterator[Part]:
    yield Try(
        f"pagesim compare --requests {REQUESTS}",
        "The comparison of section 2 on one screen, with the four memories at the same moment.",
    )
    yield Try(
        "pagesim paper", "All figures of the paper that pagesim reproduces, with more requests."
    )
    yield Try("pagesim run chunked-prefill --view", "The two requests of section 3, step by step.")
    yield Try(
        "pagesim sweep azure-code --model llama-3.1-8b --gpu h100 --requests 200 --rate 4 "
        "--max-tokens-per-step 512..8192",
        "The budget on a coding service's long prompts: first tokens against tokens after it.",
    )
    yield PAUSE
    yield Remember(
        (
            "A step reads the weights once for the whole batch: a larger batch is more throughput.",
            "Continuous batching decides before every step who takes part: nobody waits for the slowest.",
            "The batch ends where the memory ends. Less waste makes it larger; that is what paging buys.",
            "A larger batch makes longer steps, so throughput grows less than the batch.",
            "A token budget, with prompts in chunks, keeps a long prompt from stopping everybody else.",
        )
    )
    yield from _questions()


def _questions() -> Iterator[Part]:
    lengths, seats, names = (2, 7, 3, 4), 2, "ABCD"
    static = sum(max(lengths[at : at + seats]) for at in range(0, len(lengths), seats))
    free = [*lengths[:seats]]
    for length in lengths[seats:]:
        free[free.index(min(free))] += length
    yield Ask(
        f"""{len(lengths)} requests wait, {", ".join(names)}, with answers of {", ".join(map(str, lengths))} tokens, and
        there are {seats} seats. How many steps does continuous batching save over static batching?""",
        Whole(static - max(free), "steps"),
        f"""Static: {max(lengths[:seats])} + {max(lengths[seats:])} = {static} steps.
        {_seating(lengths, seats, names)} So {max(free)} steps are enough.""",
        "Static: the longest of each pair, added up. Continuous: the seat that becomes free first goes to the next.",
    )
    yield Ask(
        """You replace a memory of slabs by a paged one, and change nothing else. There were never more than three
        requests at once, and all had room. What happens to the throughput?""",
        Choice(
            (
                "Nothing to speak of: the batch was not limited by memory.",
                "It rises as in section 2.",
                "It rises, because paged attention is the faster kernel.",
            ),
            0,
            (
                "",
                "there it rose because more requests could run at once; here no more are there",
                "the kernel reads the same K and V, and looks up a table besides (Lesson 10)",
            ),
        ),
        """Paging helps by letting more requests in. Where nobody waits for memory, it has nobody to let in.""",
        "By what road did less waste become throughput?",
    )
    budget, running, prompt = 64, 14, 120
    left = budget - running
    yield Ask(
        f"""A budget of {budget} tokens a step, {running} sequences that decode, and a newcomer with a prompt of
        {prompt} tokens. After how many steps has the newcomer its first token?""",
        Whole(-(-prompt // left), "steps"),
        f"""{budget} - {running} = {left} tokens a step are left for the prompt; {prompt} / {left}, rounded up. The
        step that computes the prompt's last chunk makes the first token.""",
        "Running sequences come first. How much is left for the prompt in each step?",
    )


LESSON = Lesson(
    9,
    "continuous-batching",
    "Continuous batching",
    "Less waste, a larger batch, more throughput; the paper's figures reproduced live.",
    10,
    3,
    script,
)
