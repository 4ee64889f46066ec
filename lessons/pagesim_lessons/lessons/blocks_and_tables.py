"""Lesson 3: paging from operating systems, term by term, and where the likeness ends; the server of Lesson 2, paged."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from rich.console import Group
from rich.text import Text

from pagesim.core import events as ev
from pagesim.core.request import Request
from pagesim.core.types import Geometry, blocks_for
from pagesim.planner.facts import model
from pagesim.planner.kv_cache import cache_layout, kv_bytes_per_token
from pagesim.planner.units import format_bytes, format_gib
from pagesim.practice.answers import Choice, Whole, YesNo
from pagesim.replay.memory_map import MemoryMap, MomentCollector
from pagesim.replay.report import RunReport
from pagesim.replay.run_state import RunState
from pagesim.replay.waste import WasteSplit
from pagesim.sim import paper
from pagesim.sim.scenario import load_scenario
from pagesim.sim.simulate import simulate
from pagesim.sim.workload import Workload
from pagesim.sim.workloads import build_workload
from pagesim.views.figures import counted, format_duration, format_durations
from pagesim.views.map_grid import MapGrid, NamedMap
from pagesim.views.waste_bar import LabelledSplit, WasteBars
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
from pagesim_lessons.walk import MEMORY, QUEUES, TABLES, Walk

REQUESTS, SHORT_REQUESTS = 300, 600
SMALL = 4
"""Slots of a block in the small stories."""
SIZES = (1, 4, 16, 64, 256)
RUN_SIZES = SIZES[1:]
"""Blocks of one slot are in the table by arithmetic only: that run takes long, and shows little more."""
MEAN_LENGTH = 458
"""The mean length that the paper's artifact goes with (``paper.LAST_BLOCK``)."""
TERMS = (
    ("process", "sequence", "a request has one, or several"),
    ("byte of its memory", "token", "K and V of it, in all layers"),
    ("virtual address", "position in the sequence", "from 0 on"),
    ("page", "logical block", "B positions in a row"),
    ("page frame", "block (physical block)", "B slots, anywhere in the pool"),
    ("page table", "block table", "one for each sequence"),
    ("offset in the page", "pos % B", "the same in both"),
    ("list of free frames", "queue of free blocks", "any of them will do"),
    ("copy-on-write, fork", "the same", "Lesson 5"),
    ("swapping to disk", "swapping to the host", "Lesson 8: whole sequences"),
    ("MMU and TLB", "nothing", "the kernel reads the table"),
    ("page fault", "nothing", "the scheduler is ahead of it"),
)


def script() -> Iterator[Part]:
    yield from _an_old_idea()
    yield from _the_same_server()
    found = served()
    yield from _where_it_ends(found)
    yield from _the_papers_setting(found)
    yield from _how_large()
    yield from _closing()


def paged(name: str) -> Walk:
    """A shipped story of slabs, with the same requests and slots, but paged."""
    story = load_scenario(name)
    memory = replace(story.memory, block_size=SMALL, keep_unkeyed_first=False)
    return Walk(replace(story, allocator="paged", memory=memory))


# -- the idea --------------------------------------------------------------------------------------------


def _an_old_idea() -> Iterator[Part]:
    yield Section("An old idea, term by term")
    yield Say("""
        What if a request need not be in one piece? Operating systems asked this long ago. Programs, too, were once
        given one piece of memory each, as large as they might become, and left holes behind.

        The answer was paging. Memory is cut into frames of one size, and each program into pages of that size. A page
        may lie in any frame; a table says in which.

        PagedAttention does the same with K and V. The pool of slots is cut into blocks of B slots. A sequence takes one
        block at a time, when it needs it, and any free block will do. Its block table says where they are. The block
        manager hands them out when the scheduler asks.
    """)
    yield Ask(
        "Before we look: all pieces have one size, and any of them will do. Which waste of Lesson 2 can no longer be?",
        Choice(
            (
                "external: free memory that is of no use because it is in pieces",
                "internal: memory that is held and never filled",
                "both: every slot is now in use, or can be had",
            ),
            0,
            (
                "",
                "a block is handed out whole, even where only a part of it is needed",
                "a block is handed out whole, so some slots are still held and not filled",
            ),
        ),
        "A request that needs a block can have any that is free. No hole is too small.",
        "When does a free block fail to help somebody who needs a block?",
    )
    rows = [(old, new, more) for old, new, more in TERMS]
    yield Show(figures(("operating system", "paged K and V", ""), rows, left=3), "Term by term:")
    yield PAUSE
    yield Ask(
        "Which one corresponds to a page frame?",
        Choice(
            ("a slot", "a logical block", "a physical block", "a block table"),
            2,
            (
                "a slot is for one token: the counterpart of a byte",
                "that is the page: the part of the sequence that is to be stored somewhere",
                "",
                "that is the table itself",
            ),
        ),
        """A frame is a place in memory; a page, which is a part of a program, lies in it. Where this course says just
        block, it means the place: the physical block.""",
        "A frame is a place. Which of these is a place, and as large as a page?",
    )


# -- the server of lesson 2 ------------------------------------------------------------------------------


def _the_same_server() -> Iterator[Part]:
    slabs, walk = Walk.of("slabs-max"), paged("slabs-max")
    blocks = walk.geometry.num_blocks
    requests = [each for _, each in walk.story.arrivals if isinstance(each, Request)]
    prompt, output = len(requests[0].prompt), requests[0].max_tokens
    slabs.step()
    walk.step()
    assert len(slabs.running) < len(requests)
    yield Section("The same server, with blocks")
    yield Say(f"""
        Lesson 2's first server again: {walk.geometry.num_slots} slots, {counted(len(requests), "request")} with prompts
        of {prompt} tokens and {output} output tokens. With slabs, {len(slabs.running)} of them could start. Now the
        slots are {blocks} blocks of {SMALL}.
    """)
    yield Ask(
        f"Does {requests[-1].id}, the last one, start in step {0}?",
        YesNo(value=not walk.waiting),
        f"""A prompt of {prompt} tokens takes {prompt} / {SMALL}, rounded up: {counted(len(walk.table("r1")), "block")}.
        {len(requests)} of {blocks} blocks are taken.""",
        f"How many blocks does a prompt of {prompt} tokens need now?",
    )
    yield Show(
        walk.picture(MEMORY, TABLES, QUEUES),
        """A cell is now a block, below its number, and the letter says whose. Then come the block tables, and the
        queue:""",
    )
    yield PAUSE
    walk.until("freed")
    walk.to_step(walk.state.step)
    each = len(walk.table("r1"))
    written = walk.written("r1")
    fit, had = blocks // each, slabs.geometry.num_slots // slabs.story.scheduler.max_model_len
    yield Show(walk.picture(MEMORY, TABLES), f"Step {walk.state.step}, their last one:")
    yield Ask(
        f"""With slabs, {had} requests fitted into this memory. Now each holds {each} blocks at its end. How many such
        requests fit, even if all are at their end at once?""",
        Whole(fit, "requests"),
        f"{blocks} / {each} = {fit}. A slab took {slabs.story.scheduler.max_model_len} slots for the same tokens.",
        f"How many blocks are there, and how many does a request of {written} tokens take?",
    )
    yield from _no_holes()


def _no_holes() -> Iterator[Part]:
    slabs, walk = Walk.of("fragmentation"), paged("fragmentation")
    slabs.until("admitted", name="d")
    slabs.step()
    walk.until("freed", name="a")
    walk.until("freed", name="c")
    yield Say(f"""
        And the holes? Lesson 2's story with a, b, c and d, in {walk.geometry.num_blocks} blocks of {SMALL}.
    """)
    yield Show(walk.picture(MEMORY), "a and c end:")
    walk.until("admitted", name="d")
    walk.step()
    table = walk.table("d")
    assert walk.state.step < slabs.state.step
    assert any(abs(b - a) > 1 for a, b in pairwise(table))
    yield Show(walk.picture(MEMORY, TABLES), "d starts at once:")
    yield Say(f"""
        With slabs d had to wait until step {slabs.state.step}; now it starts in step {walk.state.step}. Its blocks,
        {table[0]} and {table[1]}, are no neighbours, and nobody minds.
    """)
    yield PAUSE


# -- where the analogy ends ------------------------------------------------------------------------------


def _where_it_ends(found: "Served") -> Iterator[Part]:
    walk = Walk.of("figure-6")
    walk.step()
    walk.until("taken")
    first = walk.place
    lines = [walk.explain(place) for place in range(first, first + 3)]
    kinds = [type(event) for event in walk.events[first - 1 : first + 2]]
    assert kinds == [ev.BlocksTaken, ev.StepPlanned, ev.StepDone]
    yield Section("Where the likeness ends")
    yield Say("""
        When a program touches an address whose page is not there, the processor stops it, and the operating system
        fetches the page: a page fault. Memory comes after it was touched.
    """)
    yield Ask(
        """A sequence's last block is full, and its next token needs a slot. When does it get the block?""",
        Choice(
            (
                "When the kernel writes to it: the GPU faults, and the block manager is called.",
                "Before the step: the scheduler asks for it when it plans the step.",
                "After the step: the token waits in a register until a block is found.",
                "It has it already: blocks for the whole answer were set aside at the start.",
            ),
            1,
            (
                "nobody could answer a fault in the midst of a kernel; and nobody has to",
                "",
                "the step needs the slot: it writes K and V, and then reads them",
                "that would be a slab, in pieces",
            ),
        ),
        """The scheduler knows how many tokens each sequence adds in a step, and asks for their slots beforehand. When
        the kernel (the program on the GPU) starts, every slot that it writes is there.""",
        "Is it known before a step how many tokens it adds to a sequence?",
    )
    yield Show(
        Group(*map(Text, lines)),
        "Three events of the paper's Figure 6, in order (in small stories each step takes one millisecond):",
    )
    assert found.num_faults == 0
    ends = [event.time_ns for event in walk.events if isinstance(event, ev.StepDone)]
    assert all(b - a == 10**6 for a, b in pairwise(ends))
    yield Say(f"""
        First the block, then the step. We also watched the run of {REQUESTS} requests that comes next: never once in
        its {found.paged.num_steps:,} steps did a sequence have a token without a slot.
    """)
    yield PAUSE
    yield from _three_differences()


def _three_differences() -> Iterator[Part]:
    walk = Walk.of("preemption")
    walk.until("preempted")
    yield Say("""
        Three things are different, then:

        - Nothing faults.
        - No hardware translates. A block table is an array in the GPU's memory, and the attention kernel reads it
        itself. PagedAttention needed a kernel of its own for that (Lesson 10).
        - All or nothing. A program can run while most of its pages are away. Attention reads all earlier K and V in
        every step, so a sequence that runs needs all of its blocks.

        If no block is free, the scheduler takes everything from one sequence. That is preemption, and Lesson 8 is about
        it. It reads like this:
    """)
    yield Show(walk.picture(MEMORY))
    yield PAUSE


# -- the paper's setting ---------------------------------------------------------------------------------


def _the_papers_setting(found: "Served") -> Iterator[Part]:
    by_max, oracle, pages = found.by_max, found.oracle, found.paged
    at_once = round(_at_once(pages))
    served = [each.request for each in paper.workload(REQUESTS, 0, None).arrivals]
    slots = paper.settings().memory.num_slots
    prompts_only = slots * len(served) // sum(len(request.prompt) for request in served)
    lengths = _lengths(paper.workload(REQUESTS, 0, None))
    full_length = slots // round(sum(lengths) / len(lengths))
    assert round(2 * _at_once(by_max)) < at_once < prompts_only
    assert full_length < _at_once(pages)
    yield Section("In the paper's setting")
    yield Say(f"""
        The server of the paper, now with blocks of {paper.BLOCK_SIZE}: {slots:,} slots and the same {REQUESTS}
        requests. Reserving the maximum it served {_at_once(by_max):.0f} at once; knowing every length,
        {_at_once(oracle):.1f}.
    """)
    yield Ask(
        "And paged, on average?",
        Choice(
            (
                f"about {2 * _at_once(by_max):.0f}",
                f"about {at_once}",
                f"about {prompts_only}",
            ),
            1,
            (
                "that is hardly more than the oracle with its slabs, and there most of the memory was empty",
                "",
                "so many prompts would fit; but answers take slots, too",
            ),
        ),
        f"""{_at_once(pages):.1f}: {_at_once(pages) / _at_once(by_max):.1f} times as many as with the maximum reserved,
        and {_at_once(pages) / _at_once(oracle):.1f} times as many as the oracle's (in the paper
        {paper.FIGURE_13A["paged"][0]}, and {paper.FIGURE_13A["oracle"][0]} for the oracle). That is more than the
        {full_length} that Lesson {1} counted, as most have not reached their full length yet.""",
        "If nearly every slot holds a token: how many tokens does a request have, half way through its answer?",
    )
    when = format_duration(found.shown.time_ns / 1e9)
    yield Show(
        MapGrid([NamedMap("paged", "", found.shown)]),
        f"The memory after {when}. Unlike with the slabs of Lesson 2, hardly a cell is empty:",
    )
    yield PAUSE
    yield from _what_is_left(found)


def _what_is_left(found: "Served") -> Iterator[Part]:
    split = _split(found.paged).percent()
    kept = paper.settings().scheduler_config("paged", found.shown.geometry).watermark_blocks
    assert split["used"] > 95
    assert split["reserved"] + split["internal"] < 3
    rows = [LabelledSplit(name, _split(report)) for name, report in found.by_name.items()]
    yield Show(WasteBars(rows, kv_bytes_per_token(model(paper.MODEL))))
    yield PAUSE
    yield Say(f"""
        {split["used"]:.1f} % of the memory holds tokens. Reserved and internal are together
        {split["reserved"] + split["internal"]:.1f} %: the empty ends of last blocks.

        External is {split["external"]:.1f} %. Should it not be {0}? These blocks are idle while somebody waits, so they
        count there. But none is a hole: any can go to anybody. {kept} are kept back on purpose when a request is
        admitted (the watermark, Lesson 8), and the prompt at the head of the queue may be longer than what is free.
    """)
    yield PAUSE
    yield from _why_quicker(found)


def _why_quicker(found: "Served") -> Iterator[Part]:
    reports = list(found.by_name.values())
    times = format_durations([report.duration_s for report in reports])
    figures_of = [
        (
            name,
            f"{_at_once(report):.1f}",
            f"{report.output_tokens_per_s:,.0f}",
            time,
            f"{report.num_preemptions:,}",
        )
        for (name, report), time in zip(found.by_name.items(), times, strict=True)
    ]
    heads = ("", "requests\nat once", "tokens\na second", "all served\nafter", "preempted\n(times)")
    yield Show(figures(heads, figures_of), "What it means for those who wait:")
    assert reports[-1].num_preemptions > 0
    yield Ask(
        f"Why are the same requests served after {times[-1]} instead of {times[0]}?",
        Choice(
            (
                "Paging makes attention faster.",
                "More requests share each reading of the weights.",
                "Fewer tokens are computed.",
            ),
            1,
            (
                "reading through a table is no faster; the paper's first kernel was even slower",
                "",
                "they are the same requests; some tokens are even computed twice, after a preemption",
            ),
        ),
        """The batch is larger (Lesson 1). The win of PagedAttention is memory, not a faster kernel. But as nobody
        reserves, the memory can run out: the last column counts how often somebody had to give way.""",
        "Which of Lesson 1's figures grew with the number of requests at once?",
    )


# -- block size ------------------------------------------------------------------------------------------


def _how_large() -> Iterator[Part]:
    size = paper.BLOCK_SIZE
    empties = [blocks_for(length, size) * size - length for length in range(1, size + 1)]
    mean_empty = sum(empties) / size
    assert mean_empty == (size - 1) / 2
    yield Section("How large a block?")
    yield Say("""
        A sequence fills its blocks from the front, so only its last block can have empty slots, however long it is.
    """)
    yield Ask(
        f"Blocks of {size}, and all lengths are equally likely. How many slots of a sequence are empty on average?",
        Choice(
            ("0", f"{mean_empty:g}", f"{size // 2}", f"{size - 1}"),
            1,
            (
                "only a sequence that just fills its last block has none",
                "",
                f"close; but count: {size} possible fillings leave 0 to {size - 1} slots empty",
                "that is the worst case: one token in its last block",
            ),
        ),
        f"""The last block holds 1 to {size} tokens, and leaves {size - 1} to 0 slots empty:
        ({" + ".join(map(str, empties[:2]))} + ... + {empties[-1]}) / {size} = {mean_empty:g}, or (B - 1) / {2}.""",
        f"What does a last block leave that holds one token? And one that holds {size}?",
    )
    opt = model(paper.MODEL)
    layout = cache_layout(opt)
    rows = [
        (
            f"{each}",
            f"{(each - 1) / 2:g}",
            f"{100 * MEAN_LENGTH / (MEAN_LENGTH + (each - 1) / 2):.1f} %",
            f"{blocks_for(opt.max_position, each):,}",
            format_bytes(layout.block_bytes(each)),
        )
        for each in SIZES
    ]
    heads = (
        "B", "empty slots\non average", f"used, at a mean\nof {MEAN_LENGTH} tokens",
        f"table entries for\n{opt.max_position:,} tokens", "bytes of\na block",
    )  # fmt: skip
    yield Show(figures(heads, rows, left=0), "By arithmetic:")
    yield Say(f"""
        The bytes are those of all {opt.num_layers} layers. One block id stands for a place in the tensors of every
        layer: there is one table a sequence, not one a layer.
    """)
    yield PAUSE
    yield from _by_running()


def _by_running() -> Iterator[Part]:
    chats = paper.workload(REQUESTS, 0, None)
    short = build_workload(
        "alpaca", requests=SHORT_REQUESTS, rate=None, seed=0, max_model_len=paper.MAX_MODEL_LEN
    )
    long_runs, short_runs = _sweep(chats), _sweep(short)
    rows = [
        (
            f"{size}",
            *(f"{_split(report).percent()['used']:.1f} %" for report in (one, other)),
            *(f"{_at_once(report):.1f}" for report in (one, other)),
        )
        for size, one, other in zip(RUN_SIZES, long_runs, short_runs, strict=True)
    ]
    heads = (
        "B", "ShareGPT:\nused", "Alpaca:\nused", "ShareGPT:\nat once", "Alpaca:\nat once",
    )  # fmt: skip
    usual = RUN_SIZES.index(paper.BLOCK_SIZE)
    lost = [1 - _at_once(runs[-1]) / _at_once(runs[usual]) for runs in (long_runs, short_runs)]
    assert 0 < lost[0] < lost[1]
    lengths = [_lengths(workload) for workload in (chats, short)]
    means = [sum(each) / len(each) for each in lengths]
    shorter = 100 * sum(length <= RUN_SIZES[-1] for length in lengths[1]) / len(lengths[1])
    yield Show(
        figures(heads, rows, left=0), "By running it, on chats and on short questions (Alpaca):"
    )
    yield Say(f"""
        Requests of ShareGPT have {means[0]:.0f} tokens on average, those of Alpaca {means[1]:.0f}, and of these
        {shorter:.0f} % fit into a single block of {RUN_SIZES[-1]}. So with such blocks {100 * lost[0]:.0f} % of the
        requests at once are lost with the first, and {100 * lost[1]:.0f} % with the second.

        Why not blocks of {1}, then? Each block costs something: an entry in the table, a call of the block manager,
        and a jump of the kernel to another place. The paper took {paper.BLOCK_SIZE}: small enough to waste little,
        large enough to read well.
    """)
    yield PAUSE


# -- the end ---------------------------------------------------------------------------------------------


def _closing() -> Iterator[Part]:
    yield History("""
        Blocks and tables are the heart of the paper (section 4.1), of vLLM V0 and V1, and of most engines today. Block
        sizes vary.
    """)
    yield Try(
        "pagesim compare --allocator max --allocator paged --requests 300",
        "The comparison of this lesson, on one screen.",
    )
    yield Try(
        "pagesim sweep --block-size 1..256 --requests 300",
        "More block sizes: look at the column of what is used.",
    )
    yield PAUSE
    yield Remember(
        (
            "A sequence takes one block at a time; any free block will do, and its block table says which it has.",
            "Logical block: a page. Physical block: a frame. Sequence: a process. Position: an address.",
            "Nothing faults: the scheduler allocates before the step, and the kernel reads the table itself.",
            "External waste is gone. Internal waste is less than a block a sequence, `(B - 1) / 2` slots on average.",
            "A smaller block wastes less; a larger one needs fewer table entries and is read in longer stretches.",
            "The win is a bigger batch, not faster attention.",
        )
    )
    yield from _questions()


def _questions() -> Iterator[Part]:
    size, length = paper.BLOCK_SIZE, 100
    blocks = blocks_for(length, size)
    yield Ask(
        f"A sequence has {length} tokens in the cache, in blocks of {size}. How many of its slots are empty?",
        Whole(blocks * size - length, "slots"),
        f"""{length} / {size}, rounded up, are {blocks} blocks; {blocks} x {size} - {length} =
        {blocks * size - length}.""",
        "How many blocks does it hold?",
    )
    yield Ask(
        "A colleague says: PagedAttention removes all fragmentation. What is right?",
        Choice(
            (
                "It does: every slot can be used by anybody.",
                "External waste goes; internal waste stays, but is less than one block a sequence.",
                "Internal waste goes; external waste stays, between the blocks.",
                "Both stay; they are only easier to count.",
            ),
            1,
            (
                "a slot in a block that somebody holds is for that sequence only",
                "",
                "between blocks there is nothing; inside the last one there is",
                "no free block is ever too small for somebody who needs a block",
            ),
        ),
        "With larger blocks the rest grows: what stays is the price of handing out whole blocks.",
        "Where can a slot be that is neither filled nor to be had?",
    )
    opt = model(paper.MODEL)
    per_token = kv_bytes_per_token(opt)
    count = paper.KV_BYTES // cache_layout(opt).block_bytes(size)
    yield Ask(
        f"""{opt.key} has {opt.num_layers} layers; one token's K and V take {per_token:,} bytes in all of them.
        {format_gib(paper.KV_BYTES)} are cut into blocks of {size} tokens. How many blocks are there for block tables to
        name?""",
        Whole(count, "blocks"),
        f"""{paper.KV_BYTES:,} / ({size} x {per_token:,}), rounded down. The layers are in the bytes of a token already;
        dividing by {opt.num_layers} again would be right only if each layer had a pool and tables of its own.""",
        "How many bytes does one block take, in all layers together?",
    )


# -- figures ---------------------------------------------------------------------------------------------


class Served(NamedTuple):
    """The paper's requests, served from slabs (maximum, true length) and from pages.

    ``shown`` is the pages' memory half way through; ``num_faults`` counts tokens that a step planned without a slot.
    """

    by_max: RunReport
    oracle: RunReport
    paged: RunReport
    shown: MemoryMap
    num_faults: int

    @property
    def by_name(self) -> dict[str, RunReport]:
        return {"max": self.by_max, "oracle": self.oracle, "paged": self.paged}


class FaultCounter:
    """A listener: in how many planned steps a sequence had more tokens than slots, each counted for itself."""

    def __init__(self, state: RunState) -> None:
        """``state`` is told of every event before this is."""
        self.num_faults = 0
        self._state = state

    def apply(self, event: ev.Event) -> None:
        if type(event) is ev.StepPlanned:
            size, sequences = self._state.geometry.block_size, self._state.sequences
            for seq in event.seqs:
                view = sequences[seq]
                self.num_faults += view.written > len(view.table) * size


def served() -> Served:
    workload, settings = paper.workload(REQUESTS, 0, None), paper.settings()
    watching: list[tuple[MomentCollector, FaultCounter]] = []

    def watch(geometry: Geometry) -> Sequence[MomentCollector | FaultCounter]:
        moments = MomentCollector(geometry)
        watching.append((moments, FaultCounter(moments.state)))
        return watching[0]

    pages = simulate(workload, "paged", settings, watch=watch).report
    by_max, oracle = (simulate(workload, name, settings).report for name in ("max", "oracle"))
    ((moments, faults),) = watching
    shown = moments.nearest(int(pages.duration_s * 1e9) // 2)
    assert shown is not None
    return Served(by_max, oracle, pages, shown, faults.num_faults)


def _sweep(workload: Workload) -> list[RunReport]:
    """One run a block size."""
    base = paper.settings()
    settings = [replace(base, memory=replace(base.memory, block_size=size)) for size in RUN_SIZES]
    return [simulate(workload, "paged", each).report for each in settings]


def _lengths(workload: Workload) -> list[int]:
    """Tokens of each request, prompt and output."""
    requests = [arrival.request for arrival in workload.arrivals]
    return [len(each.prompt) + each.max_tokens for each in requests]


def _at_once(report: RunReport) -> float:
    assert report.mean_requests is not None
    return report.mean_requests


def _split(report: RunReport) -> WasteSplit:
    assert report.waste is not None
    return report.waste


LESSON = Lesson(
    3,
    "blocks-and-tables",
    "Blocks and tables",
    "Paging from operating systems, term by term; where the likeness ends; how large a block should be.",
    13,
    5,
    script,
)
