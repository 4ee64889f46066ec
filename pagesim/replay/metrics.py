"""The figures by which runs are compared: their names, what they are in, and which way is better.

Knows nothing about how runs are made or shown. ``METRICS`` is the registry.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pagesim.replay.report import RunReport, Spread


class Unit(Enum):
    """What a figure is in. RATE: a second; MEAN: a mean of counts."""

    COUNT = "count"
    MEAN = "mean"
    PERCENT = "percent"
    RATE = "rate"
    SECONDS = "seconds"


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure of a run. ``of`` is ``None`` where the run has no such figure (nothing was served, say)."""

    title: str
    unit: Unit
    more_is_better: bool
    of: "Callable[[RunReport], float | None]"
    windowed: bool = False
    """A mean over the report's window, which may be another in another run."""


def used_percent(report: "RunReport") -> float | None:
    """The share of the KV memory that holds tokens, a mean over the report's window."""
    return None if report.waste is None else report.waste.percent()["used"]


_MORE, _FEWER = True, False
METRICS: dict[str, Metric] = {
    "throughput": Metric("requests served a second", Unit.RATE, _MORE, lambda r: r.requests_per_s),
    "output": Metric("output tokens a second", Unit.RATE, _MORE, lambda r: r.output_tokens_per_s),
    "at-once": Metric(
        "requests at once, mean", Unit.MEAN, _MORE, lambda r: r.mean_requests, windowed=True
    ),
    "used": Metric(
        "share of the KV memory that holds tokens", Unit.PERCENT, _MORE, used_percent, windowed=True
    ),
    "preemptions": Metric("preemptions", Unit.COUNT, _FEWER, lambda r: r.num_preemptions),
    "lost": Metric("tokens lost to preemption", Unit.COUNT, _FEWER, lambda r: r.lost_tokens),
    "ttft": Metric("time to first token, median", Unit.SECONDS, _FEWER, lambda r: r.ttft_s.p50),
    "ttft-p99": Metric("time to first token, p99", Unit.SECONDS, _FEWER, lambda r: r.ttft_s.p99),
    "tpot": Metric("time per output token, median", Unit.SECONDS, _FEWER, lambda r: r.tpot_s.p50),
    "tpot-p99": Metric("time per output token, p99", Unit.SECONDS, _FEWER, lambda r: r.tpot_s.p99),
    "refused": Metric("requests refused", Unit.COUNT, _FEWER, lambda r: r.num_refused),
}


def figures(report: "RunReport") -> dict[str, float | None]:
    """All figures of a run as plain numbers, each with its unit in its name; no lists, nothing nested."""
    from pagesim.replay.waste import KINDS

    shares = {} if report.waste is None else report.waste.percent()
    return {
        "num_requests": report.num_requests,
        "num_refused": report.num_refused,
        "num_finished": report.num_finished,
        "num_aborted": report.num_aborted,
        "num_finished_sequences": report.num_finished_sequences,
        "num_preemptions": report.num_preemptions,
        "num_swaps": report.num_swaps,
        "lost_tokens": report.lost_tokens,
        "num_steps": report.num_steps,
        "duration_s": report.duration_s,
        "prompt_tokens": report.prompt_tokens,
        "output_tokens": report.output_tokens,
        "requests_per_s": report.requests_per_s,
        "output_tokens_per_s": report.output_tokens_per_s,
        "mean_requests": report.mean_requests,
        "peak_requests": report.peak_requests,
        "mean_sequences": report.mean_sequences,
        "peak_sequences": report.peak_sequences,
        "cached_prompt_percent": None if report.hit_rate is None else 100 * report.hit_rate,
        **_spread("ttft", report.ttft_s),
        **_spread("tpot", report.tpot_s),
        **{f"{kind}_percent": shares.get(kind) for kind in KINDS},
    }


def _spread(name: str, spread: "Spread") -> "dict[str, float | None]":
    return {
        f"{name}_mean_s": spread.mean,
        f"{name}_p50_s": spread.p50,
        f"{name}_p99_s": spread.p99,
    }
