"""The PagedAttention paper's figures: what it printed, what ours are, and whether they agree.

P is Kwon et al., "Efficient Memory Management for Large Language Model Serving with PagedAttention", SOSP
2023. ``PRINTED`` holds figures read from the paper and the tolerance that is fair, nothing else.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from pagesim.core.memories import MemorySettings
from pagesim.core.request import Request
from pagesim.core.token_ids import FreshIds
from pagesim.planner.facts import gpu, model
from pagesim.planner.kv_cache import kv_bytes_per_token
from pagesim.replay.report import RunReport
from pagesim.sim.allocators import ALLOCATORS, TITLES
from pagesim.sim.cost import cost_model
from pagesim.sim.simulate import RunSettings, simulate
from pagesim.sim.traces import read_trace
from pagesim.sim.workers import Tell, results_of
from pagesim.sim.workload import Arrival, Workload
from pagesim.sim.workloads import build_workload

MODEL, GPU, KV_BYTES, MAX_MODEL_LEN, BLOCK_SIZE = "opt-13b", "a100-sxm-40gb", 12 * 2**30, 2048, 16

FIGURE_2: dict[str, dict[str, tuple[float, float]]] = {  # percent of KV memory; tolerance in points
    "max": {"used": (20.4, 1), "reserved": (13.3, 1), "internal": (57.3, 1), "external": (8.9, 1)},
    "pow2": {
        "used": (26.8, 3),
        "reserved": (17.9, 3),
        "internal": (13.6, 3),
        "external": (41.6, 6),
    },
    "oracle": {"used": (38.2, 2), "reserved": (25.2, 2), "external": (36.6, 2)},
    "paged": {"used": (96.3, 1.5)},
}
FIGURE_13A = {  # mean requests at once; tolerance as a share
    "max": (7.00, 0.0),
    "pow2": (9.81, 0.05),
    "oracle": (13.62, 0.07),
    "paged": (30.42, 0.12),
}
STEADIER = {"max": 4}  # seven at a time: it takes more requests for means as steady
LAST_BLOCK = {
    16: 98.4,
    32: 96.7,
    64: 93.6,
    128: 87.8,
    256: 78.2,
}  # percent, for a mean length of 458


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. ``tolerance`` is in the unit of ``ours`` and ``printed``; 0 means equal as printed."""

    group: str
    what: str
    ours: float
    printed: float
    tolerance: float
    unit: str
    decimals: int

    @property
    def agrees(self) -> bool:
        return abs(round(self.ours, self.decimals) - self.printed) <= self.tolerance + 1e-9


def identities() -> list[Row]:
    """Arithmetic that must come out as printed (P Table 1, section 1 and Figure 3)."""
    per_token = kv_bytes_per_token(model(MODEL))
    slots = KV_BYTES // per_token
    at_once = slots // MAX_MODEL_LEN
    never = 100 * (1 - at_once * MAX_MODEL_LEN / slots)
    group = "Arithmetic: reserving the maximum in Table 1's setting"
    rows = [
        Row(group, "OPT-13B: bytes of K and V a token", per_token, 819_200, 0, "bytes", 0),
        Row(group, "12 GiB hold this many tokens", slots, 15_728, 0, "slots", 0),
        Row(group, "2,048 reserved each: requests at once", at_once, 7, 0, "requests", 0),
        Row(group, "2,048 reserved each: never handed out", never, 8.85, 0, "%", 2),
    ]
    for block_size, printed in LAST_BLOCK.items():
        ours = 100 * 458 / (458 + (block_size - 1) / 2)
        what = f"mean length 458, blocks of {block_size}: slots used"
        rows.append(Row("Arithmetic: partly filled last blocks", what, ours, printed, 0, "%", 1))
    return rows


def settings() -> RunSettings:
    slots = KV_BYTES // kv_bytes_per_token(model(MODEL))
    return RunSettings(
        MemorySettings(slots, BLOCK_SIZE, MAX_MODEL_LEN, keep_unkeyed_first=False),
        cost_model(model(MODEL), gpu(GPU)),
        rules="paper",
    )


def workload(requests: int, seed: int, lengths: Path | None) -> Workload:
    """ShareGPT pairs of at most 2,048 tokens in all: the built-in model's, or a file's, shuffled by ``seed``."""
    if lengths is None:
        return build_workload(
            "sharegpt", requests=requests, rate=None, seed=seed, max_model_len=MAX_MODEL_LEN
        )
    pairs = [
        (len(arrival.request.prompt), arrival.request.max_tokens)
        for arrival in read_trace(lengths).arrivals
    ]
    kept = [pair for pair in pairs if sum(pair) <= MAX_MODEL_LEN]
    order = Random(seed)
    keyed = sorted((order.random(), number) for number in range(len(kept)))
    fresh = FreshIds()
    arrivals = tuple(
        Arrival(0, Request(f"r{i}", fresh.take(prompt), output, known_output=output))
        for i, (prompt, output) in enumerate(kept[number] for _, number in keyed[:requests])
    )
    about = (
        f"{len(arrivals):,} of the {len(kept):,} pairs in {lengths.name}, shuffled by seed {seed}"
    )
    return Workload(lengths.name, about, arrivals, saturated=True)


def run_one(job: tuple[str, int, int, Path | None], _tell: Tell) -> RunReport:
    """One allocator's run, in whatever process."""
    allocator, requests, seed, lengths = job
    return simulate(workload(requests, seed, lengths), allocator, settings()).report


def run_all(
    requests: int, seed: int, lengths: Path | None, tell: Callable[[str, int], None]
) -> dict[str, RunReport]:
    """All four, on as many cores as there are; ``tell`` hears of each run that is done.

    Each serves ``requests`` requests, or as many times that as ``STEADIER`` says.
    """
    jobs = [(name, requests * STEADIER.get(name, 1), seed, lengths) for name in ALLOCATORS]
    return dict(zip(ALLOCATORS, results_of(run_one, jobs, tell), strict=True))


def figures(reports: dict[str, RunReport]) -> Iterator[Row]:
    """Figures 2 and 13a from one report an allocator."""
    for name, parts in FIGURE_2.items():
        waste = reports[name].waste
        if waste is None:
            continue
        ours = waste.percent()
        for part, (printed, tolerance) in parts.items():
            what = f"{TITLES[name]}: {part}"
            yield Row("Figure 2, share of KV memory", what, ours[part], printed, tolerance, "%", 1)
    for name, (printed, share) in FIGURE_13A.items():
        ours_at_once = reports[name].mean_requests or 0.0
        yield Row(
            "Figure 13a, requests at once",
            TITLES[name],
            ours_at_once,
            printed,
            share * printed,
            "requests",
            2,
        )


def disagreeing(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if not row.agrees]
