"""The named laws of a memory, over every memory; and the paged one against a plainly written oracle."""

import pytest
from driver import contiguous_driver, paged_driver
from hypothesis import given
from operations import arenas, operations, paged_sizes

from pagesim.core.laws import LAWS
from pagesim.sim.allocators import PLACERS, RESERVATIONS


@pytest.mark.parametrize(
    "keep_unkeyed_first", [True, False], ids=["unkeyed-first", "all-to-the-back"]
)
@pytest.mark.parametrize("caching", [True, False], ids=["caching", "no-caching"])
@given(size=paged_sizes, drawn=operations())
def test_every_law_holds_for_paged_memory_and_the_oracle_agrees(
    caching, keep_unkeyed_first, size, drawn
):
    paged_driver(*size, caching=caching, keep_unkeyed_first=keep_unkeyed_first).play(drawn)


@pytest.mark.parametrize("reservation", RESERVATIONS)
@pytest.mark.parametrize("placer", PLACERS)
@given(num_slots=arenas, drawn=operations())
def test_every_law_holds_for_contiguous_memory(placer, reservation, num_slots, drawn):
    contiguous_driver(num_slots, placer, reservation).play(drawn)


def test_every_law_has_a_name_and_a_sentence():
    assert len(LAWS) == 13
    assert all(sentence.endswith(".") for sentence in LAWS.values())
