"""Times of a step: exact against fractions, monotone, and of the right size."""

import dataclasses
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagesim.core.errors import InputError
from pagesim.planner import facts
from pagesim.sim.cost import STEP_OVERHEAD_NS, CostModel, cost_model, pair_flops

OPT_13B = facts.model("opt-13b")
A100 = facts.gpu("a100-40gb")
PAPER = cost_model(OPT_13B, A100)
MIXTURE = cost_model(facts.model("qwen3-30b-a3b"), facts.gpu("h100"))

LARGEST = {
    "tokens": 16384,
    "kv_tokens": 10**6,
    "pairs": 10**8,
    "copied_slots": 4096,
    "copies": 4,
    "host_slots": 10**5,
    "host_blocks": 10**4,
}
COUNTS = st.fixed_dictionaries({name: st.integers(0, most) for name, most in LARGEST.items()})


def by_hand(counts):
    """The step of OPT-13B on an A100 40 GB from data-sheet figures, as a fraction of
    nanoseconds."""
    bandwidth = Fraction(1555 * 10**9) * Fraction(8, 10)
    flops = Fraction(312 * 10**12) * Fraction(55, 100)
    weights = 2 * 12853473280 if counts["tokens"] else 0
    memory = (weights + counts["kv_tokens"] * 819200) / bandwidth
    compute = (counts["tokens"] * 2 * 12853473280 + counts["pairs"] * 4 * 40 * 40 * 128) / flops
    seconds = Fraction(2, 1000) + max(memory, compute)
    seconds += counts["copied_slots"] * 2 * 819200 / bandwidth
    seconds += counts["copies"] * Fraction(10, 10**6)
    seconds += counts["host_slots"] * 819200 / (Fraction(32 * 10**9) * Fraction(8, 10))
    seconds += counts["host_blocks"] * 80 * Fraction(10, 10**6)
    return seconds * 10**9


@given(COUNTS)
def test_a_step_is_the_roofline_computed_by_hand(counts):
    expected = by_hand(counts)
    assert abs(PAPER.step_ns(**counts) - expected) <= 1 + expected / 10**6


@given(COUNTS, st.sampled_from([PAPER, MIXTURE]), st.sampled_from(sorted(LARGEST)))
def test_more_of_anything_never_takes_less_time(counts, cost, grown):
    more = counts | {grown: counts[grown] + 1}
    assert cost.step_ns(**counts) <= cost.step_ns(**more)


@given(COUNTS)
def test_whole_numbers_in_whole_numbers_out(counts):
    assert type(PAPER.step_ns(**counts)) is int
    assert type(PAPER.host_copy_ns(counts["host_slots"], counts["host_blocks"])) is int


def test_every_coefficient_is_a_whole_number():
    for model in facts.models():
        for gpu in facts.gpus():
            cost = cost_model(model, gpu)
            for field in dataclasses.fields(CostModel):
                coefficient = getattr(cost, field.name)
                assert type(coefficient) is int
                # The rounding of a coefficient stays below one part in ten thousand.
                assert coefficient >= 5_000, (model.key, gpu.key, field.name)


def test_a_decode_step_of_the_paper_takes_some_30_ms():
    """30 sequences of OPT-13B on an A100 40 GB: weights 20.7 ms, some 13,500 cached tokens 8.9
    ms."""
    assert 20_000_000 < PAPER.step_ns(30, 30 * 450, 0) < 35_000_000
    assert PAPER.step_ns(30, 30 * 450, 0) == 31_554_780


def test_a_prefill_waits_for_arithmetic_and_a_decode_for_memory():
    decode, twice = PAPER.step_ns(1, 500, 0), PAPER.step_ns(2, 500, 0)
    assert decode == twice
    prefill, twice = PAPER.step_ns(1024, 0, 0), PAPER.step_ns(2048, 0, 0)
    assert twice - STEP_OVERHEAD_NS == pytest.approx(2 * (prefill - STEP_OVERHEAD_NS), abs=1)


def test_a_mixture_reads_the_experts_its_tokens_need():
    one, two, many, more = (MIXTURE.step_ns(tokens, 0, 0) for tokens in (1, 2, 64, 65))
    assert one - STEP_OVERHEAD_NS == pytest.approx((two - STEP_OVERHEAD_NS) / 2, abs=1)
    assert many == more
    dense = cost_model(facts.model("qwen2.5-32b"), facts.gpu("h100"))
    assert dense.step_ns(1, 0, 0) == dense.step_ns(64, 0, 0)


def test_ranks_share_the_work():
    one, four = PAPER, cost_model(OPT_13B, A100, tensor_parallel=4)
    for field in ("weights_fs", "kv_token_fs", "token_fs", "pair_fs", "host_slot_fs"):
        assert getattr(one, field) == pytest.approx(4 * getattr(four, field), abs=4)
    with pytest.raises(InputError, match="cannot share"):
        cost_model(OPT_13B, A100, tensor_parallel=3)


def test_an_fp8_cache_is_read_in_half_the_time():
    half = cost_model(OPT_13B, A100, dtype_bytes=1)
    assert PAPER.kv_token_fs == pytest.approx(2 * half.kv_token_fs, abs=2)
    assert half.weights_fs == PAPER.weights_fs


def test_flops_of_a_pair():
    assert pair_flops(OPT_13B) == 4 * 40 * 40 * 128
    assert pair_flops(facts.model("deepseek-v3")) == 2 * 61 * 128 * (128 + 64 + 128)


def test_swapping_small_blocks_is_dear_and_crosses_recomputing():
    """Truths 4 (the paper's figure 19): a round trip of 256 tokens against computing them again.

    The crossing is fitted by ``HOST_PIECE_NS``; the order of block sizes is not.
    """
    recompute = PAPER.step_ns(256, 0, 256 * 257 // 2)
    round_trips = {size: 2 * PAPER.host_copy_ns(256, 256 // size) for size in (1, 8, 16, 32, 64)}
    assert sorted(round_trips.values(), reverse=True) == list(round_trips.values())
    assert round_trips[1] > 5 * recompute
    assert round_trips[16] > recompute > round_trips[64]
