"""Lesson 6: beam search: tables are re-pointed, dropped beams freed, and next to nothing is copied."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from pagesim.core import events as ev
from pagesim.core.types import BlockId, Geometry
from pagesim.planner.facts import model
from pagesim.planner.kv_cache import kv_bytes_per_token
from pagesim.practice.answers import Choice, Whole, Wholes
from pagesim.replay.phrases import joined, nats
from pagesim.replay.run_state import RunState
from pagesim.replay.sharing import SharingMeter
from pagesim.sim import paper
from pagesim.sim.paper_sharing import PRINTED
from pagesim.sim.simulate import Listener, simulate
from pagesim.sim.workloads import build_workload, with_samples
from pagesim.views.figures import counted, format_percent
from pagesim_lessons.lesson import (
    PAUSE,
    Ask,
    History,
    Lesson,
    Part,
    Remember,
    Say,
    Section,
    Show,
    Try,
)
from pagesim_lessons.pictures import figures
from pagesim_lessons.walk import MEMORY, TABLES, Walk

REQUESTS = 20
"""Requests that savings and copies are measured with."""
WIDTHS = (2, 4, 6)
LONG = 500
"""Tokens of a text such as people write."""
MID_BLOCK = """
[memory]
blocks = 24
block_size = 16

[[request]]
id = "A"
beams = 6
prompt = 37
outputs = 3
"""


def script() -> Iterator[Part]:
    yield from _searching()
    yield from _first_drop()
    yield from _figure_9()
    yield from _inside_a_block()
    yield from _copying()
    yield from _closing()


# -- the search ------------------------------------------------------------------------------------------


def chosen(walk: Walk) -> ev.BeamsChosen:
    """Go to the next choice that drops a beam."""
    while True:
        event = walk.until("beams_chosen")
        assert isinstance(event, ev.BeamsChosen)
        if len(walk.running) == len(event.seqs) and set(event.seqs) - set(event.parents):
            return event  # not the first choice, where one sequence becomes many


def dropped(walk: Walk, event: ev.BeamsChosen) -> list[str]:
    return [name_of(walk, seq) for seq in event.seqs if seq not in event.parents]


def name_of(walk: Walk, seq: int) -> str:
    return walk.state.sequences[seq].name


def _searching() -> Iterator[Part]:
    walk = Walk.of("figure-9")
    first = walk.until("beams_chosen")
    assert isinstance(first, ev.BeamsChosen)
    width = len(first.seqs)
    assert set(first.parents) == {first.seqs[0]}
    yield Section("What a beam is")
    yield Say(f"""
        A sample draws its tokens. Beam search looks for the text that the model thinks most likely. It keeps the k best
        texts found so far, which are called beams. In each step every beam proposes its next tokens; of all the
        proposals the k best are kept, and become the beams of the next step.

        So one beam may go on several times, in different ways. Another may not go on at all: its proposals are not
        among the best. It is dropped, and its place goes to a better one.

        Figure 9 of the paper searches with k = {width} beams. A text's score is its log-probability, in nats: never
        above 0, and the closer to it the better.
    """)
    yield PAUSE
    walk.until("shared")
    walk.until("shared")
    walk.until("shared")
    prompt = walk.table("A.0")
    assert all(walk.table(name) == prompt for name in walk.running)
    rows = [
        (name_of(walk, seq), f'"{walk.word(token)}"', nats(logprob))
        for seq, token, logprob in zip(first.seqs, first.tokens, first.logprobs, strict=True)
    ]
    yield Show(
        figures(("beam", "first word", "score"), rows, left=2), "The prompt's best continuations:"
    )
    yield Show(walk.picture(says=False), "They start as forks of one sequence, as in Lesson 5:")
    yield PAUSE


def _first_drop() -> Iterator[Part]:
    walk = Walk.of("figure-9")
    event = chosen(walk)
    gone = dropped(walk, event)
    best = max(set(event.parents), key=list(event.parents).count)
    times = event.parents.count(best)
    parent = name_of(walk, best)
    assert times > 2
    yield Section("A beam is dropped")
    yield Say(f"""
        For a few steps each beam goes on once, and takes blocks of its own. Then comes the choice after step
        {walk.state.step}: {parent} has the {times} best continuations, and {joined(gone)} have none that is good
        enough.
    """)
    yield Show(walk.picture(MEMORY, TABLES))
    yield PAUSE
    size, length, table = walk.geometry.block_size, walk.written(parent), walk.table(parent)
    before = {name: set(walk.table(name)) for name in walk.running}
    lost = {block for name in gone for block in before[name]}
    kept = {block for name in before if name not in gone for block in before[name]}
    place = walk.place
    walk.until("planned")
    copies = _between(walk, place, "copied")
    assert not copies
    yield Ask(
        f"""{gone[0]} is to go on as {parent}: with its {length} tokens, in {counted(len(table), "block")} of {size}.
        What happens to the memory?""",
        Choice(
            (
                f"The K and V of {parent}'s {length} tokens are copied into {gone[0]}'s blocks.",
                f"{gone[0]} keeps its blocks, and attention looks up {parent}'s tokens when it needs them.",
                f"{gone[0]} gives its blocks back, and its table becomes a copy of {parent}'s table.",
            ),
            2,
            (
                "that is what it would take without tables: here the same blocks can be named twice",
                "attention reads what the table says; nobody else is asked",
                "",
            ),
        ),
        f"""{gone[0]}'s old text is of no use any more: its blocks lose a reference each, and those that nobody else
        lists are free. Then it is a fork of {parent}, as in Lesson 5. A table is re-pointed; no K or V moves.""",
        "What did a fork cost in Lesson 5?",
    )
    yield Show(
        walk.picture(MEMORY, TABLES, only=sorted(lost - kept)),
        "Just before the next step runs; the marks are where dropped beams were:",
    )
    yield Say(f"""
        {joined(gone)} list {parent}'s first {len(table)} blocks now. What only they had listed went back to the pool:
        blocks {joined([str(b) for b in sorted(lost - kept)])}. Then everybody took a block of its own for the next
        word.
    """)
    yield PAUSE


def _between(walk: Walk, place: int, *kinds: str) -> list[ev.Event]:
    """Events of these kinds from ``place`` to where the walk is."""
    there = {ev.KINDS[kind] for kind in kinds}
    return [event for event in walk.events[place : walk.place] if type(event) in there]


# -- the paper's moment ----------------------------------------------------------------------------------


def _figure_9() -> Iterator[Part]:
    walk = Walk.of("figure-9")
    chosen(walk)
    earlier = walk.state.step
    event = chosen(walk)
    steps = walk.state.step - earlier
    names = [name_of(walk, seq) for seq in event.seqs]
    gone = dropped(walk, event)
    yield Section("The moment of Figure 9")
    yield Say(f"""
        {counted(steps, "step")} later, this is the moment that the paper draws. The beams have {walk.written(names[0])}
        tokens each. The best continuations all come from {joined(sorted(set(names) - set(gone)))}.
    """)
    yield Show(walk.picture(MEMORY, TABLES))
    tables = {name: walk.table(name) for name in names}
    free = freed_by_dropping(tables, gone)
    place = walk.place
    while len(_between(walk, place, "freed")) < len(gone):
        walk.until("freed")
    real = [
        b
        for e in _between(walk, place, "freed")
        if isinstance(e, ev.TableFreed)
        for b in e.released
    ]
    assert sorted(real) == free
    kept = [block for block in tables[gone[0]] if block not in free]
    yield Ask(
        f"{joined(gone)} are dropped. Which blocks become free?",
        Wholes(free, "block ids", ordered=False),
        f"""Those that no other beam lists. {gone[0]}'s table is {tables[gone[0]]}, but
        {joined([str(b) for b in kept])} are in the tables of beams that go on; {gone[-1]}'s is {tables[gone[-1]]}.""",
        "Go through the tables of the dropped beams, and leave out what a beam that goes on lists, too.",
    )
    yield from _after(walk, names, place, free)


def freed_by_dropping(tables: dict[str, list[BlockId]], gone: Sequence[str]) -> list[BlockId]:
    """Blocks that only the dropped list."""
    kept = {block for name, table in tables.items() if name not in gone for block in table}
    return sorted({block for name in gone for block in tables[name]} - kept)


def _after(walk: Walk, names: Sequence[str], place: int, free: list[BlockId]) -> Iterator[Part]:
    walk.until("planned")
    taken = [
        b for e in _between(walk, place, "taken") if isinstance(e, ev.BlocksTaken) for b in e.blocks
    ]
    assert len(taken) == len(names)
    assert not set(taken) & set(free)
    yield Show(walk.picture(MEMORY, TABLES, only=[*taken, *free]), "And when the next step runs:")
    by_all = [b for b in walk.table(names[0]) if walk.count(b) == len(names)]
    by_two = [b for name in names for b in walk.table(name) if walk.count(b) == 2]
    pairs = {
        block: [name for name in names if block in walk.table(name)] for block in sorted(by_two)
    }
    told = joined([f"block {b} by {joined(listed)}" for b, listed in pairs.items()])
    yield Say(f"""
        Blocks {joined([str(b) for b in by_all])} are listed by all, {told}. The tables look like a tree read from its
        leaves: what texts have in common is there once. Each beam took one new block for its own next word:
        {joined([str(b) for b in taken])}.
    """)
    copies = len(_between(walk, place, "copied"))
    yield Ask(
        "How many blocks were copied, from the choice to here?",
        Whole(copies, "blocks"),
        f"""Every beam stood at the end of a full block: {walk.written(names[0]) - 1} tokens before this step, in blocks
        of {walk.geometry.block_size}. The next word lies in a new block, which nobody shares.""",
        "When does a fork lead to a copy, after Lesson 5? How full were the last blocks?",
    )


# -- copy-on-write, and what copying all would cost ------------------------------------------------------


def _inside_a_block() -> Iterator[Part]:
    story = Walk.of("figure-9").story
    twice, slots = 2 * story.memory.block_size, 2 * story.memory.num_slots
    memory = replace(story.memory, block_size=twice, num_slots=slots)
    walk = Walk(replace(story, memory=memory, free_order=None))
    event = chosen(walk)
    size = walk.geometry.block_size
    best = max(set(event.parents), key=list(event.parents).count)
    times, parent = event.parents.count(best), name_of(walk, best)
    length, last = walk.written(parent), walk.table(parent)[-1]
    rest = length % size
    assert rest
    yield Section("Beams that part within a block")
    yield Say(f"""
        The figure's blocks have {story.memory.block_size} slots, and its beams part where a block is full. With blocks
        of {size}, the same search parts within one. This is the first drop again: {parent} goes on {times} times.
    """)
    yield Show(walk.picture(MEMORY, TABLES, says=False))
    place = walk.place
    walk.until("planned")
    copies = [e for e in _between(walk, place, "copied") if isinstance(e, ev.BlockCopied)]
    assert len(copies) == times - 1
    assert {copy.source for copy in copies} == {last}
    assert {copy.slots for copy in copies} == {rest}
    yield Ask(
        f"""{parent} has {length} tokens, so its last block, {last}, is partly filled. How many blocks are copied when
        its {times} continuations are written?""",
        Whole(len(copies), "blocks"),
        f"""It is copy-on-write, as with samples: all but the last writer take a copy, {times} - 1 = {len(copies)}, each
        of the {rest} slots that are written.""",
        f"Block {last} stands in {times} tables now. Go through the writers.",
    )
    yield Show(walk.picture(MEMORY, TABLES))
    yield Say("""
        So a beam that changes its parent costs at most one block: the last one, and only if it is partly filled. How
        long its text is does not matter.
    """)
    yield PAUSE


class Moves(NamedTuple):
    """What searches moved: beams that became forks of others, the tokens these had, and slots copied in fact."""

    moved: int
    tokens: int
    copied: int
    steps: int
    saving: float


class _MoveMeter:
    def __init__(self, geometry: Geometry) -> None:
        self.state = RunState(geometry)
        self.moved = self.tokens = self.copied = self.steps = 0

    def apply(self, event: ev.Event) -> None:
        if isinstance(event, ev.BeamsChosen):
            for seq, parent in zip(event.seqs, event.parents, strict=True):
                if seq != parent:
                    self.moved += 1
                    self.tokens += self.state.sequences[parent].written
        elif isinstance(event, ev.BlockCopied):
            self.copied += event.slots
        self.steps += isinstance(event, ev.StepPlanned)
        self.state.apply(event)


@cache
def measured(width: int, *, beam: bool) -> Moves:
    """Serve some of Alpaca's requests by the paper's rules."""
    lengths = build_workload(
        "alpaca", requests=REQUESTS, rate=None, seed=0, max_model_len=paper.MAX_MODEL_LEN
    )
    workload = with_samples(lengths, width, beam=beam)
    moves: list[_MoveMeter] = []
    meters: list[SharingMeter] = []

    def watch(geometry: Geometry) -> list[Listener]:
        moves.append(_MoveMeter(geometry))
        meters.append(SharingMeter(geometry))
        return [moves[0], meters[0]]

    simulate(workload, "paged", paper.settings(), watch=watch)
    found = moves[0]
    return Moves(found.moved, found.tokens, found.copied, found.steps, float(meters[0].saving or 0))


def _copying() -> Iterator[Part]:
    walk = Walk.of("figure-9")
    chosen(walk)
    event = chosen(walk)
    moving = sum(seq != parent for seq, parent in zip(event.seqs, event.parents, strict=True))
    length, size = walk.written(name_of(walk, event.parents[0])), walk.geometry.block_size
    slots = moving * length
    each = kv_bytes_per_token(model(paper.MODEL))
    yield Section("What copying would have cost")
    yield Say(f"""
        Where a sequence lies in one slab, a beam that takes another's place has to copy that one's whole slab. In
        Figure 9, {moving} beams did so, and each parent had {length} tokens.
    """)
    yield Ask(
        "How many slots would have been copied, at that one choice, with a slab for each beam?",
        Whole(slots, "slots"),
        f"""{moving} x {length} = {slots}, or {slots // size} blocks of {size}; and the tables copied none. For OPT-13B
        that would be {slots * each / 2**20:.1f} MiB; and with texts of {LONG} tokens in place of
        {length}, {moving * LONG * each / 2**20:,.0f} MiB, for one word.""",
        "Each of the beams that moved copies all the tokens of its parent.",
    )
    yield from _savings(each)


def _savings(each: int) -> Iterator[Part]:
    beams = {width: measured(width, beam=True) for width in WIDTHS}
    drawn = {width: measured(width, beam=False) for width in WIDTHS}
    rows = [
        (
            f"{width}",
            f"{b.moved / b.steps:.1f}",
            f"{b.tokens * each / b.steps / 2**20:,.0f} MiB",
            f"{b.copied * each / b.steps / 2**20:,.0f} MiB",
            f"{b.tokens / b.copied:.0f}",
        )
        for width, b in beams.items()
    ]
    assert all(b.tokens > 4 * b.copied for b in beams.values())
    yield Say(f"""
        Now {REQUESTS} requests of Alpaca's lengths, served together by OPT-13B. All their searches count, means of a
        step:
    """)
    yield Show(
        figures(
            (
                "beams\neach",
                "beams\nre-pointed",
                "slabs would\ncopy",
                "copy-on-write\ncopies",
                "times\nless",
            ),
            rows,
            left=0,
        )
    )
    yield PAUSE
    share = {way: [m.saving for m in found.values()] for way, found in (("b", beams), ("s", drawn))}
    assert all(b > 3 * s for b, s in zip(share["b"], share["s"], strict=True))
    assert share["b"] == sorted(share["b"])
    yield Ask(
        "Beams share more than their prompt. Do they save a larger or a smaller share of blocks than parallel samples?",
        Choice(
            (
                "Smaller: beams are dropped all the time, so that nothing stays shared for long.",
                "About the same: what is shared is the prompt, in both.",
                "Larger: the best beams have a common past, and much of it is recent.",
            ),
            2,
            (
                "what is dropped is freed, and what replaces it is shared: dropping makes sharing",
                "samples part for ever with their first word; beams come together again at each choice",
                "",
            ),
        ),
        "Whenever a beam takes another's place, the two share everything up to that step again.",
        "What have a beam and the one that took its parent's other continuation in common?",
    )
    yield Show(
        figures(
            ("blocks saved with", *(f"n = {width}" for width in WIDTHS)),
            [
                ("parallel samples", *(format_percent(100 * m.saving) for m in drawn.values())),
                ("beams", *(format_percent(100 * m.saving) for m in beams.values())),
            ],
        ),
        "The same requests, measured:",
    )
    low, high = PRINTED["alpaca", True]
    yield Say(f"""
        The paper measured {low} to {high} % for beams on Alpaca. Ours are of the same kind, not the same: where beams
        part is up to the model, and here candidates are drawn with made-up probabilities.
    """)
    yield PAUSE


# -- closing ---------------------------------------------------------------------------------------------


def _closing() -> Iterator[Part]:
    yield History("""
        Beam search with shared blocks belongs to the paper and to vLLM V0. The core of V1 knows no beams: there, beam
        search is a loop around the engine, which asks for one token of each beam at a time, and finds the
        beams' common past in the prefix cache (Lesson 7). Again only full blocks are shared, and nothing is copied.
    """)
    yield Try(
        "pagesim run figure-9 --view",
        "Step through the choices; in the tables, dropped beams take over others' blocks.",
    )
    yield Try("pagesim run beam-stops", "How answers end, and when a search may stop.")
    yield Try(
        "pagesim run --samples 4 --beam alpaca --requests 100",
        "A whole workload of searches.",
    )
    yield PAUSE
    yield Remember(
        (
            "In each step the k best continuations of all beams go on: a beam may go on several times, or be dropped.",
            "A beam that takes another's place gets a copy of its table. K and V stay where they are.",
            "A dropped beam frees those of its blocks that no other beam lists.",
            "At most the last, partly filled block is copied, by copy-on-write, however long the text is.",
            "Beams share much more than samples do: their common past, which each choice renews.",
        )
    )
    yield from _questions()


def _questions() -> Iterator[Part]:
    yield Ask(
        "Somebody says: beam search copies KV cache all the time, since beams keep switching. What is true of it?",
        Choice(
            (
                "All of it: the K and V of a beam that switches must be made equal to its parent's.",
                "Beams switch often, but then a table is copied, and at most one partly filled block.",
                "None of it: beams never switch, as each keeps its own blocks to the end.",
            ),
            1,
            (
                "they are equal as soon as both tables name the same blocks",
                "",
                "a dropped beam's place goes to a fork of another, so its table changes",
            ),
        ),
        "Tables are re-pointed; the K and V stay. Only a partly filled last block is copied, when it is written.",
        "Think of Figure 9: what changed, and what was copied?",
    )
    tables = {"X": [0, 1, 5, 8], "Y": [0, 2, 6, 9], "Z": [0, 2, 7, 3]}
    gone = ["X", "Z"]
    free = freed_by_dropping(tables, gone)
    shown = ", ".join(f"{name}: {table}" for name, table in tables.items())
    yield Ask(
        f"Three beams have these tables: {shown}. {joined(gone)} are dropped. Which blocks become free?",
        Wholes(free, "block ids", ordered=False),
        f"""All that {joined(gone)} list, but for those in Y's table: {tables["Y"]}.""",
        "A block stays if one beam that goes on lists it.",
    )
    walk = Walk.told("six beams", MID_BLOCK)
    walk.until("beams_chosen")
    beams, size, length = (
        len(walk.of_kind("submitted")),
        walk.geometry.block_size,
        walk.written("A.0"),
    )
    place = walk.place
    walk.until("planned")
    slots = sum(e.slots for e in _between(walk, place, "copied") if isinstance(e, ev.BlockCopied))
    yield Ask(
        f"""A beam has {length} tokens in the cache, in blocks of {size}. It alone goes on, {beams} times; all others
        are dropped. How many slots are copied when the {beams} next words are written?""",
        Whole(slots, "slots"),
        f"""{length} % {size} = {length % size} slots of the last block are written. All writers but the last copy them:
        {beams - 1} x {length % size} = {slots}. Slabs would have copied {beams - 1} x {length} =
        {(beams - 1) * length}.""",
        "How full is the last block, and how many of the writers find that others list it?",
    )


LESSON = Lesson(
    6,
    "beam-search",
    "Beam search: re-pointing tables",
    "Beams switch by copying a table, not K and V; dropped beams free what nobody else lists.",
    11,
    5,
    script,
)
