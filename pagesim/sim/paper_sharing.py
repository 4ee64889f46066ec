"""The PagedAttention paper's section 6.3: how much memory is saved where samples or beams share blocks.

Parallel samples share the prompt's blocks; beams share what they have in common, which depends on where they
part. Candidates are drawn (beam_tokens.py), not a model's, so the beams' savings are of the right kind, not
measurements of OPT-13B. The printed ranges are over widths 2 to 6.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from pagesim.core.types import Geometry
from pagesim.replay.sharing import SharingMeter
from pagesim.sim import paper
from pagesim.sim.simulate import Listener, simulate
from pagesim.sim.workers import Tell, do_all, num_cores
from pagesim.sim.workload import Workload
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


def saving_of(
    workload: Workload, block_size: int = paper.BLOCK_SIZE
) -> tuple[SharingMeter, float, int]:
    """Serve the workload by the paper's rules; the meter, mean requests at once, and preemptions."""
    meters: list[SharingMeter] = []

    def watch(geometry: Geometry) -> Sequence[Listener]:
        meters.append(SharingMeter(geometry))
        return meters

    settings = paper.settings()
    settings = replace(settings, memory=replace(settings.memory, block_size=block_size))
    report = simulate(workload, "paged", settings, watch=watch).report
    return meters[0], report.mean_requests or 0.0, report.num_preemptions


def run_one(job: Job, _tell: Tell) -> Saving:
    dataset, is_beam, width, requests, seed = job
    lengths = build_workload(
        dataset, requests=requests, rate=None, seed=seed, max_model_len=paper.MAX_MODEL_LEN
    )
    meter, mean_requests, preempted = saving_of(with_samples(lengths, width, beam=is_beam))
    saved = float(meter.saving or 0)
    return Saving(dataset, is_beam, width, saved, mean_requests, preempted)


def run_all(requests: int, seed: int, tell: Callable[[str, int], None]) -> list[Saving]:
    """Every dataset, way and width, in the order of ``PRINTED``; ``tell`` hears of each run that is done."""
    jobs = [Job(*key, width, requests, seed) for key in PRINTED for width in WIDTHS]
    found: dict[int, Saving] = {}

    def finished(number: int, saving: Saving) -> None:
        found[number] = saving
        tell("runs", len(found))

    do_all(run_one, jobs, num_cores(), told=lambda *_: None, finished=finished)
    return [found[number] for number in range(len(jobs))]


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
