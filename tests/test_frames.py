"""Pictures of one place of a run: what they say is the state's own, at any width and in any characters.

Snapshots under tests/snapshots/ are rewritten by PAGESIM_UPDATE_SNAPSHOTS=1.
"""

import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from viewer_logs import story_of

from pagesim.core import events as ev
from pagesim.core.memories import MemorySettings
from pagesim.core.request import Request
from pagesim.core.types import Geometry
from pagesim.planner.facts import gpu, model
from pagesim.replay.cursor import Cursor
from pagesim.replay.explain import explain
from pagesim.replay.keeper import Keeper
from pagesim.replay.log import LogWriter, log_header
from pagesim.replay.memory_map import Holder, MemoryMap, changed_blocks, memory_map
from pagesim.replay.run_state import RunState
from pagesim.replay.timeline import Phase, TimelineFold
from pagesim.replay.waste import WasteMeter
from pagesim.sim.allocators import ALLOCATORS
from pagesim.sim.cost import cost_model
from pagesim.sim.simulate import RunSettings, build_loop
from pagesim.sim.workload import Arrival, Workload
from pagesim.tui.map_spots import map_spots
from pagesim.views.block_tables import BlockTables
from pagesim.views.event_list import EventLine, EventList
from pagesim.views.export import Look, to_html, to_png, to_svg, to_text
from pagesim.views.frame import Frame, SideBySide, moment_at
from pagesim.views.marks import hidden, window
from pagesim.views.moment_bar import moment_split
from pagesim.views.queues import Queues, divided
from pagesim.views.sparkline import Occupancy, column_of, peaks
from pagesim.views.step_map import StepMap
from pagesim.views.timeline import Timeline

COST = cost_model(model("opt-13b"), gpu("a100-40gb"))
SNAPSHOTS = Path(__file__).parent / "snapshots"
WIDTHS = (60, 80, 120, 200)
PAIRS = ((12, 12), (5, 9), (9, 3), (12, 12), (7, 12), (3, 8), (12, 4), (8, 8))
HOSTILE = [
    "[red]x[/]",
    "\x1b[31mred\x1b[0m",
    "名前が長い人の名前",
    "a" * 5000,
    "\u202eabc",
    "x\ny\tz",
    "",
    "é\u0301",
]


def run(
    allocator="paged",
    pairs=PAIRS,
    *,
    samples=1,
    caching=False,
    slots=72,
    size=4,
    longest=24,
    names=None,
):
    start = [0 if caching else 100 * i for i in range(len(pairs))]
    names = names or [f"r{i}" for i in range(len(pairs))]
    arrivals = tuple(
        Arrival(
            i * 30_000_000, Request(names[i], range(start[i], start[i] + prompt), output, samples)
        )
        for i, (prompt, output) in enumerate(pairs)
    )
    kept = Keeper()
    memory = MemorySettings(slots, size, longest, prefix_caching=caching)
    loop = build_loop(
        Workload("w", "", arrivals),
        allocator,
        RunSettings(memory, COST, rules="paper"),
        lambda _: [kept],
    )
    loop.run()
    return loop.scheduler.memory.geometry, kept.events


def folded(fold, events):
    for event in events:
        fold.apply(event)
    return fold


def plainly(event, before):
    """A sentence that stays as it is when explanations are worded anew."""
    return f"{type(event).__name__}: {before.num_held} blocks were held before."


def frame(place=None, step=None, focus=None, **options):
    geometry, events = run(**options)
    cursor = Cursor(geometry, events)
    if step is None:
        cursor.seek(len(events) if place is None else place)
    else:
        cursor.seek_step(step)
    held = folded(WasteMeter(geometry), events).granted_series
    return Frame(moment_at(cursor, "a small run", plainly, held), focus=focus)


def text(view, width=80, *, ascii_only=False):
    return to_text([view], Look(width, ascii_only=ascii_only))


# -- snapshots ---------------------------------------------------------------------------------------


def normal(svg):
    """Styles and texts of an SVG, without places: what a person sees, whatever the version of rich."""
    styles = re.findall(r"\.pagesim-(r\d+) \{ *([^}]*?) *\}", svg)
    texts = re.findall(
        r'<text class="pagesim-(r\d+)"[^>]*clip-path="url\(#pagesim-line-(\d+)\)"[^>]*>(.*?)</text>',
        svg,
    )
    rows = [f"{line}\t{style}\t{unescape(shown)}" for style, line, shown in texts]
    return (
        "\n".join([*(f"{name}: {style}" for name, style in styles), *rows]).replace("\xa0", " ")
        + "\n"
    )


def story_frame(name, step, focus=None):
    geometry, events = story_of(name)
    cursor = Cursor(geometry, events)
    cursor.seek_step(step)
    held = folded(WasteMeter(geometry), events).granted_series
    return Frame(moment_at(cursor, name, plainly, held), focus=focus)


STORIES = {"swapped": ("swap", 4), "beams": ("figure-9", 7, 1)}
PLACES = {
    "shared": {"step": 8, "caching": True, "samples": 2},
    "slabs": {"step": 8, "allocator": "max", "focus": 1},
    "evicted": {"place": 90, "caching": True},
}
LOOKS = {
    "color": Look(80),
    "plain": Look(80, color=False),
    "ascii": Look(80, ascii_only=True, light=True),
}


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("place", [*PLACES, *STORIES])
def test_frames_look_as_they_did(place, look):
    drawn = story_frame(*STORIES[place]) if place in STORIES else frame(**PLACES[place])
    shown = normal(to_svg([drawn], LOOKS[look], "snapshot"))
    path = SNAPSHOTS / f"frame-{place}-{look}.txt"
    if os.environ.get("PAGESIM_UPDATE_SNAPSHOTS") == "1":
        SNAPSHOTS.mkdir(exist_ok=True)
        path.write_text(shown, encoding="utf-8")
    assert shown == path.read_text(encoding="utf-8")
    assert len(shown.splitlines()) > 40


@pytest.mark.parametrize("light", [False, True])
def test_a_picture_without_colour_has_none_and_says_the_same(light):
    parts = [frame(**PLACES["shared"])]
    plain = to_svg(parts, Look(80, light, color=False), "x")
    fills = re.findall(r"\.pagesim-r\d+ \{ fill: #(..)(..)(..)", plain)
    assert all(
        max(rgb) - min(rgb) < 16 for rgb in ([int(part, 16) for part in fill] for fill in fills)
    )
    assert to_text(parts, Look(80, color=False)) == to_text(parts, Look(80))


# -- any width, any characters -----------------------------------------------------------------------


def views(geometry, events, step, focus=None):
    cursor = Cursor(geometry, events)
    cursor.seek_step(step)
    held = folded(WasteMeter(geometry), events).granted_series
    moment = moment_at(cursor, "a run", explain, held)
    fold = folded(TimelineFold(), events)
    return {
        "frame": Frame(moment, focus=focus),
        "both": SideBySide(Frame(moment), Frame(moment)),
        "timeline": Timeline(fold, step, max_rows=8, focus=focus),
        "over time": Timeline(fold, step, max_rows=8, over_time=True),
        "tables": BlockTables(moment.state, focus=focus, changed=moment.changed, whole=True),
    }


@pytest.mark.parametrize("width", [20, 40, *WIDTHS])
@pytest.mark.parametrize("allocator", ["paged", "max"])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_pictures_stay_within_their_width(width, allocator, ascii_only):
    geometry, events = run(allocator)
    for view in views(geometry, events, 8, 1).values():
        shown = text(view, width, ascii_only=ascii_only)
        assert max(map(cell_len, shown.splitlines())) <= width
        assert shown.isascii() == ascii_only
        assert all(len(line) == cell_len(line) for line in shown.splitlines())
        assert "?" not in shown


@pytest.mark.parametrize("width", [20, 40, *WIDTHS])
@pytest.mark.parametrize("name", ["swap", "host-full", "figure-9", "beam-stops"])
def test_stories_stay_within_their_width_at_every_place(name, width):
    geometry, events = story_of(name)
    cursor = Cursor(geometry, events)
    for place in range(len(events) + 1):
        cursor.seek(place)
        view = Frame(moment_at(cursor, name, explain), focus=place % 4)
        for ascii_only in (False, True):
            shown = text(view, width, ascii_only=ascii_only)
            assert max(map(cell_len, shown.splitlines())) <= width
            assert "?" not in shown
        assert shown.isascii()
        if geometry.num_host_blocks:
            held = len({b for v in cursor.state.sequences.values() for b in v.table if b > 7})
            assert f"host pool: {held} of" in shown or width < 40


@given(st.integers(1, 300), st.integers(1, 300), st.integers(1, 8), st.integers(1, 20), st.data())
def test_every_block_of_both_pools_has_its_place(num_blocks, num_host, size, rows, data):
    """A block's spot is in its own pool's rows, and the cell there begins at or before it."""
    geometry, width = (
        Geometry(num_blocks, size, num_host),
        data.draw(st.sampled_from([40, 80, 120])),
    )
    spots = map_spots(geometry, width, rows)
    layout = spots.layout
    assert layout.device_rows + bool(layout.host_rows) + layout.host_rows <= max(rows, 1)
    block = data.draw(st.integers(0, num_blocks + num_host - 1))
    spot = spots.spot(block)
    assert (spot is None) == (block >= num_blocks and rows < 3)
    if spot is not None:
        found = spots.block_at(*spot)
        assert found <= block < found + spots.cell_blocks
        assert (found >= num_blocks) == (block >= num_blocks) == (spot[1] > layout.device_rows)
    shown = MemoryMap(0, 0, geometry, (), frozenset(), 0)
    lines = text(StepMap(shown, max_rows=rows), width).splitlines()
    assert len(lines) == layout.device_rows + bool(layout.host_rows) + layout.host_rows + 1


def test_marks_stand_in_the_pool_that_changed():
    """17 blocks, two a cell: host block 17 has no part in the device's last cell, which is block 16's alone."""
    geometry = Geometry(17, 4, 6)
    holders = (Holder(0, "a", (16,), 4, 4),)
    shown = MemoryMap(0, 0, geometry, holders, frozenset(), 0, (Holder(1, "b", (17, 18), 8, 8),))
    lines = text(StepMap(shown, changed={17}, max_rows=3), 20).splitlines()
    assert "▸" not in lines[0]
    assert lines[1].startswith("host pool: 2")
    assert "▸B" in lines[2]


@pytest.mark.parametrize("width", WIDTHS)
def test_hostile_names_are_shown_harmlessly(width):
    geometry, events = run(names=HOSTILE)
    for view in views(geometry, events, 6, 2).values():
        shown = text(view, width)
        assert max(map(cell_len, shown.splitlines())) <= width
        assert not set(shown) & {"\x1b", "\u202e", "\t"}
        assert text(view, width, ascii_only=True).isascii()
    assert "[red]x" in text(Queues(Cursor(geometry, events).state), 80) or "[red]x" in text(
        view, 200
    )


@pytest.mark.parametrize("rows", [3, 4, 6, 9, 15])
@pytest.mark.parametrize("focus", [None, 0, 7, 999])
def test_no_view_is_higher_than_its_rows(rows, focus):
    geometry, events = run(samples=2)
    cursor = Cursor(geometry, events)
    cursor.seek_step(10)
    fold = folded(TimelineFold(), events)
    for view in (
        Queues(cursor.state, max_rows=max(rows, 4), focus=focus),
        BlockTables(cursor.state, max_rows=max(rows, 4), focus=focus),
        Timeline(fold, 10, max_rows=max(rows, 5), focus=focus),
    ):
        assert len(text(view).splitlines()) <= max(rows, 5)
    shown = text(StepMap(memory_map(cursor.state), max_rows=rows), 40)
    assert len(shown.splitlines()) <= rows + 1


def test_an_empty_run_has_pictures_too():
    geometry = Geometry(16, 4)
    for view in (
        Frame(moment_at(Cursor(geometry, []), "nothing", explain)),
        Timeline(TimelineFold()),
        Occupancy([]),
        Occupancy([0, 0], 10, 1),
        EventList([]),
    ):
        assert text(view).strip() or isinstance(view, EventList | Occupancy)


# -- laws --------------------------------------------------------------------------------------------


def drawn_blocks(shown):
    """Block numbers in an uncut picture of tables."""
    body = shown.splitlines()[1:-1]
    return {
        int(found)
        for line in body
        for found in re.findall(r"(?<=\s|▸)(\d+)(?=[&=(\s]|$)", line[8:])
    }


@given(st.integers(0, 400), st.booleans(), st.integers(1, 3), st.sampled_from([80, 200]))
def test_every_held_block_stands_in_the_uncut_tables(place, caching, samples, width):
    geometry, events = run(caching=caching, samples=samples)
    state = folded(RunState(geometry), events[:place])
    shown = text(BlockTables(state, whole=True), width)
    assert (drawn_blocks(shown) if state.num_held else set()) == set(state.ref_counts)


@given(st.integers(0, 400), st.sampled_from(ALLOCATORS), st.booleans())
def test_counts_are_the_states_own(place, allocator, caching):
    geometry, events = run(allocator, caching=caching)
    state = folded(RunState(geometry), events[:place])
    shown = text(Queues(state), 120)
    assert f"{len(state.running):,} running" in shown
    waiting = [view for view in state.sequences.values() if view.status == "waiting"]
    assert f"{len(waiting):,} waiting" in shown
    assert len(shown.splitlines()) == 2 + len(state.running) + len(waiting)
    split = moment_split(memory_map(state))
    assert sum(split) == geometry.num_slots
    assert split.used + split.empty == state.num_held * geometry.block_size
    free_cached = [block for block in state.cached if block not in state.ref_counts]
    assert split.cached == len(free_cached) * geometry.block_size


@given(st.integers(1, 400), st.sampled_from(ALLOCATORS), st.booleans())
def test_what_is_marked_is_what_changed(place, allocator, caching):
    """A block whose holders, fill or cached content an event changes is among the changed ones."""
    geometry, events = run(allocator, caching=caching, samples=2)
    place = min(place, len(events))
    before, after = (folded(RunState(geometry), events[:at]) for at in (place - 1, place))
    changed = changed_blocks(events[place - 1], before)
    assert changed <= set(range(geometry.num_blocks))

    def facts(state):
        found = {block: [block in state.cached] for block in range(geometry.num_blocks)}
        for view in state.sequences.values():
            for block in view.table:
                found[block].append(view.seq)
        return found

    one, two = facts(before), facts(after)
    assert {block for block in one if one[block] != two[block]} <= changed


def test_changed_blocks_of_a_step_are_those_it_writes():
    state = folded(
        RunState(Geometry(8, 4)),
        [
            ev.RequestSubmitted(0, "a", 0, 6, 4, 0),
            ev.SequenceAdmitted(0, 6, 0, 0),
            ev.BlocksTaken(0, (5, 3, 1), 12),
        ],
    )
    step = ev.StepPlanned(0, (0,), (6,), 0, 0)
    assert changed_blocks(step, state) == {5, 3}
    state.apply(step)
    assert changed_blocks(ev.StepFailed(0), state) == {5, 3}
    assert changed_blocks(ev.StepPlanned(1, (0,), (1,), 0, 0), state) == {3}


def test_focus_leaves_letters_to_one_sequence_only():
    geometry, events = run()
    cursor = Cursor(geometry, events)
    cursor.seek_step(8)
    shown = memory_map(cursor.state)
    mine = next(holder for holder in shown.holders if holder.seq == 1)
    first = text(StepMap(shown, focus=1), 200).splitlines()[0]
    assert sorted(set(re.findall(r"[A-Za-z]", first))) == ["B"]
    assert first.count("B") == len(mine.table)


def test_marks_stand_before_changed_cells():
    geometry, events = run()
    cursor = Cursor(geometry, events)
    cursor.seek_step(8)
    first = text(StepMap(memory_map(cursor.state), changed={0, 17}), 200).splitlines()[0]
    assert [found.start() for found in re.finditer("▸", first)] == [2, 2 + 3 * 17]


def test_the_timeline_tells_each_step():
    events = [
        ev.RequestSubmitted(0, "a", 0, 8, 4, 0), ev.RequestSubmitted(1, "b", 0, 8, 4, 0),
        ev.SequenceAdmitted(0, 8, 0, 0), ev.StepPlanned(0, (0,), (4,), 1, 1), ev.StepDone(0, 10),
        ev.StepPlanned(1, (0,), (4,), 1, 1), ev.StepDone(1, 20), ev.TokensSampled((0,), (9,)),
        ev.SequenceAdmitted(1, 8, 0, 0), ev.StepPlanned(2, (0, 1), (1, 8), 0, 0), ev.StepDone(2, 30),
        ev.TokensSampled((0, 1), (9, 9)), ev.SequencePreempted(1, 8, 0, 10, "recompute"),
        ev.StepPlanned(3, (0,), (1,), 1, 0), ev.StepDone(3, 40), ev.TokensSampled((0,), (9,)),
        ev.SequenceFinished(0, 3, "length"), ev.SequenceAdmitted(1, 9, 0, 1),
        ev.StepPlanned(4, (1,), (9,), 0, 0), ev.StepDone(4, 50),
    ]  # fmt: skip
    fold = folded(TimelineFold(), events)
    assert fold.spans(0) == [(0, 2, Phase.PREFILL), (2, 4, Phase.DECODING)]
    assert fold.spans(1) == [
        (0, 2, Phase.WAITING), (2, 3, Phase.PREFILL), (3, 4, Phase.PREEMPTED), (4, 5, Phase.PREFILL),
    ]  # fmt: skip
    assert [fold.phase(0, step) for step in (1, 3, 4)] == [
        Phase.PREFILL,
        Phase.DECODING,
        Phase.ENDED,
    ]
    lanes = text(Timeline(fold, 3, focus=1), 6 + 5).splitlines()[1:3]
    assert [lane[5:].rstrip() for lane in lanes] == ["▒▒▆▆", "··▒╳▒"]
    over_time = text(Timeline(fold, 3, over_time=True), 5 + 5).splitlines()[1:3]
    assert [lane[5:].rstrip() for lane in over_time] == ["▒▒▆▆", "··▒╳▒"]


@given(st.lists(st.integers(0, 99), min_size=1, max_size=300), st.integers(1, 120), st.data())
def test_the_highest_value_is_seen_and_the_marker_stands_on_its_value(values, width, data):
    shown = peaks(values, width)
    assert len(shown) == width
    if len(values) >= width:
        assert max(shown) == max(values)
    position = data.draw(st.integers(0, len(values) - 1))
    column = column_of(position, len(values), width)
    assert shown[column] >= values[position]


@given(st.integers(0, 60), st.integers(1, 20), st.one_of(st.none(), st.integers(0, 59)))
def test_a_window_holds_the_focus_and_says_what_it_leaves_out(count, room, focus):
    if focus is not None and focus >= count:
        focus = None
    shown = window(count, room, focus)
    assert len(shown) <= room
    assert focus is None or focus in shown
    left_out = count - len(shown)
    told = sum(int(number) for number in re.findall(r"\d+", hidden(count, shown, room)))
    assert told == (left_out if room > 1 else 0)


def test_swapped_sequences_have_a_queue_of_their_own():
    geometry, events = story_of("swap")
    cursor = Cursor(geometry, events)
    cursor.seek_step(4)
    lines = text(Queues(cursor.state), 80).splitlines()
    assert lines[2].startswith("3 on the host  first to come back")
    assert lines[3] == " B B    keeps 8 tokens in 2 host blocks, has 3 outputs"
    assert lines[6] == "1 waiting  after those on the host"
    for rows in range(4, 9):
        shown = text(Queues(cursor.state, max_rows=rows)).splitlines()
        assert len(shown) <= rows
        assert sum(line.endswith("waiting") or " on the host" in line for line in shown) >= 1


def test_tables_on_the_host_say_so():
    geometry, events = story_of("swap")
    cursor = Cursor(geometry, events)
    cursor.seek_step(4)
    lines = text(BlockTables(cursor.state), 80).splitlines()
    assert [line.split() for line in lines[2:5]] == [
        ["B", "B", "h0&3", "h1"], ["C", "B.1", "h0&3", "h2"], ["D", "B.2", "h0&3", "h3"],
    ]  # fmt: skip
    assert lines[5].startswith("h0 on the host")
    cursor.seek_step(8)
    assert "on the host" not in text(BlockTables(cursor.state), 80)


def test_a_lane_shows_when_a_sequence_was_on_the_host():
    _, events = story_of("swap")
    fold = folded(TimelineFold(), events)
    shown = text(Timeline(fold), 80).splitlines()
    lane = next(line for line in shown if " B.1" in line)[7:].rstrip()
    assert re.fullmatch("·{7}▆{14}╱{28}▆{21}", lane)  # steps 0, 1 and 2, 3 to 6, 7 to 9
    assert "╱ on the host" in shown[-1]
    assert "/ on the host" in text(Timeline(fold), 80, ascii_only=True)
    other = folded(TimelineFold(), story_of("preemption")[1])
    assert "on the host" not in text(Timeline(other), 80)


def test_beams_have_names_and_log_probabilities():
    geometry, events = story_of("figure-9")
    cursor = Cursor(geometry, events)
    cursor.seek_step(0)
    assert "A.0" not in text(Queues(cursor.state))  # before the first choice there is one sequence
    cursor.seek_step(7)
    for width in (72, 80, 120):
        shown = text(Queues(cursor.state), width)
        for name, nats in (("A.0", "-2.60"), ("A.1", "-2.50"), ("A.2", "-2.70"), ("A.3", "-2.80")):
            assert re.search(rf" {re.escape(name)} .* {nats} nats", shown)


@given(st.integers(2, 40), st.integers(0, 50), st.integers(0, 50))
def test_two_lists_share_their_room(room, first, second):
    one, two = divided(room, first, second)
    assert one + two <= room
    assert one >= min(first, 1)
    assert two >= min(second, 1)


def test_the_current_event_is_in_the_list_and_marked():
    lines = [EventLine(at + 1, at // 5, "taken", f"sentence {at} " * 30) for at in range(100)]
    for current in (1, 50, 100):
        shown = text(EventList(lines, current, max_rows=9)).splitlines()
        assert len(shown) == 9
        assert next(line for line in shown if line.startswith("▸")).split()[0].strip("▸") in (
            "",
            f"{current}",
        )
        assert sum(line.startswith("▸") for line in shown) == 1


def test_two_runs_stand_beside_each_other_where_there_is_room():
    left, right = frame(step=5), frame(step=5, allocator="max")
    assert "a small run" in text(SideBySide(left, right), 120).splitlines()[0][60:]
    assert len(text(SideBySide(left, right), 80).splitlines()) > 40


def test_large_memories_and_long_queues_are_quick_pictures():
    size, blocks = 16, 60_000
    state = RunState(Geometry(blocks, size))
    for seq in range(20_000):
        state.apply(ev.RequestSubmitted(seq, f"r{seq}", 0, 1600, 400, 0))
    for seq in range(500):
        state.apply(ev.SequenceAdmitted(seq, 1600, 0, 0))
        state.apply(ev.BlocksTaken(seq, tuple(range(seq * 100, seq * 100 + 100)), 1600))
    fold = TimelineFold()
    for seq in range(20_000):
        fold.apply(ev.RequestSubmitted(seq, f"r{seq}", 0, 1600, 400, 0))
    for step in range(1000):
        fold.apply(ev.StepPlanned(step, (), (), 0, 0))
        fold.apply(ev.StepDone(step, step + 1))
    moment = moment_at(Cursor(state.geometry, []), "large", explain)
    shown = text(Frame(moment.__class__("large", 0, 0, None, 0, state)), 120)
    shown += text(Timeline(fold, 500, max_rows=10))
    assert "1 cell = " in shown
    assert "and 19,4" in shown
    assert len(shown.splitlines()) < 80


# -- files -------------------------------------------------------------------------------------------


def test_files_fetch_nothing():
    parts = [frame(step=3), frame(step=9)]
    for page in (
        to_svg(parts, Look(), "<title>&{x}"),
        to_html(parts, Look(light=True), "<title>&{x}"),
    ):
        links = set(re.findall(r"https?://[^\"' <]+", page))
        assert links <= {"http://www.w3.org/2000/svg"}
        assert "@font-face" not in page
        assert "@import" not in page
        assert "Fira" not in page
        assert "<script" not in page
        assert "&lt;title&gt;&amp;{x}" in page.replace("\xa0", " ").replace("&#160;", " ")


def test_png_is_a_picture():
    pytest.importorskip("resvg_py")
    assert to_png(to_svg([frame(step=3)], Look(80), "x")).startswith(b"\x89PNG")


# -- the program -------------------------------------------------------------------------------------


@pytest.fixture(name="log", scope="module")
def _log(tmp_path_factory):
    geometry, events = run()
    path = tmp_path_factory.mktemp("logs") / "small.jsonl"
    with LogWriter(path, log_header(geometry, allocator="paged", about="a small run")) as writer:
        for event in events:
            writer.apply(event)
    return path


def pagesim(*words):
    kept = {
        k: v
        for k, v in os.environ.items()
        if k not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LC_ALL")
    }
    return subprocess.run(
        [sys.executable, "-m", "pagesim", *map(str, words)],
        capture_output=True,
        text=True,
        env=kept,
        check=False,
    )


def test_show_shows_the_asked_place(log):
    at_step = pagesim("show", f"{log}@8", "--focus", "r1")
    assert at_step.returncode == 0, at_step.stderr
    assert "step 8 of 22" in at_step.stdout
    assert "*B r1" in at_step.stdout
    assert "event 40 of 144" in pagesim("show", f"{log}@e40").stdout
    assert "event 144 of 144" in pagesim("show", log).stdout


def test_export_writes_each_format(log, tmp_path):
    pytest.importorskip("resvg_py")
    for name in ("a.svg", "a.html", "a.png", "a.txt"):
        done = pagesim("export", f"{log}@8", "-o", tmp_path / name, "--width", "80")
        assert done.returncode == 0, done.stderr
        assert (tmp_path / name).stat().st_size > 1000
    pagesim("export", log, "-o", tmp_path / "strip.txt", "--frames", "3")
    assert re.findall(r"step (\d+) of 22", (tmp_path / "strip.txt").read_text()) == [
        "0",
        "11",
        "22",
    ]
    pagesim("export", log, "-o", tmp_path / "steps.txt", "--steps", "1,5,9", "--ascii")
    shown = (tmp_path / "steps.txt").read_text()
    assert re.findall(r"step (\d+) of 22", shown) == ["1", "5", "9"]
    assert shown.isascii()


@pytest.mark.parametrize(
    "words",
    [
        ("show", "{log}@abc"),
        ("show", "{log}@-1"),
        ("show", "{log}@"),
        ("show", "{log}@99999"),
        ("show", "{log}@e99999"),
        ("show", "{log}@e"),
        ("show", "nothing.jsonl"),
        ("show", "{dir}"),
        ("show", "{log}@8", "--focus", "nobody"),
        ("export", "{log}", "-o", "{dir}/x.gif"),
        ("export", "{log}", "-o", "{dir}/no/x.svg"),
        ("export", "{log}", "-o", "{dir}/x.svg", "--frames", "0"),
        ("export", "{log}", "-o", "{dir}/x.svg", "--steps", "1,b"),
        ("export", "{log}", "-o", "{dir}/x.svg", "--steps", "999"),
        ("export", "{log}@3", "-o", "{dir}/x.svg", "--frames", "2"),
        ("export", "{log}", "-o", "{dir}/x.svg", "--width", "5"),
    ],
)
def test_bad_input_is_one_sentence(log, tmp_path, words):
    done = pagesim(*(word.format(log=log, dir=tmp_path) for word in words))
    assert done.returncode == 2
    assert not done.stdout
    assert done.stderr.startswith("pagesim: ")
    assert len(done.stderr.splitlines()) == 1


def test_png_without_resvg_says_what_to_install(monkeypatch):
    from pagesim.core.errors import InputError

    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(InputError, match=r"pip install 'pagesim\[png\]'"):
        to_png("<svg/>")
