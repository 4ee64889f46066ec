"""Lesson 1: what a token's K and V cost, what is left for them, and why memory, not arithmetic, ends admission."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from math import ceil
from statistics import mean
from typing import NamedTuple

from pagesim.core import events as ev
from pagesim.planner.facts import GpuFacts, ModelFacts, gpu, model
from pagesim.planner.kv_cache import kv_bytes_per_token, kv_memory
from pagesim.planner.units import GIB, format_bytes, format_gib
from pagesim.practice.answers import Choice, Size, Whole
from pagesim.sim import paper
from pagesim.sim.cost import CostModel, cost_model
from pagesim.sim.simulate import simulate
from pagesim_lessons.cache_pictures import (
    GPU_BANDS,
    Bar,
    HeadGroup,
    HeadGroups,
    StackedBars,
    StepGrid,
)
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
from pagesim_lessons.walk import Walk

K_AND_V = 2
MODELS = (
    "opt-13b", "llama-2-7b", "llama-2-13b", "llama-3.1-8b", "llama-3.1-70b", "qwen2.5-7b", "falcon-7b",
    "deepseek-v3",
)  # fmt: skip
PAIRS = (("llama-3.1-8b", "rtx-4090"), ("llama-3.1-8b", "H100-SXM"), ("qwen2.5-7b", "H100-SXM"))
LONG = 8192
"""Tokens of a long request."""
REQUESTS = 300
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128)
NAMED = {"mha": "MHA", "gqa": "GQA", "mqa": "MQA", "mla": "MLA"}


def script() -> Iterator[Part]:
    yield from _why_keep()
    yield from _one_token()
    yield from _sharing_heads()
    yield from _beside_the_weights()
    yield from _batches()
    yield from _more_memory()
    yield from _closing()


# -- why there is a cache --------------------------------------------------------------------------------


def _why_keep() -> Iterator[Part]:
    walk = Walk.of("figure-6")
    computed = [sum(event.counts) for event in walk.events if isinstance(event, ev.StepPlanned)]
    prompt, outputs = computed[0], len(computed)
    yield Section("Why keep K and V")
    yield Say("""
        A language model makes one token at a time. In every layer, attention compares the query of the new token with
        the key (K) of each token before it, and mixes their values (V) by how well they match.

        K and V of a token depend on that token and on those before it, never on what comes later. So once computed they
        do not change, and a server can keep them: that is the KV cache.

        Some words for what follows:

        - Sequence: a request's tokens so far, prompt and output.
        - Step: one pass through the model. It computes K and V of the tokens that have none yet.
        - Prefill: computing the prompt. Decoding: making each further token.
        - Engine: the program that serves. Its scheduler decides who takes part in each step; letting a request in is
        called admission.
        - The paper: Kwon et al., SOSP 2023, on PagedAttention. Its authors built the engine vLLM; V0 is its first
        design, V1 today's.
    """)
    yield PAUSE
    yield Ask(
        f"""A request has a prompt of {prompt} tokens and gets {outputs} output tokens, one a step. The first step
        computes the prompt; the result at the prompt's last token gives the first output token. With a KV cache, for
        how many tokens are K and V computed, in all steps together?""",
        Whole(sum(computed), "tokens"),
        f"""{" + ".join(map(str, computed))} = {sum(computed)}. The prompt is computed once, and then each step computes
        the token that the step before made. Nobody needs K and V of the last output token, so they are never computed,
        and never in the cache.""",
        "Count step by step. Which output tokens are read by a later step?",
    )
    lengths = [sum(computed[: step + 1]) for step in range(outputs)]
    assert sum(lengths) > sum(computed)
    yield Show(StepGrid(lengths), "Without a cache, each step computes everything again:")
    yield PAUSE
    yield from _at_real_lengths()


def _at_real_lengths() -> Iterator[Part]:
    prompt, output = _mean_lengths()
    cost = _paper_cost()
    lengths = range(prompt, prompt + output)
    kept = [_step_ns(cost, prompt, prompt), *(_step_ns(cost, 1, n) for n in lengths[1:])]
    anew = [_step_ns(cost, n, n) for n in lengths]
    tokens_kept, tokens_anew = prompt + output - 1, sum(lengths)
    more, longer = tokens_anew / tokens_kept, sum(anew) / sum(kept)
    assert more > 10 * longer
    yield Say(f"""
        Now a usual length: a prompt of {prompt} tokens and {output} output tokens, the means of {REQUESTS} requests of
        ShareGPT, a collection of real chats; {model(paper.MODEL).key} on an {gpu(paper.GPU).name}, by pagesim's cost
        model:
    """)
    rows = [
        ("with a cache", f"{tokens_kept:,}", _seconds(sum(kept)), _milliseconds(kept[-1])),
        ("without", f"{tokens_anew:,}", _seconds(sum(anew)), _milliseconds(anew[-1])),
    ]
    heads = ("", "tokens\ncomputed", "all steps\ntake", "the last step\ntakes")
    yield Show(figures(heads, rows))
    yield Say(f"""
        Without the cache it is {more:,.0f} times the arithmetic, but takes only {longer:.1f} times as long. So with
        the cache the GPU cannot have been busy with arithmetic: what was it doing? The part about batches answers that.

        What the cache costs is memory, and the rest of this course is about that memory.
    """)
    yield PAUSE


# -- one token's bytes -----------------------------------------------------------------------------------


def _one_token() -> Iterator[Part]:
    opt = model(paper.MODEL)
    assert opt.head_dim is not None
    per_token = kv_bytes_per_token(opt)
    yield Section("What one token costs")
    yield Say("""
        For each token, each layer keeps one K and one V for each of its key-value heads, and each of these is a row of
        numbers as long as the head size. So:

        `bytes a token = 2 x layers x KV heads x head size x bytes a number`

        The factor in front is for K and V. A number has the width of the model's own, mostly fp16 or bf16, unless the
        cache is made narrower: fp8 takes half the bytes.
    """)
    yield Ask(
        f"""{opt.key} has {opt.num_layers} layers, {opt.num_kv_heads} KV heads of size {opt.head_dim}, and numbers of
        {opt.dtype_bytes} bytes. How many bytes does one token take in the KV cache?""",
        Size(per_token),
        f"""{K_AND_V} x {opt.num_layers} x {opt.num_kv_heads} x {opt.head_dim} x {opt.dtype_bytes} = {per_token:,}
        bytes; the paper comes to the same. One token of text is a few letters.""",
        "Multiply the five factors of the formula. Do not forget that there are K and V.",
    )
    longest = opt.max_position * per_token
    yield Say(f"""
        A request of {opt.max_position:,} tokens, this model's longest, takes {format_gib(longest)}. The room for one
        token's K and V in all layers is what this course calls a slot.
    """)
    yield PAUSE


def _sharing_heads() -> Iterator[Part]:
    heads, group = 8, 4
    yield Section("Fewer heads, or one latent")
    kinds = (
        HeadGroup(NAMED["mha"], 1, "K", "each query head has a K and V of its own"),
        HeadGroup(NAMED["gqa"], group, "K", f"{group} query heads share one K and V"),
        HeadGroup(NAMED["mqa"], heads, "K", "all share one K and V"),
        HeadGroup(NAMED["mla"], heads, "c", "all are made anew from one short latent"),
    )
    yield Say("""
        The formula counts KV heads, not query heads. In the first models they were as many (multi-head attention, MHA).
        In newer ones a group of query heads shares one K and V (grouped-query, GQA), or all do (multi-query, MQA).
        Multi-head latent attention (MLA) keeps one compressed row a layer, the latent.
    """)
    yield Show(
        HeadGroups(heads, kinds), f"What a layer keeps of one token, for {heads} query heads:"
    )
    yield PAUSE
    llama = model("llama-3.1-8b")
    now = kv_bytes_per_token(llama)
    as_mha = kv_bytes_per_token(replace(llama, num_kv_heads=llama.num_heads))
    yield Ask(
        f"""{llama.key} has {llama.num_heads} query heads and {llama.num_kv_heads} KV heads. A token takes
        {format_bytes(now)}. How much would it take if every query head had a K and V of its own?""",
        Size(as_mha),
        f"""{llama.num_heads} / {llama.num_kv_heads} = {llama.num_heads // llama.num_kv_heads} query heads share one K
        and V, so without sharing it is {llama.num_heads // llama.num_kv_heads} times as much.""",
        "How many query heads share one KV head?",
    )
    yield from _table_of_models()


def _table_of_models() -> Iterator[Part]:
    rows = []
    for key in MODELS:
        found = model(key)
        per_token = kv_bytes_per_token(found)
        latent = found.latent
        heads = "one latent" if latent else str(found.num_kv_heads)
        size = str(found.head_dim) if latent is None else f"{latent.rank} + {latent.rope_dim}"
        kind = NAMED[found.attention.value]
        numbers = (str(found.num_layers), heads, size, format_bytes(per_token))
        rows.append((found.key, kind, *numbers, format_gib(LONG * per_token)))
    heads_of = (
        "model", "", "layers", "KV\nheads", "head\nsize", "one\ntoken", f"{LONG:,}\ntokens",
    )  # fmt: skip
    yield Show(figures(heads_of, rows, left=2), "Real models, with K and V in fp16 or bf16:")
    old, large, deep = model("llama-2-13b"), model("llama-3.1-70b"), model("deepseek-v3")
    assert kv_bytes_per_token(large) < kv_bytes_per_token(old)
    assert kv_bytes_per_token(deep) < kv_bytes_per_token(large)
    assert deep.latent is not None
    yield Say(f"""
        A larger model may have a smaller cache: {large.key} has {large.params / old.params:.1f} times the parameters of
        {old.key}, and needs less a token. {deep.key} keeps {deep.latent.rank} + {deep.latent.rope_dim} numbers a layer
        for all its {deep.num_heads} heads, K and V in one, so its product has no factor for K and V.
    """)
    yield PAUSE


# -- what is left ----------------------------------------------------------------------------------------


def _beside_the_weights() -> Iterator[Part]:
    pairs = [(model(name), gpu(card)) for name, card in ((paper.MODEL, paper.GPU), *PAIRS)]
    yield Section("What is left beside the weights")
    yield Say("""
        The cache gets what the weights leave. When it starts, an engine takes a share of the GPU's memory, loads the
        weights, keeps some workspace for the numbers of one step (activations), and gives all the rest to K and V: the
        pool, which does not grow.
    """)
    yield Show(
        StackedBars([_budget_bar(*pair) for pair in pairs], GPU_BANDS),
        "Memory by pagesim's planner, and how many tokens the K and V hold:",
    )
    llama, card = model("llama-3.1-8b"), gpu("H100-SXM")
    tokens = _pool_tokens(llama, card)
    yield Ask(
        f"""{llama.key} on an {card.name} has room for {tokens:,} tokens. How many requests of {LONG:,} tokens can be
        there at once?""",
        Whole(tokens // LONG, "requests"),
        f"""{tokens:,} / {LONG:,}, rounded down. A request must have all of its K and V in memory, as every step reads
        all of it. At {llama.max_position:,} tokens, the longest the model allows, it would be
        {tokens // llama.max_position}.""",
        "Divide, and think about which way to round.",
    )
    slots = paper.KV_BYTES // kv_bytes_per_token(model(paper.MODEL))
    yield Say(f"""
        The paper gives {model(paper.MODEL).key} a little more than our planner does: {format_gib(paper.KV_BYTES)} on
        its {gpu(paper.GPU).name}, which are {slots:,} slots. We use that memory from here on.
    """)
    yield PAUSE


def _short(card: GpuFacts) -> str:
    return card.name.removeprefix("NVIDIA ").removeprefix("GeForce ")


def _budget_bar(of: ModelFacts, on: GpuFacts) -> Bar:
    budget = kv_memory(on, of)
    parts = (
        budget.weight_bytes,
        budget.workspace_bytes,
        budget.kv_bytes,
        budget.gpu_bytes - budget.budget_bytes,
    )
    return Bar(f"{of.key}, {_short(on)}", parts, f"{_pool_tokens(of, on):,}")


def _pool_tokens(of: ModelFacts, on: GpuFacts) -> int:
    return kv_memory(on, of).kv_bytes // kv_bytes_per_token(of)


# -- batches ---------------------------------------------------------------------------------------------


class Timed(NamedTuple):
    """A step that makes one token for each of ``batch`` requests, in nanoseconds."""

    batch: int
    weights: float
    cached: float
    arithmetic: float
    whole: int


def _timed(cost: CostModel, batch: int, length: int) -> Timed:
    return Timed(
        batch,
        cost.weights_fs / 1e6,
        batch * length * cost.kv_token_fs / 1e6,
        batch * (cost.token_fs + length * cost.pair_fs) / 1e6,
        cost.step_ns(batch, batch * length, batch * length),
    )


def _batches() -> Iterator[Part]:
    cost, length = _paper_cost(), sum(_mean_lengths())
    one, eight = _timed(cost, 1, length), _timed(cost, 8, length)
    opt, card = model(paper.MODEL), gpu(paper.GPU)
    ratio = eight.whole / one.whole
    assert ratio < 1.25
    yield Section("Why batches")
    yield Say(f"""
        A decoding step makes one token for each running request. For that the GPU must read every weight once:
        {format_gib(opt.weight_bytes)}, at {card.bandwidth_bytes_s / 1e9:,.0f} GB a second at best; and the K and V of
        each request once. It multiplies while it reads.
    """)
    yield Ask(
        f"""A step for one request of {length} tokens takes {_milliseconds(one.whole)}. How long does a step for
        {eight.batch} such requests take?""",
        Choice(
            (
                f"About {eight.batch} times as long.",
                f"About half of that: {eight.batch // 2} times as long.",
                "Nearly as long as for one.",
                "Less than for one, as the GPU is used better.",
            ),
            2,
            (
                "that would be right if arithmetic were what takes the time",
                "nothing in a step is done by halves: it is done once for all, or once for each",
                "",
                "each request adds work, and takes none away",
            ),
        ),
        f"""{_milliseconds(eight.whole)}, {ratio:.2f} times as long. Nearly all of the step is reading the weights, once
        for all. Each further request only adds its own K and V.""",
        "What does the step do once for all requests, and what for each?",
    )
    yield from _batch_table(cost, length)


def _batch_table(cost: CostModel, length: int) -> Iterator[Part]:
    slots = paper.settings().memory.num_slots
    fits = slots // length
    timed = [_timed(cost, batch, length) for batch in BATCHES]
    rows = [
        (
            f"{t.batch}",
            *(f"{part / 1e6:.1f}" for part in (t.weights, t.cached, t.arithmetic, t.whole)),
            f"{t.batch * 1e9 / t.whole:,.0f}",
            "yes" if t.batch <= fits else "no",
        )
        for t in timed
    ]
    heads = (
        "requests", "read\nweights", "read\nK and V", "arith-\nmetic", "whole\nstep", "tokens\na second",
        "do they\nfit",
    )  # fmt: skip
    yield Show(
        figures(heads, rows, left=0),
        f"Decoding steps for requests of {length} tokens, in milliseconds:",
    )
    full = _timed(cost, fits, length)
    busy = full.arithmetic / full.whole
    largest = max((t for t in timed if t.batch <= fits), key=lambda t: t.batch)
    gain = largest.batch * timed[0].whole / largest.whole
    assert timed[0].batch == 1
    assert gain > 10
    assert all(t.arithmetic < t.weights + t.cached for t in timed)
    yield Say(f"""
        A step takes as long as reading or arithmetic, whichever is longer, and a little to start it on the GPU. Here
        reading is longer in every row: decoding is bandwidth-bound. That answers the question from before: a single
        request makes the GPU read all weights to get one token.

        A batch of {largest.batch} makes {gain:.1f} times the tokens a second of a batch of {1}. Larger ones would make
        more, but {slots:,} slots hold {fits} requests of {length} tokens. With so many the arithmetic units are busy
        for {100 * busy:.0f} % of the step. Memory, not compute, stops admission.
    """)
    yield PAUSE
    yield from _which_comes_first(length, fits)
    yield from _prompts(cost)


def _prompts(cost: CostModel) -> Iterator[Part]:
    prompt = 512
    filled = cost.step_ns(prompt, prompt, prompt * (prompt + 1) // 2)
    compute = prompt * cost.token_fs + prompt * (prompt + 1) // 2 * cost.pair_fs
    read = cost.weights_fs + prompt * cost.kv_token_fs
    assert compute > read
    yield Say(f"""
        Prefill is another matter. A prompt of {prompt} tokens uses each weight {prompt} times: the arithmetic takes
        {_milliseconds(compute / 1e6)} and reading {_milliseconds(read / 1e6)}, so the step takes
        {_milliseconds(filled)} and is bound by compute. But a prompt is computed once, and then the request decodes for
        hundreds of steps.
    """)
    yield PAUSE


class Crossing(NamedTuple):
    """``fits``: requests that the memory holds; ``turns``: from how many on a step waits for arithmetic, if ever."""

    of: ModelFacts
    on: GpuFacts
    length: int
    fits: int
    turns: int | None


def _crossing(name: str, card: str, length: int) -> Crossing:
    of, on = model(name), gpu(card)
    one = _timed(cost_model(of, on), 1, length)
    each = one.arithmetic - one.cached
    turns = ceil(one.weights / each) if each > 0 else None
    return Crossing(of, on, length, _pool_tokens(of, on) // length, turns)


def _which_comes_first(length: int, by_paper: int) -> Iterator[Part]:
    found = [
        _crossing(name, card, tokens)
        for name, card in ((paper.MODEL, paper.GPU), *PAIRS)
        for tokens in (length, LONG)
        if tokens <= model(name).max_position
    ]
    rows = [
        (
            f"{one.of.key}, {_short(one.on)}",
            f"{one.length:,}",
            f"{one.fits:,}",
            "never" if one.turns is None else f"{one.turns:,}",
        )
        for one in found
    ]
    by_memory = [one for one in found if one.turns is None or one.fits < one.turns]
    (other,) = [one for one in found if one not in by_memory]
    assert other.length == length
    assert found[0].fits < by_paper
    heads = ("", "tokens\neach", "requests\nthat fit", "arithmetic is the\nlonger part from")
    yield Show(
        figures(heads, rows),
        f"""Is it always so? Other models and GPUs, with the planner's pools from the bars above (so {found[0].fits} in
        the first row, not {by_paper}):""",
    )
    yield Say(f"""
        In {len(by_memory)} of {len(found)} rows the memory is full first (never: each request adds more reading than
        arithmetic). The exception, {other.of.key} with short requests, has {other.of.num_kv_heads} KV heads: its tokens
        are cheap. And arithmetic only makes steps longer; without room for its K and V a request cannot start at all.
    """)


# -- more memory, the same GPU ---------------------------------------------------------------------------


def _more_memory() -> Iterator[Part]:
    setting = paper.settings()
    workload = paper.workload(REQUESTS, 0, None)
    gibs = [paper.KV_BYTES // GIB * share // 4 for share in (1, 2, 4, 8)]
    reports = []
    for gib in gibs:
        slots = gib * GIB // kv_bytes_per_token(model(paper.MODEL))
        memory = replace(setting.memory, num_slots=slots)
        reports.append(simulate(workload, "paged", replace(setting, memory=memory)).report)
    speeds = [report.output_tokens_per_s or 0.0 for report in reports]
    at_once = [report.mean_requests or 0.0 for report in reports]
    gains = [b / a for a, b in pairwise(speeds)]
    assert all(1 < gain < 2 for gain in gains)
    yield Section("The same GPU with more room")
    yield Say(f"""
        A thought experiment for a simulator: the GPU stays as it is, and only the memory for K and V changes.
        {REQUESTS} requests of ShareGPT wait, and as many run as fit, in a memory that wastes next to nothing.
    """)
    yield Ask(
        f"""With {gibs[0]} GiB the server makes {speeds[0]:,.0f} tokens a second. With {gibs[1]} GiB, on the same GPU,
        it makes:""",
        Choice(
            (
                "about as many: the GPU computes no faster",
                "more, but less than twice as many",
                "twice as many",
                "fewer, as there is more to read in each step",
            ),
            1,
            (
                "it did not compute most of the time",
                "",
                "some of the work is done for each request: its prompt, and reading its K and V",
                "there is more to read, but the weights are read for more tokens",
            ),
        ),
        f"""{speeds[1]:,.0f}, {gains[0]:.2f} times as many. {at_once[1]:.1f} requests share the reading of the weights,
        where it was {at_once[0]:.1f}. What is each one's own is not shared: its K and V, and its prompt.""",
        "Which part of a step is shared by all requests, and which is each one's own?",
    )
    rows = [
        (f"{gib} GiB", f"{n:.1f}", f"{speed:,.0f}", _minutes(report.duration_s))
        for gib, n, speed, report in zip(gibs, at_once, speeds, reports, strict=True)
    ]
    heads = ("memory\nfor K and V", "requests\nat once", "tokens\na second", "all served\nafter")
    yield Show(figures(heads, rows))
    yield Say(f"""
        That is what memory for K and V buys. The same comes free if a server wastes less of the memory it has. How
        much is wasted, and how not to, are Lessons {2} and {3}.
    """)
    yield PAUSE


# -- the end ---------------------------------------------------------------------------------------------


def _closing() -> Iterator[Part]:
    yield History("""
        The paper used OPT models with multi-head attention. GQA and MLA came, and vLLM V1 serves them all: the formula
        changes, the argument does not.
    """)
    yield Try("pagesim models", "Every model that pagesim knows, with its bytes a token.")
    yield Try(
        "pagesim plan llama-3.1-8b --gpu h100 --length 8192",
        """This lesson's calculation, line by line. It counts in blocks of tokens (Lesson 3), so its figures are a
        little smaller.""",
    )
    yield PAUSE
    yield Remember(
        (
            "K and V of a token never change, so they are computed once and kept.",
            "`bytes a token = 2 x layers x KV heads x head size x bytes a number`; count KV heads, not query heads.",
            "The cache gets what weights and workspace leave, and that is fixed when the engine starts.",
            "Decoding reads all weights in each step: a larger batch shares that reading.",
            "Memory for K and V is mostly full long before the arithmetic units are busy: memory stops admission.",
        )
    )
    yield from _questions()


def _questions() -> Iterator[Part]:
    qwen = model("qwen2.5-7b")
    fp8 = kv_bytes_per_token(qwen, dtype_bytes=1)
    yield Ask(
        f"""{qwen.key} has {qwen.num_layers} layers, {qwen.num_heads} query heads and {qwen.num_kv_heads} KV heads, all
        of size {qwen.head_dim}. Its cache is kept in fp8, one byte a number. How many bytes does a token take?""",
        Size(fp8),
        f"""{K_AND_V} x {qwen.num_layers} x {qwen.num_kv_heads} x {qwen.head_dim} x {1} = {fp8:,} bytes. The query heads
        do not count; and with fp8 twice as many tokens fit as with bf16.""",
        "One of the numbers given is not in the formula.",
    )
    cost, length = _paper_cost(), sum(_mean_lengths())
    batch = paper.settings().memory.num_slots // length
    twice = cost_model(
        model(paper.MODEL), replace(gpu(paper.GPU), dense_flops=2 * gpu(paper.GPU).dense_flops)
    )
    now, then = _timed(cost, batch, length).whole, _timed(twice, batch, length).whole
    assert then == now
    yield Ask(
        f"""Somebody replaces the GPU by one whose arithmetic is twice as fast, with the same memory and the same
        bandwidth. What becomes of a decoding step for {batch} requests?""",
        Choice(
            (
                "It takes half as long.",
                "It takes as long as before.",
                "It takes as long, but twice as many requests fit.",
            ),
            1,
            (
                "arithmetic was not what the step waited for",
                "",
                "requests need room for K and V, and there is no more of it",
            ),
        ),
        f"""{_milliseconds(now)} before and {_milliseconds(then)} after: it waits for memory. Only prompts would be
        computed faster.""",
        "Look at the table again: which of its columns would change?",
    )
    share = kv_bytes_per_token(model("llama-2-13b")) / kv_bytes_per_token(model("llama-3.1-70b"))
    assert share > 1
    yield Ask(
        "Which of these makes room for more tokens in the same KV memory?",
        Choice(
            (
                "a model with fewer query heads, and as many KV heads",
                "a GPU with more bandwidth",
                "a model with fewer KV heads",
                "requests with shorter prompts",
            ),
            2,
            (
                "query heads are not kept",
                "bandwidth makes steps shorter, and holds nothing",
                "",
                "that makes room for more requests; a token still costs what it costs",
            ),
        ),
        "Only what stands in the formula changes the bytes a token: layers, KV heads, head size, bytes a number.",
        "Which of them stands in the formula for the bytes of a token?",
    )


# -- figures ---------------------------------------------------------------------------------------------


def _mean_lengths() -> tuple[int, int]:
    """Mean prompt and output of the requests that this lesson serves, rounded."""
    served = [arrival.request for arrival in paper.workload(REQUESTS, 0, None).arrivals]
    prompts: Sequence[int] = [len(request.prompt) for request in served]
    return round(mean(prompts)), round(mean(request.max_tokens for request in served))


def _paper_cost() -> CostModel:
    return cost_model(model(paper.MODEL), gpu(paper.GPU))


def _step_ns(cost: CostModel, tokens: int, length: int) -> int:
    """A step that computes the last ``tokens`` of a sequence of ``length``."""
    pairs = sum(range(length - tokens + 1, length + 1))
    return cost.step_ns(tokens, length, pairs)


def _milliseconds(ns: float) -> str:
    return f"{ns / 1e6:.1f} ms"


def _seconds(ns: float) -> str:
    return f"{ns / 1e9:.1f} s"


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.1f} min"


LESSON = Lesson(
    1,
    "kv-cache",
    "The KV cache",
    "What one token costs in bytes, for real models, and why memory, not compute, stops admission.",
    13,
    6,
    script,
)
