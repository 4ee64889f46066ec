"""How large a cache is: identities, the rules of truths section 5, and what real engines
printed."""

import dataclasses
import json
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shared_data import shared_file

from pagesim.core.errors import InputError
from pagesim.core.types import blocks_for
from pagesim.planner import facts
from pagesim.planner.kv_cache import (
    MemoryBudget,
    cache_layout,
    kv_bytes_per_token,
    kv_memory,
    kv_pool,
    max_concurrency,
)
from pagesim.planner.units import GIB

LLAMA_8B = facts.model("llama-3.1-8b")
OPT_13B = facts.model("opt-13b")


def test_cache_bytes_per_token_with_grouped_heads():
    """H18: 2 x layers x KV heads x head size x bytes."""
    assert (LLAMA_8B.num_layers, LLAMA_8B.num_kv_heads, LLAMA_8B.head_dim) == (32, 8, 128)
    assert kv_bytes_per_token(LLAMA_8B) == 131072
    assert kv_bytes_per_token(dataclasses.replace(LLAMA_8B, num_kv_heads=32)) == 524288
    wide = facts.model("llama-3.1-70b")
    assert (wide.num_layers, wide.num_kv_heads, wide.head_dim) == (80, 8, 128)
    assert kv_bytes_per_token(wide) == 327680


def test_requests_take_whole_blocks():
    """H19: requests = floor(blocks / ceil(length / block)), all from one number of blocks."""
    fit = max_concurrency(1000, 1000, 16)
    assert (fit.blocks_each, fit.whole, round(fit.ratio, 2)) == (63, 15, 15.87)
    fit = max_concurrency(1000, 4096, 16)
    assert (fit.blocks_each, fit.whole, fit.ratio) == (256, 3, 3.90625)
    assert max_concurrency(2, 4096, 16).whole == 0


def test_the_paper_s_pool():
    """Truths 1: OPT-13B takes 819,200 bytes a token; 12 GiB hold 15,728 slots and 7 maxima of
    2,048."""
    assert kv_bytes_per_token(OPT_13B) == 2 * 5120 * 40 * 2 == 819200
    slots = kv_pool(12 * GIB, cache_layout(OPT_13B), 1)
    assert slots.num_slots == 15728
    assert max_concurrency(slots.num_blocks, 2048, 1).whole == 7
    assert round(100 * (1 - Fraction(7 * 2048, slots.num_slots)), 2) == Fraction("8.85")
    paged = kv_pool(12 * GIB, cache_layout(OPT_13B), 16)
    assert (paged.num_blocks, paged.num_slots) == (983, 15728)


def test_the_paper_s_three_settings():
    for row in json.loads(shared_file("data/paper_setup.json").read_text(encoding="utf-8"))[
        "models"
    ]:
        model, ranks = facts.model(row["model"]), row["tensor_parallel"]
        assert kv_bytes_per_token(model) == row["kv_bytes_per_token"]
        assert kv_bytes_per_token(model, tensor_parallel=ranks) * ranks == row["kv_bytes_per_token"]
        weights_gb = model.weight_bytes / 1e9
        assert weights_gb == pytest.approx(row["paper_parameter_gb"], rel=0.015)


@pytest.mark.parametrize(
    ("key", "ranks", "dtype_bytes", "num_bytes"),
    [
        ("qwen2.5-32b", 1, 2, 262144),
        ("qwen2.5-32b", 8, 2, 32768),  # one KV head a rank
        ("llama-3.1-8b", 16, 2, 16384),  # two ranks keep the same head
        ("llama-3.1-8b", 32, 2, 16384),
        ("llama-3.1-8b", 1, 1, 65536),  # an fp8 cache halves the bytes
        ("deepseek-v3", 1, 2, 70272),  # (512 + 64) x 2 x 61
        ("deepseek-v3", 16, 2, 70272),  # the latent is whole on every rank
        ("deepseek-v2-lite", 8, 1, 15552),
        ("falcon-7b", 71, 2, 8192),
    ],
)
def test_bytes_on_one_rank(key, ranks, dtype_bytes, num_bytes):
    model = facts.model(key)
    found = kv_bytes_per_token(model, dtype_bytes=dtype_bytes, tensor_parallel=ranks)
    assert found == num_bytes


@pytest.mark.parametrize(("key", "ranks"), [("opt-13b", 3), ("llama-3.1-8b", 64), ("phi-4", 4)])
def test_ranks_that_cannot_share_the_heads_are_refused(key, ranks):
    model = facts.model(key)
    with pytest.raises(InputError, match=f"{ranks} tensor-parallel ranks cannot share {key}'s"):
        kv_bytes_per_token(model, tensor_parallel=ranks)
    with pytest.raises(InputError, match="give one of 1, "):
        kv_bytes_per_token(model, tensor_parallel=0)


def test_gemma_groups_layers_by_kind():
    """10 full and 52 sliding layers make 1 + 6 groups of 10 layers; 4,096 tokens take 256 + 6 x
    257."""
    layout = cache_layout(facts.model("gemma-3-27b"))
    assert (layout.full_groups, layout.window_groups, layout.layers_per_block) == (1, 6, 10)
    assert layout.blocks_per_request(4096, 16, 8192) == 256 + 6 * 257
    assert layout.blocks_per_request(131072, 16, 8192) == 8192 + 6 * (576 + 1)


def test_a_window_bounds_what_a_long_request_takes():
    layout = cache_layout(facts.model("mistral-7b-v0.1"))
    assert (layout.full_groups, layout.window_groups, layout.layers_per_block) == (0, 1, 32)
    ends = {layout.blocks_per_request(length, 16, 2048) for length in (10_000, 20_000, 32_768)}
    assert ends == {blocks_for(4095 + 2048, 16) + 1}
    assert layout.blocks_per_request(10_000, 1, 100) == 4095 + 100 + 1


@given(st.sampled_from(facts.models()), st.integers(1, 200_000), st.sampled_from([1, 16, 128]))
def test_laws_of_every_model(model, length, block_size):
    layout = cache_layout(model)
    whole = layout.layer_bytes * model.num_layers
    assert whole == kv_bytes_per_token(model)
    padded = layout.layer_bytes * layout.layers_per_block * layout.num_groups
    assert whole <= padded < whole + layout.layer_bytes * layout.layers_per_block
    pool = kv_pool(20 * GIB, layout, block_size)
    assert 0 <= pool.memory_bytes - pool.num_blocks * pool.block_bytes < pool.block_bytes
    fit = max_concurrency(pool.num_blocks, length, block_size, layout=layout)
    assert fit.whole * fit.blocks_each <= pool.num_blocks < (fit.whole + 1) * fit.blocks_each
    longer = max_concurrency(pool.num_blocks, length + 1, block_size, layout=layout)
    assert longer.blocks_each >= fit.blocks_each


def test_what_is_left_for_the_cache():
    gpu = facts.gpu("a100-80gb")
    assert gpu.visible_bytes == int(Decimal("79.15") * GIB)
    budget = kv_memory(gpu, LLAMA_8B)
    assert budget.budget_bytes == gpu.visible_bytes * 9 // 10
    assert budget.kv_bytes == budget.budget_bytes - 2 * LLAMA_8B.params - GIB
    shared = kv_memory(gpu, LLAMA_8B, tensor_parallel=8)
    assert shared.weight_bytes == LLAMA_8B.weight_bytes // 8
    odd = kv_memory(gpu, LLAMA_8B, tensor_parallel=8, weight_bytes=9)
    assert odd.weight_bytes == 2, "the largest rank's share"
    unseen = dataclasses.replace(gpu, visible_bytes=None)
    assert kv_memory(unseen, LLAMA_8B).gpu_bytes == 80_000_000_000
    assert kv_memory(gpu, facts.model("opt-66b")).kv_bytes < 0
    assert kv_pool(-1, cache_layout(OPT_13B), 16).num_blocks == 0


@pytest.mark.parametrize("utilisation", [Fraction(0), Fraction(-1, 2), Fraction(11, 10)])
def test_a_utilisation_outside_its_range_is_refused(utilisation):
    with pytest.raises(InputError, match="above 0 and at most 1"):
        kv_memory(facts.gpu("l4"), LLAMA_8B, utilisation=utilisation)


# --- what engines printed ---------------------------------------------------------------------

SHAPES_OF_UNLISTED_MODELS = {
    "llama-like, 32 layers, 32 KV heads, 128": "llama-2-7b",
    "36 layers, 8 KV heads, 128": "qwen3-8b",
}
LENGTH_NOT_ROUNDED_TO_BLOCKS = {"L30"}  # that version printed tokens / length
PRINT_MEMORY_AND_BLOCKS = list(map("L{:02}".format, (1, 2, 6, 7, 11, 31, 36, 37, 43, 44, 48)))
PRINT_REQUESTS = list(map("L{:02}".format, (1, 2, 3, 6, 7, 11, 21, 30, 36, 37, 43, 44, 48)))
PRINT_BUDGET = ["L10", "L11", "L43"]
PRINT_16_BIT_WEIGHTS = ["L01", "L02", "L07", "L10", "L43"]
ALL_LOGS = sorted({*PRINT_MEMORY_AND_BLOCKS, *PRINT_REQUESTS, *PRINT_BUDGET, "L20"})


def _logs():
    text = shared_file("data/kv_startup_logs.json").read_text(encoding="utf-8")
    return {row["id"]: row for row in json.loads(text, parse_float=Decimal)["rows"]}


@pytest.fixture(name="log")
def _log(request):
    return _logs()[request.param]


def _of(ids):
    return pytest.mark.parametrize("log", ids, indirect=True)


def test_no_log_is_left_out():
    logs = _logs()
    assert sorted(logs) == ALL_LOGS

    def ids(*names):
        return [key for key, log in logs.items() if all(log[name] is not None for name in names)]

    blocks = ids("reported_kv_gib", "reported_blocks")
    tokens = ids("reported_kv_gib", "reported_tokens")
    assert sorted({*blocks, *tokens}) == PRINT_MEMORY_AND_BLOCKS
    assert ids("reported_concurrency") == PRINT_REQUESTS
    assert ids("budget_gib") == PRINT_BUDGET
    weights = [key for key in ids("weights_gib") if logs[key]["weights"] in ("bf16", "fp16")]
    assert weights == PRINT_16_BIT_WEIGHTS


def _layout(log):
    key = log["model_key"]
    return cache_layout(
        facts.model(SHAPES_OF_UNLISTED_MODELS.get(key, key)),
        dtype_bytes=1 if log["kv_cache_dtype"] == "fp8" else 2,
        tensor_parallel=log["tensor_parallel"],
    )


def _bytes_between(gib):
    """The least and the most bytes printed as ``gib``: half a unit of its last digit each way."""
    half = Decimal(1).scaleb(gib.as_tuple().exponent) / 2
    return int((gib - half) * GIB), int((gib + half) * GIB)


def _reported_blocks(log, layout):
    """Blocks of the pool; where only tokens are printed, the least number that gives them."""
    if log["reported_blocks"] is not None:
        return log["reported_blocks"]
    tokens = log["reported_tokens"]
    return None if tokens is None else tokens // log["block_size"] * layout.num_groups


@_of(PRINT_MEMORY_AND_BLOCKS)
def test_blocks_follow_from_the_memory_an_engine_printed(log):
    layout, block_size = _layout(log), log["block_size"]
    gib, blocks = log["reported_kv_gib"], _reported_blocks(log, layout)
    least, most = (kv_pool(memory, layout, block_size) for memory in _bytes_between(gib))
    assert least.num_blocks // layout.num_groups * layout.num_groups <= blocks <= most.num_blocks


@_of(ALL_LOGS)
def test_bytes_per_token_are_those_of_the_log(log):
    layout, check = _layout(log), log["check"]
    if layout.num_groups > 1:
        pool = kv_pool(int(log["reported_kv_gib"] * GIB), layout, log["block_size"])
        assert pool.num_blocks == check["blocks_from_memory"]
        assert pool.num_slots == check["tokens_from_memory"] == log["reported_tokens"]
    else:
        in_all_layers = layout.layer_bytes * layout.layers_per_block
        assert in_all_layers == check["kv_bytes_per_token_per_gpu"]
    if log["reported_cpu_blocks"] is not None:
        host = kv_pool(4 * GIB, layout, log["block_size"])
        assert host.num_blocks == log["reported_cpu_blocks"]


@_of(PRINT_REQUESTS)
def test_requests_at_once_are_those_of_the_log(log):
    layout = _layout(log)
    blocks, length = _reported_blocks(log, layout), log["max_model_len"]
    printed = log["reported_concurrency"]
    if log["id"] in LENGTH_NOT_ROUNDED_TO_BLOCKS:
        ratio = blocks * log["block_size"] / length
    elif layout.num_groups > 1:
        pool = log["check"]["blocks_from_memory"]
        ratio = max_concurrency(pool, length, log["block_size"], layout=layout).ratio
    else:
        ratio = max_concurrency(blocks, length, log["block_size"], layout=layout).ratio
    assert round(ratio, 2) == float(printed)
    assert (ratio < 1) == (log["verdict"].endswith(("refused to start", "infeasible")))


@_of(PRINT_BUDGET)
def test_the_budget_adds_up_as_in_the_log(log):
    total, budget, weights, *rest = (
        int(log[name] * GIB)
        for name in (
            *("total_gpu_gib", "budget_gib", "weights_gib"),
            *("non_torch_gib", "activation_peak_gib", "reported_kv_gib"),
        )
    )
    parts = MemoryBudget(total, budget, weights, workspace_bytes=rest[0] + rest[1])
    assert abs(parts.kv_bytes - rest[2]) <= 0.0151 * GIB  # five figures, each rounded to 0.01


@_of(PRINT_16_BIT_WEIGHTS)
def test_16_bit_weights_are_those_of_the_log(log):
    model = facts.model(log["model_key"])
    assert model.weight_bytes / GIB == pytest.approx(float(log["weights_gib"]), rel=0.01)
