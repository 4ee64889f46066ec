"""Cases of admission, the right answer, and what comes out with each of the usual slips."""

from enum import Enum, auto
from typing import NamedTuple

from hypothesis import strategies as st

from pagesim.core.types import blocks_for
from pagesim.practice.film import Film, Table
from pagesim.replay.phrases import be, counted


class Request(NamedTuple):
    tokens: int
    found: int = 0
    found_free: int = 0


class Case(NamedTuple):
    """The arguments of admit."""

    waiting: list[Request]
    running: int
    free: int
    size: int = 4
    watermark: int = 0
    budget: int = 100


class Slip(Enum):
    """What people compute instead."""

    SAMPLED_TOKEN = auto()
    NOT_THE_LAST_BLOCK = auto()
    FOUND_AS_NEW = auto()
    FOUND_TWICE = auto()
    FOUND_FREE_FOR_NOTHING = auto()
    FOUND_IS_COMPUTED = auto()
    WHOLE_PROMPT = auto()
    WHOLE_OR_NOT = auto()
    BUDGET_FOR_EACH = auto()
    WITHOUT_BUDGET = auto()
    MEMORY_FOR_EACH = auto()
    OVERTAKES = auto()
    NO_WATERMARK = auto()
    WATERMARK_BEFORE = auto()
    WATERMARK_ALWAYS = auto()
    RUNNING_BEFORE = auto()


class Verdict(NamedTuple):
    """What becomes of one request, and why: it would compute so many tokens in ``needed`` of ``free`` blocks."""

    starts: bool
    computes: int
    needed: int
    kept: int
    free: int


def _need(request: Request, count: int, size: int, slip: Slip | None) -> int:
    """How many of the free blocks it takes."""
    tokens, found, found_free = request
    stop = min(found * size + count, tokens)
    if slip is Slip.SAMPLED_TOKEN:
        stop += 1
    if slip is Slip.WHOLE_PROMPT:
        stop = tokens
    new = blocks_for(stop, size) - found
    if slip is Slip.FOUND_AS_NEW:
        return new + found
    if slip is Slip.FOUND_TWICE:
        return new + found + found_free
    if slip is Slip.FOUND_FREE_FOR_NOTHING:
        return new
    return new + found_free


def _judge(
    case: Case, request: Request, free: int, running: int, budget: int, slip: Slip | None
) -> Verdict:
    """What becomes of the head of the queue."""
    left = request.tokens - request.found * case.size
    if slip is Slip.FOUND_IS_COMPUTED:
        left = request.tokens
    count = min(left, budget)
    needed = _need(request, count, case.size, slip)
    kept = case.watermark if running or slip is Slip.WATERMARK_ALWAYS else 0
    if slip is Slip.NO_WATERMARK:
        kept = 0
    fits = free - needed >= kept
    if slip is Slip.NOT_THE_LAST_BLOCK:
        fits = free - needed > kept
    if slip is Slip.WATERMARK_BEFORE:
        fits = free > kept and free >= needed
    if slip is Slip.WHOLE_OR_NOT:
        fits = fits and left <= budget
    has_budget = count > 0 or slip is Slip.WITHOUT_BUDGET
    return Verdict(fits and has_budget, count, needed, kept, free)


def verdicts(case: Case, slip: Slip | None = None) -> list[Verdict]:
    """Of each request up to the first that waits."""
    free, running, budget = case.free, case.running, case.budget
    told: list[Verdict] = []
    for request in case.waiting:
        known = case.running if slip is Slip.RUNNING_BEFORE else running
        verdict = _judge(case, request, free, known, budget, slip)
        told.append(verdict)
        if not verdict.starts:
            if slip is Slip.OVERTAKES:
                continue
            break
        running += 1
        if slip is not Slip.MEMORY_FOR_EACH:
            free -= verdict.needed
        if slip is not Slip.BUDGET_FOR_EACH:
            budget -= verdict.computes
    return told


def answer(case: Case, slip: Slip | None = None) -> list[int]:
    return [verdict.computes for verdict in verdicts(case, slip) if verdict.starts]


def reason(case: Case, gave: list[int]) -> str:
    """What should have become of the first request that ``gave`` is wrong about."""
    told = verdicts(case)
    right = [verdict.computes for verdict in told if verdict.starts]
    alike = [a == b for a, b in zip(gave, right, strict=False)]
    at = alike.index(False) if False in alike else len(alike)
    if at >= len(told):
        if len(told) < len(case.waiting):
            return f"request {len(told) - 1} waits, so nobody after it starts"
        return f"there {be(len(told))} {counted(len(told), 'request')}"
    verdict, request = told[at], case.waiting[at]
    if verdict.computes == 0:
        return f"no token of the budget is left for request {at}, so it waits"
    cached = ""
    if request.found:
        cached = f", {counted(request.found, 'block')} found"
        cached += f" ({request.found_free} free now)" if request.found_free else ""
    part = (
        f"all {verdict.computes}" if verdict.computes == request.tokens else f"{verdict.computes}"
    )
    kept = f" and {verdict.kept} must stay free" if verdict.kept else ""
    fate = "starts" if verdict.starts else "waits"
    return (
        f"request {at} would compute {part} of its {counted(request.tokens, 'token')}{cached}: that takes "
        f"{verdict.needed} of the free blocks{kept}, and {verdict.free} {be(verdict.free)} free, so it {fate}"
    )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    size, free, running = draw(st.integers(1, 4)), draw(st.integers(0, 9)), draw(st.integers(0, 2))
    left, waiting = free, []
    for _ in range(draw(st.integers(1, 3))):
        found = draw(st.integers(0, 2))
        most_free = min(found, left)
        found_free = draw(st.integers(0, most_free)) if running else most_free
        found = found if running else most_free
        left -= found_free
        waiting.append(Request(found * size + draw(st.integers(1, 9)), found, found_free))
    budget = draw(st.sampled_from([100, 1, 3, 6, 9, 0]))
    return Case(waiting, running, free, size, draw(st.integers(0, 3)), budget)


# -- film ----------------------------------------------------------------------------------------------------


def film_of(case: Case, line: str, gave: list[int]) -> Film:
    """Before and after: who runs holds what is found and held; then those that ``gave`` admits take blocks."""
    shared = sum(request.found - request.found_free for request in case.waiting)
    held = max(case.running, shared)
    film = Film(max(case.free + held, 1), case.size)
    tables: dict[int, Table] = {}
    if case.running:
        tables = {seq: [seq] for seq in range(case.running)}
        tables[0] = [0, *range(case.running, held)]
    names = range(case.running, case.running + len(case.waiting))
    waits = dict(zip(names, [request.tokens for request in case.waiting], strict=True))
    written = {seq: len(table) * case.size for seq, table in tables.items()}
    found = _found_blocks(case, held)
    findable = [block for blocks in found for block in blocks]
    film.shot("before the step", tables, written, waiting=waits, findable=findable)
    pool = [block for block in range(held, held + case.free) if block not in findable]
    for seq, count, request, blocks in zip(names, gave, case.waiting, found, strict=False):
        stop = request.found * case.size + max(count, 0)
        more = max(blocks_for(stop, case.size) - request.found, 0)
        tables[seq] = [*blocks, *pool[:more]]
        pool = pool[more:]
        written[seq] = stop
        del waits[seq]
    film.shot(line, tables, written, waiting=waits, findable=findable)
    return film


def _found_blocks(case: Case, held: int) -> list[list[int]]:
    """For each request the blocks that it finds: held ones first, then free ones, from the end of the memory."""
    shared, last = 0, held + case.free
    found = []
    for request in case.waiting:
        used = request.found - request.found_free
        blocks = [*range(shared, shared + used), *range(last - request.found_free, last)]
        shared, last = shared + used, last - request.found_free
        found.append(blocks)
    return found
