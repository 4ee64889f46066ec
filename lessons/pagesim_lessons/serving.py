"""Whole workloads for lessons: an engine in numbers, what it serves, and what its gauges say halfway.

Knows nothing about lessons.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from pagesim.core import events as ev
from pagesim.core.memories import MemorySettings
from pagesim.core.types import Geometry
from pagesim.planner import facts
from pagesim.planner.kv_cache import DEFAULT_UTILISATION
from pagesim.planner.report import KV_DTYPES, PlanReport, plan_report
from pagesim.replay.latency import LatencyMeter
from pagesim.replay.metrics import used_percent
from pagesim.replay.report import RunReport
from pagesim.replay.waste import WasteMeter
from pagesim.sim.cost import cost_model
from pagesim.sim.policies import Policies, parse_watermark
from pagesim.sim.simulate import RunSettings, simulate
from pagesim.sim.workload import Workload
from pagesim.views.figures import format_durations


@dataclass(frozen=True)
class Engine:
    """A model on GPUs, and its settings. ``kernel`` is how many times as long attention takes to read K and V.

    ``budget``: most tokens of a step; ``seats``: most sequences at once. ``longest`` is ``max_model_len``.
    """

    model: str
    gpu: str
    longest: int
    ranks: int = 1
    kv_dtype: str = "auto"
    utilisation: Fraction = DEFAULT_UTILISATION
    block_size: int = 16
    budget: int = 8192
    seats: int = 256
    prefix_caching: bool = False
    watermark: str = "0"
    kernel: Fraction = Fraction(1)

    @cached_property
    def plan(self) -> PlanReport:
        return self.planned(self.longest)

    def planned(self, *lengths: int) -> PlanReport:
        """How many requests of these lengths fit."""
        return plan_report(
            facts.model(self.model),
            gpu=facts.gpu(self.gpu),
            lengths=lengths,
            block_size=self.block_size,
            tensor_parallel=self.ranks,
            kv_dtype=self.kv_dtype,
            utilisation=self.utilisation,
        )

    @property
    def num_slots(self) -> int:
        return self.plan.pool.num_slots

    def settings(self) -> RunSettings:
        model = facts.model(self.model)
        dtype_bytes = KV_DTYPES.get(self.kv_dtype, model.dtype_bytes)
        cost = cost_model(
            model, facts.gpu(self.gpu), tensor_parallel=self.ranks, dtype_bytes=dtype_bytes
        )
        return RunSettings(
            MemorySettings(
                self.num_slots, self.block_size, self.longest, prefix_caching=self.prefix_caching
            ),
            replace(cost, kv_token_fs=round(cost.kv_token_fs * self.kernel)),
            max_num_seqs=self.seats,
            max_tokens_per_step=self.budget,
            policies=Policies(watermark=parse_watermark(self.watermark)),
        )

    def serve(self, workload: Workload, allocator: str = "paged") -> RunReport:
        return simulate(workload, allocator, self.settings()).report

    def watched(self, workload: Workload) -> "Gauges":
        """The gauges halfway through the arrivals."""
        gauges: list[Gauges] = []
        half_ns = workload.arrivals[len(workload.arrivals) // 2].time_ns

        def watch(geometry: Geometry) -> Sequence[Gauges]:
            gauges.append(Gauges(geometry, half_ns))
            return gauges

        simulate(workload, "paged", self.settings(), watch=watch)
        return gauges[0]


class Gauges:
    """What an engine's metrics page shows, as it was in the first step planned at ``when_ns`` or later.

    ``usage`` is the share of the blocks that sequences hold; blocks that are only cached count as free.
    """

    def __init__(self, geometry: Geometry, when_ns: int) -> None:
        self._latency, self._waste = LatencyMeter(), WasteMeter(geometry)
        self._num_slots = geometry.num_slots
        self._when_ns = when_ns
        self._is_read = False
        self.running = self.waiting = self.preempted = 0
        self.usage = 0.0
        self.hit_rate: float | None = None

    def apply(self, event: ev.Event) -> None:
        if self._is_read:
            return
        self._latency.apply(event)
        self._waste.apply(event)
        if type(event) is ev.StepPlanned and self._latency.time_ns >= self._when_ns:
            self._read(event)

    def _read(self, event: ev.StepPlanned) -> None:
        latency = self._latency
        self._is_read = True
        self.running, self.waiting = latency.running_series[-1], event.waiting
        self.preempted = latency.num_preemptions
        self.usage = self._waste.granted_series[-1] / self._num_slots
        if latency.prompt_tokens:
            self.hit_rate = latency.cached_tokens / latency.prompt_tokens


Column = tuple[str, Callable[[Sequence[RunReport]], list[str]]]


def _durations(
    of: Callable[[RunReport], float | None],
) -> Callable[[Sequence[RunReport]], list[str]]:
    return lambda reports: format_durations([of(report) for report in reports])


COLUMNS: dict[str, Column] = {
    "served": ("served\na second", lambda rs: [f"{r.requests_per_s or 0:.2f}" for r in rs]),
    "output": (
        "output tokens\na second",
        lambda rs: [f"{r.output_tokens_per_s or 0:,.0f}" for r in rs],
    ),
    "at once": ("at once,\nmean", lambda rs: [f"{r.mean_requests or 0:.1f}" for r in rs]),
    "peak": ("at once,\nmost", lambda rs: [f"{r.peak_requests:,}" for r in rs]),
    "used": ("memory\nused", lambda rs: [f"{used_percent(r) or 0:.0f} %" for r in rs]),
    "preempted": ("preemp-\ntions", lambda rs: [f"{r.num_preemptions:,}" for r in rs]),
    "refused": ("refused", lambda rs: [f"{r.num_refused:,}" for r in rs]),
    "cached": ("prompt\ncached", lambda rs: [f"{100 * (r.hit_rate or 0):.0f} %" for r in rs]),
    "ttft": ("first token,\np50", _durations(lambda r: r.ttft_s.p50)),
    "slowest first": ("first token,\np99", _durations(lambda r: r.ttft_s.p99)),
    "tpot": ("per token,\np50", _durations(lambda r: r.tpot_s.p50)),
    "slowest each": ("per token,\np99", _durations(lambda r: r.tpot_s.p99)),
}
"""Columns of tables of runs, by a short name: the heading, and the texts for some reports."""
