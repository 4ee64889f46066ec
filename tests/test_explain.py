"""Sentences: every kind has one, its numbers are those of the state, and it never fails or breaks a line."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache, partial
from itertools import takewhile
from pathlib import Path

import pytest
from checked_run import CheckedRun
from hypothesis import given
from hypothesis import strategies as st
from run_scripts import contiguous_memories, paged_memories, scripts
from small_runs import run, serve
from viewer_logs import story_of, write_story

from pagesim.core import events as ev
from pagesim.core.block_manager import BlockManager
from pagesim.core.contiguous import ContiguousManager
from pagesim.core.memories import PLACERS, RESERVATIONS
from pagesim.core.request import Abort, Request, ResetCache
from pagesim.core.scheduler_config import SchedulerConfig
from pagesim.core.token_ids import ChainedRanges
from pagesim.core.types import Geometry
from pagesim.replay.explain import KIND_GROUPS, LABELS, explain, explainer, headline, kind_of
from pagesim.replay.log import LogWriter, UnknownEvent, log_header, read_log
from pagesim.replay.phrases import block_name, duration, listed, named, named_all
from pagesim.replay.run_state import RunState
from pagesim.sim.allocators import ALLOCATORS
from pagesim.sim.scenario import load_scenario

# -- runs ------------------------------------------------------------------------------------------------

Run = tuple[Geometry, list[ev.Event]]


def requests(*lengths: tuple[int, int], gap: int = 10_000_000) -> list[tuple[int, Request]]:
    return [
        (i * gap, Request(f"r{i}", range(100 * i, 100 * i + prompt), output))
        for i, (prompt, output) in enumerate(lengths)
    ]


def forks_and_prefixes() -> Run:
    """Two samples each of one prompt in 18 blocks: copy-on-write, hits, evictions, preempted groups."""
    return run("paged", [(10, 10)] * 5 + [(30, 2)], samples=2, caching=True)


def failing_steps() -> Run:
    """The steps that admit, and one that decodes, do not happen."""
    memory = BlockManager(8, 4, prefix_caching=True)
    return serve(memory, SchedulerConfig(), requests((9, 4), (5, 6)), failing=(0, 2, 4))


def waits_and_preemptions() -> Run:
    """Three in 8 blocks, chunked, one of which stays free at admission."""
    config = SchedulerConfig(max_tokens_per_step=8, watermark_blocks=1)
    return serve(BlockManager(8, 4), config, requests((10, 12), (9, 12), (11, 3), gap=0))


def runs_that_move() -> Run:
    """The true output length was said to be 1, and is 9."""
    memory = ContiguousManager(PLACERS["first-fit"](48), RESERVATIONS["oracle"](24), "oracle")
    arrivals = [
        (0, Request(f"r{i}", range(100 * i, 100 * i + 8), 9, known_output=1)) for i in range(4)
    ]
    return serve(memory, SchedulerConfig(max_model_len=24), [*arrivals])


def aborts_and_resets() -> Run:
    memory = BlockManager(16, 4, prefix_caching=True)
    late = 10**10
    arrivals = [*requests((9, 40), (9, 5)), (50_000_000, Abort("r0")), (50_000_000, Abort("r7"))]
    arrivals += [(60_000_000, ResetCache()), (late, ResetCache())]
    arrivals += [(late, Request("r8", range(9), 3))]
    return serve(memory, SchedulerConfig(), arrivals)


STORIES = ("swap", "host-full", "figure-9", "beam-stops")
RUNS = {
    made.__name__: made
    for made in (
        forks_and_prefixes,
        failing_steps,
        waits_and_preemptions,
        runs_that_move,
        aborts_and_resets,
    )
} | {name: partial(story_of, name) for name in STORIES}


class Told:
    """One event with its sentence and the states around it."""

    def __init__(self, event: ev.Event, before: RunState, after: RunState) -> None:
        self.event, self.before, self.after = event, before, after
        self.sentence = explain(event, before)


def told(geometry: Geometry, events: list[ev.Event]) -> Iterator[Told]:
    state = RunState(geometry)
    for event in events:
        before = state.copy()
        state.apply(event)
        yield Told(event, before, state)


@cache
def made(name: str) -> Run:
    return RUNS[name]()


# -- what the numbers must be ----------------------------------------------------------------------------


def held_in(state: RunState) -> set[int]:
    return {block for view in state.sequences.values() for block in view.table}


def free_in(state: RunState) -> int:
    num_blocks = state.geometry.num_blocks
    return num_blocks - sum(block < num_blocks for block in held_in(state))


def host_free_in(state: RunState) -> int:
    geometry = state.geometry
    return geometry.num_host_blocks - sum(block >= geometry.num_blocks for block in held_in(state))


def owners(state: RunState, block: int) -> int:
    return sum(block in view.table for view in state.sequences.values())


def figures(pattern: str, sentence: str) -> list[int]:
    """The groups of the pattern, as numbers; it must be there."""
    found = re.search(pattern.replace("#", r"(\d[\d,]*)"), sentence)
    assert found, (pattern, sentence)
    return [int(figure.replace(",", "")) for figure in found.groups()]


CHANGE_FREE = (ev.BlocksTaken, ev.BlocksShared, ev.BlockReplaced, ev.RunMoved, ev.TableFreed)
CHANGE_FINDABLE = (ev.BlockEvicted, ev.BlocksPublished, ev.BlocksWithdrawn, ev.CacheReset)


def change(before: int, after: int, noun: str, what: str = "free") -> str:
    """How such a change is told, in words of our own."""
    nouns = noun if after == 1 else f"{noun}s"
    if before != after:
        return f"{before:,} -> {after:,} {nouns} {what}"
    if not after:
        return f"still no {noun} is {what}"
    return f"{after:,} {nouns} {'stays' if after == 1 else 'stay'} {what}"


def check(entry: Told) -> None:
    """One line of plain text, and every figure that can be counted elsewhere is right."""
    event, before, after, sentence = entry.event, entry.before, entry.after, entry.sentence
    assert sentence.isprintable()
    assert sentence.isascii()
    assert sentence.strip() == sentence
    if isinstance(event, ev.TableFreed) and "host block" in sentence:
        assert sentence.endswith(
            f"; {change(host_free_in(before), host_free_in(after), 'host block')}"
        )
    elif isinstance(event, CHANGE_FREE):
        counts = (free_in(before), free_in(after))
        assert sentence.endswith(tuple(f"; {change(*counts, unit)}" for unit in ("block", "slot")))
    if isinstance(event, CHANGE_FINDABLE):
        told = change(len(before.cached), len(after.cached), "block", "findable")
        assert sentence.endswith(f"; {told}"), sentence
    checker = CHECKS.get(type(event))
    if checker is not None:
        checker(entry, event)


def check_admitted(entry: Told, event: ev.SequenceAdmitted) -> None:
    view = entry.after.sequences[event.seq]
    assert f"with {event.tokens} token" in entry.sentence
    assert event.tokens == view.tokens
    if view.written:
        assert figures("# [a-z ]+, # left to compute", entry.sentence) == [
            view.written,
            view.tokens - view.written,
        ]
    else:
        assert "all to compute" in entry.sentence
    counts = figures("holds # (?:block|slot)s?, and # (?:is|are) free", entry.sentence)
    assert counts == [len(view.table), free_in(entry.after)]
    assert ("comes back" in entry.sentence) == (view.preemptions > 0)


def check_blocked(entry: Told, event: ev.AdmissionBlocked) -> None:
    state, sentence = entry.before, entry.sentence
    if state.sequences[event.seq].status == "swapped":
        check_waits_to_return(entry, event)
        return
    if any(isinstance(view.table, range) for view in state.sequences.values()):
        slots = [0] * state.geometry.num_blocks
        for view in state.sequences.values():
            for slot in view.table:
                slots[slot] = 1
        holes = re.findall("0+", "".join(map(str, slots)))
        if holes:
            counts = figures("# slots? (?:is|are) free, in # holes?, the largest of #", sentence)
            assert counts == [slots.count(0), len(holes), max(map(len, holes))]
        else:
            assert "no slot is free" in sentence
        return
    if "do not fit" in sentence:
        assert free_in(state) == state.geometry.num_blocks
        return
    size = state.geometry.block_size
    needed = -(-event.tokens // size)
    assert figures("its # tokens? needs? # block", sentence) == [event.tokens, needed]
    free = free_in(state)
    assert f"and {free} {'is' if free == 1 else 'are'} free" in sentence
    total = needed - event.cached_tokens // size + event.keep_free
    if total != needed:
        assert f" = {total}, and" in sentence
    spare = [int(n) for n in re.findall(r"\+ (\d+) (?:for its other|to stay)", sentence)]
    assert sum(spare) == event.keep_free
    if total <= free:
        (least,) = figures("at least # of the cached ones", sentence)
        lie_free = sum(owners(state, block) == 0 for block in state.cached)
        assert least == free - total + 1 <= lie_free


def check_preempted(entry: Told, event: ev.SequencePreempted) -> None:
    before, sentence = entry.before, entry.sentence
    view = before.sequences[event.seq]
    if event.way == "swap":
        check_goes_to_host(entry, event)
    elif view.written:
        assert figures("loses its # computed tokens?", sentence) == [view.written]
    else:
        assert "had computed nothing" in sentence
    if view.outputs:
        assert figures("and (?:keeps )?its # output tokens?", sentence) == [view.outputs]
    assert "which is not enough" not in sentence, sentence
    if "holds" in sentence:
        by, size = before.sequences[event.by], before.geometry.block_size
        held, more = figures("holds # blocks? and needs # more", sentence)
        (free,) = figures("but # (?:is|are) free", sentence)
        tail = by.table[by.written // size] if by.written % size else None
        copy = tail is not None and owners(before, tail) > 1
        assert (held, free) == (len(by.table), free_in(before))
        assert more == -(-event.to // size) - held + copy
        assert more > free
        assert ("for a copy" in sentence) == copy
    if "admitted last" in sentence:
        assert list(before.running)[-1] == event.seq


def group_of(state: RunState, seq: int) -> list[int]:
    """The sequence and those of its request that are at the same place, if they have forked."""
    view = state.sequences[seq]
    found = [v for v in state.sequences.values() if v.request == view.request]
    same = [v.seq for v in found if v.status == view.status and v.table]
    return same if view.forked else [seq]


def filled_blocks(state: RunState, seqs: list[int]) -> set[int]:
    size = state.geometry.block_size
    views = [state.sequences[seq] for seq in seqs]
    return {b for v in views for at, b in enumerate(v.table) if at * size < v.written}


def check_goes_to_host(entry: Told, event: ev.SequencePreempted) -> None:
    before, sentence = entry.before, entry.sentence
    assert event.lost_tokens == 0
    assert figures("keeps its # computed tokens?", sentence) == [
        before.sequences[event.seq].written
    ]
    if "too, and keeps" not in sentence:
        moved, free = figures(
            "# blocks?[^;]* goe?s? to the host, where # (?:is|are) free", sentence
        )
        assert moved == len(filled_blocks(before, group_of(before, event.seq)))
        assert moved <= free == host_free_in(before)


def check_tables_moved(entry: Told, event: ev.TableSwappedOut | ev.TableSwappedIn) -> None:
    before, after = entry.before, entry.after
    device = change(free_in(before), free_in(after), "block")
    host = change(host_free_in(before), host_free_in(after), "host block")
    assert entry.sentence.endswith(f"; {device}, {host}")
    there = [block for block in event.blocks if owners(before, block)]
    assert ("moves once" in entry.sentence) == bool(there)
    old, new = (list(state.sequences[event.seq].table) for state in (before, after))
    geometry = before.geometry
    lists = f"lists {named_all(new, geometry)} in place of {named_all(old[: len(new)], geometry)}"
    assert lists in entry.sentence
    assert ("given back" in entry.sentence) == (len(old) > len(new))


def check_returned(entry: Told, event: ev.SequenceReturned) -> None:
    view = entry.after.sequences[event.seq]
    counts = figures(
        "its # computed tokens?; it holds # blocks?, and # (?:is|are) free", entry.sentence
    )
    assert counts == [view.written, len(view.table), free_in(entry.after)]


def check_waits_to_return(entry: Told, event: ev.AdmissionBlocked) -> None:
    state, sentence = entry.before, entry.sentence
    moved = len(filled_blocks(state, group_of(state, event.seq)))
    free = free_in(state)
    assert figures("host: (?:its|the) # blocks?", sentence) == [moved]
    assert "do not fit" not in sentence
    total = moved
    for words in ("for the next tokens", "to stay free"):
        if words in sentence:
            total += figures(rf"\+ # {words}", sentence)[0]
    if total != moved:
        assert figures("= #, and", sentence) == [total]
    assert figures("and # (?:is|are) free; until then", sentence) == [free]
    assert total > free


def check_beams(entry: Told, event: ev.BeamsChosen) -> None:
    before, sentence = entry.before, entry.sentence
    request = before.sequences[event.seqs[0]].request
    names = {seq: f"{request}.{before.sequences[seq].sample}" for seq in event.seqs}
    is_first = len(set(event.parents)) == 1 and before.sequences[event.seqs[-1]].status == "waiting"
    dropped = [] if is_first else [names[seq] for seq in event.seqs if seq not in event.parents]
    assert ("dropped" in sentence) == bool(dropped)
    for name in dropped:
        assert name in sentence.partition("dropped")[0]
    for parent in set(event.parents):
        if dropped:
            assert names[parent] in sentence.partition("while")[2].partition(";")[0]
    assert f"{max(event.logprobs) / 1e6:.2f} nats" in sentence
    assert f"{min(event.logprobs) / 1e6:.2f} nats" in sentence


def check_hypothesis(entry: Told, event: ev.HypothesisEnded) -> None:
    assert ("put aside" in entry.sentence.partition(":")[2][:70]) == bool(event.kept)
    search = entry.before.searches.get(entry.before.sequences[event.seq].request)
    if search is not None and search.length_penalty:
        value = event.logprob / 1e6 / event.output_tokens ** (search.length_penalty / 1e6)
        assert f"= {value:.2f}" in entry.sentence


def check_ranked(entry: Told, event: ev.AnswersRanked) -> None:
    assert figures("best of its # answers?", entry.sentence) == [len(event.seqs)]
    assert f"has {event.output_tokens[0]} token" in entry.sentence


def check_forked(entry: Told, event: ev.SequenceForked) -> None:
    assert figures("(?:the|its) first # token", entry.sentence) == [event.tokens]
    if "cannot share" not in entry.sentence:
        size = entry.before.geometry.block_size
        assert figures("# blocks? shared", entry.sentence) == [-(-event.tokens // size)]
        if event.tokens % size:
            counts = figures("# of whose # slots", entry.sentence)
            assert counts == [event.tokens % size, size]


def check_taken(entry: Told, event: ev.BlocksTaken) -> None:
    before, after = entry.before.sequences[event.seq], entry.after.sequences[event.seq]
    size = entry.before.geometry.block_size
    if isinstance(event.blocks, range):
        assert figures("# in one piece", entry.sentence) == [len(after.table)]
        return
    comes_back = before.forked and before.preemptions and before.written + 1 < before.tokens
    if before.status == "running" and not comes_back:
        counts = figures("# of its # slots? (?:is|are) written", entry.sentence)
        assert counts == [before.written, len(before.table) * size]
    elif "room for" in entry.sentence:
        counts = figures("the first # of its # tokens", entry.sentence)
        assert counts == [len(after.table) * size, before.tokens]
        assert counts[0] < counts[1]
    else:
        counts = figures("its # tokens? needs? # block", entry.sentence)
        assert counts == [before.tokens, len(after.table)]


def check_shared(entry: Told, event: ev.BlocksShared) -> None:
    counts = [owners(entry.after, block) for block in event.blocks]
    fresh = sum(owners(entry.before, block) == 0 for block in event.blocks)
    if fresh:
        assert figures("# of # lay free", entry.sentence) == [fresh, len(event.blocks)]
    elif min(counts) == max(counts):
        assert figures("# sequences now list", entry.sentence) == [counts[0]]
    else:
        assert figures("# to # sequences now", entry.sentence) == [min(counts), max(counts)]


def check_replaced(entry: Told, event: ev.BlockReplaced) -> None:
    listing = owners(entry.before, event.old)
    assert listing > 1
    assert figures("which # sequences list", entry.sentence) == [listing]
    left = owners(entry.after, event.old)
    assert figures("# sequences? still lists? block #", entry.sentence) == [left, event.old]


def check_freed(entry: Told, event: ev.TableFreed) -> None:
    table = entry.before.sequences[event.seq].table
    stay = [block for block in table if owners(entry.after, block)]
    if stay:
        assert f"; {listed(stay)} stay" in entry.sentence
    else:
        assert " stay" not in entry.sentence.rpartition(";")[0]
    findable = sum(block in entry.after.cached for block in event.released)
    if findable:
        assert figures("; # of # (?:is|are) still findable", entry.sentence) == [
            findable,
            len(event.released),
        ]


def check_published(entry: Told, event: ev.BlocksPublished) -> None:
    table, size = list(entry.after.sequences[event.seq].table), entry.after.geometry.block_size
    first, last = table.index(event.blocks[0]), table.index(event.blocks[-1])
    if size > 1 and last - first + 1 == len(event.blocks):
        counts = figures("with tokens # to #", entry.sentence)
        assert counts == [first * size + 1, (last + 1) * size]


def check_planned(entry: Told, event: ev.StepPlanned) -> None:
    on_host = [v for v in entry.before.sequences.values() if v.status == "swapped"]
    if on_host:
        assert figures("; # waits?", entry.sentence) == [event.waiting]
        if len(on_host) < event.waiting:
            assert figures("# of them on the host", entry.sentence) == [len(on_host)]
            assert "nobody new is admitted while" in entry.sentence
        else:
            assert re.search("waits? on the host", entry.sentence)
    total, size = sum(event.counts), len(event.seqs)
    assert figures("computes # tokens? of # sequence", entry.sentence) == [total, size]
    decodes, prefills, prefilled = 0, 0, 0
    if re.search(r"\d decode", entry.sentence):
        (decodes,) = figures("# decodes?", entry.sentence)
    if "prefill" in entry.sentence:
        prefills, prefilled = figures("# prefills? # token", entry.sentence)
    assert decodes + prefills == size
    assert decodes + prefilled == total
    planned = [entry.after.sequences[seq] for seq in event.seqs]
    last = [view.outputs > 0 and view.written == view.tokens for view in planned]
    assert decodes == sum(count == 1 and end for count, end in zip(event.counts, last, strict=True))
    free = free_in(entry.after)
    assert re.search(rf"; {free} (block|slot)s? (is|are) free$", entry.sentence)


def check_done(entry: Told, event: ev.StepDone) -> None:
    took = duration(entry.after.time_ns - entry.before.time_ns)
    assert f"took {took} for" in entry.sentence
    assert entry.sentence.endswith(duration(event.time_ns))


def check_sampled(entry: Told, event: ev.TokensSampled) -> None:
    if len(event.seqs) == 1:
        view = entry.after.sequences[event.seqs[0]]
        counts = figures("output token # of at most #", entry.sentence)
        assert counts == [view.outputs, view.max_tokens]
    else:
        assert figures("^# sequences", entry.sentence) == [len(event.seqs)]


def check_finished(entry: Told, event: ev.SequenceFinished) -> None:
    view = entry.before.sequences[event.seq]
    assert figures("ends with # output token", entry.sentence) == [view.outputs]
    is_beam = view.logprob is not None and event.reason != "abort"
    assert ("all it asked for" in entry.sentence) == (not is_beam) * (
        event.reason == "length" and view.outputs == view.max_tokens
    )


def check_failed(entry: Told, event: ev.StepFailed) -> None:
    undone = sum(v.written for v in entry.before.sequences.values())
    undone -= sum(v.written for v in entry.after.sequences.values())
    assert figures("its # tokens? of #", entry.sentence)[0] == undone


CHECKS = {
    ev.SequenceAdmitted: check_admitted,
    ev.AdmissionBlocked: check_blocked,
    ev.SequencePreempted: check_preempted,
    ev.SequenceReturned: check_returned,
    ev.TableSwappedOut: check_tables_moved,
    ev.TableSwappedIn: check_tables_moved,
    ev.BeamsChosen: check_beams,
    ev.HypothesisEnded: check_hypothesis,
    ev.AnswersRanked: check_ranked,
    ev.SequenceForked: check_forked,
    ev.BlocksTaken: check_taken,
    ev.BlocksShared: check_shared,
    ev.BlockReplaced: check_replaced,
    ev.TableFreed: check_freed,
    ev.BlocksPublished: check_published,
    ev.StepPlanned: check_planned,
    ev.StepDone: check_done,
    ev.TokensSampled: check_sampled,
    ev.SequenceFinished: check_finished,
    ev.StepFailed: check_failed,
}


# -- every kind ------------------------------------------------------------------------------------------


def test_every_kind_has_a_label_and_groups_name_kinds() -> None:
    assert list(LABELS) == list(ev.KINDS)
    assert all(kind in ev.KINDS for kinds in KIND_GROUPS.values() for kind in kinds)
    assert all(1 <= len(label.split()) <= 3 for label in LABELS.values())


def test_the_small_runs_hold_every_kind() -> None:
    seen = {kind_of(event) for name in RUNS for event in made(name)[1]}
    assert seen == set(ev.KINDS)


@pytest.mark.parametrize("name", RUNS)
def test_the_numbers_are_those_of_the_states_around(name: str) -> None:
    for entry in told(*made(name)):
        check(entry)


@given(
    st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12)), min_size=1, max_size=6),
    st.sampled_from(ALLOCATORS),
    st.integers(1, 3),
    st.booleans(),
)
def test_every_event_of_any_run_is_one_right_line(
    lengths: list[tuple[int, int]], allocator: str, samples: int, caching: bool
) -> None:
    for entry in told(*run(allocator, lengths, samples, caching)):
        check(entry)


memories = st.one_of(
    paged_memories(True),
    paged_memories(False),
    *(contiguous_memories(placer, rule) for placer in PLACERS for rule in RESERVATIONS),
)


@given(scripts(memories, foretold=False))
def test_every_event_of_any_script_is_one_right_line(script) -> None:  # type: ignore[no-untyped-def]
    played = CheckedRun(script).run()
    entries = []
    for entry in told(played.manager.geometry, played.events):
        check(entry)
        entries.append(entry)
    check_swaps(entries)
    check_choices(entries)


@pytest.mark.parametrize("name", RUNS)
def test_what_follows_is_as_it_was_told(name: str) -> None:
    entries = list(told(*made(name)))
    check_swaps(entries)
    check_choices(entries)


def check_swaps(entries: list[Told]) -> None:
    """As many blocks as were told are copied, and as many more are taken."""
    for at, entry in enumerate(entries):
        num_blocks = entry.before.geometry.num_blocks
        rest = [later.event for later in entries[at:]]
        if isinstance(entry.event, ev.SequencePreempted) and "to the host, where" in entry.sentence:
            moved = figures("# blocks?[^;]* goe?s? to the host, where", entry.sentence)
            going = list(takewhile(lambda e: isinstance(e, OUT), rest))
            copies = [e for e in going if isinstance(e, ev.BlockCopied)]
            assert len({copy.target for copy in copies if copy.target >= num_blocks}) >= moved[0]
        if isinstance(entry.event, ev.TableSwappedIn) and " = " in entry.sentence:
            moved, more = figures(r"# blocks?[^;]* \+ # for the next tokens = ", entry.sentence)
            own = set(group_of(entry.before, entry.event.seq))
            step = list(takewhile(lambda e: not isinstance(e, ev.StepPlanned), rest))
            coming = takewhile(lambda e: not isinstance(e, ev.SequenceReturned), step)
            sources = [e.source for e in coming if isinstance(e, ev.BlockCopied)]
            assert len({source for source in sources if source >= num_blocks}) == moved
            taken = [e for e in step if isinstance(e, ev.BlocksTaken) and e.seq in own]
            copied = [e for e in step if isinstance(e, ev.BlockReplaced) and e.seq in own]
            assert sum(len(e.blocks) for e in taken) + len(copied) == more


OUT = (ev.SequencePreempted, ev.TableSwappedOut, ev.BlockCopied)


def check_choices(entries: list[Told]) -> None:
    """Who is freed or forked because of a choice of beams, and nobody else, is said to be."""
    moving: set[int] = set()
    for entry in entries:
        match entry.event:
            case ev.BeamsChosen(seqs, parents):
                moving = {seq for seq, parent in zip(seqs, parents, strict=True) if seq != parent}
            case ev.TableFreed(seq):
                assert (", dropped," in entry.sentence) == (seq in moving)
            case ev.SequenceForked(child=child):
                assert ("as chosen" in entry.sentence) == (child in moving)
                moving.discard(child)
            case _:
                pass


numbers = st.integers(0, 2**62)
tuples = st.lists(numbers, max_size=4).map(tuple)
ranges = st.tuples(numbers, numbers).map(lambda ends: range(*ends))
FIELDS = {
    int: numbers,
    int | None: st.none() | numbers,
    str: st.text(),
    range: ranges,
    tuple[int, ...]: tuples,
    ev.Blocks: tuples | ranges,
    ev.Tokens: tuples | ranges | st.just(ChainedRanges([range(3), range(7, 9)])),
}


@st.composite
def any_event(draw: st.DrawFn) -> ev.Event | UnknownEvent:
    kind = draw(st.sampled_from([*ev.KINDS.values(), UnknownEvent]))
    if kind is UnknownEvent:
        return UnknownEvent(draw(st.text(min_size=1)), draw(tuples))
    fields = [draw(FIELDS[kind.__annotations__[name]]) for name in kind._fields]
    return kind._make(fields)  # type: ignore[no-any-return]


@given(
    any_event(), st.sampled_from([Geometry(8, 4), Geometry(8, 1), Geometry(8, 4, 3)]), st.booleans()
)
def test_a_state_that_lacks_everything_still_gives_a_line(
    event: ev.Event | UnknownEvent, geometry: Geometry, is_known: bool
) -> None:
    state = RunState(geometry)
    if is_known:
        for seq in range(3):
            state.apply(ev.RequestSubmitted(seq, "r", seq, 5, 5, 0))
    if is_known and geometry.num_host_blocks:
        state.apply(ev.BlocksTaken(0, (3, 4), 8))
        state.apply(ev.SequenceForked(0, 1, 5))
        state.apply(ev.BlocksShared(1, (3, 4)))
        state.apply(ev.TableSwappedOut(0, (8, 9)))
    assert explain(event, state).isprintable()
    assert explain(event, state).strip()
    assert headline(event).isprintable()


def test_a_sequence_nobody_knows_has_its_number_and_a_bare_number_its_noun() -> None:
    state = RunState(Geometry(8, 4))
    assert explain(ev.TableFreed(7, (3, 2)), state).startswith(
        "sequence 7 gives back blocks 3 and 2"
    )
    state.apply(ev.RequestSubmitted(0, "17", 0, 5, 5, 0))
    assert explain(ev.SequenceRequeued(0), state).startswith("request 17 waits again")
    assert "does not know" in explain(UnknownEvent("teleported", (1,)), state)
    assert headline(UnknownEvent("teleported", (1,))) == "teleported"


def test_lines_and_control_characters_of_others_do_not_get_through() -> None:
    sentence = explain(ev.RequestRefused("a\n\x1b[31mb", "no\r\nroom"), RunState(Geometry(8, 4)))
    assert sentence == "request a ?[31mb is refused: no  room"


STORY = """\
r0 has to write into block 2, which 2 sequences list (r0 and r0.1): block 3 takes its place, and the 2 slots \
written so far are to be copied; 1 sequence still lists block 2; 15 -> 14 blocks free
r4 is preempted: r0 and its other samples grow together and need 2 more blocks but 1 is free; r4 loses its 10 \
computed tokens and keeps its 1 output token
r4.1 is preempted: it gives way with the rest of its group, so that r0 can grow; r4.1 loses its 10 computed \
tokens and keeps its 1 output token
r3 has to wait for memory: its 13 tokens need 4 blocks - 3 cached + 2 for its other samples = 3, \
and 2 are free"""


def test_some_sentences_in_full() -> None:
    sentences = [entry.sentence for entry in told(*made("forks_and_prefixes"))]
    for line in STORY.splitlines():
        assert line in sentences
    moved = [entry.sentence for entry in told(*made("runs_that_move"))]
    assert any("outgrew its 9 slots and moves to slots" in line for line in moved)


@pytest.mark.parametrize("name", STORIES)
def test_the_new_stories_are_told_as_they_were(name: str) -> None:
    """Set PAGESIM_UPDATE_SNAPSHOTS=1 to write them anew, and read them."""
    tell = explainer({"words": list(load_scenario(name).words)})
    state, lines = RunState(made(name)[0]), []
    for place, event in enumerate(made(name)[1], start=1):
        lines.append(f"{place:>3}  {headline(event):<13}  {tell(event, state)}")
        state.apply(event)
    path = Path(__file__).parent / "snapshots" / f"story-{name}.txt"
    shown = "\n".join(lines) + "\n"
    if os.environ.get("PAGESIM_UPDATE_SNAPSHOTS") == "1":
        path.write_text(shown, encoding="utf-8")
    assert shown == path.read_text(encoding="utf-8")


def test_words_stand_for_tokens_only_where_they_are_known() -> None:
    state = RunState(Geometry(8, 4))
    event = ev.HypothesisEnded(0, 1, 2, -700_000, 1)
    assert "end token token 1" not in explain(event, state)
    assert "the end token 1 " in explain(event, state)
    assert 'the end token "." ' in explainer({"words": ["cat", "."]})(event, state)
    assert "the end token 1 " in explainer({"words": ["cat", 7]})(event, state)
    assert "the end token 1 " in explainer({})(event, state)


def test_blocks_of_both_pools_have_their_names() -> None:
    geometry = Geometry(8, 4, 6)
    assert [block_name(block, geometry) for block in (0, 7, 8, 13)] == ["0", "7", "h0", "h5"]
    assert block_name(8, Geometry(8, 4)) == "8"
    assert (named(7, geometry), named(10, geometry)) == ("block 7", "host block h2")
    assert named_all((8, 9, 10, 13), geometry) == "host blocks h0 to h2 and h5"
    assert named_all((2,), geometry) == "block 2"
    assert named_all(range(8, 12), geometry) == "host blocks h0 to h3"


@pytest.mark.parametrize(
    ("blocks", "text"),
    [
        ((), "no block"),
        ((7,), "block 7"),
        ((7, 1, 3), "blocks 7, 1 and 3"),
        ((1, 2), "blocks 1 and 2"),
        (tuple(range(20)), "blocks 0 to 19"),
        ((9, 8, 7, 3), "blocks 9 to 7 and 3"),
        (range(5, 2000), "blocks 5 to 1999"),
        (range(2**62), f"blocks 0 to {2**62 - 1}"),
        (range(4, 4), "no block"),
        (tuple(range(0, 4000, 2)), "blocks 0, 2, 4, 6, 8, 10 and 1,994 more"),
    ],
)
def test_lists_of_blocks_are_short(blocks: ev.Blocks, text: str) -> None:
    assert listed(blocks) == text


def test_durations() -> None:
    times = [0, 8, 999, 1_000, 24_700_000, 999_999_999, 1_000_000_000, 36_251_000_000]
    texts = [
        "0 s",
        "8 ns",
        "999 ns",
        "0.001 ms",
        "24.700 ms",
        "1,000.000 ms",
        "1.000 s",
        "36.251 s",
    ]
    assert [duration(time) for time in times] == texts


# -- the command -----------------------------------------------------------------------------------------


def pagesim(*words: str | Path, **environ: str) -> subprocess.CompletedProcess[bytes]:
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "LC_ALL")}
    return subprocess.run(
        [sys.executable, "-m", "pagesim", "events", *map(str, words)],
        capture_output=True,
        env={**kept, **environ},
        timeout=120,
        check=False,
    )


@pytest.fixture
def log(tmp_path: Path) -> Path:
    geometry, events = made("forks_and_prefixes")
    path = tmp_path / "run.jsonl"
    with LogWriter(path, log_header(geometry)) as writer:
        for event in events:
            writer.apply(event)
    return path


def test_one_line_an_event_with_place_step_and_time(log: Path) -> None:
    result = pagesim(log, FORCE_COLOR="1")
    assert result.returncode == 0
    assert result.stderr == b""
    assert b"\x1b" not in result.stdout
    lines = result.stdout.decode().splitlines()
    entries = list(told(*made("forks_and_prefixes")))
    assert len(lines) == len(entries)
    number, running = -1, 0
    for place, (line, entry) in enumerate(zip(lines, entries, strict=True), start=1):
        number += isinstance(entry.event, ev.StepPlanned)
        words = line.split(maxsplit=5)
        running += isinstance(entry.event, ev.StepPlanned)
        when = "step" if running or number < 0 else "after"
        assert words[:3] == [f"e{place}", when, "-" if number < 0 else str(number)]
        running -= isinstance(entry.event, ev.StepDone)
        assert words[4] == "s"
        assert words[5] == entry.sentence


def test_json_is_one_array_and_says_the_same(log: Path) -> None:
    result = pagesim(log, "--json", FORCE_COLOR="1")
    assert result.returncode == 0
    assert result.stderr == b""
    assert b"\x1b" not in result.stdout
    array = json.loads(result.stdout)
    state = RunState(made("forks_and_prefixes")[0])
    events = read_log(log).events
    assert len(array) == len(events)
    for place, (entry, event) in enumerate(zip(array, events, strict=True), start=1):
        assert not isinstance(event, UnknownEvent)
        assert list(entry) == ["place", "step", "time_ns", "kind", "fields", "sentence"]
        assert (entry["place"], entry["kind"]) == (place, kind_of(event))
        assert entry["sentence"] == explain(event, state)
        assert list(entry["fields"]) == list(event._fields)
        state.apply(event)
        assert entry["time_ns"] == state.time_ns
    assert json.loads(pagesim(log, "--json", "--kind", "moved").stdout) == []


def test_filters(log: Path) -> None:
    events = made("forks_and_prefixes")[1]

    def places(*words: str) -> list[int]:
        result = pagesim(log, "--json", *words)
        assert result.returncode == 0, result.stderr
        return [entry["place"] for entry in json.loads(result.stdout)]

    of_kind = [
        i for i, e in enumerate(events, 1) if isinstance(e, ev.SequencePreempted | ev.BlockEvicted)
    ]
    assert places("--kind", "preempted", "--kind", "evicted") == of_kind
    assert places("--kind", "preempted", "--kind", "evicted", "--limit", "3") == of_kind[:3]
    steps = [i for i, e in enumerate(events, 1) if isinstance(e, ev.StepPlanned)]
    assert places("--from-step", "2", "--to-step", "3") == list(range(steps[2], steps[4]))
    assert places("--from-step", str(len(steps) - 1))[-1] == len(events)
    assert places("--to-step", "0") == list(range(1, steps[1]))
    seqs = {e.seq for e in events if isinstance(e, ev.RequestSubmitted) and e.request == "r3"}
    taken = [i for i, e in enumerate(events, 1) if isinstance(e, ev.BlocksTaken) and e.seq in seqs]
    assert places("--request", "r3", "--kind", "taken") == taken
    assert len(places("--request", "r3.1", "--kind", "taken")) < len(taken)
    refused = places("--request", "r5")
    assert [type(events[place - 1]) for place in refused] == [ev.RequestArrived, ev.RequestRefused]


def test_a_log_of_beams_is_told_with_its_words_and_by_sample(tmp_path: Path) -> None:
    log = write_story(tmp_path / "beams.jsonl", "beam-stops")
    lines = pagesim(log, "--request", "A.0", "--kind", "hypothesis").stdout.decode().splitlines()
    assert len(lines) == 1
    assert 'A.0 with the end token "." is a whole answer' in lines[0]
    told_of = [pagesim(log, "--json", "--request", name).stdout for name in ("A.0", "A.1", "A")]
    places = [{entry["place"] for entry in json.loads(text)} for text in told_of]
    assert places[0] | places[1] < places[2]
    chosen = {at for at, e in enumerate(read_log(log).events, 1) if isinstance(e, ev.BeamsChosen)}
    assert chosen <= places[0] & places[1]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--kind", "premepted"], "preempted"),
        (["--request", "r9"], "r0, r1, r2, r3, r4, r5"),
        (["--from-step", "999"], "steps 0 to"),
        (["--to-step", "-1"], "step -1"),
        (["--from-step", "5", "--to-step", "3"], "--from-step 5"),
        (["--limit", "0"], "--limit 0"),
    ],
)
def test_what_the_log_does_not_have_is_said_in_one_sentence(
    log: Path, words: list[str], named: str
) -> None:
    result = pagesim(log, *words)
    assert result.returncode == 2
    assert result.stdout == b""
    message = result.stderr.decode()
    assert message.startswith("pagesim: ")
    assert message.count("\n") == 1
    assert named in message


def test_nothing_found_is_said_beside_the_output(log: Path) -> None:
    result = pagesim(log, "--kind", "moved")
    assert result.returncode == 0
    assert result.stdout == b""
    assert result.stderr == b"note: no event of this log is like that\n"


def test_a_torn_last_line_warns_and_the_rest_is_told(log: Path) -> None:
    """H26: A torn last line is dropped with a warning; a bad line in the middle is named and counted."""
    lines = log.read_text().splitlines()
    log.write_text("\n".join([*lines[:-1], lines[-1][:6]]))
    for words in ([], ["--json"]):
        result = pagesim(log, *words)
        assert result.returncode == 0
        assert result.stderr.startswith(b"note: run.jsonl: the last line, ")
        assert result.stderr.count(b"\n") == 1
    assert len(json.loads(result.stdout)) == len(lines) - 2
    log.write_text("\n".join([*lines[:4], lines[4][:6], *lines[5:]]))
    result = pagesim(log)
    assert result.returncode == 2
    assert b"run.jsonl, line 5 is not an event" in result.stderr
    assert b"1 line is bad of" in result.stderr


def test_an_event_that_cannot_follow_is_named(log: Path) -> None:
    lines = log.read_text().splitlines()
    position = next(i for i, line in enumerate(lines) if line.startswith('["submitted"'))
    log.write_text("\n".join(lines[:position] + lines[position + 1 :]))
    result = pagesim(log, "--kind", "finished")
    assert result.returncode == 2
    assert b"does not follow from those before it" in result.stderr
    assert b"Traceback" not in result.stderr


def test_unknown_kinds_are_told_and_can_be_asked_for(log: Path) -> None:
    lines = log.read_text().splitlines()
    header = json.loads(lines[0])
    header["kinds"]["teleported"] = ["seq"]
    log.write_text("\n".join([json.dumps(header), *lines[1:], '["teleported",7]']) + "\n")
    (entry,) = json.loads(pagesim(log, "--json", "--kind", "teleported").stdout)
    assert entry["fields"] == [7]
    assert "does not know" in entry["sentence"]


@pytest.mark.parametrize(
    "environ",
    [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}],
)
def test_names_beyond_ascii_survive_ascii(tmp_path: Path, environ: dict[str, str]) -> None:
    path = tmp_path / "run.jsonl"
    with LogWriter(path, log_header(Geometry(8, 4))) as writer:
        writer.apply(ev.RequestSubmitted(0, "müller-\x1b[31m漢", 0, 5, 5, 0))
    result = pagesim(path, **environ)
    assert result.returncode == 0
    assert b"m?ller-?[31m? joins the waiting queue with 5 prompt tokens" in result.stdout
    assert b"\\u" not in result.stdout


def test_a_reader_that_goes_away_is_no_error(log: Path) -> None:
    command = f"{sys.executable} -m pagesim events {log} | head -n 1"
    result = subprocess.run(["bash", "-c", command], capture_output=True, check=False, timeout=60)
    assert result.stderr == b""
    assert result.stdout.count(b"\n") == 1
