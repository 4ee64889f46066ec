"""Lesson 11: an engine is out of memory: what to look at, in which order; and three myths, each tested by a run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

from rich.text import Text

from pagesim.core.errors import InputError
from pagesim.core.request import Request
from pagesim.planner.units import format_count, format_gib
from pagesim.practice.answers import Choice, Whole
from pagesim.replay.report import RunReport
from pagesim.sim.paper_shapes import KERNEL_SLOWER
from pagesim.sim.simulate import RunSettings, simulate
from pagesim.sim.workload import Arrival, Workload
from pagesim.sim.workloads import WorkloadOptions, build_workload
from pagesim.views.figures import format_duration
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
from pagesim_lessons.pictures import figures
from pagesim_lessons.serving import COLUMNS, Engine, Gauges
from pagesim_lessons.walk import MEMORY, Walk

LONGEST, SHORTER, FUTURE = 8192, 4096, 131072
"""Values of max_model_len: the usual one here, the longest that section 6's requests need, and 128k."""
ENGINE = Engine("llama-3.1-8b", "rtx-4090", LONGEST)
CALM, BUSY, CROWDED = 1.5, 2.5, 3.5
"""Requests a second."""
TIGHT = 3.0
FEW_SEATS = 8
GAUGED, REQUESTS, SATURATED = 300, 200, 100
LOWER = LONGEST * 3 // 4
MORE = Fraction(95, 100)
WATERMARK = Fraction(2, 100)
LONG_PROMPT = 32_000


def script() -> Iterator[Part]:
    yield from _three_meanings()
    yield from _pool()
    yield from _gauges()
    yield from _knobs()
    yield from _hit_rate()
    yield from _future_proof()
    yield from _fragments()
    yield from _slow()
    yield from _closing()


@cache
def _chat(rate: float | None, requests: int = REQUESTS, longest: int = LONGEST) -> Workload:
    return build_workload("azure-chat", requests=requests, rate=rate, seed=0, max_model_len=longest)


def _runs(
    names: Sequence[str], reports: Sequence[RunReport], columns: Sequence[str], first: str = ""
) -> Show:
    """A table of runs, a row each."""
    texts = [COLUMNS[column][1](reports) for column in columns]
    rows = list(zip(names, *texts, strict=True))
    return Show(figures((first, *(COLUMNS[column][0] for column in columns)), rows))


# -- 1 ---------------------------------------------------------------------------------------------------


def _three_meanings() -> Iterator[Part]:
    yield Section("Three things called out of memory")
    yield Say("""
        "The engine is out of memory" can mean three things, and each has its own cure.

        - It does not start: the weights leave no room for K and V.
        - It refuses a request: that one could never fit, even alone.
        - It runs, and is slow: the pool is full, so requests wait, or are preempted and computed again. Nothing
          crashes, and no message says so.

        The first one says what is the matter:
    """)
    try:
        _ = Engine("llama-3.1-70b", "a100-80gb", LONGEST).plan
        raise AssertionError("the weights fit")
    except InputError as error:
        yield Show(Text(str(error)))
    yield Say("""
        So does the second: it says what is needed, and what there is. This lesson is mostly about the third.
    """)
    yield PAUSE
    share = float(ENGINE.utilisation)
    yield Ask(
        f"""The GPU's monitor says that {share:.0%} of its memory is in use, also at night, when there is not one
        request. What does that tell you?""",
        Choice(
            (
                "Nothing: the engine takes its pool when it starts, and keeps it.",
                "There is a leak: blocks of finished requests are not given back.",
                "The server is too small for its load.",
            ),
            0,
            (
                "",
                "blocks are given back to the engine's own pool; the GPU's monitor does not see that",
                "the monitor shows the same with no load at all",
            ),
        ),
        f"""An engine reserves {share:.0%} of the card when it starts: weights, workspace, and all the rest as one
        pool of blocks. What is in use inside the pool is known to the engine alone, so ask the engine.""",
        "Who knows which blocks of the pool are in use: the GPU, or the engine?",
    )


# -- 2 ---------------------------------------------------------------------------------------------------


def _pool() -> Iterator[Part]:
    plan = ENGINE.plan
    (fit,) = plan.fits
    yield Section("First: how large is the pool?")
    yield Say(f"""
        An engine prints it when it starts: the size of the KV cache in tokens, and how many requests of the longest
        length that is. Here is how the figure comes about, for our example of this lesson: {plan.model.name} on one
        card for desktops.
    """)
    yield Show(
        figures(
            ("", "", ""), [(line.label, line.value, line.note) for line in plan.lines()], left=3
        )
    )
    yield Ask(
        f"""The longest request that this engine allows (`max_model_len`) is {LONGEST:,} tokens. How many of those fit
        into the pool at once?""",
        Whole(fit.whole, "requests"),
        f"""One takes {LONGEST:,} / {ENGINE.block_size} = {fit.blocks_each} blocks, and
        {format_count(fit.num_blocks)} / {fit.blocks_each} = {fit.ratio:.2f}; whole ones count.""",
        f"Blocks for one request of that length; then how often that goes into {format_count(fit.num_blocks)}.",
    )
    workload = _chat(BUSY)
    peak = ENGINE.serve(workload).peak_requests
    assert peak > fit.whole
    mean = sum(len(a.request.prompt) + a.request.max_tokens for a in workload.arrivals)
    yield Say(f"""
        Is {fit.whole} then the limit of the batch? No. It is the worst case: everybody as long as allowed. We served
        {len(workload.arrivals)} requests with the lengths of a chat service (Azure's;
        {mean / len(workload.arrivals):,.0f} tokens on the average), and there were up to {peak} at once.
    """)
    yield PAUSE


# -- 3 ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    letter: str
    engine: Engine
    rate: float

    @property
    def gauges(self) -> Gauges:
        return self.engine.watched(_chat(self.rate, GAUGED))


def _cases() -> list[Case]:
    few = replace(ENGINE, seats=FEW_SEATS)
    return [
        Case("A", ENGINE, CALM),
        Case("B", few, TIGHT),
        Case("C", ENGINE, BUSY),
        Case("D", ENGINE, CROWDED),
    ]


def _gauges() -> Iterator[Part]:
    gauges = {case.letter: case.gauges for case in _cases()}
    a, b, c, d = gauges.values()
    assert not a.waiting
    assert not c.waiting
    assert b.waiting > FEW_SEATS
    assert b.usage < 0.5 < c.usage < 0.95 < d.usage
    assert d.waiting
    assert d.preempted > c.preempted
    assert not b.preempted
    yield Section("Then: usage, waiting, preempted")
    yield Say("""
        Every engine has these gauges in its log or on its metrics page. Here they are for four servers, read halfway
        through a run. All four have the pool of section 2 and the same kind of requests.

        - running, waiting: sequences in the batch, and in the queue.
        - usage: the share of the blocks that sequences hold.
        - preempted: how often, so far, a running sequence lost its blocks (Lesson 8).
    """)
    rows = [
        (letter, f"{g.running}", f"{g.waiting}", f"{100 * g.usage:.0f} %", f"{g.preempted}")
        for letter, g in gauges.items()
    ]
    yield Show(figures(("server", "running", "waiting", "usage", "preempted"), rows))
    yield Ask(
        "Which server needs more memory for K and V?",
        Choice(
            (
                "A: it runs the fewest but one, so it has room for few.",
                "B: most requests wait there.",
                "C: most of its pool is taken, and it will soon be full.",
                "D: its pool is full, requests wait, and running ones are preempted.",
            ),
            3,
            (
                "nobody waits there: it runs all that came",
                "look at the usage: there is room, and something else keeps them out",
                "a pool that is in use does its work; nobody waits there",
                "",
            ),
        ),
        f"""D has all three signs at once. B has a queue of {b.waiting} and a pool that is {100 * (1 - b.usage):.0f} %
        free: there the limit is `max_num_seqs` ({FEW_SEATS}), not memory. C is well used. A has little to do.""",
        "Somebody must wait, and it must be memory that they wait for.",
    )
    yield Say(f"""
        So look at the three together. High usage alone is good: that is the memory you paid for, at work. Waiting alone
        says that something is short, not what. Preemptions say it is memory. (A few are harmless: C had {c.preempted},
        and nobody waits.)
    """)
    yield PAUSE


# -- 4 ---------------------------------------------------------------------------------------------------


def _knobs() -> Iterator[Part]:
    workload = _chat(TIGHT)
    twice = replace(ENGINE, ranks=2)
    growth = twice.num_slots / ENGINE.num_slots
    weights = ENGINE.plan.budget
    assert weights is not None
    assert growth > 2
    yield Section("Then: which knob?")
    yield Say(f"""
        D's kind of trouble, at {TIGHT:g} requests a second. There are three ways out: a larger pool, less in it, or
        fewer who want in. First a guess about the largest pool.
    """)
    yield Ask(
        """The model is spread over two such cards instead of one (tensor parallelism). What happens to the number of
        tokens that fit into the cache?""",
        Choice(
            (
                "It stays the same: every card must hold every token.",
                "It doubles: there is twice the memory.",
                "It grows to more than twice as many.",
            ),
            2,
            (
                "each card holds its share of the KV heads, so half of every token",
                "the weights are spread, too; how much of a card was left beside them?",
                "",
            ),
        ),
        f"""{ENGINE.num_slots:,} become {twice.num_slots:,}: {growth:.1f} times as many. Each card now holds half of the
        weights ({format_gib(weights.weight_bytes)} before), and what that frees goes to the pool.""",
        "Besides K and V, what else is halved on each card?",
    )
    knobs = {
        "as it is": ENGINE,
        f"max_model_len {LOWER:,}": replace(ENGINE, longest=LOWER),
        f"watermark {float(WATERMARK):.0%}": replace(ENGINE, watermark=f"{float(WATERMARK):.0%}"),
        f"token budget {ENGINE.budget // 8:,}": replace(ENGINE, budget=ENGINE.budget // 8),
        f"utilisation {float(MORE):.0%}": replace(ENGINE, utilisation=MORE),
        "K and V in fp8": replace(ENGINE, kv_dtype="fp8"),
        "two cards": twice,
    }
    longest = max(len(a.request.prompt) + a.request.max_tokens for a in workload.arrivals)
    assert longest <= LOWER  # so that the lower limit refuses nobody
    yield from _knob_table(knobs, workload)


def _knob_table(knobs: dict[str, Engine], workload: Workload) -> Iterator[Part]:
    reports = [engine.serve(workload) for engine in knobs.values()]
    columns = ("preempted", "slowest first", "slowest each", "served")
    texts = [COLUMNS[column][1](reports) for column in columns]
    slots = [f"{engine.num_slots:,}" for engine in knobs.values()]
    headings = ("", "pool,\ntokens", *(COLUMNS[column][0] for column in columns))
    yield Show(
        figures(headings, list(zip(knobs, slots, *texts, strict=True))),
        f"""The same {len(workload.arrivals)} requests under each setting (`p99`: all but one in a hundred were quicker;
        `p50`: half of them):""",
    )
    base, shorter = reports[:2]
    assert shorter == base
    assert reports[2].num_preemptions < base.num_preemptions / 2
    yield Say("""
        - A lower `max_model_len` changed nothing, to the last digit: paging reserves nothing for it. (In a memory of
          slabs it would have been the first thing to do.) It only keeps out requests that are too long.
        - A watermark keeps a few blocks for those who run, and so stops preemptions, not the shortage.
        - A smaller token budget lets fewer newcomers in at a time.
        - The rest makes the pool larger. fp8 is for models that bear it, a higher utilisation for those who have
          checked that their steps need so little workspace.
    """)
    yield PAUSE


# -- 5 ---------------------------------------------------------------------------------------------------


def _hit_rate() -> Iterator[Part]:
    options = WorkloadOptions(prompt_tokens=200, output_tokens=200, prefix_tokens=2000)
    workload = build_workload(
        "shared-prefix", requests=SATURATED, rate=4, seed=0, max_model_len=LONGEST, options=options
    )
    off, on = (replace(ENGINE, prefix_caching=caching).serve(workload) for caching in (False, True))
    assert on.hit_rate
    assert on.num_preemptions < off.num_preemptions
    yield Section("And: the hit rate of the prefix cache")
    whole = options.prefix_tokens + options.prompt_tokens
    rate = (on.requests_per_s or 0) / (off.requests_per_s or 1)
    yield Say(f"""
        One more gauge. Suppose all requests begin with the same instructions, {options.prefix_tokens:,} of their
        {whole:,} prompt tokens. Without a prefix cache (Lesson 7) every one computes and holds its own copy:
    """)
    columns = ("cached", "peak", "preempted", "slowest first", "served")
    yield _runs(("off", "on"), (off, on), columns, "prefix cache")
    yield Say(f"""
        With a hit rate of {100 * on.hit_rate:.0f} % the same pool serves {rate:.1f} times as many requests a second. So
        if the gauge is near zero although prompts have a common start, find out why before you buy memory: is caching
        off? Is there a date or a name at the very beginning of the prompt? Does each user send a salt of their own?
    """)
    yield PAUSE


# -- 6 ---------------------------------------------------------------------------------------------------


def _future_proof() -> Iterator[Part]:
    yield Section("Myth: 128k makes me future-proof")
    future = replace(ENGINE, longest=FUTURE)
    short, long = future.planned(LONGEST, FUTURE).fits
    assert long.ratio < 1
    yield Say(f"""
        "Let us set `max_model_len` to {FUTURE:,}; the model can do it, and then nobody is ever refused." What does it
        cost? We serve requests of at most {SHORTER:,} tokens, under limits from {SHORTER:,} to {FUTURE:,}.
    """)
    workload = _chat(None, SATURATED, SHORTER)
    rows, paged = [], []
    for longest in (SHORTER, LONGEST, FUTURE):
        engine = replace(ENGINE, longest=longest)
        slabs, pages = (engine.serve(workload, allocator) for allocator in ("max", "paged"))
        at_once = "all refused" if slabs.num_refused else f"{slabs.mean_requests or 0:.1f}"
        ratio = engine.plan.fits[0].ratio
        rows.append((f"{longest:,}", at_once, f"{pages.mean_requests or 0:.1f}", f"{ratio:.2f}"))
        paged.append(pages)
    assert all(report == paged[0] for report in paged)
    headings = (
        "max_model_len",
        "slabs of it,\nat once",
        "paged,\nat once",
        "requests of\nfull length",
    )
    yield Show(figures(headings, rows))
    yield Say(f"""
        With slabs the limit was ruinous. With pages it costs nothing as long as nobody uses it. But look at the last
        column: of requests with {LONGEST:,} tokens, {short.whole} fit; of one with {FUTURE:,}, {long.ratio:.2f}. Not
        even one. The setting promises what the pool can not hold, and engines refuse to start with it.
    """)
    yield PAUSE
    yield from _one_long_request(future)


def _one_long_request(engine: Engine) -> Iterator[Part]:
    base = _chat(2)
    half_ns = base.arrivals[len(base.arrivals) // 2].time_ns
    tokens = range(1 << 40, (1 << 40) + LONG_PROMPT)
    guest = Arrival(half_ns - 1, Request("long", tokens, 500, known_output=500))
    both = replace(base, arrivals=tuple(sorted((*base.arrivals, guest), key=lambda a: a.time_ns)))
    alone, shared = engine.serve(base), engine.serve(both)
    assert alone.ttft_s.p99 is not None
    assert shared.ttft_s.p99 is not None
    assert shared.ttft_s.p99 > 2 * alone.ttft_s.p99
    share = LONG_PROMPT / engine.num_slots
    yield Ask(
        f"""A pool of {engine.num_slots:,} tokens serves chats at a comfortable rate. Then comes one request with a
        prompt of {LONG_PROMPT:,}, and it is admitted: it fits. Who pays?""",
        Choice(
            (
                "Nobody: paging gives it blocks that were free.",
                "The others: it takes most of the pool, and they wait or are preempted.",
                "Only the long one: it waits until there is room.",
            ),
            1,
            (
                "were that many blocks free, and will they be while it runs?",
                "",
                "it does wait; but who waits behind it, and who has room when it runs?",
            ),
        ),
        f"""It holds {100 * share:.0f} % of the pool for as long as it runs. First come, first served: while it waits
        for room, all newcomers wait behind it.""",
        f"What share of {engine.num_slots:,} is {LONG_PROMPT:,}? And what do those who come after it do?",
    )
    columns = ("preempted", "ttft", "slowest first")
    yield _runs(("chats alone", "and one long request"), (alone, shared), columns)
    yield Say(f"""
        One request in {len(both.arrivals)}; and where all but one in a hundred first tokens came within
        {format_duration(alone.ttft_s.p99)}, it now takes up to {format_duration(shared.ttft_s.p99)}. So the limit is a
        promise about everybody's waiting time. Set it to what you mean to serve, and send long documents to a server of
        their own.
    """)
    yield PAUSE


# -- 7 ---------------------------------------------------------------------------------------------------


def _fragments() -> Iterator[Part]:
    walk = Walk.of("fragmentation")
    walk.until("blocked", name="d")
    walk.until("blocked", name="d")
    walk.until("planned")
    hole = walk.geometry.num_slots // 3
    yield Section("Myth: GPUs do not fragment")
    yield Say("""
        "Fragmentation is a matter of disks and old computers; a GPU's memory is one flat piece." It is. But the engine
        takes that piece as a whole and hands it out itself, and what it hands out comes back in another order. Here is
        the small story of Lesson 2 once more; each letter is a slab, and d waits:
    """)
    yield Show(walk.picture(MEMORY))
    yield PAUSE
    yield Say(f"""
        {2 * hole} of {walk.geometry.num_slots} slots are free, and nobody can have {hole + hole // 2} of them in a row.
        Is that just a story? On our server, with slabs that know the true length of every answer (the best that slabs
        can do), and three ways to look for a place:
    """)
    workload = _chat(None, SATURATED, SHORTER)
    settings = ENGINE.settings()
    names, reports = [], []
    for placer in ("buddy", "first-fit", "best-fit"):
        memory = replace(settings.memory, placer=placer)
        reports.append(_simulated(workload, "oracle", replace(settings, memory=memory)))
        names.append(f"slabs, {placer}")
    reports.append(ENGINE.serve(workload))
    names.append("paged")
    external = [_percent(report)["external"] for report in reports]
    assert min(external[:-1]) > 5 * external[-1]
    rows = [
        (name, f"{lost:.1f} %", f"{report.mean_requests or 0:.1f}")
        for name, lost, report in zip(names, external, reports, strict=True)
    ]
    yield Show(figures(("", "idle while\nsomebody waits", "at once,\nmean"), rows))
    yield Say(f"""
        From {min(external[:-1]):.0f} to {max(external[:-1]):.0f} % of the memory lie idle while somebody waits for
        memory. With pages it is {external[-1]:.1f} %: less than the next prompt needs. (Buddies also round up.)
    """)
    yield PAUSE


def _simulated(workload: Workload, allocator: str, settings: RunSettings) -> RunReport:
    return simulate(workload, allocator, settings).report


def _percent(report: RunReport) -> dict[str, float]:
    assert report.waste is not None
    return report.waste.percent()


# -- 8 ---------------------------------------------------------------------------------------------------


def _slow() -> Iterator[Part]:
    workload = _chat(None, SATURATED, SHORTER)
    slower = KERNEL_SLOWER[1]
    factor = 1 + Fraction(slower, 100)
    engine = replace(ENGINE, longest=SHORTER)
    runs = {
        "slabs of the maximum": engine.serve(workload, "max"),
        "slabs, true length known": engine.serve(workload, "oracle"),
        "paged, attention as quick": engine.serve(workload),
        f"paged, attention {slower} % slower": replace(engine, kernel=factor).serve(workload),
    }
    rates = [report.requests_per_s or 0.0 for report in runs.values()]
    assert rates[3] < rates[2]
    assert rates[3] > rates[1] > rates[0]
    yield Section("Myth: paging makes attention slow")
    yield Say(f"""
        It did: the paper's kernel was up to {slower} % slower than a contiguous one (Lesson 10), and today's hardly
        are. Does it decide anything? We let reading K and V take {slower} % longer, in paged memory only.
    """)
    yield _runs(tuple(runs), tuple(runs.values()), ("at once", "served", "tpot"))
    loss = 1 - rates[3] / rates[2]
    yield Say(f"""
        The slower kernel costs {100 * loss:.1f} % of the throughput, since attention is one part of a step; the weights
        and the prompts are the larger one. The slabs lose {100 * (1 - rates[0] / rates[2]):.0f} %, and those that know
        the future {100 * (1 - rates[1] / rates[2]):.0f} %. A kernel is slower by a few per cent; a batch is smaller by
        several times.
    """)
    yield PAUSE


# -- the end ---------------------------------------------------------------------------------------------


def _closing() -> Iterator[Part]:
    yield History("""
        Names differ from engine to engine and from V0 to V1, the gauges are the same. V0 could also swap, and had a
        gauge for the host's memory; V1 recomputes (Lesson 8).
    """)
    yield Try(
        "pagesim plan llama-3.1-8b --gpu rtx-4090 --length 8192 --length 131072",
        "The pool's figures. Add `--kv-dtype fp8`, `--tensor-parallel 2` or `--utilisation 0.95`.",
    )
    yield Try(
        "pagesim sweep azure-chat --model llama-3.1-8b --gpu rtx-4090 --max-model-len 8192 --requests 300 "
        "--rate 1.5,2.5,3.5 --watermark 0,2%",
        "Where the queue begins, and what a watermark does there.",
    )
    yield Try(
        "pagesim run azure-chat --model llama-3.1-8b --gpu rtx-4090 --max-model-len 8192 --requests 300 --rate 3.5 "
        "--log crowded.jsonl",
        "Server D; then `pagesim view crowded.jsonl` shows who waits for whom.",
    )
    yield PAUSE
    yield Remember(
        (
            "First the pool: its tokens, at the start. The GPU's own monitor says nothing about it.",
            "Then usage, waiting and preemptions, together. Full and nobody waits: good.",
            "Then the hit rate. A common start that is not found is the dearest waste.",
            "A waiting queue beside free blocks is another limit: `max_num_seqs`, or the token budget.",
            "`max_model_len` reserves nothing with pages; it says who may come, and what others may have to bear.",
            "Pool size over `max_model_len` is the worst case, not the batch.",
        )
    )
    yield from _questions()


def _questions() -> Iterator[Part]:
    blocks, size, length = 3000, 16, 1000
    each = -(-length // size)
    usage, queue, low = 99, 60, 25
    yield Ask(
        f"""A pool of {blocks:,} blocks of {size}, and requests of {length:,} tokens at their longest. How many
        fit at once?""",
        Whole(blocks // each, "requests"),
        f"""Each takes {length:,} / {size}, rounded up: {each} blocks. {blocks:,} / {each} = {blocks / each:.2f}, and
        only whole requests count.""",
        "Round up to whole blocks first, and only then divide.",
    )
    yield Ask(
        f"Usage is at {usage} %, nobody waits, and there has been no preemption. What do you do?",
        Choice(
            (
                "Lower `max_model_len`, to make room.",
                "Nothing now; watch the queue.",
                "Restart the engine, as blocks are leaking.",
            ),
            1,
            (
                "it reserves nothing, so nothing becomes free",
                "",
                "blocks that are held by running sequences have not leaked",
            ),
        ),
        "A full pool is a pool at work. It is short when somebody waits for it, or loses blocks.",
        "Who suffers?",
    )
    yield Ask(
        f"{queue} requests wait, usage is {low} %, no preemptions. What is the most likely cause?",
        Choice(
            (
                "External fragmentation of the pool.",
                "The pool is too small.",
                "The head of the queue is refused a seat by a limit, such as `max_num_seqs`.",
            ),
            2,
            (
                "any free block will do for a paged memory: there is none",
                "three quarters of it are free",
                "",
            ),
        ),
        "There are free blocks, and whoever could have them is not let in. Look at limits that are not memory.",
        "Is there memory? Then what else does a newcomer need?",
    )


LESSON = Lesson(
    11,
    "in-practice",
    "In practice",
    "An engine is out of memory: what to look at, in which order; three myths tested by runs.",
    12,
    8,
    script,
)
