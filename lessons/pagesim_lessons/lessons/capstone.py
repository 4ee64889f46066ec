"""Lesson 12: size a deployment for a real trace, predict, let runs decide, and defend the result."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from pagesim.planner.units import format_count
from pagesim.practice.answers import Choice, Whole
from pagesim.replay.report import RunReport
from pagesim.sim.length_model import load_length_model
from pagesim.sim.workload import Workload
from pagesim.sim.workloads import build_workload
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
from pagesim_lessons.serving import COLUMNS, Engine

TRACE = "azure-chat"
LONGEST = 8192
ENGINE = Engine("llama-3.1-8b", "l40s", LONGEST)
REQUESTS = 300
FIRST_TOKEN_S, PER_TOKEN_S = 1.5, 0.1
"""The targets, each for all requests but one in a hundred."""
FACTORS = {
    0.5: "half the trace's rate",
    1.0: "the rate itself",
    1.25: "one and a quarter times the rate",
    1.5: "one and a half times the rate",
}
BUSY, BEYOND = 1.25, 1.5
"""A busy hour, in times of the trace's rate; and what is too much."""
SEEDS = (1, 2)
BURSTY = 2
BUDGETS = (512, 1024, 2048, 8192)
BLOCK_SIZES = (16, 64, 256, 1024)


def script() -> Iterator[Part]:
    yield from _task()
    yield from _pool()
    yield from _rates()
    yield from _settings()
    yield from _defence()
    yield from _alone()
    yield from _closing()


@cache
def _workload(rate: float) -> Workload:
    return build_workload(TRACE, requests=REQUESTS, rate=rate, seed=0, max_model_len=LONGEST)


def _rate() -> float:
    """The trace's own."""
    found = load_length_model(TRACE).natural_rate
    assert found is not None
    return found


@dataclass(frozen=True)
class Means:
    """Of the requests that are served here, in tokens."""

    prompt: float
    output: float

    @property
    def held(self) -> float:
        """What a request holds on the average while it runs: its prompt, and half of its answer."""
        return self.prompt + self.output / 2


def _means() -> Means:
    requests = [arrival.request for arrival in _workload(_rate()).arrivals]
    return Means(
        sum(len(request.prompt) for request in requests) / len(requests),
        sum(request.max_tokens for request in requests) / len(requests),
    )


def _keeps(report: RunReport) -> bool:
    first, each = report.ttft_s.p99, report.tpot_s.p99
    assert first is not None
    assert each is not None
    return first <= FIRST_TOKEN_S and each <= PER_TOKEN_S


def _table(names: Sequence[str], reports: Sequence[RunReport], first: str) -> Show:
    columns = ("at once", "used", "preempted", "slowest first", "slowest each")
    texts = [COLUMNS[column][1](reports) for column in columns]
    kept = ["kept" if _keeps(report) else "missed" for report in reports]
    headings = (first, *(COLUMNS[column][0] for column in columns), "targets")
    return Show(figures(headings, list(zip(names, *texts, kept, strict=True)), left=0))


# -- 1 ---------------------------------------------------------------------------------------------------


def _task() -> Iterator[Part]:
    trace, means, plan = load_length_model(TRACE), _means(), ENGINE.plan
    assert plan.gpu is not None
    yield Section("The task")
    yield Say(
        f"""
        Everything in this course comes together here. A team wants to serve a chat with {plan.model.name}, and asks
        you: does one {plan.gpu.name} do, and with which settings? You will predict, runs will decide, and at the end
        you have to defend the answer.

        The load is that of a real service: {trace.about}, {trace.num_pairs:,} requests, of which pagesim keeps the
        lengths as a histogram. They came at {_rate():.2f} a second. The targets, each for all but one request in a
        hundred (`p99`):

        - the first token within {format_duration(FIRST_TOKEN_S)};
        - after it, no more than {format_duration(PER_TOKEN_S)} a token, on the average of an answer.
    """
    )
    yield Say(f"""
        We serve {REQUESTS} requests a run. On the average they have {means.prompt:,.0f} prompt tokens and
        {means.output:.0f} of an answer. How long each answer is, nobody knows beforehand.
    """)
    yield PAUSE


# -- 2 ---------------------------------------------------------------------------------------------------


def _pool() -> Iterator[Part]:
    plan, means = ENGINE.plan, _means()
    yield Section("The pool")
    lines = [(line.label, line.value, line.note) for line in plan.lines()]
    yield Show(figures(("", "", ""), lines, left=3), "What the planner says (Lessons 1 and 11):")
    yield PAUSE
    fits = round(ENGINE.num_slots / means.held)
    low, high = round(fits, -1) // 4, round(fits, -1) * 6
    yield Ask(
        f"""A request holds its prompt and, on the average, half of its answer: {means.prompt:,.0f} +
        {means.output / 2:.0f} tokens. About how many run at once when the pool is full?""",
        Choice(
            (
                f"About {low}.",
                f"About {fits}.",
                f"About {high}.",
                f"{plan.fits[0].whole}: the pool over the longest length.",
            ),
            1,
            (
                "divide the pool's tokens by what one request holds",
                "",
                "divide the pool's tokens by what one request holds",
                "that is the worst case, everybody as long as allowed (Lesson 11)",
            ),
        ),
        f"""{format_count(ENGINE.num_slots)} / {means.held:,.0f} = {fits}. Last blocks are partly filled, which takes
        off half a block a request; that is not even 1 % here.""",
        "The pool's tokens are in the table. What does one request hold?",
    )
    assert ENGINE.block_size / 2 / means.held < 0.01
    yield from _little(fits, means)


def _little(fits: int, means: Means) -> Iterator[Part]:
    """Little's law, before the run: how many are there at the trace's rate?"""
    rate = _rate()
    seconds = means.output * PER_TOKEN_S
    at_once = rate * seconds
    yield Say(f"""
        How many will be there at once? By Little's law that is the rate times the time that each one stays. If every
        token takes as long as the target allows, an answer of {means.output:.0f} tokens takes {seconds:.0f} s; at
        {rate:.2f} a second that makes {at_once:.0f} requests at once. The pool holds about {fits}.
    """)
    yield Ask(
        "So, at the trace's own rate: what will be short first?",
        Choice(
            (
                "Memory: the pool will be full and requests will wait for blocks.",
                "Not memory. If the targets are missed, it is because steps take too long.",
                "Neither can be short: the card is new.",
            ),
            1 if at_once < fits else 0,
            ("compare the two numbers above", "", "compare the two numbers above")
            if at_once < fits
            else ("", "compare the two numbers above", "compare the two numbers above"),
        ),
        f"{at_once:.0f} are fewer than {fits}: even if steps are as slow as they may be, the pool suffices.",
        "How many are there if tokens come as slowly as allowed? And how many does the pool hold?",
    )


# -- 3 ---------------------------------------------------------------------------------------------------


def _rates() -> Iterator[Part]:
    reports = [ENGINE.serve(_workload(factor * _rate())) for factor in FACTORS]
    kept = [_keeps(report) for report in reports]
    assert kept == sorted(kept, reverse=True)
    assert kept[1]
    assert not kept[-1]
    right = kept.index(False) - 1
    remarks = ["too careful"] * right + [""] + ["too bold"] * (len(FACTORS) - right - 1)
    yield Section("How much does it bear?")
    yield Ask(
        f"""Now the runs, at {", ".join(FACTORS.values())}; the rate itself is {_rate():.2f} a second. Which is the
        highest at which both targets are kept?""",
        Choice(tuple(FACTORS.values()), right, remarks),
        "The table says it. Guesses are cheap; the point is to have made one before looking.",
        "The pool suffices at the trace's rate, even with slow steps. Beyond that, steps grow with the batch.",
    )
    names = [f"{factor * _rate():.2f}" for factor in FACTORS]
    yield _table(names, reports, "requests\na second")
    half, own = reports[:2]
    growth = (own.mean_requests or 0) / (half.mean_requests or 1)
    assert growth > 2
    worst = reports[-1].waste
    assert worst is not None
    assert worst.percent()["used"] < 50
    yield Say(f"""
        From half the rate to the rate, twice as many came, and {growth:.1f} times as many were there at once: slower
        steps keep everybody longer, which makes the batch larger, which makes steps slower. So the end comes suddenly.
        And it was not the memory that ended it: on the average most of the pool is empty, even in the last row.

        With these settings the answer would be: one card does, and there is no room for a busy hour.
    """)
    yield PAUSE


# -- 4 ---------------------------------------------------------------------------------------------------


def _busy() -> float:
    """The rate that the settings are to bear."""
    return BUSY * _rate()


def _settings() -> Iterator[Part]:
    workload = _workload(_busy())
    yield Section("Settings")
    yield Say(f"""
        You want to bear {FACTORS[BUSY]}, {_busy():.2f} a second. Before you ask for a second card, look at the
        settings. Which of these will make the difference?

        - the block size: {", ".join(map(str, BLOCK_SIZES))};
        - a watermark, so that there are no preemptions;
        - the token budget: {", ".join(f"{budget:,}" for budget in BUDGETS)};
        - the prefix cache.
    """)
    by_budget = [replace(ENGINE, budget=budget).serve(workload) for budget in BUDGETS]
    by_size = [replace(ENGINE, block_size=size).serve(workload) for size in BLOCK_SIZES]
    by_mark = [replace(ENGINE, watermark=mark).serve(workload) for mark in ("0", "1%")]
    assert not any(map(_keeps, by_size))
    assert not any(map(_keeps, by_mark))
    good = [budget for budget, report in zip(BUDGETS, by_budget, strict=True) if _keeps(report)]
    assert good
    yield Ask(
        "Your guess: with which of them are the targets kept at the busy rate?",
        Choice(
            ("the block size", "the watermark", "the token budget", "none of them"),
            2,
            (
                "waste in the last block is small beside prompts of a thousand tokens",
                "it prevents preemptions; how many of them are there?",
                "",
                "one of them does",
            ),
        ),
        f"With a budget of {' or '.join(f'{budget:,}' for budget in good)} tokens a step. The tables follow.",
        "What is long in these requests, and what happens to everybody else's tokens while it is computed?",
    )
    yield _table([f"{budget:,}" for budget in BUDGETS], by_budget, "budget")
    yield PAUSE
    yield _table([f"{size:,}" for size in BLOCK_SIZES], by_size, "block\nsize")
    yield _table(("none", f"{1 / 100:.0%}"), by_mark, "water-\nmark")
    yield PAUSE
    yield from _settings_said(good)


def _settings_said(good: Sequence[int]) -> Iterator[Part]:
    yield Say(f"""
        - The budget decides: it caps how long a step can be. With whole prompts in a step all others stand still
          (Lesson 9); with very small chunks a prompt takes many steps, and newcomers wait. {good[-1]:,} is between
          the two.
        - Block sizes hardly differ until they are as large as a request. Take {BLOCK_SIZES[0]}, or what your kernel
          likes (Lesson 10).
        - The watermark prevents preemptions, and there are hardly any. It costs nothing here, so have one.
        - The prefix cache can not be judged from this trace: it has lengths, and no words. Switch it on, as it costs
          nothing where nothing is found, measure the hit rate, and do not count on it.
    """)
    yield PAUSE


# -- 5 ---------------------------------------------------------------------------------------------------


def _chosen() -> Engine:
    """The settings to defend: the largest budget that keeps the targets at the busy rate, and a watermark."""
    workload = _workload(_busy())
    for budget in reversed(BUDGETS):
        engine = replace(ENGINE, budget=budget, watermark="1%")
        if _keeps(engine.serve(workload)):
            return engine
    raise AssertionError("no budget keeps the targets")


def _defence() -> Iterator[Part]:
    engine = _chosen()
    calm, busy = (engine.serve(_workload(rate)) for rate in (_rate(), _busy()))
    contiguous = [engine.serve(_workload(_rate()), name) for name in ("max", "oracle")]
    luck = [engine.serve(_drawn(_busy(), seed)) for seed in SEEDS]
    beyond = [engine.serve(_drawn(BEYOND * _rate(), seed)) for seed in (0, *SEEDS)]
    burst = engine.serve(_drawn(_rate(), 0, BURSTY))
    yield Section("The defence")
    yield Say(f"""
        "One card, blocks of {engine.block_size}, a budget of {engine.budget:,}, a watermark of one in a hundred blocks.
        It bears {FACTORS[BUSY]}." What will they ask you?

        - Is it luck? (Draw the lengths and times anew.)
        - Where is the edge?
        - What if requests come in bursts?
        - What would it be without paging?
    """)
    yield PAUSE
    names = [
        f"{_rate():.2f} a second",
        f"{_busy():.2f} a second",
        *["... drawn anew" for _ in luck],
        f"{BEYOND * _rate():.2f} a second",
        *["... drawn anew" for _ in SEEDS],
        f"{_rate():.2f}, in bursts",
        f"{_rate():.2f}, slabs of the maximum",
        f"{_rate():.2f}, slabs, length known",
    ]
    reports = [calm, busy, *luck, *beyond, burst, *contiguous]
    columns = ("at once", "preempted", "slowest first", "slowest each")
    texts = [COLUMNS[column][1](reports) for column in columns]
    kept = ["kept" if _keeps(report) else "missed" for report in reports]
    headings = ("", *(COLUMNS[column][0] for column in columns), "targets")
    yield Show(figures(headings, list(zip(names, *texts, kept, strict=True))))
    yield PAUSE
    yield from _verdict((busy, *luck), beyond, burst, contiguous)


def _drawn(rate: float, seed: int, cv: float = 1) -> Workload:
    return build_workload(
        TRACE, requests=REQUESTS, rate=rate, seed=seed, cv=cv, max_model_len=LONGEST
    )


def _verdict(
    busy: Sequence[RunReport],
    beyond: Sequence[RunReport],
    burst: RunReport,
    contiguous: Sequence[RunReport],
) -> Iterator[Part]:
    natural = load_length_model(TRACE).natural_cv
    assert natural is not None
    assert natural < BURSTY
    assert not _keeps(contiguous[0])
    assert _keeps(contiguous[1])
    kept, edge = sum(map(_keeps, busy)), sum(map(_keeps, beyond))
    assert kept == len(busy)
    assert 0 < edge < len(beyond)
    bursts = "they are kept, too" if _keeps(burst) else "they are missed"
    yield Say(f"""
        At the busy rate the targets are kept in {kept} of {len(busy)} draws; at {FACTORS[BEYOND]} in {edge} of
        {len(beyond)}. Had you run only the first of these, you would have promised it. In bursts, with gaps that vary
        by {BURSTY} times their mean, {bursts} even at the trace's rate. (The trace's own gaps vary by {natural:.2f}
        times their mean, close to pure chance, which is 1.)

        With slabs of the maximum not even the trace's rate is served. Slabs that know each answer's length would do as
        well here, as memory is not short; only nobody knows the length.

        So an honest answer names its edge: which rate, which lengths, which bursts; and what happens beyond. Beyond
        it, requests wait at the door; nothing crashes.
    """)
    yield Say("""
        And it names what a simulator can not know. pagesim's times are a cost model's: a step is as long as its reading
        or its arithmetic, whichever is longer, and a fixed time. Memory, waiting and preemption follow the real
        rules; milliseconds should be measured once on the real card, at one rate, before you promise them.
    """)
    yield PAUSE


# -- 6 ---------------------------------------------------------------------------------------------------


def _alone() -> Iterator[Part]:
    code, rate = load_length_model("azure-code"), load_length_model("azure-code").natural_rate
    assert rate is not None
    yield Section("Alone")
    yield Say(f"""
        Now without help. The other service of that trace wrote code: `azure-code`, {code.num_pairs:,} requests, with
        long prompts and short answers, at {rate:.2f} a second. Size a deployment for it: a model of your choice, the
        smallest GPU (or number of GPUs) that keeps the two targets of this lesson, and the settings. Or take a trace of
        your own: a CSV file with the columns `prompt_tokens,output_tokens` and perhaps `arrival_s`.
    """)
    yield PAUSE
    yield Try("pagesim gpus", "Which cards there are; `pagesim models` lists the models.")
    yield Try(
        "pagesim plan llama-3.1-8b --gpu l40s --length 2200",
        "The pool, and how many requests of the mean length it holds.",
    )
    yield Try(
        "pagesim sweep azure-code --model llama-3.1-8b --gpu l40s,h100 --max-model-len 8192 --requests 300 "
        "--rate 1,2.5,5 --metric ttft-p99",
        "Which card bears which rate. Then the same with `--max-tokens-per-step 512..8192`, and with other seeds.",
    )
    yield Try(
        "pagesim compare --trace my_requests.csv --model llama-3.1-8b --gpu l40s --max-model-len 8192 --rules engine",
        "Your own trace, from slabs and from pages.",
    )
    yield PAUSE
    yield Say("""
        You can defend your answer when you can say yes to each of these:

        - I know the pool in tokens, and what one request holds on the average; I can do that division by hand.
        - I predicted how many run at once (Little's law), and the run was near it; or I know why not.
        - I know the rate at which the targets are first missed, and how far below it I stay.
        - I know what is short at that rate: blocks, the budget, or seats.
        - I changed one setting at a time, and I know which one mattered.
        - I looked at another seed, and at bursts.
        - I can say what happens beyond the edge: who waits, who is preempted, who is refused.
        - I can say which of my numbers are a cost model's, and how I would measure them.
    """)
    yield PAUSE


# -- the end ---------------------------------------------------------------------------------------------


def _closing() -> Iterator[Part]:
    yield History(
        """
        The trace is that of the Splitwise paper (Patel et al.). Other services have other lengths: size for
        your own.
    """
    )
    yield Remember(
        (
            "Pool over what a request holds on the average: how many run at once when it is full.",
            "Rate times the time that each stays: how many there are. If that is less, memory suffices.",
            "Slower steps keep requests longer, so the batch grows faster than the rate: the end comes suddenly.",
            "Change one setting at a time, and let a run decide. The first guess is often another setting.",
            "An honest size names its rate, its lengths, its bursts, and what happens beyond.",
        )
    )
    yield from _questions()


def _questions() -> Iterator[Part]:
    rate, output, gap_ms = 4, 250, 40
    stay = output * gap_ms // 1000
    yield Ask(
        f"""{rate} requests a second come in, an answer has {output} tokens on the average, and a token takes
        {gap_ms} ms. How many requests are there at once, in the long run? (Leave the time to the first token out.)""",
        Whole(rate * stay, "requests"),
        f"""{output} x {gap_ms} ms = {stay} s each; {rate} x {stay} = {rate * stay}.""",
        "How long does each one stay? Then Little's law.",
    )
    slots, held = 48_000, 1200
    yield Ask(
        f"Those requests hold {held:,} tokens each, and the pool has {slots:,}. Is memory short?",
        Choice(
            (
                f"Yes: {slots // held} fit, and as many are there on the average, so often there are more.",
                "No: as many fit as there are on the average.",
                "That depends on the block size alone.",
            ),
            0,
            (
                "",
                "an average is exceeded half of the time",
                "it takes off half a block a request; that is not the question here",
            ),
        ),
        f"""{slots:,} / {held:,} = {slots // held}, no more than the average of {rate * stay}. When more come, they wait
        or somebody is preempted; then all stay longer, and more are there.""",
        "What happens in the moments in which more are there than on the average?",
    )
    yield Ask(
        """At the busy rate the time per token is too long, the pool is half empty, nobody is preempted. What do you
        try first?""",
        Choice(
            (
                "fp8 for K and V, to double the pool.",
                "A smaller token budget, so that prompts do not hold up the others.",
                "A lower `max_model_len`.",
            ),
            1,
            (
                "the pool is half empty as it is",
                "",
                "it reserves nothing, so it frees nothing (Lesson 11)",
            ),
        ),
        "Memory is not short; steps are long. What makes single steps long is prompts computed in one piece.",
        "Is it memory that is short? If not, what makes a step long?",
    )


LESSON = Lesson(
    12,
    "capstone",
    "Capstone",
    "Size a deployment for a real trace: predict, let runs decide, and defend the answer.",
    12,
    6,
    script,
)
