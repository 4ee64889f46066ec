"""Lesson 2: reserve the maximum, in one piece: a server with free memory that lets people wait, and where it went."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count, takewhile
from typing import NamedTuple

from pagesim.core.content import Content
from pagesim.core.events import TokensSampled
from pagesim.core.memories import MemorySettings, build_memory
from pagesim.core.request import Request
from pagesim.core.types import Room
from pagesim.planner.facts import model
from pagesim.planner.kv_cache import kv_bytes_per_token
from pagesim.practice.answers import Choice, Whole, YesNo
from pagesim.practice.named_numbers import NamedNumbers
from pagesim.replay.report import RunReport
from pagesim.replay.waste import WasteSplit
from pagesim.sim import paper
from pagesim.sim.scenario import parse_scenario
from pagesim.sim.simulate import Comparison, Contender, compare, simulate
from pagesim.views.figures import counted, format_duration, format_durations
from pagesim.views.map_grid import MapGrid, NamedMap
from pagesim.views.waste_bar import LabelledSplit, WasteBars
from pagesim_lessons.cache_pictures import SlotRow, SlotRows
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
from pagesim_lessons.walk import BAR, MEMORY, QUEUES, Walk

REQUESTS = 300
FIGURE_3 = """
[memory]
allocator = "oracle"
slots = 2560
[rules]
max_model_len = 2048
[[request]]
id = "A"
prompt = "Four score and seven years ago our"
outputs = "fathers brought forth <eos>"
stop = "<eos>"
[[request]]
id = "B"
prompt = "You only live"
outputs = "once more <eos>"
stop = "<eos>"
"""
"""The paper counts a slot for B's end token; here that is never stored, so B says one word more."""
MAXIMA = {"A": 2048, "B": 512}


def script() -> Iterator[Part]:
    yield from _reserve_the_maximum()
    yield from _inside_a_slab()
    yield from _between_slabs()
    found = compared()
    yield from _the_papers_setting(found)
    yield from _if_it_knew(found)
    yield from _closing()


# -- reserving -------------------------------------------------------------------------------------------


def _reserve_the_maximum() -> Iterator[Part]:
    walk = Walk.of("slabs-max")
    slots, longest = walk.geometry.num_slots, walk.story.scheduler.max_model_len
    requests = [request for _, request in walk.story.arrivals if isinstance(request, Request)]
    first, last = requests[0], requests[-1]
    prompt, output = len(first.prompt), first.max_tokens
    walk.until("admitted", name=requests[-2].id)
    taken = len(walk.running) * longest
    yield Section("Reserve the maximum, in one piece")
    yield Say(f"""
        On a GPU numbers lie in tensors: each one piece of memory, without gaps, as large as it may ever become. Early
        engines kept the K and V of each request so. Let us call the piece a slab.

        Nobody knows how long an answer will be, so a slab is as long as the longest request allowed. Our first server
        has {slots} slots, and requests of at most {longest} tokens, prompt and output together.
        {counted(len(requests), "request")} arrive; each has a prompt of {prompt} tokens and will get {output} output
        tokens, but the server does not know that.
    """)
    yield Show(
        walk.picture(MEMORY, says=False),
        f"""{_word(len(walk.running))} of them have got their slabs. A cell is a slot; the letter says whose it is, and
        each row begins with the number of its first slot:""",
    )
    written = len(walk.running) * prompt
    yield Ask(
        f"""Each slab takes {longest} slots. Step {0} will write {prompt} tokens into each. {last.id} is next: it has
        {prompt} tokens to store. Can it start in step {0}, too?""",
        YesNo(value=taken + longest <= slots),
        f"""{len(walk.running)} x {longest} = {taken} of {slots} slots are handed out, and it needs {longest} in one
        piece. That only {written} slots will hold a token does not matter.""",
        f"Not how much is written counts, but how much is handed out. What does {last.id} reserve?",
    )
    walk.step()
    assert walk.waiting == [last.id]
    yield Show(walk.picture(MEMORY, BAR, QUEUES), "Step 0, with its queue:")
    yield PAUSE
    yield from _until_the_end(walk, last.id)


def _until_the_end(walk: Walk, last: str) -> Iterator[Part]:
    steps = walk.state.step
    while walk.waiting:
        steps = walk.state.step
        at_end = sum(walk.written(name) for name in walk.running)
        walk.step()
    slots = walk.geometry.num_slots
    walk.to_step(steps)
    yield Show(walk.picture(MEMORY, BAR), f"Step {steps}, the last one before they end:")
    yield Say(f"""
        They end with {at_end} of {slots} slots written. {slots - at_end} slots, {100 * (slots - at_end) / slots:.1f} %
        of the memory, were never touched, and {last} waited for {steps + 1} steps all the same. The server has memory,
        and lets people wait.
    """)
    yield PAUSE


# -- inside a slab ---------------------------------------------------------------------------------------


class Slab(NamedTuple):
    """One request's slab at a moment, in slots."""

    name: str
    maximum: int
    prompt: int
    written: int
    final: int

    @property
    def reserved(self) -> int:
        return self.final - self.written

    @property
    def internal(self) -> int:
        return self.maximum - self.final


def figure_3() -> tuple[Walk, list[Slab]]:
    """The paper's two requests, each with its own maximum, in the step that stores their first output tokens."""
    story = parse_scenario("figure-3", "figure-3", FIGURE_3.encode())
    arrivals = [
        (at, replace(each, max_tokens=MAXIMA[each.id] - len(each.prompt), known_output=None))
        for at, each in story.arrivals
        if isinstance(each, Request)
    ]
    walk = Walk(replace(story, arrivals=tuple(arrivals)))
    walk.to_step(1)
    slabs = []
    for name in MAXIMA:
        view = walk.view(name)
        sampled = [event for event in walk.of_kind("sampled") if isinstance(event, TokensSampled)]
        outputs = sum(event.seqs.count(view.seq) for event in sampled)
        final = view.prompt_tokens + outputs - 1
        slabs.append(Slab(name, view.wanted, view.prompt_tokens, view.written, final))
    return walk, slabs


def _inside_a_slab() -> Iterator[Part]:
    walk, slabs = figure_3()
    a, b = slabs
    yield Section("Inside a slab: reserved and internal")
    yield Say(f"""
        Now the paper's own example, its Figure 3. Request A may become {a.maximum:,} tokens long, B {b.maximum}. A's
        prompt has {a.prompt} tokens, and the words so far are "{" ".join(walk.text("A"))}". The last of them is being
        written just now; {a.written} slots of A's slab hold a token. The other {a.maximum - a.written:,} are of two
        kinds.
    """)
    walk.to_end()
    yield Ask(
        f"""A's answer goes on with {a.reserved} more words, and then the end token comes, which is never stored. How
        many slots of A's slab will nobody ever fill?""",
        Whole(a.internal, "slots"),
        f"""{a.maximum:,} - {a.prompt} - {a.written - a.prompt} - {a.reserved} = {a.internal:,}: the slab less the
        prompt, less what is written of the answer, less what is still to come.""",
        "Count what will be there at the end, and take it from the whole slab.",
    )
    rows = [
        SlotRow(s.name, (("used", s.written), ("reserved", s.reserved), ("internal", s.internal)))
        for s in slabs
    ]
    table = [
        (
            s.name,
            *(
                f"{part:,}"
                for part in (s.maximum, s.prompt, s.written - s.prompt, s.reserved, s.internal)
            ),
        )
        for s in slabs
    ]
    heads = (
        "",
        "slab",
        "prompt",
        "output\nso far",
        "filled later:\nreserved",
        "never filled:\ninternal",
    )
    yield Show(SlotRows(rows), "Both slabs at this moment:")
    yield Show(figures(heads, table))
    yield Say("""
        - Reserved: empty now, but its own request will fill it.
        - Internal: it never holds anything. The request asked for more than it needed.

        Both lie inside somebody's slab, closed to everybody else. A map of a moment draws both as held and empty, as
        nobody knows the end yet.
    """)
    yield PAUSE
    yield Ask(
        "What tells a reserved slot from an internal one?",
        Choice(
            (
                "The reserved ones were asked for; the internal ones come from rounding up.",
                "The reserved ones get a token before the request ends, the internal ones never do.",
                "Nothing: both are internal fragmentation.",
            ),
            1,
            (
                "both were asked for, and nothing was rounded here",
                "",
                "what is reserved does get used; if all answers were as long as allowed, no slot would be internal",
            ),
        ),
        "So it can be told only in hindsight: pagesim does it after a run, when it knows what became of each slot.",
        "Think of a request whose answer becomes as long as it may.",
    )


# -- between slabs ---------------------------------------------------------------------------------------


def _between_slabs() -> Iterator[Part]:
    walk = Walk.of("fragmentation")
    yield Section("Between slabs: external")
    yield Say("""
        The third kind lies outside all slabs. To see it alone, let the server know all answers beforehand, so that each
        slab is as long as its request will be. a, b and c (A, B and C in the picture) fill the memory:
    """)
    walk.step()
    yield Show(walk.picture(MEMORY))
    walk.until("freed", name="a")
    walk.until("freed", name="c")
    state = walk.state
    held = [len(view.table) for view in state.sequences.values()]
    free = walk.geometry.num_slots - sum(held)
    d = next(r for _, r in walk.story.arrivals if isinstance(r, Request) and r.id == "d")
    needs = len(d.prompt) + d.max_tokens
    yield Show(walk.picture(MEMORY), "a and c end, and d has arrived:")
    blocked = walk.until("blocked", "admitted", name="d")
    yield Ask(
        f"d needs {needs} slots, and {free} are free. Does it start?",
        YesNo(value=type(blocked).__name__ == "SequenceAdmitted"),
        f"{walk.sentence}. A slab is one piece, and no hole is long enough.",
        "How long is the longest piece of free memory?",
    )
    yield Say("""
        Free memory in pieces too small for whoever waits is external waste. While somebody waits for memory, the paper
        counts everything idle as external: it is there, and helps nobody.

        Pushing the slabs together would be to copy gigabytes of K and V while everybody waits; the paper calls that
        impractical.
    """)
    yield PAUSE
    yield from _buddies()


def _buddies() -> Iterator[Part]:
    walk = Walk.of("buddy")
    walk.until("taken")
    view = walk.view("r1")
    run, wanted = len(view.table), view.wanted
    yield Say(f"""
        The paper's baselines use a buddy allocator. It hands out powers of two only: then a piece that comes back
        always fits its neighbour, its buddy, and both join again. Here r1 wants {wanted} slots and gets {run}.
        The last {run - wanted} were added by rounding up, and are drawn in a way of their own:
    """)
    yield Show(walk.picture(MEMORY))
    yield PAUSE
    yield Say(f"""
        Whom does the paper blame for these {run - wanted}? In its Figure 2 internal waste is the request's doing: what
        it asked for and never used. Waste that is the allocator's doing, such as holes between slabs, is called
        external and others.
    """)
    yield Ask(
        f"Under which of the kinds of Figure 2 do the {run - wanted} slots of r1 belong, that rounding added?",
        Choice(
            ("used", "reserved", "internal", "external and others"),
            3,
            (
                "no token will ever be there",
                "nobody will fill them",
                "textbooks of operating systems say so; but the request did not ask for them",
                "",
            ),
        ),
        "Rounding is the allocator's doing: r1 did not ask for them. pagesim counts as the paper does.",
        "Whose doing is it: the request's, which asked for too much, or the allocator's?",
    )
    walk.step()
    asked = len(walk.story.arrivals)
    yield Show(walk.picture(MEMORY, QUEUES), f"After all {asked} requests have asked for memory:")
    assert asked * wanted <= walk.geometry.num_slots
    assert walk.waiting
    yield Say(f"""
        {asked} requests of {wanted} slots are {asked * wanted}, and {walk.geometry.num_slots} are there. But each was
        given {run}, and {walk.waiting[0]} waits.
    """)
    yield PAUSE


# -- the paper's setting ---------------------------------------------------------------------------------


def _the_papers_setting(found: Comparison) -> Iterator[Part]:
    slots, longest = paper.settings().memory.num_slots, paper.MAX_MODEL_LEN
    at_once = slots // longest
    yield Section("In the paper's setting")
    yield Say(f"""
        Now a server as in the paper: {paper.MODEL} with {slots:,} slots. The longest request allowed has {longest:,}
        tokens. {REQUESTS} requests of ShareGPT wait from the start.
    """)
    yield Ask(
        "Each reserves the maximum. How many requests run at once?",
        Whole(at_once, "requests"),
        f"""{slots:,} / {longest:,}, rounded down. {slots:,} - {at_once} x {longest:,} = {slots - at_once * longest:,}
        slots are left, {100 * (slots - at_once * longest) / slots:.2f} % of the memory: they can never be handed
        out.""",
        "How many slabs of the maximum fit?",
    )
    by_max = found.results[0].report
    shown = found.maps[0]
    assert by_max.mean_requests == at_once
    when = format_duration((found.moment_ns or 0) / 1e9)
    held = sum(len(holder.table) for holder in shown.holders)
    written = sum(holder.written for holder in shown.holders)
    yield Show(
        MapGrid([NamedMap("max", "", shown)]),
        f"The memory after {when}: {held:,} slots are handed out, {written:,} hold a token.",
    )
    yield PAUSE
    yield from _where_it_went(by_max)


def _where_it_went(report: RunReport) -> Iterator[Part]:
    split = _split(report).percent()
    largest = max(split, key=lambda kind: split[kind])
    assert largest == "internal"
    yield Ask(
        "Over the whole run, on average: which kind takes most of the memory?",
        Choice(
            ("used", "reserved", "internal", "external"),
            2,
            (
                "look at the map again: little of each slab is full",
                "that is what a request fills later; most answers end long before the slab is full",
                "",
                "that is only what is left beside the slabs",
            ),
        ),
        f"{split['internal']:.1f} % of the memory is asked for and never filled.",
        "A usual chat has a few hundred tokens. How long is a slab?",
    )
    yield Show(WasteBars([LabelledSplit("max", _split(report))], _slot_bytes()))
    printed = paper.FIGURE_2["max"]
    yield Say(f"""
        The paper measured {printed["used"][0]} % used, {printed["reserved"][0]} % reserved,
        {printed["internal"][0]} % internal and {printed["external"][0]} % external (Figure 2). And so few requests at
        once are few tokens a second (Lesson {1}): half of the requests waited longer than
        {format_duration(report.ttft_s.p50)} for their first token.
    """)
    yield PAUSE


def _if_it_knew(found: Comparison) -> Iterator[Part]:
    by_name = {result.allocator: result.report for result in found.results}
    oracle = by_name["oracle"]
    yield Section("If only the length were known")
    yield Say("""
        Most of the waste is there because nobody knows how long an answer becomes. So let us help the server, as nobody
        can help a real one:

        - pow2 knows each answer's length, rounded up to a power of two.
        - oracle knows the true length.

        Both place their slabs with the buddy allocator.
    """)
    yield Ask(
        "With the oracle, which share of the memory holds tokens?",
        Choice(
            ("nearly all", "about three quarters", "less than half"),
            2,
            (
                "knowing the length ends internal waste, and there are two more kinds",
                "look at what a request fills only later, and at the rounding of the buddy",
                "",
            ),
        ),
        f"""{_split(oracle).percent()["used"]:.1f} %. Next to nothing is internal any more, but a slab must still be
        there from the beginning, and in one piece.""",
        "Three kinds of waste were there. Which of them does knowing the length end?",
    )
    assert _split(oracle).percent()["used"] < 50
    rows = [LabelledSplit(name, _split(report)) for name, report in by_name.items()]
    yield Show(WasteBars(rows, _slot_bytes()))
    yield PAUSE
    yield from _at_once(by_name)


def _at_once(by_name: dict[str, RunReport]) -> Iterator[Part]:
    base = paper.settings()
    tight = replace(base, memory=replace(base.memory, placer="best-fit"))
    placed = simulate(paper.workload(REQUESTS, 0, None), "oracle", tight).report
    shown = {**by_name, "oracle, best fit": placed}
    waits = format_durations([report.ttft_s.p50 for report in shown.values()])
    rows = [
        (
            name,
            f"{report.mean_requests:.1f}",
            f"{report.output_tokens_per_s:,.0f}",
            wait,
            f"{_split(report).percent()['used']:.0f} %",
        )
        for (name, report), wait in zip(shown.items(), waits, strict=True)
    ]
    heads = (
        "",
        "requests\nat once",
        "tokens\na second",
        "half waited for their\nfirst token longer than",
        "used",
    )
    oracle, best = by_name["oracle"], placed
    assert (best.mean_requests or 0) > (oracle.mean_requests or 0)
    part = _split(best).percent()
    assert part["reserved"] + part["external"] > 40
    yield Show(figures(heads, rows), "What it means for those who wait:")
    yield Say(f"""
        The last row has no buddy: the slab goes to the smallest hole that is long enough (best fit), and nothing is
        rounded. Even so {part["reserved"]:.0f} % of the memory is reserved for later, and {part["external"]:.0f} % lies
        in holes. As long as a request must have one piece, for all of its life, both kinds stay.

        What if it need not be one piece? That is Lesson {3}.
    """)
    yield PAUSE


# -- the end ---------------------------------------------------------------------------------------------


def _closing() -> Iterator[Part]:
    yield History("""
        max, pow2 and oracle are the paper's three baselines, called Orca (Max), (Pow2) and (Oracle) there, after the
        engine whose scheduling they have. vLLM never reserved so, neither V0 nor V1. But a framework's static cache for
        `generate` is still one tensor of the maximum length.
    """)
    yield Try("pagesim run slabs-max --view", "The first server, step by step, forward and back.")
    yield Try("pagesim run fragmentation", "The holes, told in sentences.")
    yield Try(
        "pagesim compare --allocator max --allocator oracle --placer best-fit --requests 300",
        "The last comparison, with the memories drawn at one moment.",
    )
    yield PAUSE
    yield Remember(
        (
            "A slab is one piece, for all that a request may become, from its first step on.",
            "Reserved: its request fills it later. Internal: asked for and never filled.",
            "External: idle while somebody waits, because it is in pieces; a buddy's rounding counts as external.",
            "Reserving the maximum, most of the memory is internal waste, and few requests run.",
            "Knowing the length ends internal waste only: the other two stay as long as a slab is one piece.",
        )
    )
    yield from _questions()


def _questions() -> Iterator[Part]:
    slots, longest = 10_000, 1_500
    fit = slabs_that_fit(slots, longest)
    yield Ask(
        f"""A memory has {slots:,} slots, and each request reserves its maximum of {longest:,}. However many wait: how
        many slots can never be handed out?""",
        Whole(slots - fit * longest, "slots"),
        f"""{fit} slabs fit, {fit} x {longest:,} = {fit * longest:,}. What is left is too short for one more.""",
        "First find out how many slabs fit.",
    )
    slab = Slab("", 100, 30, 40, 30 + 20 - 1)
    outputs = slab.final - slab.prompt + 1
    yield Ask(
        f"""A slab has {slab.maximum} slots. Its request had a prompt of {slab.prompt} tokens, has {slab.written} tokens
        in the cache now, and will end when it has got {outputs} output tokens. How many slots are reserved now, and how
        many internal?""",
        NamedNumbers(
            ("reserved", "internal"),
            (slab.reserved, slab.internal),
            (
                (
                    (slab.reserved + 1, slab.internal - 1),
                    "the last output token is only handed out, and never stored",
                ),
                ((slab.internal, slab.reserved), "the other way round: reserved comes first"),
            ),
        ),
        f"""The last output token is never stored, so at the end {slab.prompt} + {outputs} - {1} = {slab.final} slots
        are written. {slab.final} - {slab.written} = {slab.reserved} are still to be filled; {slab.maximum} -
        {slab.final} = {slab.internal} never are.""",
        "How many slots will hold a token at the end? Mind the last output token.",
    )
    yield Ask(
        "A server has free memory, and the head of its queue waits for memory. How can that be?",
        Choice(
            (
                "It is a mistake in the server: free memory must be given out.",
                "The free memory is in pieces, and none is as long as what the request would reserve.",
                "The free slots are internal waste.",
                "The GPU has no time for another request.",
            ),
            1,
            (
                "it gives out what it can: a slab needs one piece",
                "",
                "internal slots are not free: they lie in somebody's slab",
                "then it would not wait for memory; and a larger batch costs little time",
            ),
        ),
        "That is external waste. A request waits as long as no single hole holds its whole slab.",
        "What does a slab need, besides enough slots?",
    )


# -- figures ---------------------------------------------------------------------------------------------


def compared() -> Comparison:
    """The paper's requests, served by the three ways to reserve."""
    settings = paper.settings()
    contenders = [Contender(name, name, settings) for name in ("max", "pow2", "oracle")]
    return compare(paper.workload(REQUESTS, 0, None), contenders)


def slabs_that_fit(slots: int, longest: int) -> int:
    memory = build_memory("max", MemorySettings(slots, 1, longest, placer="first-fit"))
    room = Room(now=1, present=1, limit=longest)
    granted = (memory.allocate(seq, Content(range(seq, seq + 1)), room) for seq in count())
    return sum(1 for _ in takewhile(lambda grant: grant is not None, granted))


def _split(report: RunReport) -> WasteSplit:
    assert report.waste is not None
    return report.waste


def _slot_bytes() -> int:
    return kv_bytes_per_token(model(paper.MODEL))


def _word(number: int) -> str:
    return ("None", "One", "Two", "Three", "Four", "Five")[number]


LESSON = Lesson(
    2,
    "slabs",
    "Slabs",
    "Reserve the maximum; a server with free memory that lets people wait; reserved, internal, external.",
    13,
    5,
    script,
)
