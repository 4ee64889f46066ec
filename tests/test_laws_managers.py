"""The named laws of a memory, over every memory; and the paged one against a plainly written oracle."""

import pytest
from drivers import contiguous_driver, paged_driver
from hypothesis import given

from pagesim.core.block_manager import BlockManager
from pagesim.core.errors import LawBrokenError
from pagesim.core.laws import LAWS, check_conservation, check_refcount
from pagesim.core.memories import PLACERS, RESERVATIONS
from pagesim.core.recorded import Recorded
from pagesim.practice.driver import Driver
from pagesim.practice.rows import arenas, operations, paged_sizes


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


@given(size=paged_sizes, drawn=operations())
def test_every_law_holds_for_a_memory_known_only_by_its_protocol(size, drawn):
    """The recorder hides the pool and the index, as a learner's class has none."""
    Driver(Recorded(BlockManager(*size, prefix_caching=True), lambda _: None)).play(drawn)


def test_laws_catch_a_stranger_by_its_protocol_alone():
    class Forgetful(BlockManager):
        def usage(self):
            return super().usage()._replace(granted=1)

    memory = Recorded(Forgetful(4, 4), lambda _: None)
    with pytest.raises(LawBrokenError, match=r"^conservation: 1 granted and 4 free of 4 blocks$"):
        check_conservation(memory, [])

    class Generous(BlockManager):
        def usage(self):
            usage = super().usage()
            return usage._replace(granted=usage.granted + 1, free=usage.free - 1, largest_hole=0)

    memory = Recorded(Generous(4, 4), lambda _: None)
    with pytest.raises(LawBrokenError, match=r"^refcount: 1 blocks are granted and tables list 0"):
        check_refcount(memory, [])


def test_every_law_has_a_name_and_a_sentence():
    assert len(LAWS) == 16
    assert all(sentence.endswith(".") for sentence in LAWS.values())
