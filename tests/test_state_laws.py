"""Laws checked on a state alone: kept all through real runs, and each broken state caught by its law only."""

from collections.abc import Callable, Sequence

import pytest
from checked_run import CheckedRun
from hypothesis import given
from hypothesis import strategies as st
from run_scripts import Script, contiguous_memories, paged_memories, scripts
from viewer_logs import events_of, story_of

from pagesim.core import events as ev
from pagesim.core.laws import LAWS
from pagesim.core.memories import PLACERS, RESERVATIONS
from pagesim.core.types import Geometry
from pagesim.replay.run_state import RunState
from pagesim.replay.state_laws import state_verdicts
from pagesim.sim.scenario import scenario_names


def broken(state: RunState, before: RunState | None = None) -> dict[str, str]:
    return {v.law: v.broken for v in state_verdicts(state, before) if v.broken is not None}


def two_that_share() -> RunState:
    """Sequences 0 and 1 share block 5, full, and block 6, of which two slots are filled; 1 has block 7, too."""
    state = RunState(Geometry(8, 4))
    for seq in (0, 1):
        state.apply(ev.RequestSubmitted(seq, f"r{seq}", 0, 6, 4, 0))
    state.apply(ev.BlocksTaken(0, (5, 6), 8))
    state.apply(ev.SequenceAdmitted(0, 6, 0, 0))
    state.apply(ev.StepPlanned(0, (0,), (6,), 1, 0))
    state.apply(ev.BlocksShared(1, (5, 6)))
    state.apply(ev.SequenceForked(0, 1, 6))
    state.apply(ev.BlocksTaken(1, (7,), 4))
    return state


def two_on_the_host() -> RunState:
    """The same two, of which 0 and 1 have gone to host blocks h0 (8, shared) and h1 (9)."""
    state = RunState(Geometry(8, 4, 3))
    for seq in (0, 1):
        state.apply(ev.RequestSubmitted(seq, f"r{seq}", 0, 6, 4, 0))
    state.apply(ev.BlocksTaken(0, (5, 6), 8))
    state.apply(ev.SequenceAdmitted(0, 6, 0, 0))
    state.apply(ev.StepPlanned(0, (0,), (6,), 1, 0))
    state.apply(ev.SequenceForked(0, 1, 6))
    state.apply(ev.BlocksShared(1, (5, 6)))
    state.apply(ev.BlockReplaced(1, 6, 7))
    state.apply(ev.TableSwappedOut(0, (8, 9)))
    state.apply(ev.TableSwappedOut(1, (8, 10)))
    return state


def two_runs() -> RunState:
    """Sequences 0 and 1 in a contiguous memory."""
    state = RunState(Geometry(32, 1))
    for seq in (0, 1):
        state.apply(ev.RequestSubmitted(seq, f"r{seq}", 0, 6, 4, 0))
        state.apply(ev.BlocksTaken(seq, range(10 * seq, 10 * seq + 10), 10))
    return state


def test_names_are_those_of_the_laws() -> None:
    assert [verdict.law for verdict in state_verdicts(RunState(Geometry(1, 1)))]
    assert {verdict.law for verdict in state_verdicts(RunState(Geometry(1, 1)))} <= LAWS.keys()


@pytest.mark.parametrize("allocator", ["paged", "max", "pow2"])
def test_kept_after_every_event_of_a_run(allocator: str) -> None:
    check_kept(*events_of(allocator))


@pytest.mark.parametrize("name", scenario_names())
def test_kept_after_every_event_of_a_story(name: str) -> None:
    check_kept(*story_of(name))


memories = st.one_of(
    paged_memories(True),
    paged_memories(False),
    *(contiguous_memories(placer, rule) for placer in PLACERS for rule in RESERVATIONS),
)


@given(scripts(memories, foretold=False))
def test_kept_after_every_event_of_any_script(script: Script) -> None:
    played = CheckedRun(script).run()
    check_kept(played.manager.geometry, played.events)


def check_kept(geometry: Geometry, events: Sequence[ev.Event]) -> None:
    state = RunState(geometry)
    for event in events:
        before = state.copy()
        state.apply(event)
        assert broken(state, before) == {}, event


def twice(state: RunState) -> None:
    state.sequences[0].table += [5]
    state.ref_counts[5] += 1


def out_of_range(state: RunState) -> None:
    state.sequences[1].table[2] = 9
    state.ref_counts[9] = state.ref_counts.pop(7)


def miscounted(state: RunState) -> None:
    state.num_held += 1


def count_too_high(state: RunState) -> None:
    state.ref_counts[5] = 3


def free_and_held(state: RunState) -> None:
    del state.ref_counts[7]


def written_before_the_copy(state: RunState) -> None:
    state.sequences[1].written += 1


def beyond_its_blocks(state: RunState) -> None:
    state.sequences[0].written = state.sequences[1].written = 9


def empty_handed(state: RunState) -> None:
    state.planned = ev.StepPlanned(0, (0,), (0,), 0, 0)


@pytest.mark.parametrize(
    ("corrupt", "law", "words"),
    [
        (twice, "conservation", "sequence 0 lists a block twice"),
        (out_of_range, "conservation", "sequence 1 lists block 9 of 8"),
        (miscounted, "conservation", "4 blocks are counted as held and tables list 3"),
        (count_too_high, "refcount", "block 5 counts 3 and 2 tables list it"),
        (free_and_held, "refcount", "block 7 counts 0 and 1 tables list it"),
        (
            written_before_the_copy,
            "single-writer",
            "share block 6, which is not full, and wrote 2 and 3",
        ),
        (beyond_its_blocks, "single-writer", "sequence 0 wrote 9 slots and holds 8"),
        (empty_handed, "budget", "step 0 computes nothing for one of its 1 sequences"),
    ],
)
def test_a_corrupted_state_is_caught(
    corrupt: Callable[[RunState], None], law: str, words: str
) -> None:
    state = two_that_share()
    assert broken(state) == {}
    corrupt(state)
    found = broken(state)
    assert list(found) == [law]
    assert words in found[law]


def host_miscounted(state: RunState) -> None:
    state.num_host_held -= 1


def beyond_the_host(state: RunState) -> None:
    state.sequences[1].table[1] = 11
    state.ref_counts[11] = state.ref_counts.pop(10)


def in_both_pools(state: RunState) -> None:
    state.sequences[1].table[1] = 3
    state.ref_counts[3] = state.ref_counts.pop(10)


def runs_there(state: RunState) -> None:
    state.sequences[1].status = "running"


def host_count_too_high(state: RunState) -> None:
    state.ref_counts[8] = 3


def shared_and_written(state: RunState) -> None:
    state.sequences[1].table[1] = 9
    state.ref_counts[9] += state.ref_counts.pop(10)
    state.num_host_held -= 1
    state.sequences[1].written += 1


@pytest.mark.parametrize(
    ("corrupt", "law", "words"),
    [
        (host_miscounted, "conservation", "2 host blocks are counted as held and tables list 3"),
        (beyond_the_host, "conservation", "sequence 1 lists block 11 of 11"),
        (in_both_pools, "conservation", "sequence 1 lists blocks of the device and of the host"),
        (runs_there, "conservation", "sequence 1 is running and lists host blocks"),
        (host_count_too_high, "refcount", "host block h0 counts 3 and 2 tables list it"),
        (shared_and_written, "single-writer", "share host block h1, which is not full"),
    ],
)
def test_a_corrupted_host_pool_is_caught(
    corrupt: Callable[[RunState], None], law: str, words: str
) -> None:
    state = two_on_the_host()
    assert broken(state) == {}
    corrupt(state)
    found = broken(state)
    assert list(found) == [law]
    assert words in found[law]


def test_runs_that_overlap_are_caught() -> None:
    state = two_runs()
    assert broken(state) == {}
    state.sequences[1].table = range(9, 19)
    assert broken(state)["conservation"] == "sequences 0 and 1 both hold slot 9"


def test_time_and_steps_go_forward() -> None:
    before, state = two_that_share(), two_that_share()
    before.time_ns = 5
    assert broken(state, before) == {"clock": "0 ns follows 5 ns"}
    state.time_ns, state.step = 6, 2
    assert broken(state, before) == {"clock": "step 2 follows step 0"}
    state.step = 1
    assert broken(state, before) == {}
