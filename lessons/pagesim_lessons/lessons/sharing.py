"""Lesson 5: several answers to one prompt: reference counts, forks and copy-on-write."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from pagesim.core import events as ev
from pagesim.core.types import Geometry
from pagesim.planner.facts import model
from pagesim.planner.kv_cache import kv_bytes_per_token
from pagesim.practice.answers import Choice, Whole, Wholes
from pagesim.replay.phrases import joined
from pagesim.replay.sharing import SharingMeter
from pagesim.sim import paper
from pagesim.sim.paper_sharing import PRINTED, WIDTHS
from pagesim.sim.simulate import simulate
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

SAMPLES = """
[memory]
blocks = 16
block_size = BLOCK
prefix_caching = CACHE

[rules]
fork_samples = FORK

[[request]]
id = "A"
samples = NUMBER
prompt = PROMPT
outputs = 3
"""
REQUESTS = 20
"""Requests that a saving is measured with."""


def samples(
    number: int, prompt: int, *, block: int = 4, fork: bool = True, cache: bool = False
) -> Walk:
    """``number`` samples of one prompt: as a group that forks, or as so many requests."""
    toml = SAMPLES
    for name, value in (("NUMBER", number), ("PROMPT", prompt), ("BLOCK", block)):
        toml = toml.replace(name, str(value))
    toml = toml.replace("FORK", str(fork).lower()).replace("CACHE", str(cache).lower())
    return Walk.told("samples", toml)


def script() -> Iterator[Part]:
    yield from _fork()
    yield from _copy_on_write()
    yield from _how_many_copies()
    yield from _giving_back()
    yield from _savings()
    yield from _history()
    yield from _closing()


def _fork() -> Iterator[Part]:
    walk = Walk.of("figure-8")
    yield Section("One prompt, two answers")
    walk.step()
    prompt, table = walk.view("A").prompt_tokens, walk.table("A")
    yield Say("""
        Often one prompt is answered several times: so that a person can choose, or a program can take the best answer.
        The answers, called samples, differ, since tokens are drawn at random. The prompt does not: it has the same K
        and V in all of them. To hold these once is enough.

        This is Figure 8 of the paper: the prompt of Lesson 4, and two samples are asked for. The prompt is computed
        once, by the first of them, A.
    """)
    yield Show(walk.picture())
    yield PAUSE
    shared = walk.of_kind("shared")[0]
    forked = walk.of_kind("forked")[0]
    assert isinstance(forked, ev.SequenceForked)
    assert isinstance(shared, ev.BlocksShared)
    walk.until("done")
    held = walk.state.num_held
    walk.until("shared")
    more = walk.state.num_held - held
    yield Ask(
        f"""A has {prompt} tokens in {counted(len(table), "block")}. Now the second sample, A.1, begins: it is to have
        the same {forked.tokens} tokens. This is called a fork. How many more blocks does it take?""",
        Whole(more, "blocks"),
        f"""A.1 gets a table, and the table names A's blocks: {joined([str(b) for b in shared.blocks])}. A fork copies
        {counted(len(table), "number")} and no K or V.""",
        "A table has an entry for a block. Does anything say that a block may stand in one table only?",
    )
    yield Show(walk.picture())
    size = kv_bytes_per_token(model(paper.MODEL))
    assert all(walk.count(block) == 2 for block in table)
    yield Say(f"""
        `&2` is the block's reference count: the number of sequences whose table lists the block. A fork adds one to
        the count of each block, also of the last, partly filled one. A block is free when its count is 0.

        "A fork copies the prompt" is a misconception. With OPT-13B this prompt of {counted(prompt, "token")} would be
        {prompt * size / 2**20:.1f} MiB to copy for each further sample. None of it moves.
    """)
    yield PAUSE


def _copy_on_write() -> Iterator[Part]:
    walk = Walk.of("figure-8")
    walk.until("sampled")
    sampled = walk.events[walk.place - 1]
    assert isinstance(sampled, ev.TokensSampled)
    one, other = (walk.word(token) for token in sampled.tokens)
    assert one != other
    size, position = walk.geometry.block_size, walk.written("A")
    table = walk.table("A")
    row, offset = divmod(position, size)
    last = table[row]
    assert walk.table("A.1") == table
    yield Section("Copy-on-write")
    yield Say(f"""
        Both samples have drawn their first word: A "{one}", A.1 "{other}". The next step writes the K and V of these.
        Position {position} is row {row} of the table, offset {offset}; both tables say block {last} there. So two
        different tokens are to be written into one slot.
    """)
    replaced = walk.until("replaced")
    copied = walk.until("copied")
    assert isinstance(replaced, ev.BlockReplaced)
    assert isinstance(copied, ev.BlockCopied)
    assert (replaced.old, copied.source, copied.target) == (last, last, replaced.new)
    assert copied.slots == offset
    yield Ask(
        "A is to write first. What has to happen?",
        Choice(
            (
                f"A writes into block {last}. A.1 reads what it needs before that.",
                f"""A gets a block of its own in place of block {last}, with a copy of the {copied.slots} slots written
                there; then it writes into its own.""",
                f"A gets its own copies of all {position} tokens; from now on the samples are different sequences.",
            ),
            1,
            (
                f'A.1 reads all its K and V again in every step, and would find "{one}" in its text',
                "",
                f"block {table[0]} holds tokens that both have in common, and nobody will write there again",
            ),
        ),
        "Whoever wants to write into a block that others list gets a copy of it first. This is copy-on-write, as "
        "operating systems do it for the pages of a forked process.",
        "Which of the blocks is written to, and who else reads it?",
    )
    yield Show(
        walk.picture(MEMORY, TABLES, only=(last, replaced.new)),
        f"While step {walk.state.step + 1} is being planned:",
    )
    assert walk.count(last) == 1
    assert walk.count(table[0]) == 2
    yield Say(f"""
        Block {replaced.new} stands in A's table where block {last} stood, and {copied.slots} slots are to be copied
        before the step runs. The count of block {last} has fallen to {walk.count(last)}. Block {table[0]} is listed by
        {walk.count(table[0])} tables as before.
    """)
    copies = len(walk.of_kind("copied"))
    assert copies == 1
    yield Ask(
        f"""Now A.1 is to write "{other}" into block {last}, in the same step. How many slots have to be copied for
        that?""",
        Whole(0, "slots"),
        f"""Only A.1 lists block {last} now: its count is {walk.count(last)}. A block with one owner is written in
        place. Two samples, {counted(copies, "copy")}.""",
        f"What is the count of block {last} by now?",
    )
    walk.until("planned")
    yield Show(walk.picture())
    yield PAUSE


def _how_many_copies() -> Iterator[Part]:
    number, prompt = 4, 7
    walk = samples(number, prompt)
    copies = [event for event in walk.of_kind("copied") if isinstance(event, ev.BlockCopied)]
    size = walk.geometry.block_size
    rest = prompt % size
    assert len(copies) == number - 1
    assert {copy.source for copy in copies} == {prompt // size}
    yield Section("How many copies, and of what?")
    yield Say(f"""
        "n samples cause n copies" is another misconception; with two samples we saw one. Now {number} samples of the
        same prompt of {prompt} tokens, with blocks of {size}.
    """)
    yield Ask(
        f"The prompt is computed, and all {number} samples write their first word. How many blocks are copied?",
        Whole(len(copies), "blocks"),
        f"""Each writer but the last finds a count above one and takes a copy, which lowers the count. The last finds
        itself alone and writes in place: {number} - 1 = {len(copies)}.""",
        "Go through the writers one by one, and note the count that each of them finds.",
    )
    walk.step()
    walk.step()
    yield Show(walk.picture())
    yield Say(f"""
        No sequence copies more than its last block: it is the only one that is ever written to. The full blocks before
        it may be in any number of tables. Of the last block, just the slots that are written are copied: {rest} of
        {size} here.
    """)
    yield PAUSE
    whole = 2 * size
    even = samples(number, whole)
    none = len(even.of_kind("copied"))
    assert none == 0
    yield Ask(
        f"""The prompt is one token longer: {whole} tokens, which fill its blocks of {size} to the last slot. Again
        there are {number} samples. How many blocks are copied?""",
        Whole(none, "blocks"),
        f"""The next token has position {whole} and lies in row {whole // size}, which no table has yet. Every sample
        takes a new block of its own.""",
        f"In which row of the table does position {whole} lie?",
    )
    even.step()
    even.step()
    yield Show(even.picture())
    yield PAUSE


def _giving_back() -> Iterator[Part]:
    walk = Walk.of("figure-8")
    walk.to_step(len(walk.held_by_step) - 1)
    a, other = walk.table("A"), walk.table("A.1")
    common = [block for block in a if block in other]
    yield Section("Who gives back what")
    yield Show(walk.picture(MEMORY, TABLES), "The last step of Figure 8:")
    freed = walk.until("freed", name="A")
    assert isinstance(freed, ev.TableFreed)
    assert common
    yield Ask(
        "Both samples end with this step, A first. Which blocks become free when A ends?",
        Wholes(sorted(freed.released), "block ids", ordered=False),
        f"""The counts of all A's blocks ({joined([str(b) for b in a])}) fall by one. Block {common[0]} is still in
        A.1's table: its count falls to {walk.count(common[0])}, not to 0, and it stays.""",
        "Which of A's blocks does A.1 list, too?",
    )
    yield Show(walk.picture(MEMORY, TABLES))
    walk.until("freed", name="A.1")
    yield Say(f"""
        Then A.1 ends, and everything is free: {walk.state.num_free} of {walk.geometry.num_blocks} blocks. Nobody has to
        know who came first: the count is enough.
    """)
    yield PAUSE


def _savings() -> Iterator[Part]:
    walk = Walk.of("eight-samples")
    walk.step()
    number = sum(isinstance(event, ev.RequestSubmitted) for event in walk.events)
    walk.step()
    names = walk.running
    assert len(names) == number
    listed = sum(len(walk.table(name)) for name in names)
    held, blocks = walk.state.num_held, walk.geometry.num_blocks
    assert held < blocks < listed
    yield Section(f"{_word(number).capitalize()} samples")
    yield Say(f"""
        Now a prompt of {counted(walk.view("A").prompt_tokens, "token")} and n = {number}. The prompt is computed, and
        each sample has written its first word:
    """)
    yield Show(walk.picture())
    yield PAUSE
    yield Ask(
        f"""{number} samples run, and {held} blocks are held. How many would be held if every sample had blocks of its
        own?""",
        Whole(listed, "blocks"),
        f"""Each table has {len(walk.table("A"))} entries, and {number} x {len(walk.table("A"))} = {listed}. The memory
        has {blocks}.""",
        "Count the entries of all the tables.",
    )
    alone = _without_sharing(walk)
    running = max(len(e.seqs) for e in alone.events if isinstance(e, ev.StepPlanned))
    rows = [
        (name, f"{max(w.held_by_step)}", f"{most}", f"{len(w.held_by_step)}", f"{w.num_computed}")
        for name, w, most in (("shared", walk, number), ("each its own", alone, running))
    ]
    assert len(alone.held_by_step) > len(walk.held_by_step)
    assert alone.num_computed > walk.num_computed
    yield Show(
        figures(
            (
                "the prompt's blocks",
                "blocks held\nat most",
                "samples\nat once",
                "steps",
                "tokens\ncomputed",
            ),
            rows,
        ),
        f"The same {number} samples in the same {blocks} blocks, both ways:",
    )
    yield Say(f"""
        Without sharing, {number - running} of the {number} samples wait, and the prompt is computed again for each.
    """)
    yield PAUSE
    yield from _real_lengths(number)


def _without_sharing(walk: Walk) -> Walk:
    """The same samples, each a request that shares nothing."""
    story = walk.story
    return Walk(replace(story, scheduler=replace(story.scheduler, fork_samples=False)))


class Measured(NamedTuple):
    """Mean lengths, the share of blocks saved, and output tokens a second with sharing and without."""

    prompt: float
    output: float
    saved: float
    shared: float
    alone: float


@cache
def measured(dataset: str, number: int) -> Measured:
    """Some requests of a dataset, ``number`` samples each, by the paper's rules."""
    drawn = build_workload(
        dataset, requests=REQUESTS, rate=None, seed=0, max_model_len=paper.MAX_MODEL_LEN
    )
    workload = with_samples(drawn, number, beam=False)
    meters: list[SharingMeter] = []

    def watch(geometry: Geometry) -> list[SharingMeter]:
        meters.append(SharingMeter(geometry))
        return meters[:1]

    shared = simulate(workload, "paged", paper.settings(), watch=watch).report
    without = replace(paper.settings(), fork_samples=False)
    alone = simulate(workload, "paged", without).report
    requests = [arrival.request for arrival in drawn.arrivals]
    return Measured(
        sum(len(request.prompt) for request in requests) / len(requests),
        sum(request.max_tokens for request in requests) / len(requests),
        float(meters[0].saving or 0),
        shared.output_tokens_per_s or 0.0,
        alone.output_tokens_per_s or 0.0,
    )


def _real_lengths(number: int) -> Iterator[Part]:
    found = {"ShareGPT": measured("sharegpt", number), "Alpaca": measured("alpaca", number)}
    rows = [
        (
            name,
            f"{m.prompt:.0f}",
            f"{m.output:.0f}",
            format_percent(100 * m.saved),
            f"{m.shared:,.0f}",
            f"{m.alone:,.0f}",
        )
        for name, m in found.items()
    ]
    assert all(m.shared > m.alone for m in found.values())
    assert found["ShareGPT"].saved > 2 * found["Alpaca"].saved
    yield Say(f"""
        That was a story with a long prompt and short answers. Now requests of ShareGPT, which are conversations, and of
        Alpaca, which are short instructions with short answers; n = {number} answers to each.
    """)
    yield Ask(
        "Which of the two saves the larger share of its blocks by sharing?",
        Choice(
            (
                "Alpaca: its requests are short, so the prompt is most of them.",
                f"Neither: {number} samples share one prompt, so both save the same share.",
                "ShareGPT: its prompts are long enough to fill many blocks, and full blocks stay shared.",
            ),
            2,
            (
                "short prompts fill a block or two, and the partly filled one is copied",
                "what each sample writes is its own, and how much that is differs",
                "",
            ),
        ),
        "What stays shared are the full blocks of the prompt. What is saved is (n - 1) / n of their share of a "
        "sequence's blocks.",
        "Which blocks stay shared while a sample writes and writes?",
    )
    yield Show(
        figures(
            (
                "requests of",
                "prompt\ntokens",
                "output\ntokens",
                "blocks\nsaved",
                "output/s,\nshared",
                "output/s,\neach its own",
            ),
            rows,
        ),
        f"Means of {REQUESTS} requests each, n = {number}, blocks of {paper.BLOCK_SIZE}, served by OPT-13B:",
    )
    yield Say(f"""
        The paper measures {_range("alpaca")} for Alpaca and {_range("sharegpt")} for ShareGPT, with {WIDTHS[0]} to
        {WIDTHS[-1]} samples. Sharing pays where prompts are long. There is more output a second, too: for one thing, a
        prompt is computed once, and not {number} times.
    """)
    yield PAUSE


def _range(dataset: str) -> str:
    low, high = PRINTED[dataset, False]
    return f"{low} to {high} %"


def _history() -> Iterator[Part]:
    walk = Walk.of("figure-8")
    prompt, size = 7, walk.geometry.block_size
    number = 3
    forked, cached = samples(number, prompt), samples(number, prompt, fork=False, cache=True)
    cached.step()
    names = cached.running
    first = cached.table(names[0])
    shared = [block for block in first if cached.count(block) == number]
    assert len(shared) == prompt // size
    assert not cached.of_kind("copied")
    extra = cached.num_computed - forked.num_computed
    assert extra == (number - 1) * (prompt % size)
    yield Section("Then and now")
    yield History("""
        Forks and copy-on-write belong to the paper and to vLLM V0. In V1, n samples are n requests with the same
        prompt, and the prefix cache (Lesson 7) lets them share its full blocks. Each computes the partly filled block
        for itself.
    """)
    yield PAUSE
    yield Show(cached.picture(), f"{number} samples of {prompt} tokens in the way of V1:")
    yield Say(f"""
        All {number} tables list block {shared[0]}, which is full; `=` says that it can be found in that cache. Each has
        its own second block. For that, {counted(extra, "token")} more are computed than with forks: {number - 1} times
        the {prompt % size} behind the last full block. Copy-on-write is never needed: a full block is never written to
        again.
    """)
    yield PAUSE


def _closing() -> Iterator[Part]:
    yield Try("pagesim run figure-8 --view", "Step to the copy and back; look at the counts.")
    yield Try("pagesim run eight-samples", "The samples end together, and the counts fall.")
    yield Try(
        "pagesim compare --samples 4 alpaca --requests 300",
        "Look at the rows for paged memory: a group that forks, and as many requests with a prefix cache.",
    )
    yield PAUSE
    yield Remember(
        (
            "A fork copies a table and adds one to the count of each block; no K or V moves.",
            "A reference count is the number of sequences whose tables list the block; at 0 it is free.",
            "Who writes into a shared block gets a copy first, the last owner writes in place: at most n - 1 copies.",
            "Only the last block of a sequence can need a copy, and only if it is partly filled.",
            "Sharing saves the full blocks of the prompt, n - 1 times; so it pays where prompts are long.",
        )
    )
    yield from _questions()


def _questions() -> Iterator[Part]:
    prompt, number = 10, 2
    walk = samples(number, prompt)
    walk.step()
    before = walk.state.num_held
    walk.step()
    held, size = walk.state.num_held, walk.geometry.block_size
    yield Ask(
        f"""A sequence has {prompt} tokens in blocks of {size}. It is forked once, and then parent and child write one
        token each. How many blocks are held?""",
        Whole(held, "blocks"),
        f"""{prompt} tokens take {before} blocks, and the fork takes none. The first to write gets a copy of the last
        block, the second writes in place: {before} + {held - before} = {held}.""",
        "Count the blocks before the fork, and then the copies.",
    )
    eight = Walk.of("eight-samples")
    eight.until("shared")
    eight.step()
    block = eight.table("A")[0]
    count = eight.count(block)
    assert count == len(eight.running)
    yield Ask(
        f"Physical block {block} has a reference count of {count}. What does this mean?",
        Choice(
            (
                f"{count} sequences list it in their tables.",
                f"It holds {count} tokens.",
                f"{count} requests use it, each with any number of samples.",
            ),
            0,
            (
                "",
                "how full a block is, its sequences know: from their lengths",
                "two samples of one request that list it count as two",
            ),
        ),
        "Each table that lists the block counts once; how full it is does not matter.",
        "What changed the count in Figure 8? There was only one request.",
    )
    long, more, large = 50, 5, 16
    many = samples(more, long, block=large)
    slots = sum(e.slots for e in many.of_kind("copied") if isinstance(e, ev.BlockCopied))
    yield Ask(
        f"""A prompt of {long} tokens, blocks of {large}, {more} samples. How many slots are copied in all when every
        sample has written its first token?""",
        Whole(slots, "slots"),
        f"""{long} = {long // large} x {large} + {long % large}: {long % large} slots of the last block are written. All
        samples but the last to write copy them: {more - 1} x {long % large} = {slots}.""",
        "How many slots of the last block are written, and how many of the samples copy it?",
    )


def _word(number: int) -> str:
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    return words[number - 1] if number <= len(words) else str(number)


LESSON = Lesson(
    5,
    "sharing",
    "Sharing: reference counts and copy-on-write",
    "Several answers to one prompt hold its blocks once, and copy a block only when they write.",
    12,
    6,
    script,
)
