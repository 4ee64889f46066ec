"""The paper's rules (Kwon et al., SOSP 2023, sections 4.4 and 4.5) as stories, told by tables and events."""

from typing import NamedTuple

import pytest

from pagesim.core import events as ev
from pagesim.core.beam import BeamSearch, Candidate
from pagesim.core.block_manager import BlockManager
from pagesim.core.plan import StepPlan
from pagesim.core.request import Request
from pagesim.core.scheduler import Scheduler
from pagesim.core.scheduler_config import SchedulerConfig
from pagesim.replay.run_state import RunState
from pagesim.sim.scenario import load_scenario


class Step(NamedTuple):
    """After a step: block tables by name, the numbers of free blocks on the device and the host, and the plan."""

    tables: dict[str, tuple[int, ...]]
    free: int
    host_free: int
    plan: StepPlan
    waiting: tuple[str, ...]
    swapped: tuple[str, ...]


class Told(NamedTuple):
    steps: list[Step]
    events: list[ev.Event]
    scheduler: Scheduler


def tell(name: str) -> Told:
    """Plays a story that comes with pagesim; tables as they are when a step has been planned."""
    states: list[RunState] = []
    events: list[ev.Event] = []

    class Keep:
        def apply(self, event: ev.Event) -> None:
            events.append(event)
            states[0].apply(event)
            if isinstance(event, ev.StepPlanned):
                states.append(states[0].copy())

    def listeners(geometry):  # type: ignore[no-untyped-def]
        states.append(RunState(geometry))
        return [Keep()]

    loop = load_scenario(name).loop(listeners)
    steps = []
    while (plan := loop.step()) is not None:
        state = states[-1]
        tables = {v.name: tuple(v.table) for v in state.sequences.values() if v.table}
        steps.append(
            Step(
                tables,
                state.num_free,
                state.num_host_free,
                plan,
                tuple(seq.name for seq in loop.scheduler.waiting),
                tuple(seq.name for seq in loop.scheduler.swapped),
            )
        )
    return Told(steps, events, loop.scheduler)


def of_kind(told: Told, *kinds: type) -> list[ev.Event]:
    return [event for event in told.events if isinstance(event, kinds)]


# -- a group of three goes to the host and comes back --------------------------------------------------------


@pytest.fixture(scope="module")
def swapped() -> Told:
    return tell("swap")


def test_a_group_is_swapped_out_whole_and_its_shared_block_moves_once(swapped: Told) -> None:
    before, after = swapped.steps[2], swapped.steps[3]
    assert before.tables == {"A": (0, 1, 4), "B": (2, 5), "B.1": (2, 6), "B.2": (2, 3)}
    assert after.tables == {"A": (0, 1, 4), "B": (8, 9), "B.1": (8, 10), "B.2": (8, 11)}
    assert after.plan.copies == [(2, 8, 4), (5, 9, 4), (6, 10, 4), (3, 11, 4)]
    assert [seq.sample for seq in after.plan.preempted] == [0, 1, 2]
    assert after.plan.preempted == after.plan.swapped_out
    assert (after.free, after.host_free) == (5, 2)


def test_nobody_is_admitted_while_a_group_is_swapped_out(swapped: Told) -> None:
    """E needs one block, five are free, and it waits until B is back."""
    for step in swapped.steps[4:7]:
        assert step.waiting == ("E",)
        assert step.swapped == ("0_B",)
        assert step.free >= 4
        assert not step.plan.admitted


def test_the_group_comes_back_whole_before_anybody_waiting_is_looked_at(swapped: Told) -> None:
    step = swapped.steps[7]
    assert [seq.name for seq in step.plan.swapped_in] == ["0_B", "1_B", "2_B"]
    assert [seq.name for seq in step.plan.admitted] == ["E"]
    assert [seq.name for seq in step.plan.sequences] == ["0_B", "1_B", "2_B", "E"]
    assert step.tables["B"][0] == step.tables["B.1"][0] == step.tables["B.2"][0]
    assert [copy.source for copy in step.plan.copies] == [8, 9, 10, 11]
    assert step.host_free == 6
    told = [type(event) for event in swapped.events]
    assert told.index(ev.SequenceReturned) < len(told) - told[::-1].index(ev.SequenceAdmitted)


def test_no_token_is_lost_by_swapping(swapped: Told) -> None:
    preempted = of_kind(swapped, ev.SequencePreempted)
    assert {(event.lost_tokens, event.way) for event in preempted} == {(0, "swap")}  # type: ignore[attr-defined]
    computed = sum(step.plan.num_tokens for step in swapped.steps)
    # Prompts once each (B's for its three samples), and every output but each sequence's last.
    assert computed == (8 + 6 + 4) + (6 + 3 * 5 + 0)


def test_freed_blocks_go_to_the_back_of_the_queue(swapped: Told) -> None:
    """Block 7 was never held: it is taken before those that B gave back."""
    taken = of_kind(swapped, ev.BlocksTaken)
    assert [event.blocks for event in taken if event.seq == 0] == [(0, 1), (4,), (7,)]  # type: ignore[attr-defined]


# -- the host pool is full -----------------------------------------------------------------------------------


def test_where_the_host_pool_is_full_the_group_recomputes_whole() -> None:
    told = tell("host-full")
    preempted = of_kind(told, ev.SequencePreempted)[:3]
    assert [(e.lost_tokens, e.way) for e in preempted] == [(8, "host full")] * 3  # type: ignore[attr-defined]
    assert not of_kind(told, ev.TableSwappedOut, ev.TableSwappedIn, ev.SequenceReturned)
    back = next(step for step in told.steps[4:] if step.plan.admitted)
    names = [seq.name for seq in back.plan.admitted]
    assert names[:3] == ["0_B", "1_B", "2_B"]
    first = {back.tables[name][0] for name in ("B", "B.1", "B.2")}
    assert len(first) == 1, "the prompt's full block is shared again"
    assert len({back.tables[name][1] for name in ("B", "B.1", "B.2")}) == 3


# -- beam search of width 4 (Figure 9) -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def figure_9() -> Told:
    return tell("figure-9")


def test_figure_9_before_the_choice(figure_9: Told) -> None:
    """Candidates 0 to 2 share three blocks, candidate 3 only the first."""
    assert figure_9.steps[6].tables == {
        "A.0": (0, 1, 3, 5),
        "A.1": (0, 1, 3, 6),
        "A.2": (0, 1, 3, 7),
        "A.3": (0, 2, 4, 8),
    }


def test_figure_9_after_the_choice(figure_9: Told) -> None:
    """The best four come from candidates 1 and 2: 9 to 12 are new, and 2, 4, 5 and 8 are free."""
    step = figure_9.steps[7]
    assert step.tables == {
        "A.0": (0, 1, 3, 6, 9),
        "A.1": (0, 1, 3, 6, 10),
        "A.2": (0, 1, 3, 7, 11),
        "A.3": (0, 1, 3, 7, 12),
    }
    counts: dict[int, int] = {}
    for table in step.tables.values():
        for block in table:
            counts[block] = counts.get(block, 0) + 1
    assert counts == {0: 4, 1: 4, 3: 4, 6: 2, 7: 2, 9: 1, 10: 1, 11: 1, 12: 1}
    assert not {2, 4, 5, 8} & set(counts)
    assert not step.plan.copies


def test_figure_9_the_choice_is_told_before_what_follows_from_it(figure_9: Told) -> None:
    at = [n for n, event in enumerate(figure_9.events) if isinstance(event, ev.BeamsChosen)][6]
    chosen = figure_9.events[at]
    assert isinstance(chosen, ev.BeamsChosen)
    assert chosen.parents == (1, 1, 2, 2)
    assert figure_9.events[at + 1 : at + 3] == [
        ev.TableFreed(0, (5,)),
        ev.TableFreed(3, (8, 4, 2)),
    ]
    assert [type(e) for e in figure_9.events[at + 3 : at + 7 : 2]] == [ev.SequenceForked] * 2


def test_ended_answers_are_put_aside_and_ranked() -> None:
    """Scores are nats a token: -0.7 / 2 and -2.1 / 3; both are kept, the better first."""
    told = tell("beam-stops")
    ended = of_kind(told, ev.HypothesisEnded)
    assert [(e.output_tokens, e.logprob) for e in ended][:2] == [(2, -700_000), (3, -2_100_000)]  # type: ignore[attr-defined]
    ranked = of_kind(told, ev.AnswersRanked)
    assert len(ranked) == 1
    assert ranked[0].output_tokens == (2, 3)  # type: ignore[attr-defined]
    finished = of_kind(told, ev.SequenceFinished)
    assert [(e.output_tokens, e.reason) for e in finished] == [(2, "stop"), (3, "stop")]  # type: ignore[attr-defined]


# -- what a search may ask for ---------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", [float("nan"), float("inf"), -10.5, 11, 0.12345678])
def test_an_impossible_length_penalty_is_refused(penalty: float) -> None:
    scheduler = Scheduler(SchedulerConfig(), BlockManager(8, 4))
    refusal = scheduler.submit(Request("a", (1, 2), 3, 2, beam=BeamSearch(penalty)))
    assert refusal is not None
    assert (
        f"request a has a length penalty of {penalty}; it must be from -10 to 10" in refusal.reason
    )


def test_a_request_may_search_with_one_beam() -> None:
    """Width 1 is greedy search: the best candidate each time."""
    scheduler = Scheduler(SchedulerConfig(), BlockManager(8, 4))
    assert scheduler.submit(Request("a", (1, 2), 3, 1, beam=BeamSearch())) is None
    tokens = []
    while scheduler.has_work:
        plan = scheduler.plan()
        (seq,) = plan.beams
        best = Candidate(7 + seq.num_outputs, -1)
        ended = scheduler.commit(plan, [], [[best, Candidate(1, -5)]])
        tokens = seq.outputs
        assert not ended or ended == [seq]
    assert tokens == [7, 8, 9]


def test_too_few_candidates_or_samples_are_an_error_and_the_step_can_still_be_committed() -> None:
    scheduler = Scheduler(SchedulerConfig(), BlockManager(8, 4))
    scheduler.submit(Request("a", (1, 2), 3, 2, beam=BeamSearch()))
    plan = scheduler.plan()
    with pytest.raises(
        ValueError, match="0 samples and 1 lists of candidates are due, and 1 and 0"
    ):
        scheduler.commit(plan, [5])
    assert scheduler.commit(plan, [], [[Candidate(1, -1), Candidate(2, -2)]]) == []
