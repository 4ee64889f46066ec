"""Metrics: latencies as behaviours.md defines them, and the waste split against a brute force."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from viewer_logs import story_of

from pagesim.cli.rerun_output import SWAPS, report_lines
from pagesim.core import events as ev
from pagesim.core.beam import BeamSearch
from pagesim.core.loop import arrived
from pagesim.core.memories import MemorySettings
from pagesim.core.preempt_mode import SWAP
from pagesim.core.request import Request
from pagesim.core.types import Geometry
from pagesim.planner.facts import gpu, model
from pagesim.replay.report import Meters, spread
from pagesim.replay.run_state import RunState
from pagesim.replay.waste import WasteMeter
from pagesim.sim.allocators import ALLOCATORS
from pagesim.sim.cost import cost_model
from pagesim.sim.policies import Policies
from pagesim.sim.simulate import Contender, RunSettings, build_loop, compare, simulate
from pagesim.sim.workload import Arrival, Workload

COST = cost_model(model("opt-13b"), gpu("a100-40gb"))


def feed(meters: Meters, events: Iterable[ev.Event]) -> None:
    for event in events:
        meters.apply(event)


def life(seq: int, first_s: int, end_s: int, outputs: int) -> list[tuple[int, ev.Event]]:
    """One request's events with their times in seconds; it arrives at 0."""
    tokens = [(first_s, ev.TokensSampled((seq,), (0,)))]
    tokens += [(end_s, ev.TokensSampled((seq,), (0,)))] * (outputs - 1)
    return [*tokens, (end_s, ev.SequenceFinished(seq, outputs, "length"))]


def measured(lives: list[tuple[int, int, int]]) -> Meters:
    meters = Meters(Geometry(8, 4))
    timed: list[tuple[int, ev.Event]] = []
    for seq, (first, end, outputs) in enumerate(lives):
        feed(
            meters,
            [
                arrived(Request(f"r{seq}", range(4), 9), 0),
                ev.RequestSubmitted(seq, f"r{seq}", 0, 4, 9, 0),
            ],
        )
        feed(meters, [ev.BlocksTaken(seq, (seq,), 4), ev.SequenceAdmitted(seq, 4, 0, 0)])
        timed += life(seq, first, end, outputs)
    for time, event in sorted(timed, key=lambda pair: pair[0]):
        meters.latency.apply(ev.ClockAdvanced(time * 10**9))
        meters.latency.apply(event)
    return meters


def test_time_per_output_token_leaves_out_what_has_one_token() -> None:
    """H22: (1 s, 1 s, 1 output), (1 s, 3 s, 5), (2 s, 5 s, 4): the mean is 0.75 s, of the last two."""
    report = measured([(1, 1, 1), (1, 3, 5), (2, 5, 4)]).report(saturated=False)
    assert report.tpot_s.count == 2
    assert report.tpot_s.mean == pytest.approx(0.75)
    assert report.ttft_s.count == 3


@pytest.mark.parametrize("lives", [[(1, 1, 1)], []])
def test_time_per_output_token_of_nobody_is_not_a_number(lives: list[tuple[int, int, int]]) -> None:
    """H22: With the first request alone, or with no requests, it is n/a."""
    report = measured(lives).report(saturated=False)
    assert report.tpot_s.mean is None
    assert report.tpot_s.p99 is None


def test_percentiles_are_nearest_ranks() -> None:
    assert spread([float(n) for n in range(1, 101)]).p50 == 50
    assert spread([float(n) for n in range(1, 101)]).p99 == 99
    assert spread([7.0]).p99 == 7
    assert spread([2.0, 1.0]).p50 == 1


class BruteForce:
    """The waste split slot by slot: remembers who held and wrote each slot at every step."""

    def __init__(self, geometry: Geometry) -> None:
        self.state = RunState(geometry)
        self.size, self.num_blocks = geometry.block_size, geometry.num_blocks
        self.held: list[dict[int, int]] = []  # per step: slot -> number of the tenure it is held in
        self.used: list[set[int]] = []
        self.rounding: list[int] = []
        self.tenure: dict[int, int] = {}  # held slot -> tenure, since it was last taken
        self.ever: set[tuple[int, int]] = set()  # (slot, tenure) that was written
        self.fresh = 0
        self.filled: set[int] = set()

    def slots(self, blocks: Iterable[int]) -> list[int]:
        return [block * self.size + i for block in blocks for i in range(self.size)]

    def apply(self, event: ev.Event) -> None:
        if isinstance(event, ev.BlocksTaken | ev.BlockReplaced | ev.BlocksShared):
            blocks = (event.new,) if isinstance(event, ev.BlockReplaced) else event.blocks
            for block in blocks:
                slots = self.slots([block])
                if slots[0] not in self.tenure:
                    self.fresh += 1
                    for slot in slots:
                        self.tenure[slot] = self.fresh
                        if isinstance(event, ev.BlocksShared):
                            self.write(slot)
        if isinstance(event, ev.BlockCopied) and event.target < self.num_blocks:
            for i in range(event.slots):
                self.write(event.target * self.size + i)
        if isinstance(event, ev.TableFreed):
            table = self.state.sequences[event.seq].table
            self.release(table if isinstance(table, range) else event.released)
        if isinstance(event, ev.TableSwappedOut):
            counts = self.state.ref_counts
            table = self.state.sequences[event.seq].table
            self.release([block for block in table if counts[block] == 1])
        if isinstance(event, ev.TableSwappedIn):
            for block in event.blocks:
                if not self.state.ref_counts.get(block):
                    self.fresh += 1
                    self.tenure |= dict.fromkeys(self.slots([block]), self.fresh)
        if isinstance(event, ev.StepPlanned):
            for seq, count in zip(event.seqs, event.counts, strict=True):
                view = self.state.sequences[seq]
                for position in range(view.written, view.written + count):
                    self.write(view.table[position // self.size] * self.size + position % self.size)
            self.held.append(dict(self.tenure))
            self.used.append(set(self.filled))
            rounding = 0
            for view in self.state.sequences.values():
                if isinstance(view.table, range):
                    rounding += len(view.table) - view.wanted
            self.rounding.append(rounding)
        self.state.apply(event)

    def release(self, blocks: Iterable[int]) -> None:
        for slot in self.slots([block for block in blocks if block < self.num_blocks]):
            del self.tenure[slot]
            self.filled.discard(slot)

    def write(self, slot: int) -> None:
        self.filled.add(slot)
        self.ever.add((slot, self.tenure[slot]))

    def at(self, step: int) -> tuple[int, int, int]:
        """Used, reserved and internal slots."""
        held, used = self.held[step], self.used[step]
        idle = [(slot, tenure) for slot, tenure in held.items() if slot not in used]
        reserved = sum(pair in self.ever for pair in idle)
        return len(used), reserved, len(idle) - reserved - self.rounding[step]


lengths = st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12)), min_size=1, max_size=8)


@given(
    lengths,
    st.sampled_from(ALLOCATORS),
    st.integers(1, 5),
    st.integers(1, 3),
    st.booleans(),
    st.sampled_from([0, 0, 20, 72]),
    st.booleans(),
)
def test_the_waste_split_equals_a_brute_force(
    pairs: list[tuple[int, int]],
    allocator: str,
    block_size: int,
    samples: int,
    alike: bool,
    host_slots: int,
    beams: bool,
) -> None:
    requests = [
        Request(
            f"r{i}",
            range(0 if alike else 100 * i, (0 if alike else 100 * i) + prompt),
            output,
            samples,
            beam=BeamSearch() if beams else None,
        )
        for i, (prompt, output) in enumerate(pairs)
    ]
    workload = Workload("w", "", tuple(Arrival(0, request) for request in requests), saturated=True)
    memory = MemorySettings(72, block_size, 24, prefix_caching=alike, host_slots=host_slots)
    policies = Policies(preempt=SWAP if host_slots else None)
    settings = RunSettings(memory, COST, rules="paper", policies=policies)
    listeners: list[object] = []

    def watch(geometry: Geometry) -> list[object]:
        listeners.extend([WasteMeter(geometry), BruteForce(geometry)])
        return listeners

    loop = build_loop(workload, allocator, settings, watch)
    loop.run()
    meter, brute = listeners
    assert isinstance(meter, WasteMeter)
    assert isinstance(brute, BruteForce)
    for step in range(meter.num_steps):
        split = meter.split(step, step + 1)
        assert (split.used, split.reserved, split.internal) == brute.at(step)
        assert sum(split[:5]) == pytest.approx(split.num_slots)


def contenders(settings: RunSettings) -> list[Contender]:
    return [Contender(name, name, settings) for name in ALLOCATORS]


def test_a_run_of_nothing_has_a_report() -> None:
    empty = Workload("empty", "no requests", (), saturated=True)
    settings = RunSettings(MemorySettings(64, 4, 32), COST)
    for allocator in ALLOCATORS:
        report = simulate(empty, allocator, settings).report
        assert report.num_steps == 0
        assert report.waste is None
        assert report.mean_requests is None
    comparison = compare(empty, contenders(settings))
    assert comparison.maps == ()
    assert comparison.moment_ns is None


def test_maps_of_a_comparison_are_of_one_moment() -> None:
    arrivals = tuple(
        Arrival(0, Request(f"r{i}", range(100 * i, 100 * i + 20), 30)) for i in range(40)
    )
    workload = Workload("w", "", arrivals, saturated=True)
    settings = RunSettings(MemorySettings(640, 16, 64), COST, rules="paper")
    comparison = compare(workload, contenders(settings))
    assert len(comparison.maps) == 4
    for shown in comparison.maps:
        assert shown.time_ns <= (comparison.moment_ns or 0)
        assert shown.holders


def test_a_report_counts_swaps_apart_from_other_preemptions() -> None:
    reports = {}
    for name in ("swap", "host-full"):
        geometry, events = story_of(name)
        meters = Meters(geometry)
        feed(meters, events)
        reports[name] = meters.report(saturated=False)
    swap, full = reports["swap"], reports["host-full"]
    assert (swap.num_preemptions, swap.num_swaps, swap.lost_tokens) == (3, 3, 0)
    assert (full.num_preemptions, full.num_swaps, full.lost_tokens) == (3, 0, 24)
    told = list(report_lines("x", [full, swap], None, 0))
    assert next(line for line in told if line.startswith(SWAPS)).split()[-2:] == ["0", "3"]
    assert not any(line.startswith(SWAPS) for line in report_lines("x", [full, full], None, 0))
