"""Built-in length models against the real lists they were counted from."""

import csv
import gzip
import importlib.util
import json
from collections import Counter
from importlib.resources import files
from pathlib import Path
from random import Random
from statistics import correlation, fmean, median

import pytest
from shared_data import shared_file

from pagesim.core.errors import InputError
from pagesim.sim.length_model import LENGTH_MODELS, Lengths, load_length_model

LISTS = {
    "sharegpt": "data/sharegpt_opt_lengths.csv.gz",
    "alpaca": "data/alpaca_opt_lengths.csv.gz",
    "azure-chat": "data/azure2023_conv.csv.gz",
    "azure-code": "data/azure2023_code.csv.gz",
}
DATA = files("pagesim.sim") / "data"


def drawn(name: str, count: int = 100_000, **options: int) -> list[Lengths]:
    return list(load_length_model(name).sample(Random(2023), count, **options))


def real(name: str) -> list[Lengths]:
    with gzip.open(shared_file(LISTS[name]), "rt", newline="") as stream:
        rows = csv.DictReader(stream)
        pairs = [Lengths(int(row["prompt_tokens"]), int(row["output_tokens"])) for row in rows]
    longest = load_length_model(name).max_total
    return [pair for pair in pairs if longest is None or sum(pair) <= longest]


def classes(lengths: list[int]) -> dict[int, float]:
    """Percent of the lengths in each power-of-two class."""
    seen = Counter((length - 1).bit_length() for length in lengths)
    return {power: 100 * seen[power] / len(lengths) for power in range(32)}


def test_sharegpt_has_the_means_the_paper_prints() -> None:
    """Truths, section 3: means 161.31 / 337.99 of 79,731 pairs with prompt + output <= 2048."""
    pairs = drawn("sharegpt", 400_000)
    assert fmean(pair.prompt for pair in pairs) == pytest.approx(161.31, rel=0.01)
    assert fmean(pair.output for pair in pairs) == pytest.approx(337.99, rel=0.01)
    assert max(map(sum, pairs)) <= 2048
    assert load_length_model("sharegpt").num_pairs == 79_731


@pytest.mark.parametrize(
    ("name", "prompt", "output"), [("azure-chat", 1020, 129), ("azure-code", 1469, 13)]
)
def test_azure_has_the_published_medians(name: str, prompt: int, output: int) -> None:
    pairs = drawn(name)
    assert median(pair.prompt for pair in pairs) == pytest.approx(prompt, rel=0.03)
    assert median(pair.output for pair in pairs) == pytest.approx(output, rel=0.03)


@pytest.mark.parametrize("name", LENGTH_MODELS)
def test_power_of_two_classes_are_those_of_the_real_list(name: str) -> None:
    model_pairs, real_pairs = drawn(name), real(name)
    for of in (lambda pair: pair.output, lambda pair: pair.prompt, sum):
        expected = classes([of(pair) for pair in real_pairs])
        assert classes([of(pair) for pair in model_pairs]) == pytest.approx(expected, abs=1.0)


@pytest.mark.parametrize("name", LENGTH_MODELS)
def test_means_and_dependence_are_those_of_the_real_list(name: str) -> None:
    model_pairs, real_pairs = drawn(name), real(name)
    for field in (0, 1):
        expected = fmean(pair[field] for pair in real_pairs)
        assert fmean(pair[field] for pair in model_pairs) == pytest.approx(expected, rel=0.02)
    expected = correlation(*zip(*real_pairs, strict=True))
    assert correlation(*zip(*model_pairs, strict=True)) == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("limit", [64, 300, 1000])
def test_a_shorter_limit_is_a_filter_of_the_list(limit: int) -> None:
    pairs = drawn("sharegpt", max_total=limit)
    kept = [pair for pair in real("sharegpt") if sum(pair) <= limit]
    assert max(map(sum, pairs)) <= limit
    for field in (0, 1):
        expected = fmean(pair[field] for pair in kept)
        assert fmean(pair[field] for pair in pairs) == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("name", LENGTH_MODELS)
def test_a_seed_means_the_same_pairs_and_a_shorter_draw_is_the_start_of_a_longer(name: str) -> None:
    assert drawn(name, 50) == drawn(name, 200)[:50]
    assert all(prompt >= 1 and output >= 1 for prompt, output in drawn(name, 2000))


def test_a_seed_means_these_pairs_for_ever() -> None:
    """If this fails, old seeds no longer name the workloads they named: say so in the changelog."""
    pairs = [tuple(pair) for pair in load_length_model("sharegpt").sample(Random(0), 4)]
    assert pairs == [(313, 430), (16, 116), (165, 1086), (52, 337)]


def test_a_limit_below_every_pair_is_refused() -> None:
    with pytest.raises(InputError, match=r"azure-chat has prompt .* allow at least"):
        load_length_model("azure-chat").sample(Random(0), 1, max_total=3)


def test_an_unknown_model_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"known are sharegpt, alpaca"):
        load_length_model("gpt")


@pytest.mark.parametrize("name", LENGTH_MODELS)
def test_the_facts_are_small_and_consistent(name: str) -> None:
    text = (DATA / f"lengths_{name.replace('-', '_')}.json").read_text(encoding="utf-8")
    model = load_length_model(name)
    assert len(text) < 40_000
    assert sum(cell.num_pairs for cell in model.cells) == model.num_pairs
    assert {1, 16, 32, 64, 128} <= set(json.loads(text)["output_edges"])
    assert model.origin
    assert model.license


@pytest.mark.parametrize("name", LENGTH_MODELS)
def test_the_script_builds_these_files(name: str) -> None:
    folder = shared_file(LISTS[name]).parent
    script = Path(__file__).resolve().parents[1] / "scripts" / "build_length_models.py"
    spec = importlib.util.spec_from_file_location("build_length_models", script)
    assert spec is not None
    assert spec.loader is not None
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    committed = json.loads((DATA / f"lengths_{name.replace('-', '_')}.json").read_text("utf-8"))
    assert build.model(build.SOURCES[name], folder) == committed
