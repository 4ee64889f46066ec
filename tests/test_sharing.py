"""What sharing saves, exactly where it can be worked out by hand, and in the order the paper found."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagesim.core.events import StepPlanned
from pagesim.core.memories import MemorySettings
from pagesim.core.types import Geometry
from pagesim.planner.facts import gpu, model
from pagesim.replay.sharing import SharingMeter
from pagesim.sim.cost import cost_model
from pagesim.sim.paper_sharing import PRINTED, WIDTHS, Job, Saving, claims, run_all, run_one
from pagesim.sim.simulate import RunSettings, simulate
from pagesim.sim.workloads import WorkloadOptions, build_workload, with_samples


def saving_of(prompt: int, output: int, n: int, block_size: int) -> Fraction | None:
    """One request at a time, in a memory that never runs out."""
    fixed = build_workload(
        "fixed",
        requests=2,
        rate=None,
        seed=0,
        options=WorkloadOptions(prompt_tokens=prompt, output_tokens=output),
    )
    memory = MemorySettings(2 * n * (prompt + output + block_size), block_size, prompt + output + 1)
    cost = cost_model(model("opt-13b"), gpu("a100-40gb"))
    meters: list[SharingMeter] = []

    def watch(geometry: Geometry) -> list[SharingMeter]:
        meters.append(SharingMeter(geometry))
        return meters

    settings = RunSettings(memory, cost, fork_samples=True)
    simulate(with_samples(fixed, n, beam=False), "paged", settings, watch=watch)
    return meters[0].saving


@given(
    prompt=st.integers(1, 40),
    output=st.integers(2, 30),
    n=st.integers(2, 6),
    block_size=st.integers(1, 16),
)
def test_parallel_samples_save_exactly_the_closed_form(
    prompt: int, output: int, n: int, block_size: int
) -> None:
    """(n-1)/n x full prompt blocks / mean blocks of a sequence, the mean over the steps in which it decodes."""
    lengths = range(prompt + 1, prompt + output)  # the last output token is never stored
    blocks = [-(-length // block_size) for length in lengths]
    mean = Fraction(sum(blocks), len(blocks))
    assert (
        saving_of(prompt, output, n, block_size)
        == Fraction(n - 1, n) * (prompt // block_size) / mean
    )


def test_nothing_is_saved_before_anybody_shares() -> None:
    meter = SharingMeter(Geometry(4, 4))
    meter.apply(StepPlanned(0, (), (), 0, 0))
    assert meter.saving is None


@pytest.fixture(scope="module")
def savings() -> list[Saving]:
    return run_all(60, 0, lambda _what, _done: None)


def test_every_dataset_way_and_width_is_there(savings: list[Saving]) -> None:
    got = [(saving.dataset, saving.is_beam, saving.width) for saving in savings]
    assert got == [(*key, width) for key in PRINTED for width in WIDTHS]


def test_the_order_is_the_papers(savings: list[Saving]) -> None:
    assert [holds for _, holds in claims(savings)] == [True] * 3


@pytest.mark.parametrize("dataset", ["alpaca", "sharegpt"])
def test_parallel_samples_save_about_what_the_paper_printed(dataset: str) -> None:
    """Within a quarter of the ends of the printed range: this depends on the lengths alone."""
    low, high = PRINTED[dataset, False]
    fewest, most = (run_one(Job(dataset, False, n, 200, 0), lambda *_: None) for n in (2, 6))
    assert 100 * fewest.saved == pytest.approx(low, rel=0.25)
    assert 100 * most.saved == pytest.approx(high, rel=0.25)


def test_claims_are_refused_where_they_do_not_hold(savings: list[Saving]) -> None:
    flat = [replace(saving, saved=0.1) for saving in savings]
    assert [holds for _, holds in claims(flat)] == [True, False, False]
    falling = [replace(saving, saved=1 / saving.width) for saving in savings]
    assert not claims(falling)[0][1]
