"""What lessons 9 to 12 say, against figures from outside: hand arithmetic, the paper's, and brute force.

``../shared/truths.md`` has the paper's figures; the formulas here are written anew.
"""

import math
import random
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from io import StringIO
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lesson_parts import asked, chosen, parts_of, said
from pagesim_kernels.story import follow
from rich.console import Console

from pagesim.core.types import blocks_for
from pagesim.replay.keeper import Keeper
from pagesim.replay.run_state import RunState
from pagesim.replay.timeline import Phase
from pagesim.sim.simulate import simulate
from pagesim.sim.workloads import build_workload
from pagesim_lessons import timing
from pagesim_lessons.drawing import Drawn
from pagesim_lessons.lesson import Part, Say, Section
from pagesim_lessons.lessons import capstone, continuous_batching, in_practice, kernel
from pagesim_lessons.reading import pages
from pagesim_lessons.serving import Engine
from pagesim_lessons.static_batches import StaticBatches
from pagesim_lessons.walk import Walk

GIB = 2**30


@pytest.fixture(scope="module")
def ninth() -> list[Part]:
    return parts_of("continuous_batching")


@pytest.fixture(scope="module")
def tenth() -> list[Part]:
    """As on a machine without torch."""
    with pytest.MonkeyPatch.context() as patched:
        without_torch(patched)
        return parts_of("kernel")


@pytest.fixture(scope="module")
def eleventh() -> list[Part]:
    return parts_of("in_practice")


@pytest.fixture(scope="module")
def twelfth() -> list[Part]:
    return parts_of("capstone")


def without_torch(patched: pytest.MonkeyPatch) -> None:
    for module in (timing, kernel):
        patched.setattr(module, "missing_modules", lambda *names: list(names))


def drawn(parts: list[Part]) -> str:
    console = Console(width=80, file=StringIO())
    for part in parts:
        console.print(Drawn(part, 0))
    return console.file.getvalue()


# -- lesson 9 --------------------------------------------------------------------------------------------


def seated(lengths, seats, *, whole_batches):
    """Steps until all have had their tokens, one step after the other."""
    left, queue, steps = [], list(lengths), 0
    while left or queue:
        if not (whole_batches and left):
            while queue and len(left) < seats:
                left.append(queue.pop(0))
        left = [tokens - 1 for tokens in left if tokens > 1]
        steps += 1
    return steps


def test_a_step_reads_the_weights_once(ninth):
    """OPT-13B in 16 bits on an A100 of 1,555 GB/s, of which 80 % are counted."""
    milliseconds = 12.85e9 * 2 / (1555e9 * 0.8) * 1e3
    assert f"of which {milliseconds:.1f} are spent reading weights" in said(ninth, Say)
    per_sequence = 400 * 819_200 / (1555e9 * 0.8) * 1e3  # K and V
    assert continuous_batching._step_ms(32) - continuous_batching._step_ms(1) == pytest.approx(
        31 * per_sequence, rel=0.01
    )


def test_static_and_continuous_batching_take_as_many_steps_as_counted_by_hand(ninth):
    lengths = (2, 3, 8, 3, 5, 4, 2, 5)
    assert seated(lengths, 4, whole_batches=True) == 13
    assert seated(lengths, 4, whole_batches=False) == 10
    assert "8 + 5 = 13 steps" in said(ninth, Say)
    assert asked(ninth, "continuous batching, first come first served").answer.value == 10
    saved = seated((2, 7, 3, 4), 2, whole_batches=True) - seated(
        (2, 7, 3, 4), 2, whole_batches=False
    )
    assert asked(ninth, "continuous batching save").answer.value == saved == 2


@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.integers(1, 4))
def test_static_batches_are_whole_ones_and_seats_are_taken_as_by_brute_force(lengths, seats):
    story = f"[memory]\nblocks = 64\nblock_size = 4\n[rules]\nmax_num_seqs = {seats}\n" + "".join(
        f'[[request]]\nid = "r{n}"\nprompt = 3\noutputs = {length}\n'
        for n, length in enumerate(lengths)
    )
    static = Walk.told("static", story, StaticBatches(64, 4, seats))
    assert static.lanes.num_steps == seated(lengths, seats, whole_batches=True)
    assert Walk.told("continuous", story).lanes.num_steps == seated(
        lengths, seats, whole_batches=False
    )
    spans = [static.lanes.spans(seq) for seq in static.lanes.names]
    run = [[span for span in lane if span.phase is not Phase.WAITING] for lane in spans]
    batches = [run[at : at + seats] for at in range(0, len(run), seats)]
    for batch, following in pairwise(batches):
        assert max(lane[-1].stop for lane in batch) == min(lane[0].first for lane in following)


def test_the_papers_figures_are_reproduced_and_said(ninth):
    text = said(ninth, Say)
    assert "All agree within what is fair" in text
    assert f"the paper has {30.42 / 13.62:.1f} and {30.42 / 7:.1f}" in text
    assert "the paper has 2.2 and 4.3" in text
    shown = drawn(ninth)
    for printed in ("20.4", "26.8", "38.2", "96.3", "9.81", "13.62", "30.42"):
        assert printed in shown
    assert "OUT" not in shown


def test_chunks_are_those_of_the_budget(ninth):
    """Behaviour H10: chunks of 4, 7, 7 and 2, and steps of 8, 8, 8, 3, 2 and then 1."""
    assert list(asked(ninth, "In which chunks").answer.values) == [4, 7, 7, 2]
    steps = continuous_batching._steps_of(Walk.of("chunked-prefill"))
    totals = [sum(prompt + outputs for _, prompt, outputs in shares) for _, shares in steps]
    assert totals == [8, 8, 8, 3, 2, 1, 1, 1, 1, 1]
    assert asked(ninth, "After how many steps has the newcomer").answer.value == 3  # 50 + 50 + 20


# -- lesson 10 -------------------------------------------------------------------------------------------


def plain_attention(q, k, v):
    """One row in Python's floats, with the definition of softmax."""
    scores = [
        sum(float(a) * float(b) for a, b in zip(q, key, strict=True)) / math.sqrt(len(q))
        for key in k
    ]
    weights = [math.exp(score) for score in scores]
    return [
        sum(weight * float(value[at]) for weight, value in zip(weights, v, strict=True))
        / sum(weights)
        for at in range(len(q))
    ]


@given(st.integers(1, 40), st.integers(1, 9), st.integers(1, 16), st.integers(0, 1000))
def test_the_walk_in_numpy_is_attention(tokens, block_size, tile, seed):
    draw = random.Random(seed)
    q, *rows = np.array(
        [[draw.gauss(0, 1) for _ in range(8)] for _ in range(2 * tokens + 1)], np.float32
    )
    k, v = np.array(rows[:tokens]), np.array(rows[tokens:])
    count = blocks_for(tokens, block_size)
    table = draw.sample(range(count + 3), count)
    caches = []
    for values in (k, v):
        cache = np.full((count + 3, block_size, 8), np.nan, np.float32)
        for pos, value in enumerate(values):
            cache[table[pos // block_size], pos % block_size] = value
        caches.append(cache)
    want = plain_attention(q, k, v)
    found = follow(q, *caches, table, tokens, tile, np.array(want))
    assert found.error < 1e-5
    assert found.pool[table[0]][0] == 0


def test_the_kernels_questions_by_hand(tenth):
    assert list(asked(tenth, "find key 6").answer.values) == [5, 2]  # table [2, 5, 3], blocks of 4
    assert asked(tenth, "What is the sum after it?").answer.value == 24 * 2 ** (2 - 5) + 1
    assert asked(tenth, "gathered first").answer.value == 3
    assert asked(tenth, "must the kernel not read").answer.value == 3 * 16 - 40
    assert "20 to 26 %" in chosen(asked(tenth, "What did the paper measure"))
    moved = 64 * 2000 * 131_072
    assert f"{moved / GIB:.2f} GiB" in said(tenth, Say)


def test_without_torch_the_lesson_says_what_is_missing_and_times_numpy(tenth):
    text = said(tenth, Say)
    assert "torch and numba and triton are missing" in text
    assert "pip install 'pagesim[engine]'" in text
    assert "through the table is not timed" in text
    shown = drawn(tenth)
    assert "NumPy, K and V in one piece each" in shown
    assert "Triton, in its interpreter" not in shown


def test_without_torch_its_pages_fit_and_torch_is_not_imported():
    program = (
        "import sys\n"
        "for name in ('torch', 'triton', 'numba'): sys.modules[name] = None\n"
        "from pagesim_lessons import timing\n"
        "from pagesim_lessons.lessons import kernel\n"
        "for module in (timing, kernel): module.missing_modules = lambda *names: list(names)\n"
        "from pagesim_lessons.reading import pages\n"
        "print(sum(1 for _ in pages(kernel.LESSON)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10


def test_without_torch_no_page_is_too_long(monkeypatch):
    without_torch(monkeypatch)
    for page in pages(kernel.LESSON):
        between = sum(not isinstance(part, Section) for part, _ in page.parts)
        assert drawn([part for part, _ in page.parts]).count("\n") + between <= 22


# -- lesson 11 -------------------------------------------------------------------------------------------


def test_the_pool_by_hand(eleventh):
    """A card of 23.55 GiB, nine tenths of it; 8.03e9 parameters in 16 bits; 1 GiB; 128 KiB a token."""
    assert 2 * 8 * 128 * 2 * 32 == 131_072
    left = 23.55 * GIB * 0.9 - 8.03e9 * 2 - GIB
    blocks = left / (131_072 * 16)
    assert in_practice.ENGINE.num_slots == pytest.approx(blocks * 16, rel=0.001)
    fit = asked(eleventh, "How many of those fit into the pool").answer.value
    assert fit == int(blocks) // (8192 // 16) == 5
    assert asked(eleventh, "How many fit at once?").answer.value == 3000 // 63


def test_two_cards_leave_more_than_twice_the_memory(eleventh):
    one = 23.55 * 0.9 - 8.03e9 * 2 / GIB - 1
    two = 23.55 * 0.9 - 8.03e9 / GIB - 1
    growth = 2 * two / one  # a token's half on each card
    assert f"{growth:.1f} times as many" in asked(eleventh, "two such cards").why
    assert "more than twice" in chosen(asked(eleventh, "two such cards"))


def test_the_server_that_needs_memory_is_the_one_with_all_three_signs(eleventh):
    assert chosen(asked(eleventh, "Which server needs more memory")).startswith("D")
    for case in in_practice._cases():
        gauges = case.gauges
        short = gauges.usage > 0.95 and gauges.waiting > 0 and gauges.preempted > 0
        assert short == (case.letter == "D")


@pytest.mark.parametrize("rate", [1.5, 3.5])
def test_gauges_are_those_of_the_state(rate):
    """Against the fold that the viewer shows."""
    engine, workload = in_practice.ENGINE, in_practice._chat(rate, 100)
    keeper = Keeper()
    simulate(workload, "paged", engine.settings(), watch=lambda _: [keeper])
    gauges, half_ns = engine.watched(workload), workload.arrivals[50].time_ns
    num_blocks = engine.num_slots // engine.block_size
    state = RunState(engine_geometry(engine))
    for event in keeper.events:
        state.apply(event)
        if type(event).__name__ == "StepPlanned" and state.time_ns >= half_ns:
            break
    waiting = [view for view in state.sequences.values() if view.status == "waiting"]
    assert (gauges.running, gauges.waiting) == (len(state.running), len(waiting))
    assert gauges.usage == pytest.approx(len(state.ref_counts) / num_blocks)
    assert gauges.preempted == state.num_preemptions


def engine_geometry(engine: Engine):
    from pagesim.core.memories import build_memory

    return build_memory("paged", engine.settings().memory).geometry


def test_an_engine_is_what_the_command_line_makes_of_the_same_options():
    from pagesim.cli.options import Options, prepare

    options = Options(
        "azure-chat", None, 20, 3.0, 1.0, "llama-3.1-8b", "rtx-4090", None, 1, 16, 8192, "buddy", "engine",
        256, 8192, 512, 128, 1024, None, None, False, "fcfs", None, None, "2%", None, None, None, 0,
    )  # fmt: skip
    typed = prepare(options).settings
    made = replace(in_practice.ENGINE, watermark="2%").settings()
    assert made.cost == typed.cost
    assert made.policies == typed.policies
    assert typed.memory.num_slots // 16 == made.memory.num_slots // 16
    assert (made.max_num_seqs, made.max_tokens_per_step) == (256, 8192)


def test_a_slower_kernel_only_reads_k_and_v_more_slowly():
    engine = Engine("llama-3.1-8b", "l40s", 8192)
    plain, slower = (
        replace(engine, kernel=factor).settings().cost for factor in (1, Fraction(126, 100))
    )
    assert slower.kv_token_fs == round(plain.kv_token_fs * 1.26)
    assert slower == replace(plain, kv_token_fs=slower.kv_token_fs)


# -- lesson 12 -------------------------------------------------------------------------------------------


def test_the_capstones_arithmetic_by_hand(twelfth):
    requests = [a.request for a in build_workload(
        "azure-chat", requests=300, rate=capstone._rate(), seed=0, max_model_len=8192
    ).arrivals]  # fmt: skip
    held = sum(len(r.prompt) + r.max_tokens / 2 for r in requests) / 300
    at_once = round(capstone.ENGINE.num_slots / held)
    ask = asked(twelfth, "About how many run at once")
    assert chosen(ask) == f"About {at_once}."
    assert asked(twelfth, "in the long run").answer.value == 4 * (250 * 0.040)
    assert chosen(asked(twelfth, "Is memory short?")).startswith("Yes")
    assert 48_000 // 1200 == 40


def test_the_rates_verdict_is_that_of_the_targets(twelfth):
    """Judged anew: the highest factor at which both 99th percentiles are within the targets."""
    kept = []
    for factor in (0.5, 1, 1.25, 1.5):
        workload = build_workload(
            "azure-chat", requests=300, rate=factor * capstone._rate(), seed=0, max_model_len=8192
        )
        report = capstone.ENGINE.serve(workload)
        kept.append(report.ttft_s.p99 <= 1.5 and report.tpot_s.p99 <= 0.1)
    ask = asked(twelfth, "Which is the highest at which both targets are kept")
    assert ask.answer.right == kept.index(False) - 1
    assert "token budget" in chosen(asked(twelfth, "with which of them"))


def test_what_is_chosen_keeps_the_targets_and_the_next_larger_budget_does_not():
    engine, workload = capstone._chosen(), capstone._workload(capstone._busy())
    assert capstone._keeps(engine.serve(workload))
    larger = capstone.BUDGETS[capstone.BUDGETS.index(engine.budget) + 1]
    assert not capstone._keeps(replace(engine, budget=larger).serve(workload))
