"""Batches in blocks, the attention that is right for them, and the attention that people compute instead.

All of it key by key in float64, as plainly as can be.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from pagesim.practice.exercise import WRITTEN, Fault
from pagesim.practice.learner import Learner

Array = NDArray[np.float64]
NAN = float("nan")


class Case(NamedTuple):
    """A batch. ``tables`` are the sequences' own blocks; the row is filled up with ``padding``.

    The numbers are those that NumPy draws for ``seed``; ``strength`` multiplies q. ``rubbish`` stands in all slots
    that nobody wrote.
    """

    tables: list[list[int]]
    lengths: list[int]
    size: int
    heads: int = 1
    kv_heads: int = 1
    dim: int = 4
    seed: int = 0
    strength: float = 1.0
    rubbish: float = NAN
    padding: int = -1
    wide: int = 0

    @property
    def num_blocks(self) -> int:
        return max(max(table) for table in self.tables) + 1

    @property
    def rows(self) -> list[list[int]]:
        """``block_tables``: at least ``wide`` entries each."""
        width = max(self.wide, *map(len, self.tables))
        return [[*table, *[self.padding] * (width - len(table))] for table in self.tables]

    def written(self) -> dict[int, int]:
        """How many slots of each block some sequence has written."""
        found: dict[int, int] = {}
        for table, length in zip(self.tables, self.lengths, strict=True):
            for entry, block in enumerate(table):
                most = min(self.size, length - entry * self.size)
                found[block] = max(found.get(block, 0), most)
        return found


class Arrays(NamedTuple):
    q: Array
    k: Array
    v: Array


def arrays_of(case: Case) -> Arrays:
    """What ``lines_of`` makes."""
    rng = np.random.default_rng(case.seed)
    q = case.strength * rng.normal(size=(len(case.tables), case.heads, case.dim))
    shape = (case.num_blocks, case.size, case.kv_heads, case.dim)
    k, v = np.full((2, *shape), case.rubbish)
    for block, slots in case.written().items():
        k[block, :slots], v[block, :slots] = rng.normal(size=(2, slots, case.kv_heads, case.dim))
    return Arrays(q, k, v)


def lines_of(case: Case) -> list[str]:
    """The same arrays as lines of Python, for the learner to paste; without the call."""
    times = f"{case.strength:g} * " if case.strength != 1 else ""
    shape = (2, case.num_blocks, case.size, case.kv_heads, case.dim)
    rubbish = "np.nan" if np.isnan(case.rubbish) else repr(case.rubbish)
    size = f"(2, n, {case.kv_heads}, {case.dim})"
    return [
        "import numpy as np",
        f"rng = np.random.default_rng({case.seed})",
        f"q = {times}rng.normal(size={(len(case.tables), case.heads, case.dim)})",
        f"k_cache, v_cache = np.full({shape}, {rubbish})",
        f"for block, n in {list(case.written().items())}:",
        f"    k_cache[block, :n], v_cache[block, :n] = rng.normal(size={size})",
        "",  # the end of the loop, where lines are typed one by one
    ]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Any batch of one to three sequences, each with blocks of its own, or the first ones shared."""
    size, kv_heads = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    lengths = draw(st.lists(st.integers(1, 12), min_size=1, max_size=3))
    counts = [-(-length // size) for length in lengths]
    blocks = draw(st.permutations(range(sum(counts) + 1)))
    tables = [[blocks.pop() for _ in range(count)] for count in counts]
    if len(tables) > 1 and draw(st.booleans()):
        shared = min(lengths[0], lengths[1]) // size
        tables[1][:shared] = tables[0][:shared]
    heads = kv_heads * draw(st.integers(1, 3))
    dim, seed = draw(st.sampled_from([4, 1, 3, 8])), draw(st.integers(0, 99))
    return Case(
        tables,
        lengths,
        size,
        heads,
        kv_heads,
        dim,
        seed,
        padding=draw(st.sampled_from([-1, 0, 99])),
    )


# -- what is computed, and what is computed instead ------------------------------------------------------------

Mix = Callable[[Array, Array], Array]
"""From the scores of all keys and their values to the result."""


def softmax(scores: Array, values: Array) -> Array:
    weights = np.exp(scores - scores.max())
    return np.asarray(weights @ values / weights.sum())


class Spot(NamedTuple):
    """One query head of one sequence."""

    case: Case
    seq: int
    head: int

    @property
    def length(self) -> int:
        return self.case.lengths[self.seq]

    @property
    def table(self) -> list[int]:
        return self.case.tables[self.seq]

    @property
    def row(self) -> list[int]:
        return self.case.rows[self.seq]


@dataclass(frozen=True, slots=True)
class Way:
    """A way to attend: which positions are read, where each is looked for, whose K and V a query head reads, by what a
    score is multiplied, what is taken for V, and how scores and values are mixed."""

    positions: Callable[[Spot], Sequence[int]] = lambda spot: range(spot.length)
    place: Callable[[Spot, int], tuple[int, int]] = lambda spot, position: (
        spot.row[position // spot.case.size],
        position % spot.case.size,
    )
    kv_head: Callable[[Spot], int] = lambda spot: (
        spot.head // (spot.case.heads // spot.case.kv_heads)
    )
    scale: Callable[[Case], float] = lambda case: case.dim**-0.5
    value: Callable[[Arrays], Array] = lambda arrays: arrays.v
    mix: Callable[[Case], Mix] = lambda _: softmax


RIGHT = Way()


def attention(case: Case, way: Way = RIGHT) -> Array:
    """(sequences, heads, dim)."""
    arrays = arrays_of(case)
    values = way.value(arrays)
    out = np.empty_like(arrays.q)
    mix, scale = way.mix(case), way.scale(case)
    for seq, head in np.ndindex(out.shape[:2]):
        spot = Spot(case, seq, head)
        kv_head = way.kv_head(spot)
        places = [way.place(spot, position) for position in way.positions(spot)]
        if not places:
            out[seq, head] = NAN
            continue
        keys = np.array([arrays.k[block, slot, kv_head] for block, slot in places])
        mixed = np.array([values[block, slot, kv_head] for block, slot in places])
        out[seq, head] = mix(keys @ arrays.q[seq, head] * scale, mixed)
    return out


def reads(spot: Spot) -> str:
    """Which KV head the query head reads, and why, in a clause."""
    case, right = spot.case, RIGHT.kv_head(spot)
    return (
        f"with {case.heads} query heads and {case.kv_heads} KV heads, {case.heads // case.kv_heads} neighbours share "
        f"one: query head {spot.head} reads KV head {right}"
    )


@dataclass(frozen=True, slots=True)
class Walk:
    """Online softmax over tiles of so many keys, with what may be forgotten in it."""

    tile: int
    shrinks_total: bool = True
    shrinks_acc: bool = True
    adds: bool = True
    divides: bool = True

    def __call__(self, scores: Array, values: Array) -> Array:
        largest, total, acc = -np.inf, 0.0, np.zeros(values.shape[1])
        for start in range(0, len(scores), self.tile):
            run = scores[start : start + self.tile]
            new = max(largest, float(run.max()))
            shrink, weights = float(np.exp(largest - new)), np.exp(run - new)
            total *= (shrink if self.shrinks_total else 1.0) * self.adds
            acc *= (shrink if self.shrinks_acc else 1.0) * self.adds
            total += float(weights.sum())
            acc += weights @ values[start : start + self.tile]
            largest = new
        return acc / total if self.divides else acc


# -- recognising a mistake -------------------------------------------------------------------------------------

Words = Callable[[Spot], str]
"""What is told of the first query head whose result is wrong."""
Ask = Callable[[Learner, Case], Array]
TOLERANCE = 1e-4


@dataclass(frozen=True, slots=True)
class Mistake:
    way: Way
    words: Words


def walk_mistakes(tile: Callable[[Case], int], name: str) -> list[Mistake]:
    """What is forgotten when a sequence is walked in tiles of so many keys, which the learner calls ``name``."""
    larger = f": a {name} brought a larger score, and"
    total, acc = "the sum of weights", "the weighted sum of V"

    def forgets(words: str, **parts: bool) -> Mistake:
        return Mistake(Way(mix=lambda case: Walk(tile(case), **parts)), lambda _: words)

    return [
        forgets(
            f"{larger} neither {total} nor {acc} was made to fit it",
            shrinks_total=False,
            shrinks_acc=False,
        ),
        forgets(
            f"{larger} {total} shrank; {acc} must shrink by the same factor", shrinks_acc=False
        ),
        forgets(
            f"{larger} {acc} shrank; {total} must shrink by the same factor", shrinks_total=False
        ),
        forgets(
            f": that is what the last {name} gives alone; what came before it is lost", adds=False
        ),
        forgets(f": that is {acc}, not yet divided by {total}", divides=False),
    ]


class Diagnosis:
    """A few cases on which every usual mistake shows, and no two are alike; the learner is asked once for each."""

    def __init__(self, cases: Sequence[Case], ask: Ask) -> None:
        self.cases = cases
        self._ask = ask
        self._answers: WeakKeyDictionary[Learner, list[Array] | Fault] = WeakKeyDictionary()

    def of(self, *mistakes: Mistake) -> Callable[[Learner], None]:
        """A check: what the learner gives is not what one of these mistakes gives. If it failed, others tell it."""

        def check(learner: Learner) -> None:
            answers = self.answers(learner)
            if isinstance(answers, Fault):
                return
            for mistake in mistakes:
                wrong = [attention(case, mistake.way) for case in self.cases]
                if all(map(near, answers, wrong)):
                    self._tell(learner, mistake, wrong)

        return check

    def only_if_right(self, check: Callable[[Learner], None]) -> Callable[[Learner], None]:
        """The same check, for code that has all these cases right: what is wrong everywhere, another check tells."""

        def run(learner: Learner) -> None:
            answers = self.answers(learner)
            if not isinstance(answers, Fault) and all(
                map(near, answers, map(attention, self.cases))
            ):
                check(learner)

        return run

    def answers(self, learner: Learner) -> list[Array] | Fault:
        """What the learner gives for each case, or why it does not."""
        if learner not in self._answers:
            self._answers[learner] = self._asked(learner)
        return self._answers[learner]

    def _asked(self, learner: Learner) -> list[Array] | Fault:
        answers: list[Array] = []
        for case in self.cases:
            learner.begin()
            try:
                answers.append(self._ask(learner, case))
            except Fault as fault:
                if fault.endless or fault.law == WRITTEN:
                    raise
                return learner.complete(fault)
        return answers

    def _tell(self, learner: Learner, mistake: Mistake, wrong: list[Array]) -> None:
        for case, given in zip(self.cases, wrong, strict=True):
            if not near(given, attention(case)):
                learner.begin()
                raise difference(case, self._ask(learner, case), mistake.words)


def near(found: Array, right: Array) -> bool:
    return found.shape == right.shape and np.allclose(
        found, right, TOLERANCE, TOLERANCE, equal_nan=True
    )


def difference(case: Case, found: Array, words: Words = lambda _: "") -> Fault:
    """Where a result is not what it should be, in a sentence that ends with these words."""
    right = attention(case)
    with np.errstate(invalid="ignore"):
        off = ~(np.abs(found - right) <= TOLERANCE * (1 + np.abs(right)))
    seq, head, at = (int(number) for number in np.argwhere(off)[0])
    return Fault(
        f"for sequence {seq}, head {head}, number {at} of the result is to be {right[seq, head, at]:.4f}, and it is "
        f"{found[seq, head, at]:.4f}{words(Spot(case, seq, head))}"
    )
