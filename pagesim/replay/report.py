"""What one run came to, as plain numbers. Knows nothing about how they are shown."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil

from pagesim.core import events as ev
from pagesim.core.types import Geometry
from pagesim.replay.latency import LatencyMeter
from pagesim.replay.waste import WasteMeter, WasteSplit


@dataclass(frozen=True, slots=True)
class Spread:
    """Median and 99th percentile (nearest rank), and mean; ``count`` values. All ``None`` of no values."""

    count: int
    mean: float | None
    p50: float | None
    p99: float | None


@dataclass(frozen=True, slots=True)
class Window:
    """Over which steps means were taken, from ``first`` up to, not including, ``stop``; and why those."""

    first: int
    stop: int
    why: str


@dataclass(frozen=True, slots=True)
class RunReport:
    """One run's figures. Times in seconds of simulated time; memory in slots (tokens).

    ``mean_requests`` and ``mean_sequences`` are means over the window's steps of requests (sequences) that
    hold memory; the waste split likewise. ``hit_rate``: cached tokens per prompt token, each request counted
    once, at its first admission (``None`` before any). ``num_swaps`` of the preemptions were swaps.
    """

    num_requests: int
    num_refused: int
    refusals: tuple[tuple[str, str], ...]
    num_finished: int
    num_aborted: int
    num_finished_sequences: int
    num_preemptions: int
    num_swaps: int
    lost_tokens: int
    num_steps: int
    duration_s: float
    prompt_tokens: int
    output_tokens: int
    hit_rate: float | None
    mean_requests: float | None
    peak_requests: int
    mean_sequences: float | None
    peak_sequences: int
    waste: WasteSplit | None
    window: Window
    output_tokens_per_s: float | None
    requests_per_s: float | None
    ttft_s: Spread
    tpot_s: Spread

    def as_dict(self) -> dict[str, object]:
        """Plain JSON values; the waste split with its names."""
        values = asdict(self)
        values["waste"] = None if self.waste is None else self.waste._asdict()
        values["refusals"] = [{"request": name, "reason": why} for name, why in self.refusals]
        return values


class Meters:
    """The meters a report needs, as one listener."""

    MOST_REFUSALS = 10

    def __init__(self, geometry: Geometry) -> None:
        self.waste = WasteMeter(geometry)
        self.latency = LatencyMeter()
        self._num_requests = 0

    def apply(self, event: ev.Event) -> None:
        if type(event) is ev.RequestArrived:
            self._num_requests += 1
        self.waste.apply(event)
        self.latency.apply(event)

    def report(self, *, saturated: bool) -> RunReport:
        """Sum up. ``saturated``: all requests waited from the start; then means are taken while some still do."""
        latency = self.latency
        window = mean_window(latency.waiting_series, saturated=saturated)
        steps = slice(window.first, window.stop)
        duration = latency.time_ns / 1e9
        refused = latency.refusals
        return RunReport(
            num_requests=self._num_requests,
            num_refused=len(refused),
            refusals=tuple((r.request, r.reason) for r in refused[: self.MOST_REFUSALS]),
            num_finished=latency.num_finished,
            num_aborted=latency.num_aborted,
            num_finished_sequences=latency.num_finished_sequences,
            num_preemptions=latency.num_preemptions,
            num_swaps=latency.num_swaps,
            lost_tokens=latency.lost_tokens,
            num_steps=self.waste.num_steps,
            duration_s=duration,
            prompt_tokens=latency.prompt_tokens,
            output_tokens=latency.output_tokens,
            hit_rate=_ratio(latency.cached_tokens, latency.prompt_tokens),
            mean_requests=_mean(latency.requests_series[steps]),
            peak_requests=max(latency.requests_series, default=0),
            mean_sequences=_mean(latency.running_series[steps]),
            peak_sequences=max(latency.running_series, default=0),
            waste=self.waste.split(window.first, window.stop)
            if window.stop > window.first
            else None,
            window=window,
            output_tokens_per_s=_ratio(latency.output_tokens, duration),
            requests_per_s=_ratio(latency.num_finished, duration),
            ttft_s=spread([ns / 1e9 for ns in latency.first_token_ns]),
            tpot_s=spread([ns / 1e9 for ns in latency.per_token_ns]),
        )


def mean_window(waiting: Sequence[int], *, saturated: bool) -> Window:
    """Over which steps means are taken, from how many requests waited in each step."""
    num_steps = len(waiting)
    if not saturated:
        return Window(0, num_steps, "all steps")
    stop = num_steps
    while stop and not waiting[stop - 1]:
        stop -= 1
    if not stop:
        return Window(0, num_steps, "all steps (nobody had to wait)")
    return Window(stop // 5, stop, "the steps in which requests waited, less the first 20 %")


def was_saturated(header: Mapping[str, object], arrival_times: Collection[int]) -> bool:
    """Did all requests of a logged run wait from the start? As its header says, else if they came at one time."""
    told = header.get("saturated")
    return told if isinstance(told, bool) else len(arrival_times) == 1


def spread(values: Sequence[float]) -> Spread:
    """Nearest-rank percentiles: the smallest value that at least that share of the values does not exceed."""
    if not values:
        return Spread(0, None, None, None)
    ordered = sorted(values)
    count = len(ordered)
    return Spread(
        count,
        sum(ordered) / count,
        ordered[ceil(count * 0.50) - 1],
        ordered[ceil(count * 0.99) - 1],
    )


def _mean(values: Sequence[int]) -> float | None:
    return sum(values) / len(values) if len(values) else None


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None
