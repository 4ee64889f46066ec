"""Stories as files: the shipped ones do what their texts say, and what is wrong with one is named."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagesim.core import events as ev
from pagesim.core.errors import InputError
from pagesim.replay.cursor import Cursor
from pagesim.replay.keeper import Keeper
from pagesim.sim.scenario import load_scenario, parse_scenario, scenario_names


def play(name: str) -> tuple[Cursor, dict[str, int]]:
    """The run, and the numbers of its sequences by request (of its first sample)."""
    keeper = Keeper()
    loop = load_scenario(name).loop(lambda _: [keeper])
    loop.run()
    numbers = {
        event.request: event.seq
        for event in reversed(keeper.events)
        if isinstance(event, ev.RequestSubmitted)
    }
    return Cursor(loop.scheduler.memory.geometry, keeper.events), numbers


def kinds(cursor: Cursor) -> Counter[str]:
    return Counter(type(event).__name__ for event in cursor.events)


def cached(cursor: Cursor) -> list[int]:
    return [e.cached_tokens for e in cursor.events if isinstance(e, ev.SequenceAdmitted)]


@pytest.mark.parametrize("name", scenario_names())
def test_every_shipped_story_ends_with_nothing_held(name: str) -> None:
    story = load_scenario(name)
    assert story.title
    assert story.look_for
    cursor, _ = play(name)
    cursor.seek(cursor.num_events)
    assert cursor.state.num_held == 0
    assert not cursor.state.sequences


def tables(cursor: Cursor, seq: int) -> list[list[int]]:
    """Every table the sequence had, each once, in order."""
    seen: list[list[int]] = []
    for place in range(cursor.num_events + 1):
        cursor.seek(place)
        view = cursor.state.sequences.get(seq)
        if view is not None and view.table and (not seen or seen[-1] != list(view.table)):
            seen.append(list(view.table))
    return seen


def test_figure_6() -> None:
    """P Figure 6: 7 tokens in blocks 7 and 1; the first new one takes nothing, the next takes block 3."""
    cursor, numbers = play("figure-6")
    assert tables(cursor, numbers["A"]) == [[7, 1], [7, 1, 3]]
    cursor.seek_step(1)
    assert cursor.state.sequences[0].table == [7, 1]
    assert cursor.state.sequences[0].written == 8


def test_figure_7() -> None:
    """P Figure 7: A = 7, 1, 3 and B = 5, 2."""
    cursor, numbers = play("figure-7")
    assert tables(cursor, numbers["A"])[-1] == [7, 1, 3]
    assert tables(cursor, numbers["B"])[-1] == [5, 2]


def test_figure_8() -> None:
    """P Figure 8: both list 7 and 1, counted 2; the first writer gets 3, a copy of 1; the other writes in place."""
    cursor, _ = play("figure-8")
    place = cursor.find_next(["replaced"])
    assert place is not None
    cursor.seek(place - 1)
    assert cursor.state.ref_counts == {7: 2, 1: 2}
    cursor.seek(place)
    assert cursor.event == ev.BlockReplaced(0, 1, 3)
    assert cursor.state.ref_counts == {7: 2, 1: 1, 3: 1}
    assert kinds(cursor)["BlockCopied"] == 1
    assert [e for e in cursor.events if isinstance(e, ev.BlockCopied)] == [ev.BlockCopied(1, 3, 3)]


def test_prefix_cache() -> None:
    cursor, numbers = play("prefix-cache")
    assert cached(cursor) == [0, 8, 12]
    assert tables(cursor, numbers["third"]) == [[0, 1, 2], [0, 1, 2, 7, 8, 9, 4, 3]]
    assert [e.block for e in cursor.events if isinstance(e, ev.BlockEvicted)] == [3]
    freed = [block for e in cursor.events if isinstance(e, ev.TableFreed) for block in e.released]
    assert freed[:7] == [4, 3, 2, 6, 5, 1, 0]  # behind 7, 8, 9: the free queue of the design notes


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("whole-prompt-cached", [0, 12]),
        ("eviction", [0, 0, 8]),
        ("adapters", [0, 0, 0, 8]),
        ("same-step-sharing", [0, 8]),
    ],
)
def test_what_the_prefix_cache_finds(name: str, found: list[int]) -> None:
    cursor, _ = play(name)
    assert cached(cursor) == found


def test_preemption_spares_the_oldest_and_keeps_the_order() -> None:
    cursor, numbers = play("preemption")
    victims = [e.seq for e in cursor.events if isinstance(e, ev.SequencePreempted)]
    assert victims[:2] == [numbers["r3"], numbers["r2"]]
    assert numbers["r1"] not in victims


def test_the_watermark_holds_r2_back_while_r1_takes_the_last_blocks() -> None:
    cursor, numbers = play("watermark")
    admitted = [e.seq for e in cursor.events if isinstance(e, ev.SequenceAdmitted)]
    assert admitted == [numbers["r1"], numbers["r2"]]
    most = 0
    for place in range(cursor.num_events + 1):
        cursor.seek(place)
        if numbers["r2"] not in cursor.state.running:
            most = max(most, cursor.state.num_held)
    assert most == 6


def test_chunks_are_as_told() -> None:
    cursor, numbers = play("chunked-prefill")
    plans = [e for e in cursor.events if isinstance(e, ev.StepPlanned)]
    chunks = [dict(zip(p.seqs, p.counts, strict=True)).get(numbers["r2"]) for p in plans]
    assert chunks[:4] == [4, 7, 7, 2]


def test_the_urgent_one_goes_first() -> None:
    cursor, numbers = play("priority")
    assert {e.seq for e in cursor.events if isinstance(e, ev.SequencePreempted)} == {
        numbers["patient"]
    }


def test_abort_and_refusal() -> None:
    cursor, _ = play("abort")
    reasons = [e.reason for e in cursor.events if isinstance(e, ev.SequenceFinished)]
    assert sorted(reasons) == ["abort", "length"]
    cursor, _ = play("impossible")
    refused = [e for e in cursor.events if isinstance(e, ev.RequestRefused)]
    assert "5 blocks" in refused[0].reason
    assert "4 are present" in refused[0].reason


def test_eight_samples_hold_the_prompt_once() -> None:
    cursor, _ = play("eight-samples")
    place = cursor.find_next(["sampled"])
    assert place is not None
    cursor.seek(place)
    assert cursor.state.num_held == 4
    assert set(cursor.state.ref_counts.values()) == {8}
    cursor.seek_step(1)
    assert cursor.state.num_held == 4 + 8


def test_slabs() -> None:
    cursor, numbers = play("slabs-max")
    cursor.seek_step(0)
    assert len(cursor.state.running) == 3
    assert cursor.state.num_free == 0
    cursor, numbers = play("fragmentation")
    blocked = cursor.find_next(["blocked"])
    assert blocked is not None
    ended = [cursor.events[place - 1].seq for place in cursor.places_of(["finished"])]  # type: ignore[union-attr]
    assert ended == [numbers[name] for name in ("a", "c", "b", "d")]
    cursor.seek(cursor.places_of(["finished"])[1])
    assert cursor.state.num_free == 16
    assert cursor.state.sequences[numbers["d"]].status == "waiting"
    cursor, numbers = play("buddy")
    takes = [e for e in cursor.events if isinstance(e, ev.BlocksTaken)]
    assert {(len(e.blocks), e.wanted) for e in takes} == {(16, 9)}


GOOD = '[[request]]\nid = "a"\nprompt = 4\noutputs = 2\n'


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "no \\[\\[request\\]\\]"),
        ("x = [", "not TOML"),
        ("\xff", "not TOML"),
        ("colour = 1\n" + GOOD, "colour"),
        ("[memory]\nblocks = 0\n" + GOOD, "memory.blocks"),
        ('[memory]\nblocks = "many"\n' + GOOD, "many"),
        ("[memory]\nblocks = true\n" + GOOD, "memory.blocks"),
        ("[memory]\nblocks = 10000000000\n" + GOOD, "memory.blocks"),
        ("[memory]\nfree_order = [1, 1]\n" + GOOD, "free_order"),
        ("[memory]\nfree_order = [99]\n" + GOOD, "free_order"),
        ('[memory]\nallocator = "slab"\n' + GOOD, "slab"),
        ('[memory]\nallocator = "max"\nblocks = 4\n' + GOOD, "no such field"),
        ('[[request]]\nid = "a"\nprompt = 4\noutputs = 2\nbeam_script = ["0:a"]\n', "beside beams"),
        ('[rules]\npreempt = "swap"\n' + GOOD, "host_blocks"),
        ('[rules]\norder = "lifo"\n' + GOOD, "lifo"),
        ("[rules]\nchunked_prefill = 1\n" + GOOD, "chunked_prefill"),
        ("request = 3\n", "request"),
        ("[[request]]\nprompt = 4\noutputs = 2\n", "request\\[0\\].id"),
        ('[[request]]\nid = "a"\nprompt = 4\n', "outputs"),
        ('[[request]]\nid = "a"\noutputs = 4\n', "prompt"),
        ('[[request]]\nid = "a"\nprompt = [1, -1]\noutputs = 4\n', "prompt"),
        ('[[request]]\nid = "a"\nprompt = 1.5\noutputs = 4\n', "1.5"),
        ('[[request]]\nid = "a"\nprompt = 4\noutputs = 0\n', "outputs"),
        ('[[request]]\nid = "a"\nprompt = 4\noutputs = [[1], [2]]\n', "as many as samples"),
        ('[[request]]\nid = "a"\nprompt = 4\noutputs = 1\nsamples = 0\n', "samples"),
        ('[[request]]\nid = "a"\nprompt = 4\noutputs = 1\nstep = -1\n', "step"),
        (GOOD + "[[abort]]\nstep = 1\n", "abort\\[0\\].id"),
    ],
)
def test_what_is_wrong_with_a_story_is_named(text: str, named: str) -> None:
    with pytest.raises(InputError, match=named) as caught:
        parse_scenario("mine.toml", "mine", text.encode("latin-1"))
    assert str(caught.value).startswith("mine.toml")
    assert "\n" not in str(caught.value) or "not TOML" in str(caught.value)


@given(st.text(max_size=80) | st.binary(max_size=80).map(lambda b: b.decode("latin-1")))
def test_any_text_is_a_story_or_an_input_error(text: str) -> None:
    for whole in (text, GOOD + text):
        try:
            parse_scenario("mine.toml", "mine", whole.encode("utf-8", errors="surrogateescape"))
        except InputError as error:
            assert str(error).startswith("mine.toml")  # noqa: PT017 - the one thing that may happen


def test_unknown_names_and_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="figure-8"):
        load_scenario("figure-88")
    with pytest.raises(InputError, match="cannot be read"):
        load_scenario(str(tmp_path / "absent.toml"))


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('title = "Mine"\n[memory]\nblocks = 2\n' + GOOD + "[[reset_cache]]\nstep = 1\n")
    keeper = Keeper()
    load_scenario(str(path)).loop(lambda _: [keeper]).run()
    assert any(isinstance(e, ev.ResetAsked) for e in keeper.events)
