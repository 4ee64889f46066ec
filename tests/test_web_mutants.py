"""The comparison of the browser's fold with Python's has teeth: each of these faults in the player, it finds."""

import pytest
from node_player import NodePlayer, why_no_node
from small_runs import run, serve
from viewer_logs import events_of, story_of

from pagesim.core import events as ev
from pagesim.core.block_manager import BlockManager
from pagesim.core.request import Request, ResetCache
from pagesim.core.scheduler_config import SchedulerConfig
from pagesim.core.types import Geometry
from pagesim.sim.scenario import scenario_names
from pagesim.web import bundle
from pagesim.web.bundle import log_in_memory, run_payload
from pagesim.web.plain import plain_state

pytestmark = pytest.mark.skipif(why_no_node() is not None, reason=why_no_node() or "")

MUTANTS = {
    "a fork begins without outputs": (
        "if (!child.outputs) child.outputs = parent.outputs;",
        "",
    ),
    "a beam goes on moving": ("state.moving.delete(childSeq);", ""),
    "a parent is no group": ("child.forked = parent.forked = true", "child.forked = true"),
    "a run is one slot": ("this.num_held += sizeOf(blocks);", "this.num_held += 1;"),
    "a shared block is held twice": ("if (!count) this.held(block, 1);", "this.held(block, 1);"),
    "what is copied over is kept": ("state.drop(old, 1);", ""),
    "a swap is no state": ('view.status = "swapped";', ""),
    "a failed step stays written": ("written -= counts[at];", "written -= 0;"),
    "an evicted block is found": (
        "evicted(state, [, block]) {",
        "evicted(state, [, block]) { return;",
    ),
    "a reset forgets nothing": ("state.cached.clear();", ""),
    "what was withdrawn is found": (
        "for (const block of blocks) state.cached.delete(block);",
        "",
    ),
    "what a run asked for is forgotten": ("view.wanted = view.written = 0;", "view.written = 0;"),
    "admitted means computed": ("state.run(seq).written = cachedTokens;", "state.run(seq);"),
    "copies share who refers to what": (
        "twin.refCounts = new Map(this.refCounts);",
        "",
    ),
    "copies share tables": (
        "twin.table = isRun(this.table) ? this.table : this.table.slice();",
        "",
    ),
    "a keyframe lives on": (
        "this.keyframes.set(number, state.copy());",
        "this.keyframes.set(number, state);",
    ),
    "an event is passed over": (
        "at = log.startOf(number + 1);",
        "at = log.startOf(number + 1) + 1;",
    ),
}

LATE_FORK = [
    ev.RequestSubmitted(0, "r", 0, 3, 9, 0),
    ev.RequestSubmitted(1, "r", 1, 3, 9, 0, 1),
    ev.SequenceAdmitted(0, 3, 0, 0),
    ev.BlocksTaken(0, (2,), 4),
    ev.StepPlanned(0, (0,), (3,), 1, 0),
    ev.StepDone(0, 10),
    ev.TokensSampled((0,), (7,)),
    ev.BlocksShared(1, (2,)),
    ev.SequenceForked(0, 1, 3),
]
"""Not what this simulator does: the parent has an output already."""


def runs():
    """Every scenario; preempted groups with hits and evictions; slabs; failing steps; a reset; a late fork."""
    yield from map(story_of, scenario_names())
    yield run("paged", [(10, 10)] * 5 + [(30, 2)], samples=2, caching=True)
    yield events_of("pow2")
    yield events_of("paged")
    requests = [(at, Request(f"r{at}", range(9), 4)) for at in range(3)]
    memory = BlockManager(12, 4, prefix_caching=True)
    yield Geometry(4, 4), LATE_FORK
    yield serve(memory, SchedulerConfig(), [*requests, (10**12, ResetCache())], failing=(0, 2, 4))


@pytest.fixture(name="known", scope="module")
def _known():
    """Payloads and the facts at every place."""
    from pagesim.replay.run_state import RunState

    whole, known = bundle.CHUNK, []
    bundle.CHUNK = 7
    try:
        for geometry, events in runs():
            state, told = RunState(geometry), []
            for event in [None, *events]:
                if event is not None:
                    state.apply(event)
                told.append(NodePlayer.text(plain_state(state)))
            known.append((run_payload(log_in_memory(geometry, events), "a run"), told))
    finally:
        bundle.CHUNK = whole
    return known


def is_caught(player, known):
    for payload, told in known:
        places = list(range(len(told)))
        try:
            player.ask("load", payload=payload)
            if player.ask("facts", places=places + places[::-5]) != told + told[::-5]:
                return True
        except AssertionError:
            return True
    return False


def test_the_player_as_it_is_passes(known, tmp_path):
    player = NodePlayer(tmp_path)
    assert not is_caught(player, known)
    player.close()


@pytest.mark.parametrize("name", MUTANTS)
def test_each_fault_is_found(known, tmp_path, name):
    player = NodePlayer(tmp_path, MUTANTS[name])
    assert is_caught(player, known)
    player.close()
