"""Lesson 7: prefix caching: what is reused across requests, how it is found, and what is forgotten first."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

from pagesim.core import events as ev
from pagesim.core.content import Content
from pagesim.core.types import BlockId
from pagesim.practice.answers import Choice, Whole, Wholes, YesNo
from pagesim.replay.phrases import joined
from pagesim.replay.report import RunReport
from pagesim.sim import paper
from pagesim.sim.simulate import simulate
from pagesim.sim.workloads import WorkloadOptions, build_workload
from pagesim.views.figures import counted, format_duration, format_mean, format_percent
from pagesim.views.free_queue import FreeQueueLines
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

SYSTEM = "You are a helpful assistant . Answer in one line"
CHAT = """
[memory]
blocks = 10
block_size = 4
prefix_caching = true

[[request]]
id = "Ann"
prompt = "SYSTEM what is a page"
outputs = "Memory of fixed size"

[[request]]
id = "Bob"
step = 5
prompt = "SYSTEM who was Turing"
outputs = "A mathematician"
"""
TWICE = """
[memory]
blocks = 16
block_size = BLOCK
prefix_caching = true

[[request]]
id = "first"
prompt = FIRST
outputs = 1

[[request]]
id = "second"
step = 2
prompt = SECOND
outputs = 1
"""
DIGITS = 6
"""So many digits of a key are shown."""


def twice(first: Sequence[int], second: Sequence[int], block: int = 4) -> Walk:
    """One prompt after another."""
    toml = TWICE.replace("FIRST", str(list(first))).replace("SECOND", str(list(second)))
    return Walk.told("twice", toml.replace("BLOCK", str(block)))


def found(walk: Walk, name: str) -> int:
    """Tokens that the request found in the cache when it started."""
    seqs = {e.request: e.seq for e in walk.events if isinstance(e, ev.RequestSubmitted)}
    for event in walk.of_kind("admitted"):
        if isinstance(event, ev.SequenceAdmitted) and event.seq == seqs[name]:
            return event.cached_tokens
    raise LookupError(name)


def script() -> Iterator[Part]:
    yield from _reuse()
    yield from _keys()
    yield from _last_token()
    yield from _order()
    yield from _evicted()
    yield from _worth()
    yield from _closing()


# -- what is found ---------------------------------------------------------------------------------------


def _reuse() -> Iterator[Part]:
    walk = Walk.told("chat", CHAT.replace("SYSTEM", SYSTEM))
    size = walk.geometry.block_size
    walk.step()
    table, text = walk.table("Ann"), " ".join(walk.text("Ann"))
    prompt = walk.view("Ann").prompt_tokens
    yield Section("The same beginning again")
    yield Say(f"""
        Samples of one request share its prompt (Lesson 5). But different requests often begin alike, too: a system
        prompt is the same for every user, and each turn of a chat begins with all the turns before it. Such a
        beginning is called a prefix. Prefix caching computes it once, for everybody.

        Ann asks: "{text}".
    """)
    yield Show(walk.picture())
    yield PAUSE
    walk.until("finished")
    cached = len(walk.state.cached)
    assert walk.state.num_held == 0
    assert cached * size > prompt
    yield Say("""
        The `=` says that a block can be found again. Only full blocks can. Now Ann's answer is complete, and her
        blocks are given back:
    """)
    yield Show(walk.picture(MEMORY, says=False))
    yield Say(f"""
        All {walk.state.num_free} blocks are free. But {counted(cached, "block")} marked `==` still hold what was
        written there: free does not mean empty. A block keeps its content until somebody else takes it and writes over
        it.

        Generated tokens are cached like prompts: the last of these blocks ends with the first words of the
        answer. So a chat's next turn finds the whole conversation.
    """)
    yield PAUSE
    shared = len(SYSTEM.split())
    hit = found(walk, "Bob")
    walk.until("shared")
    walk.step()
    bob = walk.view("Bob").prompt_tokens
    assert hit == shared // size * size
    yield Ask(
        f"""Then Bob comes: "{" ".join(walk.text("Bob")[:bob])}". His first {shared} tokens are equal to Ann's, and
        blocks have {size} slots. How many of his {bob} tokens are found in the cache?""",
        Whole(hit, "tokens"),
        f"""Whole blocks only: {shared} // {size} = {shared // size} full blocks are equal, and {shared // size} x
        {size} = {hit} tokens. The next block holds {shared % size} equal tokens and {size - shared % size} others.""",
        f"How many blocks of {size} are equal from their first slot to their last?",
    )
    yield Show(walk.picture())
    assert walk.table("Bob")[: hit // size] == table[: hit // size]
    yield Say(f"""
        Bob's table begins with Ann's old blocks {joined([str(b) for b in table[: hit // size]])}, though Ann is gone.
        {bob - hit} of his {bob} tokens are computed.
    """)
    yield PAUSE


# -- keys ------------------------------------------------------------------------------------------------

ANN = "You are a helpful assistant . Answer in one line what is"
OTHER = "We were a helpful assistant . Answer in one line what is"


def keys_of(text: str, size: int, adapter: str = "") -> list[str]:
    """The first digits of the keys of the text's full blocks; a word is a token."""
    words = sorted({*ANN.split(), *OTHER.split()})
    content = Content([words.index(word) for word in text.split()], adapter=adapter)
    return [key.hex()[:DIGITS] for key in content.keys(len(content) // size, size)]


def _keys() -> Iterator[Part]:
    size = 4
    ann, other = keys_of(ANN, size), keys_of(OTHER, size)
    french = keys_of(ANN, size, adapter="legal")
    same = [
        at
        for at in range(len(ann))
        if ANN.split()[at * size : (at + 1) * size] == OTHER.split()[at * size : (at + 1) * size]
    ]
    assert same == list(range(1, len(ann)))
    assert not {*ann} & {*other, *french}
    yield Section("The key of a block")
    yield Say(f"""
        How is a block found? Each full block has a key, a hash (SHA-256) of two things: the block's own tokens, and the
        key of the block before it, its parent. A lookup makes the keys of the new prompt one after another, and asks
        an index for each, until one is missing.

        Why the parent? Take two prompts, in blocks of {size}:
    """)
    yield Show(figures(_head(len(ann)), [_row("Ann", ANN, size), _row("Cal", OTHER, size)], left=9))
    yield Ask(
        f"""Cal's second block has the same {size} words as Ann's, at the same positions. May Cal use the K and V of
        Ann's second block?""",
        Choice(
            (
                "Yes: K and V are made from a token and its position, and both are equal.",
                "No: K and V depend on all tokens before, too, and these differ.",
                "Yes, if both ask the same model.",
            ),
            1,
            (
                "true of the first layer only: the input of every further layer has read the earlier tokens",
                "",
                "the adapter counts, too, but it is not the only thing that differs",
            ),
        ),
        """In the second layer and above, what stands at a token has been through attention over everything before it.
        "Same tokens, same KV" is a misconception: it takes the same past.""",
        "What does the second layer get as its input?",
    )
    rows = [
        ("Ann", *ann),
        ("Cal", *other),
        ("Ann's words, adapter legal", *french),
    ]
    yield Show(figures(_head(len(ann)), rows, left=9), "So the keys, their first digits:")
    yield Say("""
        The parent's key goes into each key, and so the whole past does: a difference in the first block changes all
        keys after it. Equal keys mean equal tokens from the very start.

        The chain begins with two more things: the adapter, since a fine-tuned model gives other numbers for the same
        words, and a salt, a secret that keeps one customer's cache apart from another's. Both count from the first
        block on.
    """)
    walk = Walk.of("adapters")
    names = [e.request for e in walk.of_kind("arrived") if isinstance(e, ev.RequestArrived)]
    assert [found(walk, name) > 0 for name in names] == [False, False, False, True]
    yield Show(
        figures(("request", "tokens found"), [(name, f"{found(walk, name)}") for name in names]),
        f"One prompt of {len(_prompt(walk, names[0]))} tokens, asked with and without adapters, in this order:",
    )
    yield PAUSE
    yield from _unbroken(size)


def _head(number: int) -> tuple[str, ...]:
    return ("", *(f"block {at}" for at in range(number)))


def _row(name: str, text: str, size: int) -> tuple[str, ...]:
    words = text.split()
    return (name, *(" ".join(words[at : at + size]) for at in range(0, len(words), size)))


def _unbroken(size: int) -> Iterator[Part]:
    first = list(range(1, 4 * size + 2))
    second = [*first]
    changed = size + 1
    second[changed] = 99
    walk = twice(first, second, size)
    hit = found(walk, "second")
    assert hit == size
    yield Ask(
        f"""A prompt of {len(first)} tokens was computed, in blocks of {size}. Another comes which differs from it in
        one token, at position {changed}. How many tokens are found?""",
        Whole(hit, "tokens"),
        f"""Position {changed} lies in block {changed // size}. Its key differs, and with it the keys of all blocks
        behind it, although their tokens are equal. What is found is an unbroken run of full blocks from the start,
        never a piece in the middle.""",
        "Which keys depend on that token?",
    )


# -- the last token --------------------------------------------------------------------------------------


def _last_token() -> Iterator[Part]:
    walk = Walk.of("whole-prompt-cached")
    walk.until("finished")
    size = walk.geometry.block_size
    length = len(_prompt(walk, "first"))
    assert _prompt(walk, "first") == _prompt(walk, "again")
    assert not length % size
    hit = found(walk, "again")
    yield Section("A prompt that is there as a whole")
    yield Show(walk.picture(MEMORY, says=False), f"A prompt of {length} tokens has been answered:")
    yield Ask(
        f"""All {length // size} of its blocks are cached. The very same prompt comes again. How many of its tokens are
        found?""",
        Whole(hit, "tokens"),
        f"""At least the last token has to be computed: the next word is drawn from its logits (a score for every
        possible word), and a cache of K and V holds no logits. As only whole blocks are reused, the last block is
        computed as a whole: {length} - {size} = {hit}.""",
        "The answer's first word has to come from somewhere. What is needed for it?",
    )
    walk.until("planned")
    yield Show(walk.picture())
    lengths = (length - 1, length, length + 1)
    hits = {n: found(twice(range(n), range(n), size), "second") for n in lengths}
    rows = [(f"{n}", f"{there}", f"{n - there}") for n, there in hits.items()]
    yield Show(
        figures(("prompt", "found", "computed"), rows, left=0),
        f"The same prompt twice, of several lengths, blocks of {size}:",
    )
    yield Say(f"""
        So at most (tokens - 1) // {size} blocks are looked up. "A complete hit needs no compute" is a misconception.
    """)
    yield PAUSE


def _prompt(walk: Walk, name: str) -> list[int]:
    arrived = (e for e in walk.events if isinstance(e, ev.RequestArrived))
    return next(list(event.prompt) for event in arrived if event.request == name)


# -- order of eviction -----------------------------------------------------------------------------------


def _order() -> Iterator[Part]:
    walk = Walk.of("prefix-cache")
    walk.until("admitted", name="second")
    walk.step()
    first, second = walk.table("first"), walk.table("second")
    own = [block for block in first if walk.count(block) == 1]
    before = walk.free_queue
    yield Section("What is forgotten first")
    yield Say("""
        The free blocks stand in a queue. Who needs a block takes the one in front. If that block still holds cached
        content, the content is forgotten at this moment, and only then: the block is evicted.

        So the order in which blocks come back decides what is forgotten first. This is an example from the design notes
        of vLLM: two requests with a common prefix.
    """)
    yield Show(walk.picture(TABLES, says=False))
    freed = walk.until("freed", name="first")
    assert isinstance(freed, ev.TableFreed)
    assert list(freed.released) == own[::-1]
    assert walk.free_queue == [*before, *freed.released]
    yield Show(FreeQueueLines(before, ()), "And the queue:")
    yield Ask(
        f"""The first request ends, its table is {first}. Its blocks go to the back of the queue, tail first: the last
        of the table comes first. Which blocks are added, in this order?""",
        Wholes(freed.released),
        f"""Blocks {joined([str(b) for b in first if b not in own])} are still listed by the second request ({second}),
        so they are not free. The others, from the end of the table: {joined([str(b) for b in freed.released])}.""",
        "Read the table from its end, and leave out what the other request lists.",
    )
    walk.until("finished", name="second")
    queue = walk.free_queue
    yield Show(
        FreeQueueLines(queue, [b for b in queue if b in walk.state.cached]),
        "Then the second request ends, too:",
    )
    yield Say(f"""
        In front are the blocks that nobody used. Then come the ends of both requests, and last of all
        {joined([str(b) for b in queue[-2:]])}: the beginning, which both had in common. This is on purpose. The
        beginning is what the next request is most likely to ask for.
    """)
    yield PAUSE
    yield from _third(walk, queue)


def _third(walk: Walk, queue: list[BlockId]) -> Iterator[Part]:
    length, size = len(_prompt(walk, "third")), walk.geometry.block_size
    hit = found(walk, "third")
    taken = walk.until("taken", name="third")
    assert isinstance(taken, ev.BlocksTaken)
    hits = walk.table("third")[: hit // size]
    lost = [event.block for event in walk.of_kind("evicted") if isinstance(event, ev.BlockEvicted)]
    assert len(lost) == 1
    needed = len(taken.blocks)
    yield Ask(
        f"""A third prompt of {length} tokens comes, and finds {hit} of them: in blocks
        {joined([str(b) for b in hits])}. It needs {needed} more blocks. Which does it take, in order?""",
        Wholes(taken.blocks),
        f"""A hit takes its blocks out of the queue, from the middle, wherever they stand:
        {joined([str(b) for b in hits])} are gone from it. What is taken comes from the front of the rest:
        {joined([str(b) for b in taken.blocks])}. Of these, block {lost[0]} held cached content, which is
        forgotten.""",
        f"Take the {len(hits)} found blocks out of the queue first; they cannot be handed out.",
    )
    walk.until("planned")
    yield Show(
        walk.picture(MEMORY, TABLES, only=[*hits, *taken.blocks], says=False),
        "Found and taken, both marked:",
    )
    story = walk.story
    assert not story.memory.keep_unkeyed_first
    today = Walk(replace(story, memory=replace(story.memory, keep_unkeyed_first=True)))
    today.until("finished", name="second")
    unkeyed = [block for block in today.free_queue if block not in today.state.cached]
    assert today.free_queue[: len(unkeyed)] == unkeyed
    assert today.free_queue != queue
    yield Say("""
        One thing has changed since those notes. Blocks without cached content, such as a last one that was partly
        filled, go to the front of the queue today. After both requests the queue would then be:
    """)
    yield Show(
        FreeQueueLines(today.free_queue, [b for b in today.free_queue if b in today.state.cached])
    )
    yield PAUSE


def _evicted() -> Iterator[Part]:
    walk = Walk.of("eviction")
    size = walk.geometry.block_size
    walk.until("finished", name="X")
    queue = walk.free_queue
    x = len(_prompt(walk, "X"))
    y = len(_prompt(walk, "Y"))
    hit = found(walk, "X again")
    yield Section("Why tail first?")
    yield Say(f"""
        X has left {counted(x // size, "cached block")}, and these are the whole memory. Then Y takes
        {counted(y // size, "block")}, and X comes again.
    """)
    yield Show(FreeQueueLines(queue, [b for b in queue if b in walk.state.cached]))
    walk.until("finished", name="Y")
    yield Show(walk.picture(MEMORY, says=False), "After Y:")
    walk.until("admitted", name="X again")
    yield Say(f"""
        Y took the end of X, and of X's {x} tokens the first {hit} are found: {counted(hit // size, "block")} that still
        make an unbroken run.
    """)
    assert hit > 0
    yield Ask(
        f"""Suppose the blocks had been given back head first, so that Y had taken X's first {y // size} blocks. How
        many tokens would X have found?""",
        Whole(0, "tokens"),
        f"""The lookup begins at the first block, and ends at the first miss. With the head gone, the
        {x // size - y // size} blocks behind it lie there, cached, and cannot be reached. Freed tail first, a prefix
        grows shorter from its end, and what is left of it is of use.""",
        "Where does a lookup begin, and when does it stop?",
    )


# -- what it is worth ------------------------------------------------------------------------------------

OPTIONS = WorkloadOptions(prefix_tokens=1024, prompt_tokens=64, output_tokens=128)
REQUESTS, RATE = 100, 4.0


@cache
def served(*, caching: bool) -> RunReport:
    """One system prompt for all, the engines' rules, OPT-13B on one GPU."""
    workload = build_workload(
        "shared-prefix",
        requests=REQUESTS,
        rate=RATE,
        seed=0,
        max_model_len=paper.MAX_MODEL_LEN,
        options=OPTIONS,
    )
    base = paper.settings()
    memory = replace(base.memory, prefix_caching=caching, keep_unkeyed_first=True)
    return simulate(workload, "paged", replace(base, rules="engine", memory=memory)).report


def _worth() -> Iterator[Part]:
    walk = Walk.of("same-step-sharing")
    walk.step()
    hit = found(walk, "second")
    assert hit
    yield Section("What it is worth")
    yield Say(f"""
        Sharing does not even have to wait for a step to end. A block can be found as soon as the step that fills it is
        planned. Here two equal prompts come together, and the second finds {hit} tokens that the first is only about
        to compute:
    """)
    yield Show(walk.picture())
    yield Say("""
        That works because a step writes the K and V of its whole batch, layer by layer, before any attention of this
        batch reads them.
    """)
    yield PAUSE
    reports = {"without": served(caching=False), "with": served(caching=True)}
    rows = [
        (
            name,
            format_percent(100 * (r.hit_rate or 0)),
            format_mean(r.mean_requests),
            format_duration(r.ttft_s.p50),
            format_duration(r.ttft_s.p99),
            f"{r.output_tokens_per_s or 0:.0f}",
        )
        for name, r in reports.items()
    ]
    off, on = reports.values()
    assert (on.ttft_s.p50 or 0) < (off.ttft_s.p50 or 0) / 10
    assert (on.output_tokens_per_s or 0) > (off.output_tokens_per_s or 0)
    yield Say(f"""
        And in numbers: {REQUESTS} requests, {RATE:g} a second, OPT-13B with a memory of {paper.KV_BYTES / 2**30:.0f}
        GiB. All begin with the same system prompt of {OPTIONS.prefix_tokens:,} tokens, then comes a question of
        {OPTIONS.prompt_tokens}.
    """)
    yield Show(
        figures(
            (
                "prefix\ncaching",
                "prompt\nfound",
                "requests\nat once",
                "time to first\ntoken, median",
                "of the\nslowest 1 %",
                "output\ntokens/s",
            ),
            rows,
        )
    )
    yield Say("""
        Two things are saved: compute, since the prefix is not computed again, and memory, since it is there once. Both
        shorten the wait for the first token. A long prefix that nobody shares saves nothing; and caching it costs
        no memory either, since cached blocks are free blocks.
    """)
    yield PAUSE


# -- closing ---------------------------------------------------------------------------------------------


def _closing() -> Iterator[Part]:
    yield History("""
        In the paper, a provider may set blocks aside for a prefix that is known beforehand, such as a system prompt.
        Automatic prefix caching came to vLLM later, as an option of V0; in V1 it is on unless one asks otherwise, and
        it is how samples of one prompt share, too (Lesson 5). Since only full blocks are shared, and a full block is
        never written again, V1 needs no copy-on-write.
    """)
    yield Try(
        "pagesim run prefix-cache --view",
        "The example of the design notes: look at the free queue while you step.",
    )
    yield Try("pagesim run adapters", "The same tokens with adapters: who finds what?")
    yield Try(
        "pagesim run shared-prefix --requests 200",
        "The share of prompts that is found, and the time to the first token.",
    )
    yield PAUSE
    yield Remember(
        (
            "Full blocks are found by key: a hash of their tokens and the parent's key, from adapter and salt on.",
            "What is found is an unbroken run of full blocks from the start.",
            "The last token of a prompt is always computed, for its logits.",
            "A freed block keeps its content until it is taken; a hit takes it out of the middle of the queue.",
            "Blocks are freed tail first, so that the ends are evicted before the beginnings they hang on.",
        )
    )
    yield from _questions()


def _questions() -> Iterator[Part]:
    size, shared, length = 16, 30, 40
    first = range(length)
    second = [*first[:shared], *range(100, 100 + length - shared)]
    hit = found(twice(first, second, size), "second")
    yield Ask(
        f"""Blocks of {size}. A prompt of {length} tokens is cached; another of {length} has its first {shared} tokens
        in common with it. How many tokens of it are computed?""",
        Whole(length - hit, "tokens"),
        f"""{shared} // {size} = {shared // size} full block is equal, so {hit} tokens are found, and {length} - {hit} =
        {length - hit} are computed.""",
        "How many full blocks do the two have in common?",
    )
    yield Ask(
        """Two running requests share blocks through the prefix cache, and both go on writing. Does a block ever have to
        be copied because of that?""",
        YesNo(value=False),
        """Only full blocks are shared, and a full block is never written to. Each writes into blocks of its own. With
        forks (Lesson 5) it is different: they share the partly filled block, too.""",
        "Which blocks are shared, and which are written to?",
    )
    table, free, need = [5, 2, 7], [9], 3
    queue = [*free, *reversed(table)]
    yield Ask(
        f"""The free queue holds block {free[0]} alone, which was never used. A request whose table is {table}, all full
        and cached, ends. Then another one, which finds nothing, takes {need} blocks. Which blocks lose cached
        content?""",
        Wholes([block for block in queue[:need] if block in table], "block ids", ordered=False),
        f"""Freed tail first, the queue is {queue}. The first {need} of it are taken:
        {joined([str(b) for b in queue[:need]])}. Block {free[0]} held nothing; the beginning, block {table[0]}, is
        kept.""",
        "Write down the queue after the first request has ended.",
    )


LESSON = Lesson(
    7,
    "prefix-caching",
    "Reuse across requests: prefix caching",
    "Blocks outlive their requests: hash chains, free blocks that are not empty, eviction order.",
    13,
    6,
    script,
)
