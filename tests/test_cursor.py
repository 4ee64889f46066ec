"""Time travel: every place reached in any way is the fold of that many events."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_runs import run

import pagesim.replay.cursor as cursor_module
from pagesim.core import events as ev
from pagesim.core.types import Geometry
from pagesim.replay.cursor import Cursor
from pagesim.replay.log import LogWriter, log_header, read_log
from pagesim.replay.run_state import RunState
from pagesim.sim.allocators import ALLOCATORS


def fold(geometry: Geometry, events: list[ev.Event]) -> RunState:
    state = RunState(geometry)
    for event in events:
        state.apply(event)
    return state


pairs = st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12)), min_size=1, max_size=6)
moves = st.lists(
    st.tuples(st.sampled_from(["seek", "move", "move_steps", "seek_step"]), st.integers(-40, 400)),
    max_size=12,
)


@given(pairs, st.sampled_from(ALLOCATORS), st.integers(1, 3), st.booleans(), moves)
def test_every_place_is_the_fold_of_that_many_events(
    lengths: list[tuple[int, int]],
    allocator: str,
    samples: int,
    caching: bool,
    script: list[tuple[str, int]],
) -> None:
    geometry, events = run(allocator, lengths, samples, caching)
    cursor = Cursor(geometry, events)
    cursor._interval = 7  # many keyframes, also on a short run
    for name, number in script:
        getattr(cursor, name)(number)
        assert cursor.state == fold(geometry, events[: cursor.place])
        assert cursor.state_before() == fold(geometry, events[: max(cursor.place - 1, 0)])


@given(pairs, st.sampled_from(ALLOCATORS), st.integers(0, 300), st.integers(1, 30))
def test_forward_then_back_is_the_identity(
    lengths: list[tuple[int, int]], allocator: str, start: int, far: int
) -> None:
    geometry, events = run(allocator, lengths)
    cursor = Cursor(geometry, events)
    start = cursor.seek(start)
    before = fold(geometry, events[:start])
    moved = cursor.move(far) - start
    cursor.move(-moved)
    assert cursor.place == start
    assert cursor.state == before
    number = cursor.step_number
    if number is not None and number + 1 < cursor.num_steps:
        cursor.seek_step(number)
        place = cursor.place
        cursor.move_steps(1)
        cursor.move_steps(-1)
        assert cursor.place == place


@given(pairs, st.sampled_from(ALLOCATORS), st.integers(0, 300), st.sampled_from(list(ev.KINDS)))
def test_find_agrees_with_looking_at_every_event(
    lengths: list[tuple[int, int]], allocator: str, start: int, kind: str
) -> None:
    geometry, events = run(allocator, lengths)
    cursor = Cursor(geometry, events)
    place = cursor.seek(start)
    matching = [i + 1 for i, event in enumerate(events) if isinstance(event, ev.KINDS[kind])]
    assert cursor.places_of([kind]) == matching
    assert cursor.find_next([kind]) == next((p for p in matching if p > place), None)
    assert cursor.find_previous([kind]) == next((p for p in reversed(matching) if p < place), None)


def test_a_log_is_travelled_like_the_run_itself(tmp_path: Path) -> None:
    geometry, events = run("paged", [(10, 10)] * 8, 2)
    path = tmp_path / "run.jsonl"
    with LogWriter(path, log_header(geometry)) as log:
        for event in events:
            log.apply(event)
    here, there = Cursor(geometry, events), Cursor.of_log(read_log(path))
    assert here.num_events == there.num_events
    assert list(here.step_places) == list(there.step_places)
    for kind in ev.KINDS:
        assert here.places_of([kind]) == there.places_of([kind])
    for place in range(0, here.num_events + 1, 5):
        here.seek(place)
        there.seek(place)
        assert here.state == there.state
        assert here.event == there.event
        assert here.find_next(["preempted"], seq=3) == there.find_next(["preempted"], seq=3)
        assert here.find_previous(["taken"], seq=2) == there.find_previous(["taken"], seq=2)
    times = [0, 10**8, 10**9, 10**12]
    assert [here.place_at_time(t) for t in times] == [there.place_at_time(t) for t in times]


def test_a_step_at_a_time_is_the_step_that_runs_then() -> None:
    geometry, events = run("paged", [(10, 10)] * 3)
    cursor = Cursor(geometry, events)
    ends = [event.time_ns for event in events if isinstance(event, ev.StepDone)]
    for number, end in enumerate(ends):
        cursor.seek_time(end)
        assert cursor.step_number == number
        cursor.seek_time(end + 1)
        assert cursor.step_number == min(number + 1, len(ends) - 1)


def test_an_empty_run_has_one_place() -> None:
    cursor = Cursor(Geometry(4, 4), [])
    assert cursor.seek(5) == 0
    assert cursor.move_steps(1) == 0
    assert cursor.seek_step(0) == 0
    assert cursor.seek_time(100) == 0
    assert cursor.event is None
    assert cursor.step_number is None
    assert cursor.find_next(["taken"]) is None
    assert cursor.state_before() == RunState(Geometry(4, 4))


def test_keyframes_are_bounded() -> None:
    events: list[ev.Event] = [ev.ClockAdvanced(t) for t in range(100_000)]
    cursor = Cursor(Geometry(1, 1), events)
    cursor.seek(100_000)
    assert len(cursor._keyframes) <= cursor_module.MOST_KEYFRAMES + 1
    assert cursor.state.time_ns == 99_999


def test_copies_of_a_state_do_not_see_each_other() -> None:
    geometry, events = run("paged", [(10, 10)] * 4)
    half = len(events) // 2
    state = fold(geometry, events[:half])
    twin = state.copy()
    for event in events[half:]:
        state.apply(event)
    assert twin == fold(geometry, events[:half])
    assert state == fold(geometry, events)
    with pytest.raises(TypeError):
        hash(state)
