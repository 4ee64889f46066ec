"""The viewer, driven by keys and clicks without a terminal."""

import asyncio
import html
import os
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot
from viewer_logs import HOSTILE, events_of, write, write_contradiction, write_run, write_story

from pagesim.core import events as ev
from pagesim.core.types import Geometry
from pagesim.replay.explain import KIND_GROUPS, explain, kind_of
from pagesim.replay.log import read_log
from pagesim.replay.run_state import RunState
from pagesim.tui import keys
from pagesim.tui.app import ViewerApp
from pagesim.tui.help import help_text
from pagesim.tui.map_spots import map_spots
from pagesim.tui.survey import Survey
from pagesim.tui.viewed import ViewedRun

SNAPSHOTS = Path(__file__).parent / "snapshots"
Story = Callable[[ViewerApp, Pilot[None]], Awaitable[None]]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("logs") / "paged.jsonl")


@pytest.fixture(scope="module")
def other_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("logs") / "max.jsonl", "max")


@pytest.fixture(scope="module")
def swap_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_story(tmp_path_factory.mktemp("logs") / "swap.jsonl", "swap")


@pytest.fixture(scope="module")
def beam_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_story(tmp_path_factory.mktemp("logs") / "beams.jsonl", "beam-stops")


def tell(
    story: Story, *paths: Path, size: tuple[int, int] = (80, 24), encoding: str = "utf-8"
) -> None:
    """Open the viewer on some logs and let a story happen in it."""
    app = ViewerApp([ViewedRun(path.name, read_log(path)) for path in paths], encoding=encoding)

    async def play() -> None:
        async with app.run_test(size=size) as pilot:
            await surveyed(app, pilot)
            await story(app, pilot)

    asyncio.run(play())


async def surveyed(app: ViewerApp, pilot: Pilot[None]) -> None:
    for _ in range(200):
        if app.journey.surveyed:
            break
        await pilot.pause(0.02)
    await pilot.pause()


def screen(app: ViewerApp) -> list[str]:
    """The characters on the screen, a string a row."""
    return [
        "".join(segment.text for segment in strip).rstrip()
        for strip in app.screen._compositor.render_strips()
    ]


def place(app: ViewerApp) -> int:
    return app.journey.run.place


# -- moves -----------------------------------------------------------------------------------------------


def test_each_move_and_its_reverse_undo_each_other(log: Path) -> None:
    async def story(app: ViewerApp, pilot: Pilot[None]) -> None:
        await pilot.press("down", "down", "down", "down", "down")
        for key in keys.SECTIONS["Move (keys: forward, back)"][:2]:
            for forward in key.keys.split(","):
                for back in key.reverse.split(","):
                    start, picture = place(app), screen(app)
                    await pilot.press(forward)
                    assert place(app) > start, forward
                    await pilot.press(back)
                    assert place(app) == start, back
                    assert screen(app) == picture
        await pilot.press("right_square_bracket")
        ten_on = place(app)
        assert app.journey.run.cursor.step_number == 14
        await pilot.press("left_square_bracket", "pagedown")
        assert place(app) == ten_on
        await pilot.press("pageup", *["down"] * 10)
        assert place(app) == ten_on
        await pilot.press("end")
        assert place(app) == app.journey.run.cursor.num_events
        await pilot.press("g")
        assert place(app) == 0
        await pilot.press("G", "home", "left", "up")
        assert place(app) == 0
        assert "no event before this one" in app.journey.note or place(app) == 0

    tell(story, log)


def test_jumps_visit_the_events_of_their_kind_both_ways(
    log: Path, swap_log: Path, beam_log: Path
) -> None:
    jumps = keys.SECTIONS["Jump to the next (capital: the previous)"]
    assert [key.action.partition(":")[2] for key in jumps[-2:]] == ["swap", "beam"]
    check_jumps(log, jumps[:-2])
    check_jumps(swap_log, jumps[-2:-1])
    check_jumps(beam_log, jumps[-1:])


def check_jumps(log: Path, jumps: tuple[keys.Key, ...]) -> None:
    events = read_log(log).events

    async def story(app: ViewerApp, pilot: Pilot[None]) -> None:
        for key in jumps:
            kinds = KIND_GROUPS[key.action.partition(":")[2]]
            every = [at for at, e in enumerate(events, start=1) if kind_of(e) in kinds]
            assert every
            expected = every[-4:]
            app.go(every[-5] if len(every) > 4 else 0)
            visited = []
            for _ in expected:
                await pilot.press(key.keys)
                visited.append(place(app))
            assert visited == expected
            await pilot.press(key.keys)
            assert place(app) == expected[-1]
            assert "after this place" in app.journey.note
            for at in expected[-2::-1]:
                await pilot.press(key.reverse)
                assert place(app) == at
            app.go(every[0])
            await pilot.press(key.reverse)
            assert "before this place" in app.journey.note

    tell(story, log, size=(60, 16))


def test_play_stops_at_the_end_and_speed_has_bounds(log: Path) -> None:
    async def story(app: ViewerApp, pilot: Pilot[None]) -> None:
        assert "paused, 5 steps/s" in screen(app)[0]
        await pilot.press(*["plus"] * 20)
        assert "200 steps/s" in screen(app)[0]
        await pilot.press("space")
        for _ in range(100):
            await pilot.pause(0.05)
            if "the end" in app.journey.note:
                break
        assert place(app) == app.journey.run.cursor.num_events
        assert "paused" in screen(app)[0]
        await pilot.press(*["minus"] * 20)
        assert "0.5 steps/s" in screen(app)[0]
        await pilot.press("home", "space")
        assert "playing" in screen(app)[0]
        await pilot.press("space")
        assert "paused" in screen(app)[0]
        await pilot.press("end", "space")
        assert "paused" in screen(app)[0]
        assert "this is the end" in app.journey.note

    tell(story, log)


# -- prompts ---------------------------------------------------------------------------------------------


def test_goto_takes_steps_and_events_and_mends_mistakes(log: Path) -> None:
    async def story(app: ViewerApp, pilot: Pilot[None]) -> None:
        await pilot.press("colon", "7", "enter")
        assert app.journey.run.cursor.step_number == 7
        await pilot.press("s", "e", "3", "4", "enter")
        assert place(app) == 34
        await pilot.press("colon", *"9999", "enter")
        assert place(app) == 34
        assert "there is no step 9,999: steps are 0 to" in screen(app)[-2]
        assert screen(app)[-1].endswith("9999")  # what was typed is still there
        await pilot.press("backspace", "backspace", "backspace", "enter")
        assert app.journey.run.cursor.step_number == 9
        for typed in ("x", "e", "-1", "²"):
            await pilot.press("colon", *typed, "enter")
            assert "no step" in app.journey.note or "no event" in app.journey.note
            await pilot.press("escape")
        await pilot.press("colon", "enter")
        assert app.asking is None
        assert app.journey.run.cursor.step_number == 9

    tell(story, log)


def test_a_filter_visits_only_the_events_of_one_request(log: Path) -> None:
    events = read_log(log).events
    seqs = {e.seq for e in events if isinstance(e, ev.RequestSubmitted) and e.request == "r3"}

    def is_own(event: object) -> bool:
        if isinstance(event, ev.RequestArrived):
            return event.request == "r3"
        if isinstance(event, ev.SequenceForked):
            return event.parent in seqs or event.child in seqs
        return getattr(event, "seq", None) in seqs

    expected = [at for at, event in enumerate(events, start=1) if is_own(event)]

    async def story(app: ViewerApp, pilot: Pilot[None]) -> None:
        await pilot.press("slash", "r", "3", "enter")
        assert app.journey.run.request == "r3"
        assert "only r3" in screen(app)[0]
        visited = []
        for _ in expected[:8]:
            await pilot.press("right")
            visited.append(place(app))
        assert visited == expected[:8]
        await pilot.press("left")
        assert place(app) == expected[6]
        app.go(expected[-1])
        await pilot.press("right")
        assert "no event of r3 after this one" in app.journey.note
        await pilot.press("left")
        assert place(app) == expected[-2]
        app.go(0)
        await pilot.press("p")
        assert isinstance(events[place(app) - 1], ev.SequencePreempted)
        assert place(app) in expected
        await pilot.press("escape")
        assert app.journey.run.request is None
        await pilot.press("slash", *"zzz", "enter")
        assert "no request begins with 'zzz'" in app.journey.note
        await pilot.press("escape", "slash", "bracketleft", "enter")

    tell(story, log)


def test_a_block_tells_who_holds_it_since_when_and_its_history(log: Path) -> None:
    cached = read_log(log).events
    at, block = next(
        (at, e.new) for at, e in enumerate(cached, start=1) if isinstance(e, ev.BlockReplaced)
    )

    async def story(app: ViewerApp, pilot: Pilot[None]) -> None:
        await pilot.press("colon", "e", *str(at), "enter", "b", *str(block), "enter")
        text = "\n".join(screen(app))
        assert f"Block {block}" in text
        assert re.search(rf"holds it since .*event {at:,}; logical block", text)
        assert "for a copy of block" in text
        await pilot.press("full_stop")
        assert app.journey.run.block == block + 1
        await pilot.press("comma", "b", "9", "9", "enter")
        assert "'99' is no block: they are 0 to 17" in app.journey.note
        await pilot.press("escape")
        assert app.journey.run.block == block
        await pilot.press("escape")
        assert app.journey.run.block is None

    tell(story, log)


@pytest.mark.parametrize("name", ["log", "swap_log", "beam_log"])
def test_the_history_of_blocks_agrees_with_the_states(
    name: str, request: pytest.FixtureRequest
) -> None:
    """Every place at which a block's holders change is in its history."""
    run = ViewedRun("x", read_log(request.getfixturevalue(name)))
    run.survey.advance_for(60)
    state = RunState(run.cursor.geometry)
    for at, event in enumerate(run.cursor.events, start=1):
        before = {
            b: [v.seq for v in state.holders(b)]
            for b in range(run.cursor.geometry.num_blocks_in_all)
        }
        state.apply(event)
        for block, holders in before.items():
            if [v.seq for v in state.holders(block)] != holders:
                assert at in run.survey.places_of_block(block)


def test_a_sample_can_be_followed_alone(beam_log: Path) -> None:
    events = read_log(beam_log).events

    async def story(app: ViewerApp, pilot: Pilot[None]) -> None:
        for name, seq in (("A.1", 1), ("A.0", 0)):
            app.journey.follow_request(name)
            app.go(0)
            visited = []
            while "no event" not in app.journey.note:
                await pilot.press("right")
                visited.append(place(app))
            expected = [at for at, e in enumerate(events, start=1) if is_about(e, seq)]
            assert visited[:-1] == expected
            assert app.journey.run.focus() == seq
        await pilot.press("slash", "A", "full_stop", "1", "enter")
        assert app.journey.run.request == "A.1"
        assert "only A.1" in screen(app)[0]

    def is_about(event: object, seq: int) -> bool:
        if isinstance(event, ev.StepPlanned | ev.TokensSampled):
            return False
        seqs = getattr(event, "seqs", ())
        named = [getattr(event, name, None) for name in ("seq", "parent", "child")]
        return seq in seqs or seq in named

    tell(story, beam_log)


def test_blocks_of_the_host_are_inspected_like_others(swap_log: Path) -> None:
    async def story(app: ViewerApp, pilot: Pilot[None]) -> None:
        await pilot.press("colon", "4", "enter", "b", "h", "2", "enter")
        text = "\n".join(screen(app))
        assert "Block h2" in text
        assert "B.1 holds it since step 2, event 33; logical" in text  # and goes on below
        assert "4 slots copied here from block 6" in text
        assert "taken by B.1, swapped out" in text
        await pilot.press("end")
        assert "left by B.1, swapped in" in "\n".join(screen(app))
        await pilot.press(*["full_stop"] * 4)
        assert app.journey.run.block == 0  # after the host's last block
        await pilot.press("comma", "comma", "b", "1", "0", "enter")
        assert app.journey.run.block == 10
        await pilot.press("b", "h", "6", "enter")
        assert "they are 0 to 7, and h0 to h5 on the host" in app.journey.note

    tell(story, swap_log, size=(120, 40))


def test_the_hosts_map_can_be_clicked_and_laws_hold_there(swap_log: Path) -> None:
    async def story(app: ViewerApp, pilot: Pilot[None]) -> None:
        memory = app._panes[0].panel("memory")
        for _ in range(app.journey.run.cursor.num_events):
            await pilot.press("right")
            assert "laws kept: conservation, refcount, single-writer" in screen(app)[-3]
        app.go(45)
        spots = map_spots(
            app.journey.run.cursor.geometry, memory.room.width, memory.room.height - 1
        )
        for block in (0, 7, 8, 13):
            spot = spots.spot(block)
            assert spot is not None
            assert spots.block_at(*spot) == block
            await pilot.click(memory, offset=(spot[0], spot[1] + 1))
            assert app.journey.run.block == block
        assert spots.block_at(spots.layout.label, spots.layout.device_rows) is None
        assert "host pool: 4 of 6 blocks held" in "\n".join(screen(app))

    tell(story, swap_log)


# -- two runs --------------------------------------------------------------------------------------------


def test_two_runs_stay_at_the_same_simulated_time(log: Path, other_log: Path) -> None:
    async def story(app: ViewerApp, pilot: Pilot[None]) -> None:
        one, other = app.journey.runs
        presses = (
            ["down"] * 6 + ["right"] * 5 + ["p", "end", "left", "home", "right_square_bracket"]
        )
        for key in [*presses, "tab", *presses, "shift+tab", "up"]:
            start = place(app)
            await pilot.press(key)
            if "tab" in key or place(app) == start:
                continue
            active = app.journey.run
            follower = other if active is one else one
            time_ns = active.cursor.state.time_ns
            assert follower.cursor.state.time_ns <= time_ns
            if follower.place < follower.cursor.num_events:
                later = follower.cursor.events[follower.place]
                assert getattr(later, "time_ns", 0) > time_ns
                assert not isinstance(later, ev.RequestArrived)
        assert app.journey.run is one
        assert "same time" in screen(app)[0]

    tell(story, log, other_log, size=(160, 50))


def test_the_same_run_twice_is_the_same_twice(log: Path) -> None:
    async def story(app: ViewerApp, pilot: Pilot[None]) -> None:
        one, other = app.journey.runs
        for _ in range(20):
            await pilot.press("down")
            assert one.cursor.state.time_ns == other.cursor.state.time_ns
            assert one.cursor.step_number == other.cursor.step_number

    tell(story, log, log)


# -- help, layout, mouse ---------------------------------------------------------------------------------


def test_help_lists_every_binding_and_every_binding_works(log: Path) -> None:
    lines = help_text().plain.splitlines()
    for section in keys.SECTIONS.values():
        for key in section:
            assert any(
                key.words in line
                and keys.shown(key.keys) in line
                and keys.shown(key.reverse) in line
                for line in lines
            ), key
    bound = {key.key for key in ViewerApp.BINDINGS}  # type: ignore[union-attr]
    in_table = {name for names, _ in keys.bindings() for name in names.split(",")}
    assert {name for names in bound for name in names.split(",")} == in_table
    for _, action in keys.bindings():
        assert hasattr(ViewerApp, "action_" + action.partition("(")[0])

    async def story(app: ViewerApp, pilot: Pilot[None]) -> None:
        await pilot.press("down", "question_mark")
        assert "preemption" in "\n".join(screen(app))
        start = place(app)
        await pilot.press("p", "right", "space", "down")
        await pilot.pause(0.1)
        assert place(app) == start  # keys do nothing behind the help
        await pilot.press("escape")
        assert "Memory" in "\n".join(screen(app))
        await pilot.press("down")
        assert place(app) > start

    tell(story, log)


@pytest.mark.parametrize("size", [(60, 16), (80, 24), (100, 30), (120, 40), (200, 60), (300, 90)])
def test_parts_keep_their_places_whatever_happens(log: Path, size: tuple[int, int]) -> None:
    async def story(app: ViewerApp, pilot: Pilot[None]) -> None:
        headings: set[tuple[int, ...]] = set()
        for key in ["down"] * 4 + ["p", "e", "c", "end", "left", "g"]:
            await pilot.press(key)
            rows = screen(app)
            assert len(rows) == size[1]
            assert all(len(row) <= size[0] for row in rows)
            assert re.match(r"((before|after) )?step \d+ of \d+   event [\d,]+ of [\d,]+", rows[1])
            assert any("laws kept" in row or "all 5 laws" in row for row in rows[-3:])
            assert "q quit" in rows[-1] or size[0] < 80
            headings.add(tuple(at for at, row in enumerate(rows) if "──" in row))
        assert len(headings) == 1
        shown = "\n".join(screen(app))
        if size[0] >= 120:
            for name in ("Memory", "Block tables", "Requests", "Events"):
                assert name in shown

    tell(story, log, size=size)


def test_the_lower_panel_of_a_small_screen_goes_round(log: Path) -> None:
    async def story(app: ViewerApp, pilot: Pilot[None]) -> None:
        await pilot.press("down", "down")
        seen = []
        for _ in range(4):
            await pilot.press("v")
            seen.append(next(r.split(" ─")[0] for r in screen(app)[8:] if " ──" in r))
        assert seen == ["Events", "Block tables", "Block", "Requests"]
        await pilot.press("V", "v")
        assert any("Requests ─" in row for row in screen(app))

    tell(story, log)


def test_a_small_terminal_is_told_so_and_a_larger_one_goes_on(log: Path) -> None:
    async def story(app: ViewerApp, pilot: Pilot[None]) -> None:
        await pilot.press("down")
        await pilot.resize_terminal(50, 12)
        await pilot.pause(0.1)
        assert "needs 60 columns and 16 rows" in " ".join(screen(app))
        await pilot.resize_terminal(160, 50)
        await pilot.pause(0.1)
        assert any("Block tables" in row for row in screen(app))
        await pilot.resize_terminal(80, 24)
        await pilot.pause(0.1)
        assert any("Requests" in row for row in screen(app))
        assert len(screen(app)) == 24

    tell(story, log)


def test_clicks_inspect_a_block_go_to_an_event_and_to_a_step(log: Path, other_log: Path) -> None:
    async def story(app: ViewerApp, pilot: Pilot[None]) -> None:
        await pilot.press(*["down"] * 5)
        pane = app._panes[0]
        memory = pane.panel("memory")
        spots = map_spots(
            app.journey.run.cursor.geometry, memory.room.width, memory.room.height - 1
        )
        x, y = spots.spot(7) or (-1, -1)
        assert spots.block_at(x, y) == 7 // spots.cell_blocks * spots.cell_blocks
        await pilot.click(memory, offset=(x, y + 1))
        assert app.journey.run.block == spots.block_at(x, y)
        events = pane.panel("events")
        row = next(at for at, line in enumerate(app.journey.run.event_lines(events.room.height)))
        expected = app.journey.run.event_lines(events.room.height)[row].place
        await pilot.click(events, offset=(5, row + 1))
        assert place(app) == expected
        occupancy = pane.panel("occupancy")
        await pilot.click(occupancy, offset=(occupancy.size.width - 1, 0))
        assert app.journey.run.cursor.step_number == app.journey.run.cursor.num_steps - 1
        await pilot.click(app._panes[1].panel("occupancy"), offset=(0, 0))
        assert app.journey.active == 1

    tell(story, log, other_log, size=(240, 60))


def test_names_from_a_log_are_shown_as_they_are_and_do_nothing(log: Path) -> None:
    async def story(app: ViewerApp, pilot: Pilot[None]) -> None:
        await pilot.press("slash", "left_square_bracket", "enter")
        assert app.journey.run.request == HOSTILE
        await pilot.press("right", "right", "right", "right", "right")
        text = "\n".join(screen(app))
        assert "[bold red]r[/]" in text
        assert "\\x1b[2J" in text
        assert not {"\x1b", "\u202e"} & set(text)

    tell(story, log, size=(160, 50))


def test_ascii_terminals_get_ascii(log: Path) -> None:
    async def story(app: ViewerApp, pilot: Pilot[None]) -> None:
        await pilot.press("down", "down", "p", "question_mark")
        assert "\n".join(screen(app)).isascii()
        await pilot.press("escape", "slash", "r", "enter")
        assert "\n".join(screen(app)).isascii()

    tell(story, log, size=(160, 50), encoding="ascii")


# -- odd logs --------------------------------------------------------------------------------------------


def test_a_log_that_contradicts_itself_can_be_seen_up_to_there(tmp_path: Path) -> None:
    async def story(app: ViewerApp, pilot: Pilot[None]) -> None:
        assert "does not follow from those before it" in screen(app)[-2]
        await pilot.press("end")
        end = place(app)
        assert 0 < end < app.journey.run.cursor.num_events
        await pilot.press("right", "down", "left")
        assert place(app) == end - 1

    tell(story, write_contradiction(tmp_path / "bad.jsonl"))


def test_a_broken_law_is_said_in_words_where_it_breaks(tmp_path: Path) -> None:
    events: list[ev.Event] = [ev.RequestSubmitted(seq, f"r{seq}", 0, 3, 4, 0) for seq in (0, 1)]
    events += [ev.BlocksTaken(seq, (1,), 4) for seq in (0, 1)]  # the same block twice
    events += [ev.SequenceAdmitted(0, 3, 0, 0), ev.StepPlanned(0, (0,), (3,), 1, 0)]

    async def story(app: ViewerApp, pilot: Pilot[None]) -> None:
        await pilot.press("end", "left")
        assert "✓ laws kept: conservation" in screen(app)[-3]
        await pilot.press("right")
        assert screen(app)[-3].startswith("✗ BROKEN single-writer: sequences 0 and 1 share block 1")

    tell(story, write(tmp_path / "broken.jsonl", Geometry(4, 4), events))


def test_logs_of_no_or_few_events_open(tmp_path: Path) -> None:
    geometry, events = events_of()

    async def story(app: ViewerApp, pilot: Pilot[None]) -> None:
        names = [
            "down",
            "right",
            "end",
            "p",
            "left",
            "up",
            "space",
            "v",
            "v",
            "v",
            "v",
            "full_stop",
        ]
        await pilot.press(*names, "colon", "0", "enter", "escape", "question_mark")

    for count in (0, 3):
        path = write(tmp_path / f"{count}.jsonl", geometry, events[:count])
        tell(story, path, path, size=(200, 60))


def test_a_survey_agrees_with_the_fold(log: Path) -> None:
    run = ViewedRun("x", read_log(log))
    survey: Survey = run.survey
    while not survey.done:
        survey.advance_for(0)
    state, held, times = RunState(run.cursor.geometry), [], []
    for event in run.cursor.events:
        state.apply(event)  # type: ignore[arg-type]
        times.append(state.time_ns)
        if isinstance(event, ev.StepPlanned):
            held.append(state.num_held)
    assert list(survey.held) == held
    for time_ns in sorted({0, *times, times[-1] + 1, times[-1] // 2}):
        last = sum(time <= time_ns for time in times)
        assert survey.place_at_time(time_ns) == last


def test_event_lines_explain_with_the_state_before_each(log: Path) -> None:
    run = ViewedRun("x", read_log(log))
    run.go(run.cursor.num_events // 2)
    state = RunState(run.cursor.geometry)
    expected = {}
    for at, event in enumerate(run.cursor.events, start=1):
        expected[at] = explain(event, state)
        state.apply(event)  # type: ignore[arg-type]
    for target in (0, 1, 200, 199, run.cursor.num_events):
        run.go(target)
        here = run.cursor.state.copy()
        lines = run.event_lines(11)
        assert len(lines) == 11
        assert all(line.sentence == expected[line.place] for line in lines)
        assert run.cursor.state == here


# -- pictures --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "size"), [("80x24", (80, 24)), ("160x50", (160, 50))])
def test_the_screen_looks_as_it_did(name: str, size: tuple[int, int]) -> None:
    """Set PAGESIM_UPDATE_SNAPSHOTS=1 to write them anew, and look at what changed."""
    path = SNAPSHOTS / f"viewer-{name}.svg"

    async def story(app: ViewerApp, pilot: Pilot[None]) -> None:
        await pilot.press("p", "p", "c")
        svg = normalised(app.export_screenshot(title="pagesim view"))
        if os.environ.get("PAGESIM_UPDATE_SNAPSHOTS") == "1":
            path.write_text(svg, encoding="utf-8")
        assert texts(svg) == texts(path.read_text(encoding="utf-8"))

    tell(story, SNAPSHOTS / "viewer-run.jsonl", size=size)


def normalised(svg: str) -> str:
    """Without the numbers that are made up anew each time, and without fonts from the network."""
    svg = re.sub(r"@font-face \{.*?\}\s*|<!--.*?-->", "", svg, flags=re.DOTALL)
    return re.sub(r"terminal-\d+-", "terminal-", svg)


def texts(svg: str) -> list[str]:
    """What is written in a picture, in order; colours and places are for people to compare."""
    return [
        html.unescape(text).replace("\xa0", " ") for text in re.findall(r"<text[^>]*>([^<]*)", svg)
    ]
