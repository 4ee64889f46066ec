"""Films of learners' memories: whatever the tables are, the log can be read to its end, where the sentence stands."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from terminal import Terminal

from pagesim.core import events as ev
from pagesim.core.types import Geometry
from pagesim.practice.dev_check import film_problems
from pagesim.practice.film import MOST_SHOTS, Film
from pagesim.practice.film_log import film_events, write_film
from pagesim.practice.outcome import Outcome, from_plain, to_plain
from pagesim.replay.cursor import Cursor
from pagesim.replay.log import UnknownEvent, read_log
from pagesim.replay.run_state import RunState

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


def test_the_viewer_opens_there(tmp_path: Path) -> None:
    path = tmp_path / "counts.jsonl"
    number = written(path)
    terminal = Terminal("-m", "pagesim", "view", str(path))
    try:
        assert SENTENCE in terminal.read(20, SENTENCE)
        assert f"event {number} of {number}" in terminal.output
        terminal.type("q")
        assert terminal.end() == 0
    finally:
        terminal.close()
