"""What lessons 1 to 3 say, against figures from outside: hand arithmetic, the paper's, and brute force.

``../shared/truths.md`` has the paper's figures; the formulas here are written anew.
"""

from fractions import Fraction
from types import SimpleNamespace

import pytest
from lesson_parts import asked, chosen, parts_of, said

from pagesim.core import events as ev
from pagesim.core.types import Geometry
from pagesim_lessons.lesson import Part, Say
from pagesim_lessons.lessons import blocks_and_tables, kv_cache, slabs

GIB = 2**30
OPT_TOKEN = 2 * 5120 * 40 * 2  # hidden size = heads x head size


@pytest.fixture(scope="module")
def first() -> list[Part]:
    return parts_of("kv_cache")


@pytest.fixture(scope="module")
def second() -> list[Part]:
    return parts_of("slabs")


@pytest.fixture(scope="module")
def third() -> list[Part]:
    return parts_of("blocks_and_tables")


# -- lesson 1 --------------------------------------------------------------------------------------------


def test_with_a_cache_prompt_and_outputs_less_one_are_computed(first):
    prompt, outputs = 7, 3  # "Four score and seven years ago our", and three words more
    assert asked(first, "for how many tokens are K and V computed").answer.value == prompt + 2
    text = said(first, Say)
    prompt, outputs = 143, 349  # the means it names
    assert f"a prompt of {prompt} tokens and {outputs} output tokens" in text
    anew = sum(prompt + made for made in range(outputs))
    assert f"{anew / (prompt + outputs - 1):.0f} times the arithmetic" in text


def test_bytes_of_a_token(first):
    assert asked(first, "opt-13b has 40 layers, 40 KV heads").answer.value == OPT_TOKEN == 819_200
    assert asked(first, "if every query head had a K and V").answer.value == 524_288
    assert asked(first, "kept in fp8").answer.value == 2 * 28 * 4 * 128


def test_what_fits_beside_the_weights(first):
    left = int(Fraction("79.22") * GIB) * 9 // 10 - 8_030_261_248 * 2 - GIB
    tokens = left // 131_072
    ask = asked(first, "How many requests of 8,192 tokens")
    assert f"{tokens:,} tokens" in ask.question
    assert ask.answer.value == tokens // 8192 == 55
    assert "15,728 slots" in said(first, Say)


def test_a_decoding_step_waits_for_memory(first):
    """The roofline by hand: an A100's 1,555 GB/s at 0.8, 312 TFLOPS at 0.55, 2 ms for launching."""
    length, weights, params = 492, 2 * 12_853_473_280, 12_853_473_280

    def step_ms(batch: int) -> tuple[float, float]:
        read = (weights + batch * length * OPT_TOKEN) / (1555e9 * 0.8)
        flops = batch * (2 * params + length * 4 * 40 * 5120)
        return 1e3 * read + 2, 1e3 * flops / (312e12 * 0.55)

    ask = asked(first, "How long does a step for 8 such requests take?")
    assert f"takes {step_ms(1)[0]:.1f} ms" in ask.question
    assert f"{step_ms(8)[0]:.1f} ms, {step_ms(8)[0] / step_ms(1)[0]:.2f} times" in ask.why
    assert chosen(ask) == "Nearly as long as for one."
    fits = 15_728 // length
    assert f"hold {fits} requests of {length} tokens" in said(first, Say)
    busy = step_ms(fits)[1] / step_ms(fits)[0]
    assert f"busy for {100 * busy:.0f} % of the step" in said(first, Say)
    assert chosen(asked(first, "twice as fast")) == "It takes as long as before."


@pytest.mark.parametrize(
    ("name", "card", "length"),
    [
        ("opt-13b", "a100-sxm-40gb", 492),
        ("llama-3.1-8b", "rtx-4090", 492),
        ("llama-3.1-8b", "h100-sxm", 8192),
        ("qwen2.5-7b", "h100-sxm", 492),
    ],
)
def test_from_where_on_arithmetic_is_the_longer_part(name, card, length):
    found = kv_cache._crossing(name, card, length)
    of, on = found.of, found.on

    def waits_for_arithmetic(batch: int) -> bool:
        kept = 2 * of.num_layers * of.num_kv_heads * of.head_dim * 2
        read = (2 * of.params + batch * length * kept) / (on.bandwidth_bytes_s * 0.8)
        pairs = length * 4 * of.num_layers * of.num_heads * of.head_dim
        return batch * (2 * of.params + pairs) / (on.dense_flops * 0.55) > read

    turns = next(filter(waits_for_arithmetic, range(1, 3000)), None)
    if turns is None:
        assert found.turns is None
    else:
        assert found.turns == pytest.approx(turns, abs=2)


def test_more_memory_is_more_tokens_a_second_but_not_as_much_more(first):
    ask = asked(first, "on the same GPU")
    assert chosen(ask) == "more, but less than twice as many"


# -- lesson 2 --------------------------------------------------------------------------------------------


def test_figure_3_has_the_papers_slots():
    _, found = slabs.figure_3()
    shown = [
        (s.name, s.maximum, s.prompt, s.written - s.prompt, s.reserved, s.internal) for s in found
    ]
    assert shown == [("A", 2048, 7, 1, 2, 2038), ("B", 512, 3, 1, 1, 507)]


def test_what_a_slab_lets_wait(second):
    assert asked(second, "Can it start in step 0").answer.value is (3 * 16 + 16 <= 48)
    assert asked(second, "Does it start?").answer.value is False
    assert "16 slots are free, in 2 holes, the largest of 8" in asked(second, "Does it start?").why
    assert asked(second, "nobody ever fill").answer.value == 2038
    assert "18 of 48 slots written" in said(second, Say)


def test_the_papers_setting(second):
    ask = asked(second, "How many requests run at once?")
    assert ask.answer.value == 15_728 // 2_048 == 7
    assert "8.85 %" in ask.why


def test_where_the_memory_goes_is_near_the_papers_figure_2():
    """300 requests are few: three points more than the tolerance of the full comparison."""
    printed = {
        "max": {"used": 20.4, "reserved": 13.3, "internal": 57.3, "external": 8.9},
        "pow2": {"used": 26.8, "reserved": 17.9, "internal": 13.6, "external": 41.6},
        "oracle": {"used": 38.2, "reserved": 25.2, "external": 36.6},
    }
    for result in slabs.compared().results:
        ours = result.report.waste.percent()
        for kind, percent in printed[result.allocator].items():
            assert ours[kind] == pytest.approx(percent, abs=4), (result.allocator, kind)


def test_buddy_rounding_is_external_and_the_oracle_ends_internal_waste(second):
    assert chosen(asked(second, "that rounding added")) == "external and others"
    assert chosen(asked(second, "which share of the memory holds tokens")) == "less than half"
    assert chosen(asked(second, "takes most of the memory")) == "internal"


def test_the_questions_at_its_end(second):
    fit, left = 0, 10_000
    while left >= 1_500:
        fit, left = fit + 1, left - 1_500
    assert asked(second, "can never be handed out").answer.value == left
    slots = ["internal"] * 100
    for position in range(30 + 20 - 1):  # the last output token is never stored
        slots[position] = "used" if position < 40 else "reserved"
    counts = (slots.count("reserved"), slots.count("internal"))
    assert asked(second, "how many internal?").answer.values == counts


# -- lesson 3 --------------------------------------------------------------------------------------------


def test_the_same_server_paged(third):
    assert asked(third, "the last one, start in step 0").answer.value is True
    tokens = 3 + 4 - 1
    blocks_each = len({position // 4 for position in range(tokens)})
    assert asked(third, "even if all are at their end").answer.value == 48 // 4 // blocks_each
    assert "With slabs d had to wait until step 6; now it starts in step 2." in said(third, Say)


def test_internal_waste_is_half_a_block_less_half_a_slot(third):
    lengths = range(1, 16 * 50 + 1)
    mean_empty = Fraction(sum(-length % 16 for length in lengths), len(lengths))
    ask = asked(third, "empty on average")
    assert chosen(ask) == f"{float(mean_empty):g}" == "7.5"
    assert asked(third, "has 100 tokens in the cache").answer.value == -100 % 16


def test_one_id_stands_for_all_layers(third):
    assert asked(third, "How many blocks are there").answer.value == 12 * GIB // (16 * OPT_TOKEN)


def test_paged_concurrency_is_near_the_papers():
    found = blocks_and_tables.served()
    assert found.paged.mean_requests == pytest.approx(30.42, rel=0.12)
    assert found.oracle.mean_requests == pytest.approx(13.62, rel=0.07)
    assert found.by_max.mean_requests == 7
    assert found.paged.waste.percent()["used"] == pytest.approx(96.3, abs=1.5)
    assert found.num_faults == 0


def test_a_token_without_a_slot_would_be_counted():
    views = {
        0: SimpleNamespace(written=8, table=[3, 1]),
        1: SimpleNamespace(written=9, table=[0, 2]),
    }
    counter = blocks_and_tables.FaultCounter(
        SimpleNamespace(geometry=Geometry(8, 4), sequences=views)
    )
    planned = ev.StepPlanned.__new__(
        ev.StepPlanned, *[(0, 1) if name == "seqs" else 0 for name in ev.StepPlanned._fields]
    )
    counter.apply(planned)
    assert counter.num_faults == 1


def test_nothing_faults_and_paging_is_not_what_makes_attention_fast(third):
    assert chosen(asked(third, "When does it get the block?")).startswith("Before the step")
    assert "share each reading of the weights" in chosen(asked(third, "served after"))
    assert chosen(asked(third, "removes all fragmentation")).startswith("External waste goes")
