"""Where the memory went: slots used, reserved, and lost, from slabs and from pages. Knows nothing about other topics.

The story is a real run, and the split is the meter's, in hindsight.
"""

from dataclasses import dataclass
from fractions import Fraction

from pagesim.core.memories import MemorySettings, build_memory
from pagesim.core.request import Request
from pagesim.core.scheduler_config import SchedulerConfig
from pagesim.practice.answers import Share, Whole
from pagesim.replay.waste import WasteMeter, WasteSplit
from pagesim.sim.executor import STEP_NS, BlankTokens, StepClock
from pagesim.sim.simulate import put_together
from pagesim_lessons.quizzes.draws import Draws, first_good
from pagesim_lessons.quizzes.problem import Posed, Question
from pagesim_lessons.quizzes.wording import LETTERS, sums, table

KINDS = ("max", "pow2", "buddy", "paged")

DEFINITIONS = (
    "Count every slot as one of these. Used: it holds a token's K and V. Reserved: its request holds it and fills it "
    "later. Internal waste: its request holds it and never fills it. External waste: nobody holds it, and yet somebody "
    "waits for memory; also what a buddy allocator adds by rounding up."
)
STORING = (
    "An output token is stored only when the next one is computed: with k outputs made, prompt + k - 1 tokens are "
    "stored, and the last output of all is never stored."
)


@dataclass(frozen=True, slots=True)
class Served:
    """One request. ``made`` outputs so far of ``outputs`` in all; ``arrival`` is a step."""

    name: str
    prompt: int
    outputs: int
    arrival: int
    made: int = 0

    @property
    def now(self) -> int:
        """Tokens stored."""
        return self.prompt + self.made - 1

    @property
    def finally_stored(self) -> int:
        return self.prompt + self.outputs - 1


@dataclass(frozen=True, slots=True)
class Case:
    """A memory and who is served from it; ``waiting`` found no room."""

    kind: str
    num_slots: int
    longest: int  # a slab's length, for those that reserve the maximum
    block_size: int
    served: tuple[Served, ...]
    waiting: Served

    def reserved_for(self, one: Served) -> int:
        """Slots that it asked for."""
        if self.kind == "paged":
            return -(-one.now // self.block_size) * self.block_size
        if self.kind == "pow2":
            return min(one.prompt + _power_of_two(one.outputs), self.longest)
        return self.longest

    def held(self, one: Served) -> int:
        """Slots that it holds: a buddy rounds up."""
        asked = self.reserved_for(one)
        return _power_of_two(asked) if self.kind == "buddy" else asked


def pose(draws: Draws) -> Posed:
    kind = draws.one_of(KINDS)
    return first_good(draws, lambda d: _attempt(d, kind))


def _attempt(draws: Draws, kind: str) -> Posed | None:
    longest, step = draws.whole(20, 30), draws.whole(2, 7)
    num_served = 2 if kind == "buddy" else 3
    arrivals = sorted(draws.whole(0, min(step, 2)) for _ in range(num_served))
    served = []
    for name, arrival in zip(LETTERS, arrivals, strict=False):
        prompt = draws.whole(4, 12)
        outputs = draws.whole(3, longest - prompt)
        served.append(Served(name, prompt, outputs, arrival, made=step - arrival + 1))
    late = Served(LETTERS[len(served)], draws.whole(8, 14), 3, step)
    block_size = 4 if kind == "paged" else 1
    case = Case(kind, 0, longest, block_size, tuple(served), late)
    held = sum(case.held(one) for one in served)
    spare = draws.whole(1, 2) * 4 if kind == "paged" else draws.whole(3, longest - 4)
    if kind == "buddy":
        held, spare = 2 * 32, draws.one_of((8, 16))
    case = Case(kind, held + spare, longest, block_size, tuple(served), late)
    if served[0].arrival or any(one.made >= one.outputs for one in served):
        return None  # steps in which nothing runs are passed over
    split = _run(case, step)
    if split is None or split.reserved < 2 or split.internal < 1 or not split.external:
        return None
    return _posed(case, split)


def _run(case: Case, step: int) -> WasteSplit | None:
    """The split in that step; ``None`` if not everybody of the story got its memory when it came, or the last did."""
    settings = MemorySettings(
        case.num_slots,
        case.block_size,
        case.longest,
        placer="buddy" if case.kind == "buddy" else "first-fit",
    )
    memory = build_memory("max" if case.kind == "buddy" else case.kind, settings)
    meter = WasteMeter(memory.geometry)
    arrivals = [
        (
            one.arrival * STEP_NS,
            Request(one.name, range(one.prompt), one.outputs, known_output=one.outputs),
        )
        for one in (*case.served, case.waiting)
    ]
    config = SchedulerConfig(max_model_len=case.longest)
    loop = put_together(memory, config, StepClock(BlankTokens()), arrivals, lambda _: [meter])
    while (plan := loop.step()) is not None:
        if plan.preempted:
            return None
        if plan.step == step:
            names = [seq.request.id for seq in plan.sequences]
            if names != [one.name for one in case.served] or not plan.blocked:
                return None
    return meter.split(step, step + 1)


def _power_of_two(number: int) -> int:
    return 1 << (number - 1).bit_length()


_HOW = {
    "max": "Each request gets one contiguous piece of {longest} slots when it starts, as long as the longest that "
    "is allowed.",
    "pow2": "Each request gets one contiguous piece when it starts: its prompt, and its true number of outputs "
    "rounded up to a power of two, but at most {longest} slots in all.",
    "buddy": "Each request asks for {longest} slots when it starts, as many as the longest that is allowed. A buddy "
    "allocator places them, and rounds up to a power of two.",
    "paged": "The memory is paged: a request holds blocks of {block_size} slots, as many as its stored tokens need.",
}


def _posed(case: Case, split: WasteSplit) -> Posed:
    how = _HOW[case.kind].format(longest=case.longest, block_size=case.block_size)
    rows = [(one.name, one.prompt, one.made, one.outputs) for one in case.served]
    story = (
        f"A memory of {case.num_slots} slots. {how}",
        STORING,
        "At some moment these are served:",
        table(("request", "prompt", "outputs made", "outputs in all"), rows),
        f"{case.waiting.name} waits: there is no room for it.",
        DEFINITIONS,
    )
    questions = (
        _used(case, split),
        _reserved(case, split),
        _internal(case, split),
        _external(case, split),
        _share(case, split),
    )
    given = {
        "kind": case.kind,
        "num_slots": case.num_slots,
        "longest": case.longest,
        "block_size": case.block_size,
        "requests": [list(row) for row in rows],
    }
    return Posed(story, questions, given)


def _used(case: Case, split: WasteSplit) -> Question:
    each = [f"{one.name}: {one.prompt} + {one.made} - 1 = {one.now}" for one in case.served]
    used = round(split.used)
    return Question(
        "How many slots are used?",
        ("used",),
        Whole(used, "slots"),
        (*[f"{text}." for text in each], f"Together: {sums([one.now for one in case.served])}."),
        (
            "A token that was just sampled is not stored yet.",
            "For each request: its prompt and the outputs made, less one.",
            f"{each[0]}.",
        ),
        f"{'; '.join(each)}. K and V of a token are written in the step that reads it, the one after it was sampled.",
    )


def _limits(case: Case, one: Served) -> tuple[int, int]:
    """Up to which slot of its own it fills what it holds (asked for), and how many it holds without rounding."""
    asked = case.reserved_for(one)
    return min(one.finally_stored, asked), asked


def _reserved(case: Case, split: WasteSplit) -> Question:
    each, parts = [], []
    for one in case.served:
        filled, _ = _limits(case, one)
        parts.append(filled - one.now)
        each.append(f"{one.name}: {filled} - {one.now} = {filled - one.now}")
    paged = case.kind == "paged"
    end = (
        "of what it holds now, what its last block still takes in"
        if paged
        else "what it will have stored in the end (prompt + outputs in all - 1)"
    )
    return Question(
        "How many slots are reserved?",
        ("reserved",),
        Whole(round(split.reserved), "slots"),
        (
            f"For each: {end}, less what is stored now.",
            *[f"{text}." for text in each],
            f"Together: {sums(parts)}.",
        ),
        (
            "Reserved slots are no lasting waste: they are filled later, though nobody else can use them until then.",
            f"For each request: {end}, less what is stored now.",
            f"{each[0]}.",
        ),
        f"{'; '.join(each)}. With paging this can be no more than the rest of a block for each request.",
    )


def _internal(case: Case, split: WasteSplit) -> Question:
    each, parts = [], []
    for one in case.served:
        filled, asked = _limits(case, one)
        parts.append(asked - filled)
        each.append(f"{one.name}: {asked} - {filled} = {asked - filled}")
    return Question(
        "How many slots are internal waste?",
        ("internal",),
        Whole(round(split.internal), "slots"),
        (
            "For each: the slots it got for itself, less those that it will ever fill of them.",
            *[f"{text}." for text in each],
            f"Together: {sums(parts)}.",
        ),
        (
            "These are the slots that are held to the end and stay empty.",
            "For each request: what it asked for, less what it will have stored of that in the end.",
            f"{each[0]}.",
        ),
        f"{'; '.join(each)}. Only in hindsight can this be told from what is reserved.",
    )


def _external(case: Case, split: WasteSplit) -> Question:
    held = [case.held(one) for one in case.served]
    idle = case.num_slots - sum(held)
    lost = sum(held) - sum(case.reserved_for(one) for one in case.served)
    steps = [f"Held: {sums(held)}.", f"Idle: {case.num_slots} - {sum(held)} = {idle}."]
    if lost:
        steps.append(f"Rounding up: {lost}. Together: {idle} + {lost} = {idle + lost}.")
    else:
        steps.append(f"{case.waiting.name} waits for memory, so all {idle} are external waste.")
    return Question(
        "How many slots are external waste?",
        ("external",),
        Whole(round(split.external), "slots"),
        tuple(steps),
        (
            f"{case.waiting.name} waits, though some memory is idle.",
            "All slots, less those that somebody holds; of a buddy allocator also what rounding added.",
            steps[0],
        ),
        " ".join(steps),
    )


def _share(case: Case, split: WasteSplit) -> Question:
    used = round(split.used)
    share = Fraction(used, case.num_slots)
    return Question(
        "What share of the memory holds tokens?",
        ("share used",),
        Share(share),
        (
            f"{used} of {case.num_slots} slots are used.",
            f"{used} / {case.num_slots} = {float(100 * share):.1f} %.",
        ),
        (
            "Compare the slots that hold a token with all there are.",
            "Used slots divided by the memory's slots.",
            f"The memory has {case.num_slots} slots.",
        ),
        f"{used} / {case.num_slots} = {float(100 * share):.1f} %. The paper found 20.4 to 38.2 % where memory is "
        "reserved in one contiguous piece, and 96.3 % with paging.",
    )
