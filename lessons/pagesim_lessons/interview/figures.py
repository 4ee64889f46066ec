"""The figures that cards state, each computed by the simulator or the planner when it is shown.

``FIGURES`` is the registry: a name as it stands in a card, in braces, and what computes its text. Where a figure is of
a run, its command is written out, so that the card's own command shows the same. Knows nothing about cards.
"""

import re
from collections.abc import Callable
from functools import cache

from pagesim.core import events as ev
from pagesim.core.types import blocks_for
from pagesim.planner import facts
from pagesim.planner.units import format_count, format_gib
from pagesim.replay.report import RunReport
from pagesim_lessons.interview.measured import plan_of, run_of, story

_NAME = re.compile(r"\{([^{}]*)\}")


def names_in(text: str) -> list[str]:
    """The figures that a text names, in order."""
    return _NAME.findall(text)


def filled(text: str) -> str:
    """The text with every figure computed. KeyError for one that is not in FIGURES."""
    return _NAME.sub(lambda found: figure(found[1]), text)


@cache
def figure(name: str) -> str:
    return FIGURES[name]()


# What the commands of cards serve.
COMPARED = "pagesim run --rules paper --requests 300 --allocator {}"
BATCHES = "pagesim run --requests 60 --max-num-seqs {}"
PLACED = "pagesim run --allocator oracle --requests 200 --placer {}"
ALPACA = "pagesim run alpaca --requests 300 --block-size {}"
WATERMARKS = "pagesim run --rules paper --requests 200 --watermark {}"
VICTIMS = "pagesim run --requests 200 --victim {}"
ORDERS = "pagesim run --requests 200 --order {}"
RATES = "pagesim run --requests 300 --rate {}"
BUDGETS = (
    "pagesim run azure-code --rate 2.5 --requests 100 --model llama-3.1-8b --gpu h100 "
    "--max-tokens-per-step {}"
)
SHARED = "pagesim run shared-prefix --requests 100"
SAMPLES = "pagesim run samples --samples 8 --requests 50"
CHAT = (
    "pagesim run azure-chat --rate 5.5 --model llama-2-7b --gpu a100-80gb --requests 300 "
    "--kv-memory 16GiB"
)
LIMITED = "pagesim run alpaca --requests 600 --max-num-seqs 64"
H100, LLAMA = "h100", "llama-3.1-8b"


def _share(command: str, kind: str = "used") -> str:
    waste = run_of(command).waste
    assert waste is not None
    return f"{waste.percent()[kind]:.1f} %"


def _at_once(command: str) -> str:
    mean = run_of(command).mean_requests
    assert mean is not None
    return f"{mean:.1f}".removesuffix(".0")


def _tokens_s(command: str) -> str:
    rate = run_of(command).output_tokens_per_s
    assert rate is not None
    return f"{rate:.0f}"


def _cached(command: str) -> str:
    rate = run_of(command).hit_rate
    assert rate is not None
    return f"{rate:.0%}".replace("%", " %")


def _seconds(value: float | None) -> str:
    assert value is not None
    return f"{1_000 * value:.1f} ms" if value < 0.2 else f"{value:.1f} s"


def _ttft(command: str) -> str:
    return _seconds(run_of(command).ttft_s.p50)


def _tpot(command: str) -> str:
    return _seconds(run_of(command).tpot_s.p50)


def _tpot_p99(command: str) -> str:
    return _seconds(run_of(command).tpot_s.p99)


def _count(command: str, of: Callable[[RunReport], int]) -> str:
    return format_count(of(run_of(command)))


def _preemptions(report: RunReport) -> int:
    return report.num_preemptions


def _lost(report: RunReport) -> int:
    return report.lost_tokens


def _kib(num_bytes: int) -> str:
    return f"{num_bytes / 1024:.4g} KiB"


def _per_token(model: str, ranks: int = 1) -> str:
    return _kib(plan_of(model, tensor_parallel=ranks).bytes_per_token)


def _gib(num_bytes: int) -> str:
    return format_gib(num_bytes)


def _budget(part: str) -> str:
    budget = plan_of(LLAMA, H100).budget
    assert budget is not None
    return format_gib(int(getattr(budget, part)))


def _fit(length: int, model: str = LLAMA, kv_dtype: str = "auto") -> str:
    return format_count(plan_of(model, H100, length=length, kv_dtype=kv_dtype).fits[0].whole)


def _kv_8192() -> str:
    return f"{8192 * plan_of(LLAMA).bytes_per_token / 2**30:g} GiB"


def _weights_ms() -> str:
    seconds = facts.model("opt-13b").weight_bytes / facts.gpu("a100-40gb").bandwidth_bytes_s
    return f"{1_000 * seconds:.1f} ms"


def _gpt_oss_blocks() -> str:
    return format_count(plan_of("gpt-oss-20b", H100, length=131_072).fits[0].blocks_each)


def _gpt_oss_if_full() -> str:
    plan = plan_of("gpt-oss-20b", H100, length=131_072)
    return format_count(blocks_for(131_072, plan.block_size) * plan.layout.num_groups)


def _copies(name: str) -> str:
    """Copies of copy-on-write in a story; a swap's are of other blocks."""
    return str(sum(isinstance(event, ev.BlockReplaced) for event in story(name)))


def _freed_figure_9() -> str:
    """Blocks that only dropped beams listed, after the last choice."""
    events = story("figure-9")
    last = max(at for at, event in enumerate(events) if isinstance(event, ev.SequenceForked))
    start = max(at for at, event in enumerate(events[:last]) if isinstance(event, ev.BeamsChosen))
    held: dict[int, list[int]] = {}
    for event in events[: start + 1]:
        _hold(held, event)
    before = {block for table in held.values() for block in table}
    for event in events[start + 1 : last + 2]:
        _hold(held, event)
    after = {block for table in held.values() for block in table}
    return str(len(before - after))


def _hold(held: dict[int, list[int]], event: ev.Event) -> None:
    """Who lists what, of a story without copies, swaps and slabs."""
    if isinstance(event, ev.BlocksTaken | ev.BlocksShared):
        held.setdefault(event.seq, []).extend(event.blocks)
    elif isinstance(event, ev.TableFreed):
        held.pop(event.seq, None)


def _peak_eight_samples() -> int:
    held: dict[int, list[int]] = {}
    peak = 0
    for event in story("eight-samples"):
        _hold(held, event)
        peak = max(peak, len({block for table in held.values() for block in table}))
    return peak


def _peak_eight_unshared() -> int:
    """The same, with every block counted as often as it is listed."""
    held: dict[int, list[int]] = {}
    peak = 0
    for event in story("eight-samples"):
        _hold(held, event)
        peak = max(peak, sum(map(len, held.values())))
    return peak


def _hit(name: str, place: int) -> str:
    """Cached tokens of the sequence admitted as number ``place`` of a story, from 0."""
    admitted = [event for event in story(name) if isinstance(event, ev.SequenceAdmitted)]
    return str(admitted[place].cached_tokens)


def _blocks_figure_6() -> str:
    return str(sum(len(e.blocks) for e in story("figure-6") if isinstance(e, ev.BlocksTaken)))


def _efficiency(block_size: int, length: int = 458) -> str:
    return f"{100 * length / (length + (block_size - 1) / 2):.1f} %"


def _slot_of_9() -> str:
    table, position, size = (2, 5, 3), 9, 4
    return str(table[position // size] * size + position % size)


def _table_bytes() -> str:
    return f"{4 * blocks_for(8_192, 16) / 1024:g} KiB"


FIGURES: dict[str, Callable[[], str]] = {
    "kv_opt_13b": lambda: _per_token("opt-13b"),
    "kv_llama2_7b": lambda: _per_token("llama-2-7b"),
    "kv_llama31_8b": lambda: _per_token(LLAMA),
    "kv_llama31_70b": lambda: _per_token("llama-3.1-70b"),
    "kv_llama31_70b_tp4": lambda: _per_token("llama-3.1-70b", 4),
    "kv_falcon_7b": lambda: _per_token("falcon-7b"),
    "kv_deepseek_v3": lambda: _per_token("deepseek-v3"),
    "kv_8192": _kv_8192,
    "block_opt_13b": lambda: f"{plan_of('opt-13b').pool.block_bytes / 2**20:g} MiB",
    "weights_ms": _weights_ms,
    "h100_visible": lambda: _budget("gpu_bytes"),
    "h100_budget": lambda: _budget("budget_bytes"),
    "h100_weights": lambda: _budget("weight_bytes"),
    "h100_kv": lambda: _budget("kv_bytes"),
    "h100_kv_95": lambda: _gib(plan_of(LLAMA, H100, utilisation="0.95").pool.memory_bytes),
    "fit_1024": lambda: _fit(1_024),
    "fit_8192": lambda: _fit(8_192),
    "fit_8192_fp8": lambda: _fit(8_192, kv_dtype="fp8"),
    "fit_131072": lambda: _fit(131_072),
    "gpt_oss_blocks": _gpt_oss_blocks,
    "gpt_oss_if_full": _gpt_oss_if_full,
    "gpt_oss_fit": lambda: _fit(131_072, "gpt-oss-20b"),
    "tokens_s_batch_1": lambda: _tokens_s(BATCHES.format(1)),
    "tokens_s_batch_32": lambda: _tokens_s(BATCHES.format(32)),
    "tpot_batch_1": lambda: _tpot(BATCHES.format(1)),
    "tpot_batch_32": lambda: _tpot(BATCHES.format(32)),
    "used_max": lambda: _share(COMPARED.format("max")),
    "used_oracle": lambda: _share(COMPARED.format("oracle")),
    "used_paged": lambda: _share(COMPARED.format("paged")),
    "reserved_oracle": lambda: _share(COMPARED.format("oracle"), "reserved"),
    "external_oracle": lambda: _share(COMPARED.format("oracle"), "external"),
    "at_once_max": lambda: _at_once(COMPARED.format("max")),
    "at_once_oracle": lambda: _at_once(COMPARED.format("oracle")),
    "at_once_paged": lambda: _at_once(COMPARED.format("paged")),
    "output_max": lambda: _tokens_s(COMPARED.format("max")),
    "output_paged": lambda: _tokens_s(COMPARED.format("paged")),
    "ttft_max": lambda: _ttft(COMPARED.format("max")),
    "ttft_paged": lambda: _ttft(COMPARED.format("paged")),
    "tpot_max": lambda: _tpot(COMPARED.format("max")),
    "tpot_paged": lambda: _tpot(COMPARED.format("paged")),
    "used_best_fit": lambda: _share(PLACED.format("best-fit")),
    "used_buddy": lambda: _share(PLACED.format("buddy")),
    "used_paged_engine": lambda: _share("pagesim run --requests 200"),
    "used_engine": lambda: _share("pagesim run --requests 300"),
    "efficiency_16": lambda: _efficiency(16),
    "efficiency_128": lambda: _efficiency(128),
    "alpaca_at_once_16": lambda: _at_once(ALPACA.format(16)),
    "alpaca_at_once_256": lambda: _at_once(ALPACA.format(256)),
    "limited_used": lambda: _share(LIMITED),
    "slot_of_9": _slot_of_9,
    "blocks_figure_6": _blocks_figure_6,
    "table_entries": lambda: format_count(blocks_for(8_192, 16)),
    "table_bytes": _table_bytes,
    "copies_figure_8": lambda: _copies("figure-8"),
    "copies_figure_9": lambda: _copies("figure-9"),
    "copies_swap": lambda: _copies("swap"),
    "freed_figure_9": _freed_figure_9,
    "peak_eight_samples": lambda: str(_peak_eight_samples()),
    "peak_eight_unshared": lambda: str(_peak_eight_unshared()),
    "cached_samples": lambda: _cached(SAMPLES),
    "cached_shared": lambda: _cached(SHARED),
    "at_once_shared": lambda: _at_once(SHARED),
    "at_once_unshared": lambda: _at_once(f"{SHARED} --no-prefix-caching"),
    "hit_second": lambda: _hit("prefix-cache", 1),
    "hit_again": lambda: _hit("whole-prompt-cached", 1),
    "preempted_watermark_0": lambda: _count(WATERMARKS.format("0"), _preemptions),
    "preempted_watermark_1": lambda: _count(WATERMARKS.format("1%"), _preemptions),
    "preempted_watermark_5": lambda: _count(WATERMARKS.format("5%"), _preemptions),
    "lost_latest": lambda: _count(VICTIMS.format("latest"), _lost),
    "lost_largest": lambda: _count(VICTIMS.format("largest"), _lost),
    "ttft_fcfs": lambda: _ttft(ORDERS.format("fcfs")),
    "ttft_shortest": lambda: _ttft(ORDERS.format("shortest-prompt")),
    "tpot_p99_512": lambda: _tpot_p99(BUDGETS.format(512)),
    "tpot_p99_8192": lambda: _tpot_p99(BUDGETS.format(8192)),
    "chat_preempted_16": lambda: _count(CHAT, _preemptions),
    "ttft_rate_2": lambda: _ttft(RATES.format(2)),
    "ttft_rate_4": lambda: _ttft(RATES.format(4)),
}
