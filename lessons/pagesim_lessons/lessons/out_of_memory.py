"""Lesson 8: out of memory: who gives way, what becomes of its tokens, and how to avoid it."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from pagesim.core import events as ev
from pagesim.core.types import blocks_for
from pagesim.planner.facts import gpu, model
from pagesim.planner.kv_cache import kv_bytes_per_token
from pagesim.practice.answers import Choice, Names, Whole, YesNo
from pagesim.replay.phrases import joined
from pagesim.replay.report import RunReport
from pagesim.sim import paper, paper_shapes
from pagesim.sim.cost import HOST_PIECE_NS
from pagesim.sim.policies import Policies, parse_watermark
from pagesim.sim.simulate import simulate
from pagesim.sim.workloads import build_workload
from pagesim.views.figures import counted, format_duration, format_mean
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


def script() -> Iterator[Part]:
    yield from _who()
    yield from _what_is_kept()
    yield from _queue_order()
    yield from _two_ways()
    yield from _groups()
    yield from _watermark()
    yield from _thrash()
    yield from _closing()


def preempted(walk: Walk, name: str = "") -> ev.SequencePreempted:
    event = walk.until("preempted", name=name)
    assert isinstance(event, ev.SequencePreempted)
    return event


def name_of(walk: Walk, seq: int) -> str:
    return walk.state.sequences[seq].name


# -- who gives way ---------------------------------------------------------------------------------------


def _who() -> Iterator[Part]:
    walk = Walk.of("preemption")
    walk.step()
    running, size = walk.running, walk.geometry.block_size
    oldest, last = running[0], running[-1]
    assert walk.state.num_free == 0
    yield Section("Nobody knows how long an answer gets")
    yield Say(f"""
        Paging hands out a block when it is needed, and reserves nothing. So more requests fit; but a request that has
        started is promised nothing, either. Nobody knows how long its answer gets. What if all grow, and no block
        is left?

        {counted(walk.geometry.num_blocks, "block")} of {size} slots, and {len(running) + 1} requests come at once:
    """)
    yield Show(walk.picture(MEMORY, QUEUES))
    yield PAUSE
    length = walk.written(oldest)
    assert not length % size
    event = preempted(walk)
    assert name_of(walk, event.seq) == last
    assert name_of(walk, event.by) == oldest
    longest = max(walk.view(name).prompt_tokens for name in running)
    assert walk.view(oldest).prompt_tokens == longest
    yield Ask(
        f"""The next token of {oldest} has position {length}: it needs one more block, and none is free. Somebody has to
        give blocks back. Who?""",
        Choice(
            (
                f"{oldest}: it is the one that needs more, and it is the longest.",
                f"{last}: it was admitted last.",
                "Whoever has used its blocks least recently; of that request, the oldest blocks.",
                f"Nobody: {oldest} waits until a block is free.",
            ),
            1,
            (
                "then the oldest request might be put off for ever by younger ones",
                "",
                "every sequence reads all of its blocks in every step, so none is used less recently than another",
                "the others need blocks, too: if all wait, nobody ever ends",
            ),
        ),
        """First come, first served: who came last gives way. So the oldest always gets on and ends, and its
        memory goes to the others. This is called preemption, and who gives way is the victim. "The biggest goes" and
        "the least recently used goes" are misconceptions: such rules can be made, but with this one everybody is
        served in the end.""",
        "Which choice makes sure that somebody ends, and then somebody else?",
    )
    freed = walk.until("freed")
    assert isinstance(freed, ev.TableFreed)
    yield Show(walk.picture(MEMORY, QUEUES))
    yield Say(f"""
        {last} gives back all its blocks, {joined([str(b) for b in sorted(freed.released)])}, although {oldest} needs
        just one. Half a sequence is of no use: attention needs every earlier token, so with one block gone the others
        only take up room. All of them or none.
    """)
    yield PAUSE


def _what_is_kept() -> Iterator[Part]:
    walk = Walk.of("preemption")
    event = preempted(walk)
    victim = name_of(walk, event.seq)
    view = walk.view(victim)
    prompt, outputs = view.prompt_tokens, view.outputs
    back = next(
        e
        for e in walk.events[walk.place :]
        if isinstance(e, ev.SequenceAdmitted) and e.seq == event.seq
    )
    assert back.resumed
    assert back.tokens == prompt + outputs
    yield Section("What the victim keeps")
    yield Say(f"""
        {victim} waits again. It has lost the K and V of {counted(event.lost_tokens, "token")}. What it keeps is its
        text: what it has answered so far ({counted(outputs, "token")}) is not taken back, and not drawn again. The user
        sees a pause and nothing else.
    """)
    yield Ask(
        f"""{victim} had a prompt of {prompt} tokens and {counted(outputs, "output token")}. How many of these are
        computed in the step in which it comes back?""",
        Whole(back.tokens, "tokens"),
        f"""All that it has: {prompt} + {outputs} = {back.tokens}, at once, like one long prompt. One step, not one step
        a token: when a token is known already, nothing has to wait for it. This is called recompute.""",
        "Its text is known, and K and V of none of it are there.",
    )
    walk.until("admitted", name=victim)
    (other,) = [name for name in walk.running if name != victim]
    seqs = {walk.view(other).seq}
    assert seqs & {e.seq for e in walk.of_kind("preempted") if isinstance(e, ev.SequencePreempted)}
    yield Show(
        walk.picture(QUEUES),
        f"When there is room again ({other} lost its blocks in the meantime, too: the next part tells of that):",
    )
    yield Say("""
        "Recompute repeats the generation" and "it loses text" are misconceptions. It costs compute, and time.
    """)
    yield PAUSE


def _queue_order() -> Iterator[Part]:
    walk = Walk.of("preemption")
    first = name_of(walk, preempted(walk).seq)
    event = preempted(walk)
    second = name_of(walk, event.seq)
    oldest = name_of(walk, event.by)
    earlier = [name for name in walk.waiting if name not in (first, second)]
    walk.until("freed")
    waiting = walk.waiting
    walk.to_step(walk.state.step)
    before = walk.waiting
    yield Section("In which order victims wait")
    yield Show(walk.picture(MEMORY, QUEUES), f"A few steps later; {first} still waits:")
    assert before == [first, *earlier]
    assert waiting == [second, first, *earlier]
    yield Ask(
        f"""Now {oldest} needs a block once more, and {second} is the victim. It will go to the front of the queue. In
        which order do they wait then?""",
        Names(waiting, "requests"),
        """A victim goes to the front, and the last admitted is preempted first: so whoever is preempted later came
        earlier, and stands before it. The queue stays in order of arrival, after any number of preemptions.""",
        "Who came first, and who next?",
    )
    preempted(walk)
    walk.until("freed")
    yield Show(walk.picture(QUEUES))
    walk.to_end()
    last = [e for e in walk.of_kind("preempted") if isinstance(e, ev.SequencePreempted)]
    assert all(e.seq != last[0].by for e in last)
    yield Say(f"""
        In the end, all {counted(len(walk.of_kind("finished")), "request")} get all their tokens. There were
        {counted(len(last), "preemption")}, and {oldest}, the oldest, was never a victim.
    """)
    yield PAUSE


# -- two ways to give way --------------------------------------------------------------------------------


def _two_ways() -> Iterator[Part]:
    cost, both = paper.settings().cost, len(("out", "in"))
    tokens, size = paper_shapes.MOVED_TOKENS, paper.BLOCK_SIZE
    each = kv_bytes_per_token(model(paper.MODEL))
    link = gpu(paper.GPU).host_link_bytes_s
    rows = paper_shapes.moved()
    at = {row.block_size: row for row in rows}
    assert at[size].swap_ms > at[size].recompute_ms
    between = paper_shapes.crossing(rows)
    assert between is not None
    pieces = cost.host_block_ns // HOST_PIECE_NS
    yield Section("Recompute, or swap?")
    yield Say(f"""
        There is another way: to copy the victim's blocks to the memory of the host (the CPU's), and back when there is
        room. Its K and V are not lost then. This is called swapping.

        Which is better? Let a victim have {tokens} tokens. OPT-13B's K and V of these are
        {tokens * each / 2**20:.0f} MiB, and the host link of an A100 moves {link / 1e9:.0f} GB a second at best: out
        and in would be {1e3 * both * tokens * each / link:.0f} ms. To compute {tokens} tokens again takes
        {at[size].recompute_ms:.0f} ms.
    """)
    yield Ask(
        f"Blocks have {size} slots. Is it faster to swap the victim out and in, or to compute it again?",
        Choice(
            (
                "Swapping: copying is always cheaper than computing.",
                "Recomputing: a swap is a large number of small copies.",
                "There is no difference: both grow with the number of tokens.",
            ),
            1,
            (
                "it depends on how the bytes lie: each small copy has a fixed cost",
                "",
                "both do, but at different prices",
            ),
        ),
        f"""A block is not one piece of memory: each of {model(paper.MODEL).num_layers} layers has its K and its V of
        it, so {pieces} pieces. {tokens} tokens are {blocks_for(tokens, size)} blocks, and out and in they are
        {both} x {blocks_for(tokens, size)} x {pieces} = {both * blocks_for(tokens, size) * pieces:,} copies.""",
        "In how many pieces does one block lie, with so many layers?",
    )
    yield Show(
        figures(
            ("block size", "recompute", "swap out and in"),
            [
                (f"{row.block_size}", f"{row.recompute_ms:.1f} ms", f"{row.swap_ms:.1f} ms")
                for row in rows
            ],
            left=0,
        ),
        f"By pagesim's cost model, a victim of {tokens} tokens (the paper's Figure 19):",
    )
    yield Say(f"""
        Recomputing does not care about blocks. Swapping is very dear with small blocks, and becomes the cheaper one
        between blocks of {between[0]} and of {between[1]}. `pagesim run --preempt cheaper` asks the cost model at each
        preemption. And swapping needs a host pool: memory that is set aside for it.
    """)
    yield PAUSE


def _groups() -> Iterator[Part]:
    walk = Walk.of("swap")
    event = preempted(walk)
    leader = name_of(walk, event.seq)
    walk.to_step(walk.state.step)
    group = [name for name in walk.running if name.split(".")[0] == leader]
    others = [name for name in walk.running if name not in group]
    blocks = {block for name in group for block in walk.table(name)}
    listed = sum(len(walk.table(name)) for name in group)
    shared = sorted(block for block in blocks if walk.count(block) == len(group))
    free = walk.state.num_free
    yield Section("A group goes together")
    yield Say(f"""
        {leader} has {len(group)} samples, which share (Lesson 5). They need {len(group)} new blocks for the next step,
        and {free} is free:
    """)
    yield Show(walk.picture(MEMORY, TABLES, says=False))
    place = walk.place
    walk.until("swapped_out")
    walk.until("planned")
    moved = [e for e in walk.events[place : walk.place] if isinstance(e, ev.BlockCopied)]
    assert len(moved) == len(blocks) < listed
    yield Ask(
        f"""The whole group is swapped out: who shares blocks is preempted together. Their tables list {listed} blocks.
        How many blocks are copied to the host?""",
        Whole(len(moved), "blocks"),
        f"""Block {shared[0]} stands in {len(group)} tables, and moves once: {listed} - {len(group) - 1} = {len(moved)}.
        The samples go on sharing it on the host.""",
        "Which blocks are there several times in the tables?",
    )
    yield Show(walk.picture(MEMORY, TABLES))
    yield PAUSE
    walk.until("blocked")
    walk.until("planned")
    late = walk.waiting[-1]
    need = blocks_for(walk.view(late).prompt_tokens, walk.geometry.block_size)
    free = walk.state.num_free
    assert need <= free
    assert late not in walk.running
    yield Ask(
        f"""Then {late} comes, with a prompt that needs {counted(need, "block")}; {free} are free, but {leader} cannot
        come back yet: that takes {len(moved)} blocks and {len(group)} for the next tokens. May {late} start?""",
        YesNo(value=False),
        f"""As long as anybody is on the host, nobody new is admitted. Else newcomers would take what {leader} waits
        for, again and again. {leader} came first, and comes back first.""",
        f"What would become of {leader} if small requests came all the time and were let in?",
    )
    walk.until("returned")
    walk.until("planned")
    yield Show(walk.picture(TABLES, QUEUES), f"When {joined(others)} has ended:")
    yield PAUSE
    yield History("""
        Swapping belongs to the paper and to vLLM V0, which swapped groups and recomputed single sequences. V1 only
        recomputes. It can afford to: with chunked prefill (Lesson 9) a victim computes beside the others, and with the
        prefix cache (Lesson 7) it often finds its own old blocks, since freed blocks keep their content.
    """)
    yield from _found_again()


def _found_again() -> Iterator[Part]:
    plain = Walk.of("preemption")
    memory = replace(plain.story.memory, prefix_caching=True)
    cached = Walk(replace(plain.story, memory=memory))
    back = [e for e in cached.of_kind("admitted") if isinstance(e, ev.SequenceAdmitted)]
    found = sum(e.cached_tokens for e in back)
    assert found == plain.num_computed - cached.num_computed > 0
    yield Say(f"""
        The first story again, with a prefix cache: {cached.num_computed} tokens are computed in place of
        {plain.num_computed}. Its victims find {found} tokens of their own.
    """)
    yield PAUSE


# -- the watermark ---------------------------------------------------------------------------------------


def _watermark() -> Iterator[Part]:
    walk = Walk.of("watermark")
    kept, size = walk.story.scheduler.watermark_blocks, walk.geometry.block_size
    walk.until("blocked")
    walk.until("planned")
    (late,) = walk.waiting
    (oldest,) = walk.running
    need = blocks_for(walk.view(late).prompt_tokens, size)
    free = walk.state.num_free
    assert need <= free < need + kept
    yield Section("The watermark")
    yield Say(f"""
        Preemption costs compute. Can we have less of it? One way is to admit more carefully: whoever is admitted has to
        leave some blocks free, for those that run to grow into. So many blocks are the watermark. Here it is
        {kept}, and {late} has come:
    """)
    yield Show(walk.picture(MEMORY, QUEUES, says=False))
    yield Ask(
        f"""{late} needs {counted(need, "block")} for its prompt, and {free} are free. The watermark is {kept} blocks.
        Does {late} start?""",
        YesNo(value=False),
        f"{need} + {kept} to stay free = {need + kept}, and only {free} are. {late} waits, although it would fit.",
        "What is free after its admission?",
    )
    grown = blocks_for(walk.view(oldest).prompt_tokens + walk.view(oldest).max_tokens - 1, size)
    low = min(walk.geometry.num_blocks - held for held in walk.held_by_step)
    assert low < kept
    assert grown == walk.geometry.num_blocks
    yield Ask(
        f"""{oldest} goes on growing. When only {kept} blocks are free, may it take one of them?""",
        YesNo(value=True),
        f"""The watermark is for admissions. Who runs may take the last block, and here {oldest} does: at the
        end {low} are free. "The watermark keeps a part of the memory free" is a misconception: it keeps room for those
        that run to grow into.""",
        "What are these blocks kept for?",
    )
    yield from _small_trade()


def _small_trade() -> Iterator[Part]:
    story = Walk.of("preemption").story
    rows, computed, steps = [], [], []
    for kept in range(4):
        walk = Walk(replace(story, scheduler=replace(story.scheduler, watermark_blocks=kept)))
        computed.append(walk.num_computed)
        steps.append(len(walk.held_by_step))
        rows.append(
            (f"{kept}", f"{len(walk.of_kind('preempted'))}", f"{computed[-1]}", f"{steps[-1]}")
        )
    assert computed == sorted(computed, reverse=True)
    assert steps[-1] > steps[0]
    yield Show(
        figures(("watermark", "preemptions", "tokens computed", "steps"), rows, left=0),
        "The first story of this lesson, with a watermark of so many blocks:",
    )
    yield Say(f"""
        With each block that is kept free, less is computed in vain, until nothing is: {computed[-1]} tokens are what
        the requests need. But fewer run at once, and it takes more steps. So there is something to be weighed.
    """)
    yield PAUSE


# -- thrash ----------------------------------------------------------------------------------------------

SHARES = tuple(f"{percent} %" for percent in (0, 1, 5, 20, 40))
REQUESTS = 200


@cache
def served(share: str) -> RunReport:
    """ShareGPT's lengths, all waiting from the start; engines' rules and OPT-13B in 12 GiB."""
    workload = build_workload(
        "sharegpt", requests=REQUESTS, rate=None, seed=0, max_model_len=paper.MAX_MODEL_LEN
    )
    policies = Policies(watermark=parse_watermark(share))
    return simulate(
        workload, "paged", replace(paper.settings(), rules="engine", policies=policies)
    ).report


def _thrash() -> Iterator[Part]:
    reports = {share: served(share) for share in SHARES}
    speeds = {share: r.output_tokens_per_s or 0.0 for share, r in reports.items()}
    best = max(SHARES, key=speeds.__getitem__)
    none = reports[SHARES[0]]
    lost = [r.lost_tokens for r in reports.values()]
    assert best not in (SHARES[0], SHARES[-1])
    assert lost == sorted(lost, reverse=True)
    yield Section("Too many at once")
    yield Say(f"""
        Now {REQUESTS} requests of ShareGPT's lengths, more than fit, and all wait from the start. Without a watermark,
        whoever fits is admitted at once. Soon all have grown, and somebody gives way; as soon as there is a little room
        somebody is admitted, only to give way again. A machine that is busy with redoing its own work is said to
        thrash.
    """)
    yield Show(figures(_HEAD, [_row(SHARES[0], none)], left=0))
    yield Say(f"""
        For {none.output_tokens:,} output tokens, {none.lost_tokens:,} tokens were computed and lost: about
        {none.lost_tokens / none.output_tokens:.1f} for each.
    """)
    yield Ask(
        f"What does a watermark do to the throughput, if we raise it from {SHARES[0]} to {SHARES[-1]} of the memory?",
        Choice(
            (
                "It falls all the way: each block that is kept free serves nobody.",
                "It rises all the way: the less is lost, the better.",
                "It rises first, and then falls.",
            ),
            2,
            (
                "a little room to grow saves more than it costs",
                "soon nothing much is lost any more, and the batch gets smaller and smaller",
                "",
            ),
        ),
        f"""A little room saves most preemptions, a lot of it only makes the batch smaller. Here {best} is best of
        these; where the best is depends on how much answers differ in length.""",
        "What does the first block that is kept free do, and what the last?",
    )
    yield Show(figures(_HEAD, [_row(share, report) for share, report in reports.items()], left=0))
    gain = 100 * (speeds[best] / speeds[SHARES[0]] - 1)
    assert 0 < gain < 20
    yield Say(f"""
        The gain is {gain:.0f} %, though most of the lost tokens are saved. Recomputing is cheap a token: it is prefill,
        and many tokens share one reading of the weights. What a user feels is the pause: a victim waits for room, and
        then for its whole text to be computed.
    """)
    yield PAUSE


_HEAD = (
    "watermark",
    "requests\nat once",
    "preempted",
    "tokens\nlost",
    "output\ntokens/s",
    "time per token,\nslowest 1 %",
)


def _row(share: str, report: RunReport) -> tuple[str, ...]:
    return (
        share,
        format_mean(report.mean_requests),
        f"{report.num_preemptions}",
        f"{report.lost_tokens:,}",
        f"{report.output_tokens_per_s or 0:.0f}",
        format_duration(report.tpot_s.p99),
    )


# -- closing ---------------------------------------------------------------------------------------------


def _closing() -> Iterator[Part]:
    yield History("""
        The paper's system and V0 kept back a watermark of one block in a hundred. In V1 it is a setting. There, a
        request is admitted if its whole prompt fits, although the prompt may be computed in chunks.
    """)
    yield Try("pagesim run preemption --view", "Step to the preemptions: `?` says which key jumps.")
    yield Try("pagesim run swap", "The group's way to the host and back, in sentences.")
    yield Try(
        "pagesim sweep --watermark 0,1%..16% --requests 300",
        "Where is the best of it for this workload?",
    )
    yield PAUSE
    yield Remember(
        (
            "If one that runs has to grow and no block is free, the one admitted last gives way, with all its blocks.",
            "Outputs are kept; prompt and outputs are computed again in one go, or were swapped to the host.",
            "Who shares is preempted together; what is shared moves once.",
            "Victims wait in order of arrival, before those who never ran; the oldest always gets on.",
            "A watermark holds newcomers back, not those who run; a little of it saves much recomputing.",
        )
    )
    yield from _questions()


def _questions() -> Iterator[Part]:
    walk = Walk.of("preemption")
    event = preempted(walk)
    while event.by != event.seq:
        event = preempted(walk)
    itself = name_of(walk, event.seq)
    running = [*walk.running, itself]
    assert len(running) > 1
    yield Ask(
        f"""{joined(running)} run, in order of admission. {itself} has to grow, and no block is free. Who is
        preempted?""",
        Names((itself,), "requests"),
        f"""The last admitted gives way, and that is {itself} itself. It does not take a block from one that came before
        it. That one goes on, and ends the sooner.""",
        "The rule looks at who was admitted last, not at who asks.",
    )
    free, kept, size = 10, 4, 16
    most = (free - kept) * size
    yield Ask(
        f"""Requests are running, {free} blocks of {size} are free, and the watermark is {kept} blocks. How many tokens
        may the prompt of a new request have at most, to be admitted now?""",
        Whole(most, "tokens"),
        f"{free} - {kept} = {free - kept} blocks may be taken, and {free - kept} x {size} = {most}.",
        "How many blocks may it take?",
    )
    rows = {row.block_size: row for row in paper_shapes.moved()}
    cheap = [size for size, row in rows.items() if row.swap_ms < row.recompute_ms]
    assert cheap == list(rows)[-len(cheap) :]
    yield Ask(
        "An engine can swap or recompute its victims. What speaks for recomputing?",
        Choice(
            (
                "Victims answer with another text then, which may be a better one.",
                "Large blocks, since more of each has to be computed.",
                "Small blocks: they would be a great many small copies to the host and back.",
            ),
            2,
            (
                "the text so far is kept, and only its K and V are computed again",
                f"recomputing costs the same with all block sizes; from {cheap[0]} on, swapping was the cheaper one",
                "",
            ),
        ),
        "The fixed cost of each copy makes swapping dear with small blocks; to recomputing, blocks do not matter.",
        "Which of the two depends on the block size?",
    )


LESSON = Lesson(
    8,
    "out-of-memory",
    "Out of memory: preemption",
    "Who gives way, what is kept, recompute against swap, the watermark, and when it thrashes.",
    14,
    7,
    script,
)
