"""The PagedAttention paper's section 6.3: how much memory is saved where samples or beams share blocks.

Parallel samples share the prompt's blocks; beams share what they have in common, which depends on where they
part. Candidates are drawn (beam_tokens.py), not a model's, so the beams' savings are of the right kind, not
measurements of OPT-13B. The printed ranges are over widths 2 to 6.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pagesim.core.types import Geometry
from pagesim.replay.sharing import SharingMeter
from pagesim.sim import paper
from pagesim.sim.simulate import Listener, simulate
from pagesim.sim.workers import Tell, results_of
from pagesim.sim.workloads import build_workload, with_samples

WIDTHS = (2, 4, 6)
PRINTED = {  # percent saved, over widths 2 to 6
    ("alpaca", False): (6.1, 9.8),
    ("alpaca", True): (37.6, 55.2),
    ("sharegpt", False): (16.2, 30.5),
    ("sharegpt", True): (44.3, 66.3),
}


class Job(NamedTuple):
    dataset: str
    is_beam: bool
    width: int
    requests: int
    seed: int


@dataclass(frozen=True, slots=True)
class Saving:
    """``saved`` of the blocks that would be needed without sharing, as a share of 1."""

    dataset: str
    is_beam: bool
    width: int
    saved: float
    mean_requests: float
    num_preemptions: int


def run_one(job: Job, _tell: Tell) -> Saving:
    """Serve the lengths by the paper's rules."""
    dataset, is_beam, width, requests, seed = job
    lengths = build_workload(
        dataset, requests=requests, rate=None, seed=seed, max_model_len=paper.MAX_MODEL_LEN
    )
    workload = with_samples(lengths, width, beam=is_beam)
    meters: list[SharingMeter] = []

    def watch(geometry: Geometry) -> Sequence[Listener]:
        meters.append(SharingMeter(geometry))
        return meters

    report = simulate(workload, "paged", paper.settings(), watch=watch).report
    saved = float(meters[0].saving or 0)
    at_once = report.mean_requests or 0.0
    return Saving(dataset, is_beam, width, saved, at_once, report.num_preemptions)


def run_all(requests: int, seed: int, tell: Callable[[str, int], None]) -> list[Saving]:
    """Every dataset, way and width, in the order of ``PRINTED``; ``tell`` hears of each run that is done."""
    jobs = [Job(*key, width, requests, seed) for key in PRINTED for width in WIDTHS]
    return results_of(run_one, jobs, tell)


def claims(savings: Sequence[Saving]) -> list[tuple[str, bool]]:
    """What the paper says of the order of these figures, and whether ours say so, too."""
    by_way: dict[tuple[str, bool], list[float]] = {}
    for saving in savings:
        by_way.setdefault((saving.dataset, saving.is_beam), []).append(saving.saved)
    rises = all(values == sorted(values) for values in by_way.values())
    beams = all(
        beam > sample
        for dataset in ("alpaca", "sharegpt")
        for sample, beam in zip(by_way[dataset, False], by_way[dataset, True], strict=True)
    )
    longer = all(
        long > short
        for short, long in zip(by_way["alpaca", False], by_way["sharegpt", False], strict=True)
    )
    return [
        ("the more samples or beams, the larger the share saved", rises),
        ("beams save more than parallel samples of the same number", beams),
        ("long prompts (ShareGPT) save more than short ones (Alpaca)", longer),
    ]
