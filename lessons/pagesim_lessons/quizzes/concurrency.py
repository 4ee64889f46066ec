"""Concurrency: how many requests fit at once, from slabs and from pages. Knows nothing about running."""

from fractions import Fraction

from pagesim.planner import facts
from pagesim.planner.facts import GpuFacts, ModelFacts
from pagesim.planner.kv_cache import (
    DEFAULT_UTILISATION,
    DEFAULT_WORKSPACE_BYTES,
    KVPool,
    cache_layout,
    kv_bytes_per_token,
    kv_memory,
    kv_pool,
    max_concurrency,
)
from pagesim.planner.units import GIB, format_bytes
from pagesim.practice.answers import Whole
from pagesim_lessons.quizzes.draws import Draws, first_good
from pagesim_lessons.quizzes.problem import Drawn, Posed, Question

PAIRS = (
    ("opt-13b", "a100-sxm-40gb"), ("llama-2-7b", "a100-sxm-40gb"), ("llama-2-13b", "a100-sxm-80gb"),
    ("llama-2-13b", "l40s"), ("llama-3.1-8b", "rtx-4090"), ("llama-3.1-8b", "a100-sxm-40gb"),
    ("llama-3.1-8b", "h100-sxm"), ("llama-3.2-3b", "rtx-3090"), ("llama-3.2-1b", "t4"),
    ("qwen2.5-7b", "rtx-4090"), ("qwen2.5-7b", "l40s"), ("qwen3-8b", "rtx-5090"),
    ("qwen3-8b", "h100-sxm"), ("qwen3-32b", "h200-sxm"), ("phi-4", "a100-sxm-80gb"),
    ("yi-34b", "h200-sxm"), ("mistral-7b-v0.3", "rtx-4090"), ("falcon-7b", "a100-sxm-40gb"),
)  # fmt: skip
"""Models and GPUs that they fit on. Written out, so that new facts change no problem."""
LONGEST = (2048, 4096, 8192)


def pose(draws: Draws) -> Posed:
    return first_good(draws, _attempt)


def _attempt(draws: Draws) -> Posed | None:
    names = draws.one_of(PAIRS)
    model, gpu = facts.model(names[0]), facts.gpu(names[1])
    budget = kv_memory(gpu, model)
    memory = budget.kv_bytes // GIB * GIB
    block_size = draws.one_of((16, 16, 32))
    longest = draws.one_of([length for length in LONGEST if length <= model.max_position])
    length = draws.whole(longest // 16, longest // 3)
    pool = kv_pool(memory, cache_layout(model), block_size)
    slabs = memory // (kv_bytes_per_token(model) * longest)
    if not _shown_alike(gpu, model, memory) or slabs < 2 or length % block_size == 0:
        return None
    story = (
        f"{model.name} on one {gpu.name}. Its KV cache is kept in 16-bit numbers.",
        Drawn(tuple(_lines(gpu, model, block_size))),
        (
            "What is left of the engine's share after weights and workspace is for K and V; take it in whole GiB, "
            "rounded down."
        ),
    )
    questions = (
        _left(gpu, model, memory),
        _blocks(model, memory, pool, block_size),
        _paged(pool, length, block_size),
        _slabs(model, memory, longest, slabs),
        _worst(pool, longest, block_size),
    )
    given = {
        "gpu_gib": _gib(budget.gpu_bytes),
        "share_percent": int(100 * DEFAULT_UTILISATION),
        "weights_gib": _gib(budget.weight_bytes),
        "workspace_gib": _gib(DEFAULT_WORKSPACE_BYTES),
        "layers": model.num_layers,
        "kv_heads": model.num_kv_heads,
        "head_dim": model.head_dim,
        "bytes": 2,
        "block_size": block_size,
    }
    return Posed(story, questions, given)


def _gib(num_bytes: int) -> str:
    """As the story shows it."""
    return f"{num_bytes / GIB:.2f}"


def _shown_alike(gpu: GpuFacts, model: ModelFacts, memory: int) -> bool:
    """The rounded figures of the story lead to the same whole GiB as the exact ones."""
    exact = kv_memory(gpu, model)
    left = (
        Fraction(_gib(exact.gpu_bytes)) * DEFAULT_UTILISATION
        - Fraction(_gib(exact.weight_bytes))
        - 1
    )
    return int(left) * GIB == memory


def _lines(gpu: GpuFacts, model: ModelFacts, block_size: int) -> list[str]:
    budget = kv_memory(gpu, model)
    token = kv_bytes_per_token(model)
    return [
        f"GPU memory        {_gib(budget.gpu_bytes)} GiB; the engine takes {int(100 * DEFAULT_UTILISATION)} % of it",
        f"weights           {_gib(budget.weight_bytes)} GiB",
        f"workspace         {_gib(DEFAULT_WORKSPACE_BYTES)} GiB",
        (
            f"a token's K and V 2 x {model.num_kv_heads} KV heads x {model.head_dim} x 2 bytes x "
            f"{model.num_layers} layers"
        ),
        f"                  = {token:,} bytes",
        f"block size        {block_size} tokens",
    ]


def _left(gpu: GpuFacts, model: ModelFacts, memory: int) -> Question:
    budget = kv_memory(gpu, model)
    share = float(DEFAULT_UTILISATION)
    work = f"{_gib(budget.gpu_bytes)} x {share:g} - {_gib(budget.weight_bytes)} - {_gib(DEFAULT_WORKSPACE_BYTES)}"
    left = budget.kv_bytes / GIB
    return Question(
        "How many whole GiB are left for K and V?",
        ("kv GiB",),
        Whole(memory // GIB, "GiB"),
        (
            f"The engine's share: {_gib(budget.gpu_bytes)} x {share:g} = {_gib(budget.budget_bytes)} GiB.",
            f"{work} = {left:.2f}, rounded down {memory // GIB}.",
        ),
        (
            "Weights are there before any request; the cache gets what is left.",
            "Memory x share - weights - workspace.",
            f"The engine's share is {_gib(budget.budget_bytes)} GiB.",
        ),
        f"{work} = {left:.2f} GiB.",
    )


def _blocks(model: ModelFacts, memory: int, pool: KVPool, block_size: int) -> Question:
    token = kv_bytes_per_token(model)
    return Question(
        f"How many blocks of {block_size} tokens is that?",
        ("blocks",),
        Whole(pool.num_blocks, "blocks"),
        (
            f"A block: {token:,} x {block_size} = {pool.block_bytes:,} bytes, {format_bytes(pool.block_bytes)}.",
            f"{memory // GIB} GiB = {memory:,} bytes.",
            f"{memory:,} / {pool.block_bytes:,}, rounded down, is {pool.num_blocks:,}.",
        ),
        (
            "A block is a piece of memory in all layers; only whole ones can be used.",
            "Memory divided by the bytes of a block, rounded down.",
            f"A block takes {pool.block_bytes:,} bytes.",
        ),
        f"{memory:,} / {pool.block_bytes:,} = {pool.num_blocks:,} blocks.",
    )


def _paged(pool: KVPool, length: int, block_size: int) -> Question:
    found = max_concurrency(pool.num_blocks, length, block_size)
    return Question(
        f"How many requests that are {length:,} tokens long fit at once, with pages?",
        ("paged", length),
        Whole(found.whole, "requests"),
        (
            f"Each needs {length:,} / {block_size}, rounded up: {found.blocks_each} blocks.",
            f"{pool.num_blocks:,} / {found.blocks_each}, rounded down, is {found.whole}.",
        ),
        (
            "A request holds whole blocks, and as many as it has tokens for.",
            "Blocks of one request, rounded up; then all blocks divided by that, rounded down.",
            f"There are {pool.num_blocks:,} blocks, and each request needs {found.blocks_each}.",
        ),
        f"{pool.num_blocks:,} / {found.blocks_each} = {found.ratio:.2f}: {found.whole} requests at once.",
    )


def _slabs(model: ModelFacts, memory: int, longest: int, slabs: int) -> Question:
    token = kv_bytes_per_token(model)
    slab = token * longest
    return Question(
        f"How many fit at once if each reserves {longest:,} tokens, the longest allowed, in one contiguous piece?",
        ("slabs", longest),
        Whole(slabs, "requests"),
        (
            f"A reservation: {token:,} x {longest:,} = {slab:,} bytes, {format_bytes(slab)}.",
            f"{memory:,} / {slab:,}, rounded down, is {slabs}.",
        ),
        (
            "How long the requests really are does not matter here.",
            "Memory divided by the bytes of the longest request, rounded down.",
            f"A reservation takes {format_bytes(slab)}.",
        ),
        f"{memory:,} / {slab:,}: {slabs}. The rest of each reservation stays empty, and nobody else can use it.",
    )


def _worst(pool: KVPool, longest: int, block_size: int) -> Question:
    found = max_concurrency(pool.num_blocks, longest, block_size)
    return Question(
        f"An engine prints the worst case at its start: how many requests fit with pages if all are {longest:,} long?",
        ("paged", longest),
        Whole(found.whole, "requests"),
        (
            f"Each needs {longest:,} / {block_size} = {found.blocks_each} blocks.",
            f"{pool.num_blocks:,} / {found.blocks_each}, rounded down, is {found.whole}.",
        ),
        (
            "Paging cannot make long requests small.",
            "The same as with slabs, but counted in blocks.",
            f"There are {pool.num_blocks:,} blocks.",
        ),
        f"{pool.num_blocks:,} / {found.blocks_each} = {found.ratio:.2f}. A worst case and no batch limit: shorter "
        "requests fit more at once.",
    )
