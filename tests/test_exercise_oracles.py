"""Solutions of exercises against what was written apart from them: pagesim's own memory and planner, which exercises do
not use, and figures worked out by hand."""

import random
import runpy

import pytest

from pagesim.core.block_pool import BlockPool
from pagesim.core.buddy import Buddy
from pagesim.core.placers import FirstFit, Placer
from pagesim.planner.facts import models
from pagesim.planner.kv_cache import kv_bytes_per_token, max_concurrency
from pagesim.planner.units import parse_bytes
from pagesim_lessons import exercises


def solution(name: str) -> dict[str, object]:
    """The names in a solution. It is not imported: a check in this process would take that for cheating."""
    return runpy.run_path(str(exercises.folder_of(name) / "solution.py"))


def test_bytes_agree_with_the_planner() -> None:
    found = solution("bytes-and-concurrency")
    ask, width = found["kv_bytes_per_token"], {1: "fp8", 2: "bf16", 4: "fp32"}
    plain = [model for model in models() if model.latent is None]
    assert len(plain) > 10
    for model in plain:
        for dtype_bytes, dtype in width.items():
            sizes = model.num_layers, model.num_heads, model.num_kv_heads, model.head_dim
            assert ask(*sizes, dtype) == kv_bytes_per_token(model, dtype_bytes=dtype_bytes)
    for text in ("80GB", "24GiB", "512MiB", "3MB"):
        amount = int("".join(filter(str.isdigit, text)))
        assert found["num_bytes"](amount, text.lstrip("0123456789")) == parse_bytes(text)


def test_requests_at_once_by_hand_and_by_the_planner() -> None:
    ask = solution("bytes-and-concurrency")["requests_at_once"]
    assert ask(1000, 16, 1000, 1) == 15  # 63 blocks each, 15.87
    assert ask(1000, 16, 4000, 97) == 3  # 256 blocks each, 3.90625
    rng = random.Random("requests at once")
    for _ in range(200):
        blocks, size, prompt = rng.randint(1, 5000), rng.choice([1, 8, 16]), rng.randint(1, 900)
        output = rng.randint(1, 900)
        planned = max_concurrency(blocks, prompt + output - 1, size)
        assert ask(blocks, size, prompt, output) == planned.whole


@pytest.mark.parametrize(("name", "ours"), [("FirstFit", FirstFit), ("Buddy", Buddy)])
def test_placement_agrees_with_the_placers(name: str, ours: type[Placer]) -> None:
    rng = random.Random(f"placement {name}")
    memory, placer = solution("placement")[name](64), ours(64)
    runs: list[range] = []
    refused = 0
    for _ in range(2000):
        if runs and rng.random() < 0.48:
            run = runs.pop(rng.randrange(len(runs)))
            placer.release(run)
            memory.free(run.start)
        else:
            size = rng.choice([1, 2, 3, 4, 5, 7, 8, 13])
            run = placer.place(size)
            assert memory.place(size) == (None if run is None else run.start)
            refused += run is None
            runs += [] if run is None else [run]
        holes = [(hole.start, len(hole)) for hole in placer.holes()]
        assert sorted(memory.holes()) == holes
    assert refused > 50


def test_free_list_agrees_with_the_block_pool() -> None:
    rng = random.Random("free list")
    free_list, pool = solution("free-list")["FreeList"](20), BlockPool(20)
    held: list[int] = []
    for _ in range(1000):
        if held and rng.random() < 0.5:
            block = held.pop(rng.randrange(len(held)))
            free_list.give(block)
            pool.put_back(pool.drop([block]))
        elif pool.num_free:
            held += pool.take(1)
            assert free_list.take() == held[-1]
        else:
            assert free_list.take() is None
        assert free_list.num_free == pool.num_free
