"""Built-in workloads and arrival processes."""

from itertools import pairwise
from random import Random
from statistics import fmean, pstdev

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagesim.core.errors import InputError
from pagesim.sim.arrivals import all_at_once, bursty, poisson
from pagesim.sim.workload import Workload
from pagesim.sim.workloads import (
    WORKLOADS,
    WorkloadOptions,
    build_workload,
    natural_rate,
    workload_kind,
)

NAMES = tuple(WORKLOADS)


def lengths(workload: Workload) -> list[tuple[int, int]]:
    return [(len(request.prompt), request.max_tokens) for _, request in workload.arrivals]


@pytest.mark.parametrize("name", NAMES)
def test_every_workload_is_in_order_complete_and_repeatable(name: str) -> None:
    workload = build_workload(name, requests=300, rate=4.0, seed=7)
    times = [arrival.time_ns for arrival in workload.arrivals]
    requests = [arrival.request for arrival in workload.arrivals]
    assert times[0] == 0
    assert times == sorted(times)
    assert [request.id for request in requests] == [f"r{number}" for number in range(1, 301)]
    assert all(len(request.prompt) >= 1 for request in requests)
    assert all(request.known_output == request.max_tokens >= 1 for request in requests)
    assert build_workload(name, requests=300, rate=4.0, seed=7) == workload
    assert "300 requests, seed 7" in workload.about
    assert not workload.saturated


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_gives_the_same_requests_at_every_rate_and_number(name: str) -> None:
    waiting = build_workload(name, requests=60, rate=None, seed=3)
    assert waiting.saturated
    assert {arrival.time_ns for arrival in waiting.arrivals} == {0}
    slow = build_workload(name, requests=200, rate=0.5, seed=3, cv=2.0)
    assert lengths(slow)[:60] == lengths(waiting)


@pytest.mark.parametrize("name", ["sharegpt", "alpaca", "azure-chat", "azure-code", "uniform"])
def test_random_lengths_are_redrawn_to_fit_the_model(name: str) -> None:
    workload = build_workload(name, requests=2000, rate=None, seed=1, max_model_len=200)
    assert max(map(sum, lengths(workload))) <= 200
    assert len(set(lengths(workload))) > 20


@pytest.mark.parametrize("name", ["fixed", "samples", "shared-prefix"])
def test_fixed_lengths_that_exceed_the_model_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} has prompts of .* more than max_model_len 600"):
        build_workload(name, requests=1, rate=None, seed=0, max_model_len=600)


def test_fixed_and_samples_do_as_told() -> None:
    options = WorkloadOptions(prompt_tokens=10, output_tokens=3, num_samples=6)
    fixed = build_workload("fixed", requests=2, rate=None, seed=0, options=options)
    assert lengths(fixed) == [(10, 3), (10, 3)]
    first, second = (arrival.request.prompt for arrival in fixed.arrivals)
    assert not set(first) & set(second)
    samples = build_workload("samples", requests=2, rate=None, seed=0, options=options)
    assert [arrival.request.num_samples for arrival in samples.arrivals] == [6, 6]


def test_shared_prefix_is_shared_and_nothing_else_is() -> None:
    options = WorkloadOptions(prompt_tokens=8, prefix_tokens=32)
    workload = build_workload("shared-prefix", requests=3, rate=None, seed=0, options=options)
    prompts = [list(arrival.request.prompt) for arrival in workload.arrivals]
    assert workload.token_ids_known
    assert all(prompt[:32] == prompts[0][:32] for prompt in prompts)
    tails = [token for prompt in prompts for token in prompt[32:]]
    assert len(set(tails)) == 24
    assert not set(tails) & set(prompts[0][:32])


@settings(deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(2, 90))
def test_uniform_lengths_stay_within_their_bounds(prompt: int, output: int, limit: int) -> None:
    options = WorkloadOptions(prompt_tokens=prompt, output_tokens=output)
    workload = build_workload(
        "uniform", requests=20, rate=None, seed=5, max_model_len=limit, options=options
    )
    for drawn_prompt, drawn_output in lengths(workload):
        assert 1 <= drawn_prompt <= prompt
        assert 1 <= drawn_output <= output
        assert drawn_prompt + drawn_output <= limit


def test_an_unknown_workload_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="'orca'; known are sharegpt, alpaca, azure-chat"):
        workload_kind("orca")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"requests": 0}, "requests 0 was given; it must be from 1 to 10,000,000"),
        ({"requests": 10_000_001}, "requests 10000001"),
        ({"seed": -1}, "seed -1"),
        ({"max_model_len": 1}, "max_model_len 1"),
        ({"max_model_len": 2}, "allow at least"),
        ({"rate": 0.0}, "a rate of 0.0 requests per second was given; it must be from 1e-06"),
        ({"rate": -2.0}, "a rate of -2.0"),
        ({"rate": float("nan")}, "a rate of nan"),
        ({"rate": float("inf")}, "a rate of inf"),
        ({"rate": 1.0, "cv": float("nan")}, "a cv of nan"),
        ({"rate": 1.0, "cv": 0.0}, "a cv of 0.0 was given; it must be from 0.01 to 100"),
    ],
)
def test_bad_settings_are_refused_in_one_sentence(wrong: dict[str, object], message: str) -> None:
    settings: dict[str, object] = {"requests": 5, "rate": None, "seed": 0} | wrong
    with pytest.raises(InputError, match=message) as caught:
        build_workload("azure-code", **settings)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "wrong", [{"prompt_tokens": 0}, {"output_tokens": -1}, {"num_samples": 0}, {"prefix_tokens": 0}]
)
def test_bad_options_are_refused_by_name(wrong: dict[str, int]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        WorkloadOptions(**wrong)


def test_natural_rates_are_known_where_the_data_hold_times() -> None:
    assert natural_rate("azure-chat") == pytest.approx(19_366 / 3_501.7, rel=0.001)
    assert natural_rate("azure-code") == pytest.approx(8_819 / 3_435.9, rel=0.001)
    assert natural_rate("sharegpt") is None
    assert natural_rate("fixed") is None


@pytest.mark.parametrize(("rate", "cv"), [(0.5, 1.0), (20.0, 1.0), (5.0, 3.0), (5.0, 0.2)])
def test_gaps_have_the_mean_and_the_spread_asked_for(rate: float, cv: float) -> None:
    rng = Random(11)
    times = list(poisson(rng, rate, 60_000) if cv == 1 else bursty(rng, rate, cv, 60_000))
    gaps = [after - before for before, after in pairwise(times)]
    assert all(isinstance(time, int) for time in times[:10])
    assert fmean(gaps) == pytest.approx(1e9 / rate, rel=0.04)
    assert pstdev(gaps) / fmean(gaps) == pytest.approx(cv, rel=0.06)


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_every_process_gives_as_many_times_as_asked_and_starts_at_zero(count: int) -> None:
    for times in (
        list(all_at_once(count)),
        list(poisson(Random(1), 2.0, count)),
        list(bursty(Random(1), 2.0, 2.0, count)),
    ):
        assert len(times) == count
        assert times[:1] == [0] * min(count, 1)
