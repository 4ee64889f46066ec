"""Every law with everything at once: forks, prefix hits, swaps, beams, aborts, failing steps, tiny pools.

Memory is small and the host pool is there, so that most runs preempt and many swap. `make test-all` plays 24,000
scripts here.
"""

from dataclasses import replace

import pytest
from checked_run import CheckedRun
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from run_scripts import Paged, scripts

from pagesim.core import events as ev
from pagesim.core.preempt_mode import SWAP

KINDS = {
    "caching": (True, True),
    "caching-all-to-the-back": (True, False),
    "plain": (False, True),
    "plain-all-to-the-back": (False, False),
}


def tight(caching, keep_unkeyed_first):
    """Pools in which about two of the longest sequences fit, and a host that holds some of them."""
    sizes = st.tuples(
        st.integers(8, 20), st.sampled_from([2, 3, 1]), st.sampled_from([12, 12, 4, 2])
    )
    return sizes.map(
        lambda size: Paged(size[0] // size[1], size[1], caching, keep_unkeyed_first, size[2])
    )


def swapping(script):
    """The same script where preempting means swapping, as far as the host has room."""
    preempt = {"recompute": SWAP}.get(script.config.preempt.name, script.config.preempt)
    config = replace(script.config, preempt=preempt, admit_only_if_whole_prompt_fits=False)
    return script._replace(config=config)


@pytest.mark.parametrize("kind", KINDS)
def test_every_law_holds_with_all_features_together(kind):
    @examples(150, 6000)
    @given(script=scripts(tight(*KINDS[kind])).map(swapping))
    def check(script):
        CheckedRun(script).run()

    check()


@pytest.mark.parametrize("kind", KINDS)
def test_preempting_either_way_changes_no_answer(kind):
    """Swapped, recomputed, in a pool where nobody is preempted: the same tokens."""

    @examples(40, 1000)
    @given(script=scripts(tight(*KINDS[kind]), with_aborts=False).map(swapping))
    def check(script):
        caching, to_front = KINDS[kind]
        roomy = Paged(400, script.memory.block_size, caching, to_front)
        taken = CheckedRun(script, alphabet=97).run()
        smooth = CheckedRun(script._replace(memory=roomy, failures=()), alphabet=97).run()
        served = {e.request for e in taken.events if isinstance(e, ev.RequestRefused)}
        answers = smooth.answers()
        for name, tokens in taken.answers().items():
            if name.rpartition("_")[2] not in served:
                assert tokens == answers[name]

    check()


def test_the_scripts_do_swap_and_search():
    """Else the laws above would hold of nothing much."""
    seen = {"swapped": 0, "beams": 0, "both": 0, "all": 0}

    @examples(150, 150)
    @given(script=scripts(tight(True, True)).map(swapping))
    def count(script):
        kinds = {type(event) for event in CheckedRun(script).run().events}
        seen["all"] += 1
        seen["swapped"] += ev.TableSwappedIn in kinds
        seen["beams"] += ev.BeamsChosen in kinds
        seen["both"] += {ev.TableSwappedIn, ev.BeamsChosen} <= kinds

    count()
    assert min(seen.values()) >= 10, seen
