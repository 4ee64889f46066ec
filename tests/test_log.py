"""Logs: what is written reads back, the same run is the same file, and damage is named."""

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagesim.core import events as ev
from pagesim.core.errors import InputError
from pagesim.core.token_ids import ChainedRanges
from pagesim.core.types import Geometry
from pagesim.replay.log import (
    LogWriter,
    UnknownEvent,
    decode,
    encode,
    log_header,
    read_log,
    replayed,
)
from pagesim.replay.run_state import RunState

EVENTS: list[ev.Event] = [
    ev.RequestSubmitted(0, "a", 0, 4, 2, 0),
    ev.BlocksTaken(0, (3, 1), 8),
    ev.SequenceAdmitted(0, 4, 0, 0),
    ev.StepPlanned(0, (0,), (4,), 0, 0),
    ev.StepDone(0, 1000),
]


def write(path: Path, events: list[ev.Event]) -> None:
    with LogWriter(path, log_header(Geometry(8, 4), seed=1)) as log:
        for event in events:
            log.apply(event)


numbers = st.integers(0, 2**62)
chains = st.lists(numbers.map(lambda first: range(first, first + 3)), max_size=3).map(ChainedRanges)
blocks = st.lists(numbers, max_size=4).map(tuple) | st.tuples(numbers, numbers).map(
    lambda ends: range(*ends)
)


@st.composite
def events(draw: st.DrawFn) -> ev.Event:
    kind = draw(st.sampled_from(list(ev.KINDS.values())))
    values = []
    for name in kind._fields:
        annotation = kind.__annotations__[name]
        if annotation is int:
            values.append(draw(numbers))
        elif annotation is str:
            values.append(draw(st.text()))
        elif annotation == int | None:
            values.append(draw(st.none() | numbers))
        elif annotation is range:
            values.append(range(draw(numbers), draw(numbers)))
        elif annotation == tuple[int, ...]:
            values.append(tuple(draw(st.lists(numbers, max_size=4))))
        elif annotation == ev.Tokens:
            values.append(draw(blocks | chains))
        else:
            values.append(draw(blocks))
    return kind._make(values)


@given(events())
def test_every_event_reads_back_as_it_was(event: ev.Event) -> None:
    line = encode(event)
    assert "\n" not in line
    assert decode(line) == event
    assert type(decode(line)) is type(event)


@pytest.mark.parametrize("name", ["log.jsonl", "log.jsonl.gz"])
def test_a_log_reads_back_and_the_same_run_is_the_same_file(tmp_path: Path, name: str) -> None:
    first, second = tmp_path / "one" / name, tmp_path / "two" / name
    for path in (first, second):
        path.parent.mkdir()
        write(path, EVENTS)
    log = read_log(first)
    assert list(log.events) == EVENTS
    assert log.geometry == Geometry(8, 4)
    assert log.header["seed"] == 1
    assert not log.warnings
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("ending", ["", "\n"])
def test_a_torn_last_line_is_dropped_with_a_warning(tmp_path: Path, ending: str) -> None:
    """H26: A log of 5 events whose last line is cut in half replays 4 and warns; also if an empty line follows."""
    path = tmp_path / "log.jsonl"
    write(path, EVENTS)
    lines = path.read_text().splitlines()
    lines[-1] = lines[-1][: len(lines[-1]) // 2]
    path.write_text("\n".join(lines) + ending)
    log = read_log(path)
    assert list(log.events) == EVENTS[:4]
    assert len(log.warnings) == 1
    assert "line, 6," in log.warnings[0]
    state = RunState(log.geometry)
    for event in replayed(log):
        state.apply(event)
    assert state.sequences[0].table == [3, 1]


def test_a_bad_line_in_the_middle_is_named_and_counted(tmp_path: Path) -> None:
    """H26: If line 3 is cut instead, the message names line 3."""
    path = tmp_path / "log.jsonl"
    write(path, EVENTS)
    lines = path.read_text().splitlines()
    lines[2] = lines[2][:9]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(
        InputError, match=r"log.jsonl, line 3 is not an event .* 1 line is bad of 6"
    ):
        read_log(path)


def test_a_cut_off_gzip_gives_what_is_left_of_it(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl.gz"
    write(path, [*EVENTS] * 400)
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    log = read_log(path)
    assert 0 < len(log.events) < 2000
    assert log.warnings


def test_a_killed_run_leaves_a_readable_log(tmp_path: Path) -> None:
    for name in ("log.jsonl", "log.jsonl.gz"):
        writer = LogWriter(tmp_path / name, log_header(Geometry(8, 4)))
        for _ in range(300):
            for event in EVENTS:
                writer.apply(event)
        log = read_log(tmp_path / name)  # never closed
        assert len(log.events) > 1000
        writer.close()


def test_unknown_kinds_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    write(path, EVENTS)
    with path.open("a") as log:
        log.write('["teleported",7,[1,2]]\n')
    read = read_log(path)
    assert read.events[-1] == UnknownEvent("teleported", (7, (1, 2)))
    assert encode(read.events[-1]) == '["teleported",7,[1,2]]'
    assert list(replayed(read)) == EVENTS


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "not a pagesim log"),
        (b"\x00\xff\xfe", "not a pagesim log"),
        (b"[1, 2]\n", "not a pagesim log"),
        (b'{"pagesim_log": 99}\n', "version 99"),
        (b'{"pagesim_log": 2}\n', "no memory size"),
        (b'{"pagesim_log": 1}\n', "is a log of version 1"),
        (b'{"pagesim_log": 2, "memory": {"num_blocks": 0, "block_size": 4}}\n', "no memory size"),
        (b"\x1f\x8bgarbage", "damaged"),
    ],
)
def test_what_is_no_log_is_said_in_one_sentence(
    tmp_path: Path, content: bytes, sentence: str
) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match=sentence):
        read_log(path)


def test_a_missing_file_or_folder_is_said_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_log(tmp_path / "absent.jsonl")
    with pytest.raises(InputError, match="cannot be written"):
        LogWriter(tmp_path / "no" / "folder.jsonl", {})


@given(st.binary(max_size=60), st.booleans())
def test_any_bytes_are_a_log_or_an_input_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, header: bool
) -> None:
    path = tmp_path_factory.mktemp("logs") / "log.jsonl"
    start = json.dumps(log_header(Geometry(2, 2))).encode() + b"\n" if header else b""
    path.write_bytes(start + data)
    with contextlib.suppress(InputError):
        read_log(path)
