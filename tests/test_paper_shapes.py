"""truths.md section 4: the order in the paper's Figures 18b and 19, and that the claims can fail."""

from dataclasses import replace

import pytest

from pagesim.sim import paper_shapes as shapes
from pagesim.sim.paper_shapes import Moved, Served


@pytest.fixture(scope="module")
def served() -> list[Served]:
    return shapes.run_all(shapes.all_jobs(400, 0), lambda _what, _done: None)


def test_every_shape_is_the_papers(served: list[Served]) -> None:
    claims = shapes.claims(served, shapes.moved())
    assert len(claims) == 6
    assert [sentence for sentence, holds in claims if not holds] == []


def test_the_crossing_is_between_16_and_64() -> None:
    between = shapes.crossing(shapes.moved())
    assert between is not None
    assert 16 <= between[0] < between[1] <= 64


def test_there_is_no_crossing_where_one_way_is_always_cheaper() -> None:
    assert shapes.crossing([Moved(1, 5.0, 9.0), Moved(2, 5.0, 8.0)]) is None
    assert shapes.crossing([Moved(1, 5.0, 4.0), Moved(2, 5.0, 3.0)]) is None
    assert shapes.crossing([Moved(1, 5.0, 9.0), Moved(2, 5.0, 5.0)]) == (1, 2)


def test_recomputing_does_not_know_the_block_size_and_swapping_pays_by_the_block() -> None:
    rows = shapes.moved()
    assert len({row.recompute_ms for row in rows}) == 1
    fixed = [row.swap_ms - rows[-1].swap_ms for row in rows]
    blocks = [256 // row.block_size - 1 for row in rows]
    for cost, more_blocks in zip(fixed, blocks, strict=True):
        assert cost == pytest.approx(fixed[0] / blocks[0] * more_blocks, abs=1e-6)


def test_claims_fail_where_the_figures_are_others(served: list[Served]) -> None:
    flat = [replace(row, requests_per_s=1.0) for row in served]
    told = [holds for _, holds in shapes.claims(flat, shapes.moved())]
    assert told == [False, False, True, True, True, False]
    backwards = [Moved(row.block_size, row.swap_ms, row.recompute_ms) for row in shapes.moved()]
    assert not any(holds for _, holds in shapes.claims(served, backwards)[2:5])
