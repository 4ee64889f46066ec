"""The named laws of a run: random scripts through scheduler, recorder and fold, on every memory."""

import pytest
from checked_run import CheckedRun
from hypothesis import given
from run_scripts import contiguous_memories, paged_memories, scripts

from pagesim.core import laws
from pagesim.core.memories import PLACERS, RESERVATIONS

PAGED = {
    "paged-caching": paged_memories(True),
    "paged-caching-all-to-the-back": paged_memories(True, False),
    "paged": paged_memories(False),
    "paged-all-to-the-back": paged_memories(False, False),
}
CONTIGUOUS = {
    f"{placer}-{rule}": contiguous_memories(placer, rule)
    for placer in PLACERS
    for rule in RESERVATIONS
}
every_memory = pytest.mark.parametrize(
    "memories", (PAGED | CONTIGUOUS).values(), ids=PAGED | CONTIGUOUS
)
every_paged = pytest.mark.parametrize("memories", PAGED.values(), ids=PAGED)
every_contiguous = pytest.mark.parametrize("memories", CONTIGUOUS.values(), ids=CONTIGUOUS)


@every_memory
def test_every_law_holds_after_every_step(memories):
    @given(script=scripts(memories))
    def check(script):
        CheckedRun(script).run()

    check()


@every_contiguous
def test_every_law_holds_where_lengths_are_foretold_wrongly(memories):
    @given(script=scripts(memories, foretold=False))
    def check(script):
        CheckedRun(script).run()

    check()


@every_memory
def test_failed_steps_change_no_answer(memories):
    @given(script=scripts(memories, with_aborts=False))
    def check(script):
        failing = CheckedRun(script, alphabet=97).run()
        smooth = CheckedRun(script._replace(failures=()), alphabet=97).run()
        assert failing.answers() == smooth.answers()

    check()


@every_paged
def test_the_same_script_gives_the_same_log(memories):
    @given(script=scripts(memories))
    def check(script):
        laws.check_same_log(CheckedRun(script).run().events, CheckedRun(script).run().events)

    check()
