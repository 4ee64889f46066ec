"""truths.md sections 1 and 3: the paper's arithmetic, Figure 2 and Figure 13a, ours beside the printed ones."""

from pathlib import Path

import pytest
from shared_data import shared_file

from pagesim.core.buddy import Buddy
from pagesim.core.content import Content
from pagesim.core.contiguous import ContiguousManager
from pagesim.core.reservations import ReserveExact
from pagesim.core.types import Room
from pagesim.sim.paper import (
    FIGURE_2,
    FIGURE_13A,
    Row,
    disagreeing,
    figures,
    identities,
    run_all,
    workload,
)


def test_the_arithmetic_comes_out_as_printed() -> None:
    assert not disagreeing(identities())


def test_the_printed_figures_are_the_papers() -> None:
    """Typed in a second time, so that no tolerance or figure can drift."""
    assert {name: printed for name, (printed, _) in FIGURE_13A.items()} == {
        "max": 7.0,
        "pow2": 9.81,
        "oracle": 13.62,
        "paged": 30.42,
    }
    assert [share for _, share in FIGURE_13A.values()] == [0.0, 0.05, 0.07, 0.12]
    assert FIGURE_2["max"] == {
        "used": (20.4, 1),
        "reserved": (13.3, 1),
        "internal": (57.3, 1),
        "external": (8.9, 1),
    }
    assert FIGURE_2["paged"] == {"used": (96.3, 1.5)}


def test_figure_3_slots_of_two_requests() -> None:
    """A: 7 prompt + 1 generated + 2 to come + 2,038 never used; B: 3 + 1 + 1 + 507, by their own maxima."""
    memory = ContiguousManager(Buddy(4096), ReserveExact(2048), "per-request maximum")
    prompts = (Content(range(7)), Content(range(3)))
    rooms = (Room(7, 7, limit=2048), Room(3, 3, limit=512))
    for seq, (content, room) in enumerate(zip(prompts, rooms, strict=True)):
        grant = memory.allocate(seq, content, room)
        assert grant is not None
        assert grant.writable == room.limit
    assert 2048 - (7 + 1 + 2) == 2038
    assert 512 - (3 + 1 + 1) == 507


@pytest.mark.parametrize("source", ["the built-in model", "the real list"])
def test_figures_2_and_13a_within_their_tolerances(source: str) -> None:
    lengths: Path | None = None
    if source == "the real list":
        lengths = shared_file("data/sharegpt_opt_lengths.csv.gz")
    rows = list(figures(run_all(4000, 0, lengths, lambda name, done: None)))
    assert len(rows) == 16
    assert not disagreeing(rows)


def test_a_row_is_out_beyond_its_tolerance_and_not_at_it() -> None:
    def row(ours: float) -> Row:
        return Row("group", "what", ours, 10.0, 0.5, "%", 1)

    assert row(10.5).agrees
    assert not row(10.56).agrees
    assert not row(9.4).agrees


def test_the_pairs_are_those_of_at_most_2048_tokens() -> None:
    made = workload(200, 3, None)
    assert len(made.arrivals) == 200
    assert all(len(a.request.prompt) + a.request.max_tokens <= 2048 for a in made.arrivals)
    assert made == workload(200, 3, None)
