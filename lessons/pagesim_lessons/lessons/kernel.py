"""Lesson 10: attention through a block table, softmax tile by tile, and what gathering first would cost."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from pagesim.engine.needs import INSTALL, missing_modules
from pagesim.planner.facts import gpu, model
from pagesim.planner.kv_cache import kv_bytes_per_token
from pagesim.planner.units import format_gib
from pagesim.practice.answers import Choice, Whole
from pagesim.practice.named_numbers import NamedNumbers
from pagesim.sim.cost import BANDWIDTH_SHARE
from pagesim.sim.paper_shapes import KERNEL_SLOWER
from pagesim.views.figures import format_durations
from pagesim.views.kernel_walk import KernelWalk
from pagesim_lessons import timing
from pagesim_lessons.attention import HEAD_DIM, Problem, difference, problem
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

SEED = 25  # its second tile raises the maximum
TILE = 8
BASE = 2
STORY = """
[memory]
blocks = 6
block_size = 4
free_order = [2, 5, 3]
[[request]]
id = "A"
prompt = 9
outputs = 2
"""
SEQS, CONTEXT = 64, 2000
"""A batch of section 4."""


def script() -> Iterator[Part]:
    walk = Walk.told("kernel", STORY)
    walk.to_step(1)
    table, size = walk.table("A"), walk.geometry.block_size
    case = problem(SEED, walk.written("A"), table, walk.geometry.num_blocks, size, TILE)
    yield from _through_the_table(walk)
    yield from _online_softmax(case)
    yield from _what_does_not_matter(case)
    yield from _gather()
    yield from _this_machine()
    yield from _closing()


# -- 1 ---------------------------------------------------------------------------------------------------


def _through_the_table(walk: Walk) -> Iterator[Part]:
    table, size, tokens = walk.table("A"), walk.geometry.block_size, walk.written("A")
    yield Section("Reading K and V through the table")
    yield Say(f"""
        Lesson 4 wrote K and V to slots. Now a new token has to read them: attention compares its query with the K of
        every token so far, and mixes their V. Here are a memory and a table as the scheduler leaves them: sequence A
        is at its token {tokens - 1}, counted from 0, and so attends to {tokens} keys.
    """)
    yield Show(walk.picture(MEMORY, TABLES))
    yield PAUSE
    yield Say(f"""
        An ordinary attention kernel is told where K begins, and walks on from there. This one can not: key {size - 1}
        lies at the end of block {table[0]}, and key {size} at the start of block {table[1]}. So the kernel gets the
        table as well. For each key at position pos it computes

        `block = table[pos // {size}]` and `slot = pos % {size}`

        and reads K and V there. That is all that paging changes in it.
    """)
    position = size + size // 2
    yield Ask(
        f"A's table is {table}, blocks hold {size}. Where does the kernel find key {position}?",
        NamedNumbers(
            ("block", "slot"),
            (table[position // size], position % size),
            (
                (
                    (position // size, position % size),
                    "that is the row of the table; which block does it name?",
                ),
            ),
        ),
        f"""{position} // {size} = {position // size}, and entry {position // size} of the table is
        {table[position // size]}; {position} % {size} = {position % size}.""",
        "Which row of the table, and how far into that block?",
    )


# -- 2 ---------------------------------------------------------------------------------------------------


def _online_softmax(case: Problem) -> Iterator[Part]:
    old_max, old_sum, score = 2, 24, 5
    new_sum = old_sum // BASE ** (score - old_max) + 1
    yield Section("Softmax without having all scores")
    yield Say(f"""
        The weights of the keys are a softmax of their scores: `2^score`, divided by the sum of all of them. (Kernels
        count in base {BASE}, as it is quicker; it is the same softmax if the scores are scaled.) Two things make that
        awkward. `2^score` can be larger than any number the machine has, so the largest score is subtracted first. And
        the largest score and the sum are known only when all keys have been read.

        A kernel does not want to keep thousands of scores. It takes a tile of keys at a time, and keeps three things:

        - m, the largest score so far;
        - l, the sum of `2^(score - m)` so far;
        - the accumulator: the sum of `2^(score - m)` x V so far.

        When a tile brings a larger score, m changes, and what was summed with the old m must be made to fit.
    """)
    yield Ask(
        f"""So far the largest score is {old_max}, and the sum is {old_sum}. The next tile has a single key, with score
        {score}. What is the sum after it?""",
        Whole(new_sum),
        f"""The old sum shrinks by {BASE}^({old_max} - {score}) = 1/{BASE ** (score - old_max)}: {old_sum} becomes
        {old_sum // BASE ** (score - old_max)}. The new key adds {BASE}^({score} - {score}) = 1. Together {new_sum}. The
        accumulator shrinks by the same factor.""",
        "Each old term had the old maximum in its exponent. By what are all of them multiplied when it rises?",
    )
    story = case.paged()
    first, second = story.tiles
    assert second.maximum > first.maximum
    spans = TILE // case.block_size
    assert spans > 1
    yield Say(f"""
        Here is the whole of it for A: {len(story.tiles)} tiles of {TILE} lanes, with a key in each. The second tile
        brings a larger score, {second.maximum:.2f} against {first.maximum:.2f}, so what the first one had added up
        shrinks to {100 * second.shrink:.0f} %. Slots that nobody wrote hold NaN ("not a number": what it touches
        becomes NaN).
    """)
    yield PAUSE
    for number in range(len(story.tiles)):
        yield Show(KernelWalk(story, number))
        yield PAUSE
    yield Say(f"""
        A tile of {TILE} keys spans {spans} blocks here. A tile is not a page: the block size is how memory is handed
        out, the tile is how much one turn of the loop computes. A tile may span many blocks, or lie inside one.
        Nothing is written back before the end, and no copy of K or V is made.
    """)
    yield PAUSE


# -- 3 ---------------------------------------------------------------------------------------------------


def _what_does_not_matter(case: Problem) -> Iterator[Part]:
    yield Section("What does not matter")
    yield Say("""
        We can change where things lie, and look at the result. First a guess.
    """)
    yield Ask(
        """Take the keys of the sequence, each with its value, and write the pairs into the slots in another order. The
        table stays as it is. The new token attends to all of them. What comes out?""",
        Choice(
            (
                "Nonsense: position 0 must come first.",
                "The same, but for rounding.",
                "The same only if the table is shuffled back.",
            ),
            1,
            (
                "where does attention use the position of a slot? A sum does not ask in which order it is made",
                "",
                "the sum goes over the same pairs, wherever they are found",
            ),
        ),
        """The output is a sum over pairs of K and V, and a sum has no order. What a token's position means was put into
        its K when it was computed (by rotary embeddings, say), before it was written. Only masks ask for positions:
        causal ones while a prompt is computed, and sliding windows.""",
        "Look at what m, l and the accumulator are: which of them knows in which order the keys came?",
    )
    rows = list(_changes(case))
    yield Show(
        figures(("changed", "the output"), rows, left=2),
        f"A's attention again, with one thing changed (largest difference of {HEAD_DIM} dimensions):",
    )
    yield Say("""
        Where blocks lie changes not one bit. Neither does the block size, as long as the tile stays the same. Another
        tile adds up in another order, and so rounds differently. What stands in slots that nobody wrote is never read,
        be it rubbish or NaN. But a key must keep its value.
    """)
    yield PAUSE


def _changes(case: Problem) -> Iterator[tuple[str, str]]:
    """What was changed, and what became of the output. The lesson's words rely on the assertions."""
    base = case.paged()
    elsewhere = case.moved([case.num_blocks - 1 - block for block in case.table])
    larger, single = case.in_blocks(4 * case.block_size), case.in_blocks(1)
    rubbish = replace(case, rubbish=1e4)
    exact = {
        "the blocks lie elsewhere": elsewhere,
        f"blocks of {larger.block_size} in place of {case.block_size}": larger,
        f"blocks of {single.block_size}": single,
        "large numbers in unwritten slots, not NaN": rubbish,
    }
    for what, changed in exact.items():
        assert changed.paged().output == base.output
        yield what, "the same, bit for bit"
    rounded = {"tiles of 1": replace(case, tile=1), "pairs of K and V shuffled": case.shuffled()}
    for what, changed in rounded.items():
        moved = difference(changed.paged().output, base.output)
        assert 0 < moved < 1e-5
        yield what, f"differs by {moved:.0e}: rounding"
    torn = difference(case.torn().paged().output, base.output)
    assert torn > 0.01
    yield "K shuffled, V not", f"differs by {torn:.2f}: wrong"


# -- 4 ---------------------------------------------------------------------------------------------------


def _gather() -> Iterator[Part]:
    yield Section("Why not gather first")
    yield Say("""
        There is an easier way: before attention, copy the sequence's blocks into one contiguous piece, and call an
        ordinary kernel. Every framework can do it in a line. Why write a kernel that knows about tables?

        In decoding, attention does next to no arithmetic: each K and V is used for a few queries and not again in this
        step. So its time is the time to move K and V through the memory bus.
    """)
    yield Ask(
        """A kernel that walks the table moves each byte of K and V once in a step: it reads it. How often is it moved
        if the blocks are gathered first?""",
        Whole(3, "times"),
        """It is read from the blocks, written into the contiguous piece, and read again by attention.""",
        "Follow one byte: from its block, into the copy, and then?",
    )
    yield from _bytes()


def _bytes() -> Iterator[Part]:
    facts, card = model("llama-3.1-8b"), gpu("h100-80gb")
    moved = SEQS * CONTEXT * kv_bytes_per_token(facts)
    speed = card.bandwidth_bytes_s * BANDWIDTH_SHARE
    once, thrice = (float(Fraction(times * moved) / speed) for times in (1, 3))
    shown = format_durations([once, thrice])
    layer = moved // facts.num_layers
    yield Say(f"""
        In numbers: {SEQS} sequences of {CONTEXT:,} tokens, {facts.name} on an H100. Their K and V are
        {format_gib(moved)}. At {float(BANDWIDTH_SHARE):.0%} of the card's bandwidth, reading it once takes {shown[0]} a
        step, and moving it three times {shown[1]}.

        And the copy needs a place: {format_gib(layer)} for one layer of this batch at a time, more for a larger batch,
        kept free for that purpose. This is memory that paging had just won back.
    """)
    yield PAUSE


# -- 5 ---------------------------------------------------------------------------------------------------


def _this_machine() -> Iterator[Part]:
    missing = missing_modules(*timing.ENGINE_PARTS)
    yield Section("Checked and timed on your machine")
    rows = [(name, "no" if name in missing else "yes") for name in ("numpy", *timing.ENGINE_PARTS)]
    yield Show(figures(("", "installed here"), rows, left=2))
    if missing:
        yield Say(f"""
            {" and ".join(missing)} {"is" if len(missing) == 1 else "are"} missing, so a part of what follows is left
            out or done in NumPy. `{INSTALL}` brings what this system has of it (Triton is for Linux).
        """)
    if timing.can_run_kernels():
        yield Say("""
            The project's own kernels are run next. The first time on a machine they are compiled, which takes some
            seconds.
        """)
    yield PAUSE
    if "torch" not in missing:
        yield from _checked()
    else:
        yield Say("""
            The NumPy walk of section 2 is the check that runs here: it agreed with attention in `float64`, computed
            from contiguous K and V all at once, to the last digits shown. The project's kernels need torch.
        """)
    yield from _timed()


def _checked() -> Iterator[Part]:
    found = timing.checks()
    rows = [
        (one.name, "not run" if one.error is None else f"{one.error:.0e}", one.note)
        for one in found
    ]
    yield Show(
        figures(("", "error", ""), rows, left=3),
        "Two sequences in scattered blocks, NaN in all other slots; the judge is `float64` on contiguous K and V:",
    )
    yield Say("""
        The Triton kernel is the one for GPUs. Here it runs in Triton's interpreter, which shows what it computes and
        nothing about its speed.
    """)
    yield PAUSE


def _timed() -> Iterator[Part]:
    ways = timing.ways()
    base = ways[0].seconds
    times = format_durations([way.seconds for way in ways])
    rows = [
        (way.name, way.how, shown, f"{way.seconds / base:.2f}")
        for way, shown in zip(ways, times, strict=True)
    ]
    yield Show(
        figures(("way", "", "median", "ratio"), rows, left=2),
        f"""{timing.SEQS} sequences of {timing.CONTEXT:,} keys decode, blocks of {timing.BLOCK_SIZE}, on this CPU, just
        now:""",
    )
    by_name = {way.name: way.seconds for way in ways}
    gathered = by_name[timing.GATHER] / base
    yield Say(f"Here gathering first took {gathered:.2f} times as long as contiguous K and V.")
    if timing.PAGED in by_name:
        walked = by_name[timing.PAGED] / base
        yield Say(f"Walking the table took {walked:.2f} times as long.")
    else:
        yield Say("""
            (The walk through the table is not timed: a loop over blocks in Python would show how slow Python is.)
        """)
    yield Say("""
        Look at the ratios, and type the command again another day: times of less than a millisecond depend on what
        else the machine is doing. On a GPU the ratios are others; why gathering loses is the same.
    """)
    yield PAUSE
    yield from _myth()


def _myth() -> Iterator[Part]:
    low, high = KERNEL_SLOWER
    yield Ask(
        "Somebody says: PagedAttention makes attention faster. What did the paper measure, for the kernel alone?",
        Choice(
            (
                "Faster: the blocks fit the GPU's caches.",
                "The same, to the percent: the table is read once.",
                f"Slower, by {low} to {high} %.",
            ),
            2,
            (
                "K and V are read once, so there is nothing to find in a cache again",
                "the table is looked up for every block, in every layer",
                "",
            ),
        ),
        f"""{low} to {high} % slower than a contiguous kernel of its day (section 7.1): table look-ups, branches,
        shorter reads. It paid off because the batch became several times larger (Lesson 9). Later kernels have brought
        the difference close to nothing.""",
        "The contiguous kernel does the same arithmetic. What does the paged one have to do besides?",
    )


# -- the end ---------------------------------------------------------------------------------------------


def _closing() -> Iterator[Part]:
    yield History("""
        The paper's kernel read one block after the other, for decoding only; prompts were computed with ordinary
        kernels. Engines today (V1 among them) use kernels such as FlashAttention's and FlashInfer's, which take a
        block table for prompts and decoding alike. Online softmax is older than paging (Milakov and Gimelshein).
    """)
    yield Try(
        "pagesim kernel explain", "Section 2's walk, with a length, block and tile of your own."
    )
    yield Try(
        "pagesim kernel check", "The kernels on random cases, with every option; needs torch."
    )
    yield Try("pagesim kernel bench", "Section 5's timing, larger and longer; needs torch.")
    yield PAUSE
    yield Remember(
        (
            "`block = table[pos // B]`, `slot = pos % B`: that is all that paging changes in a kernel.",
            "Online softmax keeps a maximum, a sum and an accumulator; when the maximum rises, the others shrink.",
            "Where blocks lie changes no bit of the output. A key must keep its value, and that is all.",
            "Gathering first moves K and V three times in place of once, and needs memory for the copy.",
            "A tile is what one turn computes, a block is how memory is handed out.",
            "Paging does not make attention faster. It makes the batch larger.",
        )
    )
    yield from _questions()


def _questions() -> Iterator[Part]:
    table, size, length = (9, 4, 7), 16, 40
    last = length - 1
    yield Ask(
        f"""A sequence has {length} tokens in the cache, its table is {list(table)}, blocks hold {size}. How many slots
        of block {table[-1]} must the kernel not read?""",
        Whole(size * len(table) - length, "slots"),
        f"""{len(table)} blocks have {size * len(table)} slots, and {length} are written; the last key, {last}, is in
        slot {last % size} of block {table[last // size]}. The rest holds whatever was there before.""",
        "How many tokens are in the last block?",
    )
    yield Ask(
        f"Blocks of {size} in memory; a kernel computes tiles of {4 * size} keys. What must be true?",
        Choice(
            (
                f"The block size must be raised to {4 * size}, or the kernel can not be used.",
                f"Four blocks that lie side by side must be found for every tile of {4 * size} keys.",
                "Nothing: the kernel looks up several entries of the table for one tile.",
            ),
            2,
            (
                "that takes a tile for a page",
                "then external fragmentation would be back; any free block must do",
                "",
            ),
        ),
        "A look-up for each key (or each block) is enough. Tile and block are chosen for different reasons.",
        "Which of the two is about memory, and which about arithmetic?",
    )
    yield Ask(
        "A row's maximum rises from tile to tile. What happens to the V that were added up already?",
        Choice(
            (
                "The accumulator is multiplied by `2^(old maximum - new maximum)`; no V is read again.",
                "They are read again and weighted anew.",
                "They stay as they are: weights that were computed are right.",
            ),
            0,
            (
                "",
                "then a long sequence would be read many times over",
                "they are too large, by a factor that is known",
            ),
        ),
        "All old weights are too large by one common factor, so one multiplication puts all of them right.",
        "By how much is each of the old weights wrong? Is it the same for all?",
    )


LESSON = Lesson(
    10,
    "kernel",
    "The kernel",
    "Attention through a block table: softmax tile by tile, why not gather first, timed on your machine.",
    12,
    5,
    script,
)
