"""Buddy placement: where runs of slots go, how they are split and joined. Knows nothing about other topics."""

from typing import NamedTuple

from pagesim.core.buddy import Buddy
from pagesim.practice.answers import Whole, Wholes, YesNo
from pagesim_lessons.quizzes.draws import Draws, first_good
from pagesim_lessons.quizzes.problem import Posed, Question
from pagesim_lessons.quizzes.wording import LETTERS, ids, numbered, sums

RULES = (
    "The buddy system hands out pieces whose size is a power of two: a request gets the smallest power of two that is "
    "enough for it. Of the free pieces that are large enough the smallest is taken, and among equals the one with the "
    "lowest address. A piece that is too large is halved until it fits; the lower half is used, the upper one stays "
    "free. When a piece comes free and its buddy (the other half of what it was split from) is free and whole, the two "
    "join, and so on upwards."
)


class Op(NamedTuple):
    """A request for ``slots`` slots, or with ``slots`` 0 the end of one."""

    name: str
    slots: int = 0


class Played(NamedTuple):
    """``runs`` are those still held; ``placed`` all that were ever granted."""

    arena: Buddy
    runs: dict[str, range]
    wanted: dict[str, int]
    said: list[str]


def pose(draws: Draws) -> Posed:
    return first_good(draws, _attempt)


def _attempt(draws: Draws) -> Posed | None:
    num_slots = draws.one_of((64, 64, 64, 128, 96))
    ops = _script(draws, num_slots)
    played = _play(num_slots, ops)
    if played is None or len(played.runs) < 3:
        return None
    late = [op.name for op in ops[4:] if op.slots and op.name in played.runs]
    early = [op.name for op in ops[:4] if op.slots and played.runs.get(op.name, range(1)).start]
    total = played.arena.num_free
    pieces = played.arena.holes()
    if not late or not early or not 2 <= len(pieces) <= 6:
        return None
    last = draws.whole(max(total // 4, 2), total)
    return _posed(num_slots, ops, played, early[-1], late[-1], last)


def _script(draws: Draws, num_slots: int) -> list[Op]:
    names = iter(LETTERS)
    living: list[str] = []
    ops: list[Op] = []
    for kind in ("place", "place", "place", "?", "free", "?", "place", "free"):
        if kind == "free" or (kind == "?" and draws.chance(40)):
            name = draws.one_of(living)
            living.remove(name)
            ops.append(Op(name))
        else:
            name = next(names)
            living.append(name)
            ops.append(Op(name, draws.whole(3, num_slots // 4 + 2)))
    return ops


def _play(num_slots: int, ops: list[Op]) -> Played | None:
    """``None``: something found no place."""
    arena = Buddy(num_slots)
    played = Played(arena, {}, {}, [])
    for op in ops:
        if op.slots:
            run = arena.place(op.slots)
            if run is None:
                return None
            played.runs[op.name], played.wanted[op.name] = run, op.slots
            text = f"{op.name} wants {op.slots} slots, gets {len(run)}: from {run.start} to {run.stop - 1}"
        else:
            run = played.runs.pop(op.name)
            del played.wanted[op.name]
            arena.release(run)
            text = f"{op.name}'s {len(run)} slots from {run.start} on come free"
        played.said.append(f"{text}. Free: {_pieces(arena)}.")
    return played


def _pieces(arena: Buddy) -> str:
    """ "16 at 32, 32 at 64"."""
    return ", ".join(f"{len(hole)} at {hole.start}" for hole in arena.holes()) or "nothing"


def _posed(
    num_slots: int, ops: list[Op], played: Played, early: str, late: str, last: int
) -> Posed:
    roots = Buddy(num_slots).roots()
    whole = " and ".join(f"{len(root)} slots from {root.start} on" for root in roots)
    story = (
        RULES,
        (
            f"An arena of {num_slots} slots, at first free, in {'one piece' if len(roots) == 1 else 'pieces'}: "
            f"{whole}. This happens, in this order:"
        ),
        numbered([_told(op) for op in ops]),
    )
    questions = (
        _start(played, early),
        _start(played, late),
        _free_pieces(played),
        _rounding(played),
        _fits(played, last),
    )
    given = {"num_slots": num_slots, "script": [list(op) for op in ops]}
    return Posed(story, questions, given)


def _told(op: Op) -> str:
    return f"{op.name} asks for {op.slots} slots" if op.slots else f"{op.name} gives its slots back"


def _start(played: Played, name: str) -> Question:
    run, wanted = played.runs[name], played.wanted[name]
    return Question(
        f"At which slot does {name}'s piece begin?",
        ("start", name),
        Whole(run.start),
        (*played.said, f"{name}'s piece of {len(run)} begins at {run.start}."),
        (
            "Draw the arena as a line, and halve it as the rule says.",
            "Round the request up to a power of two; then look for the smallest free piece that has as much.",
            f"{name} asks for {wanted} slots and gets a piece of {len(run)}. It begins so: {played.said[0]}",
        ),
        f"{name} got {len(run)} slots, from {run.start} to {run.stop - 1}: a piece always begins at a multiple of its "
        "own size.",
    )


def _free_pieces(played: Played) -> Question:
    sizes = [len(hole) for hole in played.arena.holes()]
    starts = ids(hole.start for hole in played.arena.holes())
    return Question(
        "What are the sizes of the free pieces at the end, the lowest address first?",
        ("free pieces",),
        Wholes(sizes, "sizes"),
        (
            *played.said,
            f"The free pieces, by address, are of {ids(sizes)} slots; they begin at {starts}.",
        ),
        (
            "When something comes free, look for its buddy first. Neighbours that are not buddies do not join.",
            "Buddies of one size lie next to each other, and the lower one begins at a multiple of twice the size.",
            f"There are {len(sizes)} free pieces, {sum(sizes)} slots in all.",
        ),
        f"Free are {_pieces(played.arena)}. Two pieces that touch stay two unless they are halves of one piece.",
    )


def _rounding(played: Played) -> Question:
    lost = [len(run) - played.wanted[name] for name, run in played.runs.items()]
    each = [
        f"{name}: {len(run)} - {played.wanted[name]} = {len(run) - played.wanted[name]}"
        for name, run in played.runs.items()
    ]
    return Question(
        "How many slots are lost to rounding up, over all pieces held at the end?",
        ("rounding",),
        Whole(sum(lost), "slots"),
        (*[f"{text}." for text in each], f"Together: {sums(lost)}."),
        (
            "Compare what each one asked for with what it got.",
            "For each request that still holds a piece: the power of two, less the slots asked for.",
            f"{each[0]}.",
        ),
        f"{'; '.join(each)}. The paper counts this as external fragmentation.",
    )


def _fits(played: Played, last: int) -> Question:
    arena = played.arena
    fits, size = arena.fits_now(last), arena.footprint(last)
    verdict = "is" if fits else "is not"
    why = f"It needs {size} slots in one piece, and the largest free piece has {arena.largest_hole}"
    why += (
        ": that is enough."
        if fits
        else ". That slots are free and yet of no use is external fragmentation; a block table does away with it."
    )
    return Question(
        f"{arena.num_free} slots are free at the end. Now somebody asks for {last}. Is there a piece for it?",
        ("fits", last),
        YesNo(fits),
        (
            f"{last} rounded up to a power of two is {size}.",
            f"Free are {_pieces(arena)}; the largest has {arena.largest_hole} slots.",
            f"So there {verdict} a piece for it.",
        ),
        (
            "What counts is the largest piece, whatever the sum of them is.",
            "Round up to a power of two, and compare with the largest free piece.",
            f"{last} rounded up is {size}.",
        ),
        why,
    )
