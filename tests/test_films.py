"""Films of learners' memories: whatever the tables are, the log can be read to its end, where the sentence stands."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from terminal import Terminal

from pagesim.core import events as ev
from pagesim.core.types import Geometry
from pagesim.practice.dev_check import film_problems
from pagesim.practice.film import MOST_SHOTS, Film
from pagesim.practice.film_log import film_events, write_film
from pagesim.practice.outcome import Outcome, from_plain, to_plain
from pagesim.replay.cursor import Cursor
from pagesim.replay.explain import explain, headline
from pagesim.replay.kept_log import kept_log
from pagesim.replay.log import UnknownEvent, law_broken, read_log, remark
from pagesim.replay.logged_fault import LoggedFault, logged_fault
from pagesim.replay.run_state import RunState
from pagesim.tui.pictures import laws
from pagesim.tui.viewed import ViewedRun
from pagesim.views.queues import Queues

NUM_BLOCKS, BLOCK_SIZE = 6, 4
SENTENCE = "block 2 is in two tables, and its count is 1"


def outcome_of(film: Film) -> Outcome:
    return Outcome(passed=False, law="counts", sentence=SENTENCE, film=film)


def remarks_of(film: Film) -> list[str]:
    return [remark for shot in film.shots for remark in shot.remarks]


def folded(film: Film) -> tuple[list[ev.Event | UnknownEvent], RunState]:
    events = film_events(film, [SENTENCE])
    state = RunState(Geometry(film.num_blocks, film.block_size))
    for event in events:
        if not isinstance(event, UnknownEvent):
            state.apply(event)
    return events, state


# -- any film at all -----------------------------------------------------------------------------------------

ids = st.integers(-1, NUM_BLOCKS + 1)
seqs = st.integers(0, 3)
tables = st.dictionaries(seqs, st.lists(ids, max_size=5), max_size=4)


@st.composite
def films(draw: st.DrawFn) -> Film:
    film = Film(NUM_BLOCKS, BLOCK_SIZE)
    has_cache = draw(st.booleans())
    for number in range(draw(st.integers(1, 6))):
        here = draw(tables)
        film.shot(
            f"step({number})",
            here,
            draw(st.none() | st.dictionaries(seqs, st.integers(-1, 30), max_size=4)),
            counts=draw(st.none() | st.lists(st.integers(0, 3), max_size=NUM_BLOCKS)),
            forks=draw(st.dictionaries(seqs, seqs, max_size=2)),
            copies=draw(st.lists(st.tuples(ids, ids, st.integers(1, BLOCK_SIZE)), max_size=2)),
            findable=draw(st.lists(ids, max_size=4)) if has_cache else None,
            waiting=draw(st.dictionaries(seqs, st.integers(1, 20), max_size=2)),
        )
    return film


@given(films())
def test_any_film_can_be_read_to_its_end(film: Film) -> None:
    assert list(film_problems(outcome_of(film))) == []


@given(films())
def test_a_film_survives_the_way_to_another_process(film: Film) -> None:
    again = from_plain(to_plain(outcome_of(film)))
    assert again.film is not None
    assert again.film.shots == film.shots


@pytest.mark.parametrize(
    "spoilt", [{}, {"num_blocks": "x"}, {"num_blocks": 2, "block_size": 1, "shots": [3]}]
)
def test_a_spoilt_film_is_an_error_that_the_reader_expects(spoilt: dict[str, object]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError, AttributeError, IndexError)):
        Film.from_plain(spoilt)


# -- what cannot be shown is said ----------------------------------------------------------------------------


def test_blocks_that_are_not_there_are_left_out_and_said() -> None:
    film = Film(NUM_BLOCKS, BLOCK_SIZE)
    film.shot("start(0, 9)", {0: [5, 6, -1]}, {0: 9})
    assert film.shots[0].tables == {0: [5]}
    told = remarks_of(film)
    assert told[0].startswith(
        "the table of sequence 0 lists block 6, which is not there (blocks are 0"
    )
    assert "sequence 0 has 9 tokens, and its table holds 4" in told
    assert list(folded(film)[1].sequences[0].table) == [5]


@pytest.mark.parametrize(
    ("tables", "says"),
    [
        (None, "the tables are NoneType, not a dict"),
        ([[1]], "the tables are list, not a dict"),
        ({"a": [1]}, "a table is not shown: 'a' is no whole number"),
        ({0: 3}, "a table is not shown: 3 is no list"),
        ({0: ["x"]}, "a table is not shown: 'x' is no whole number"),
    ],
)
def test_tables_of_the_wrong_kind_are_said(tables: object, says: str) -> None:
    film = Film(NUM_BLOCKS, BLOCK_SIZE)
    film.shot("start()", tables)
    assert says in "\n".join(remarks_of(film))
    assert list(film_problems(outcome_of(film))) == []


def test_counts_that_the_tables_deny_are_said() -> None:
    film = Film(NUM_BLOCKS, BLOCK_SIZE)
    film.shot("fork(0, 1)", {0: [2, 3], 1: [2]}, counts=[0, 0, 1, 1, 0, 4])
    assert remarks_of(film) == [
        "your count of block 2 is 1, and 2 tables list it",
        "your count of block 5 is 4, and 0 tables list it",
    ]


def test_a_film_has_an_end() -> None:
    film = Film(NUM_BLOCKS, BLOCK_SIZE)
    for _ in range(MOST_SHOTS + 10):
        film.shot("append(0)", {})
    assert len(film.shots) == MOST_SHOTS


# -- stories -------------------------------------------------------------------------------------------------


def test_who_waits_is_preempted_and_comes_again() -> None:
    film = Film(NUM_BLOCKS, BLOCK_SIZE)
    film.shot("start(0, 8)", {0: [0, 1]}, {0: 8})
    film.shot("start(1, 4)", {0: [0, 1], 1: [2]}, {0: 8, 1: 4})
    film.shot("grow(0)", {0: [0, 1, 3]}, {0: 9}, waiting={1: 4}, grower=(0, 9))
    film.shot("free(0)", {}, waiting={1: 4})
    film.shot("resume()", {1: [0]}, {1: 4})
    events, state = folded(film)
    (preempted,) = [event for event in events if isinstance(event, ev.SequencePreempted)]
    assert (preempted.seq, preempted.by) == (1, 0)
    finished = [event.seq for event in events if isinstance(event, ev.SequenceFinished)]
    assert finished == [0]
    admitted = [event for event in events if isinstance(event, ev.SequenceAdmitted)]
    assert [(event.seq, event.resumed) for event in admitted] == [(0, 0), (1, 0), (1, 1)]
    assert state.sequences[1].status == "running"


def test_a_fork_shares_and_a_changed_block_is_copied() -> None:
    film = Film(NUM_BLOCKS, BLOCK_SIZE)
    film.shot("start(0, 6)", {0: [5, 2]}, {0: 6})
    film.shot("fork(0, 1)", {0: [5, 2], 1: [5, 2]}, {0: 6, 1: 6}, forks={1: 0})
    film.shot("append(1)", {0: [5, 2], 1: [5, 3]}, {0: 6, 1: 7}, copies=[(2, 3, 2)])
    events, state = folded(film)
    kinds = [type(event).__name__ for event in events]
    assert kinds.count("SequenceForked") == kinds.count("BlockReplaced") == 1
    assert kinds.count("BlockCopied") == 1
    assert state.ref_counts[5] == 2
    assert [event.seq for event in events if isinstance(event, ev.SequenceAdmitted)] == [0]


def test_runs_of_slots_that_overlap_are_said() -> None:
    film = Film(16, 1)
    film.shot("place(0, 8)", {0: range(8)}, {0: 3})
    film.shot("place(1, 8)", {0: range(8), 1: range(4, 12)}, {0: 3, 1: 2})
    events, _ = folded(film)
    told = [str(event.fields[0]) for event in events if isinstance(event, UnknownEvent)]
    assert "seq1 has slots 4 to 11, which others hold: not shown here" in told


def test_outputs_of_a_parent_are_no_more_to_compute_by_its_child() -> None:
    """With the lengths of prompts, and without: nobody computes anything again."""
    for prompts in ({0: 5, 1: 5}, {}):
        film = Film(NUM_BLOCKS, BLOCK_SIZE)
        film.shot("allocate(0, 5)", {0: [0, 1]}, {0: 0}, prompts=prompts)
        film.shot("# Write", {0: [0, 1]}, {0: 5}, prompts=prompts)
        film.shot(
            "fork(0, 1, 5)", {0: [0, 1], 1: [0, 1]}, {0: 5, 1: 5}, forks={1: 0}, prompts=prompts
        )
        film.shot("free(0)", {1: [0, 1]}, {1: 5}, prompts=prompts)
        _, state = folded(film)
        view = state.sequences[1]
        assert (view.tokens, view.written) == (5, 5)
        if prompts:
            assert (view.prompt_tokens, view.outputs) == (5, 0)
        console = Console(width=80, file=io.StringIO())
        console.print(Queues(state))
        assert "computes again" not in console.file.getvalue()  # type: ignore[attr-defined]


def test_a_table_that_becomes_another_is_said_to_be() -> None:
    film = Film(NUM_BLOCKS, BLOCK_SIZE)
    film.shot("start(0, 8)", {0: [0, 1]}, {0: 8})
    film.shot("oops(0)", {0: [1, 0]}, {0: 8})
    events, state = folded(film)
    told = [str(event.fields[0]) for event in events if isinstance(event, UnknownEvent)]
    assert (
        "the table of seq0 went from [0, 1] to [1, 0]: shown as given back and taken anew" in told
    )
    assert list(state.sequences[0].table) == [1, 0]


# -- the log and the viewer ----------------------------------------------------------------------------------


def written(path: Path) -> int:
    film = Film(NUM_BLOCKS, BLOCK_SIZE)
    film.shot("memory.start(0, 6)", {0: [5, 2]}, {0: 6})
    film.shot("memory.fork(0, 1)", {0: [5, 2], 1: [5, 2]}, {0: 6, 1: 6}, forks={1: 0})
    last = "memory.append(1)"
    return write_film(path, film, title="t", law="counts", sentence=SENTENCE, last_line=last)


def test_the_log_opens_at_its_last_event_in_the_step_that_broke(tmp_path: Path) -> None:
    path = tmp_path / "counts.jsonl"
    number = written(path)
    log = read_log(path)
    assert log.header["opens_at"] == number == len(log.events)
    assert (log.header["law"], log.header["sentence"]) == ("counts", SENTENCE)
    told = [str(event.fields[0]) for event in log.events if isinstance(event, UnknownEvent)]
    assert told == ["memory.start(0, 6)", "memory.fork(0, 1)", "memory.append(1)", SENTENCE]
    cursor = Cursor.of_log(log)
    cursor.seek(number)
    assert list(cursor.state.sequences[1].table) == [5, 2]
    done = [event.step for event in log.events if isinstance(event, ev.StepDone)]
    assert done == [0], "the step that broke is not done"


def test_the_log_says_from_where_on_which_law_is_broken(tmp_path: Path) -> None:
    number = written(tmp_path / "counts.jsonl")
    fault = logged_fault(read_log(tmp_path / "counts.jsonl"))
    assert fault is not None
    assert (fault.law, fault.sentence, fault.notes) == ("counts", SENTENCE, ())
    assert fault.place == number - 1, "the call that did not come back"
    assert fault.line() == "broken here: counts"


def wrong_counts(path: Path) -> int:
    film = Film(NUM_BLOCKS, BLOCK_SIZE)
    film.shot("memory.start(0, 16)", {0: [0, 1, 2, 3]}, {0: 16}, counts=[1, 1, 1, 1, 0, 0])
    held = {0: [0, 1, 2, 3], 1: [0, 1, 2, 3]}
    film.shot("memory.fork(0, 1)", held, counts=[1, 1, 1, 1, 0, 0], forks={1: 0})
    return write_film(path, film, title="t", law="counts", sentence=SENTENCE)


def test_counts_of_ones_own_stand_beside_what_the_tables_say(tmp_path: Path) -> None:
    log = tmp_path / "counts.jsonl"
    number = wrong_counts(log)
    fault = logged_fault(read_log(log))
    assert fault is not None
    assert len(fault.notes) == 4
    assert fault.notes[0] == "your count of block 0 is 1, and 2 tables list it"
    assert fault.notes[3] == "and 1 more"
    for encoding, cross in (("utf-8", "✗"), ("ascii", "x")):
        shown = pagesim("show", str(log), encoding=encoding)
        assert (
            f"\n{cross} broken here: counts; your count of block 0 is 1, and 2 tables list it"
            in shown
        )
        before = pagesim("show", f"{log}@e{fault.place - 1}", encoding=encoding)
        assert "broken here" not in before
        there = pagesim("show", f"{log}@e{fault.place}", encoding=encoding)
        assert "broken here" in there
    assert fault.place < number


def pagesim(*words: str, encoding: str) -> str:
    result = subprocess.run(
        [sys.executable, "-m", "pagesim", *words],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": encoding, "COLUMNS": "80"},
    )
    return result.stdout.decode(encoding)


@pytest.mark.parametrize(("encoding", "cross"), [("utf-8", "✗"), ("ascii", "x")])
def test_the_viewers_line_of_laws_says_which_is_broken(
    tmp_path: Path, encoding: str, cross: str
) -> None:
    log = tmp_path / "counts.jsonl"
    wrong_counts(log)
    read = read_log(log)
    run, fault = ViewedRun("log", read), logged_fault(read)
    assert fault is not None
    console = Console(width=80, file=io.TextIOWrapper(io.BytesIO(), encoding=encoding))
    for place in (fault.place - 1, fault.place, len(read.events)):
        run.survey.advance_for(10, len(read.events))
        assert run.go(place)
        with console.capture() as capture:
            console.print(laws(run, 80, 1))
        line = capture.get().rstrip()
        if place < fault.place:
            assert "laws kept" in line or "laws hold" in line
        else:
            assert line.startswith(f"{cross} broken here: counts; your count of block 0 is 1")
            assert "kept" not in line
            assert len(line) <= 80


@pytest.mark.parametrize(
    "header",
    [
        {},
        {"law": "a"},
        {"law": 3, "sentence": "b", "opens_at": 1},
        {"law": "a", "sentence": "b", "opens_at": "c"},
    ],
)
def test_other_logs_have_no_fault(header: dict[str, object]) -> None:
    assert logged_fault(kept_log("log", Geometry(4, 4), [remark("r")], **header)) is None


def test_a_run_that_broke_a_law_ends_with_it() -> None:
    events = [remark("r"), law_broken("conservation", "1 block lost")]
    log = kept_log("log", Geometry(4, 4), events)
    assert logged_fault(log) == LoggedFault("conservation", "1 block lost", 2)
    state = RunState(Geometry(4, 4))
    assert explain(events[1], state) == "conservation is broken: 1 block lost"
    assert headline(events[1]) == "law broken"


def test_the_viewer_opens_there(tmp_path: Path) -> None:
    path = tmp_path / "counts.jsonl"
    number = written(path)
    terminal = Terminal("-m", "pagesim", "view", str(path))
    try:
        assert SENTENCE in terminal.read(20, "broken here: counts")
        assert f"event {number} of {number}" in terminal.output
        terminal.type("q")
        assert terminal.end() == 0
    finally:
        terminal.close()
