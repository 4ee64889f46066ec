"""The laws of paged attention, and how a broken one is told."""

from collections.abc import Sequence

import numpy as np

from pagesim.practice.drawing import for_all, for_each
from pagesim.practice.exercise import RETURNS, Check, Exercise, Fault
from pagesim.practice.learner import Learner
from pagesim.practice.reading import shown
from pagesim.replay.phrases import counted
from pagesim_lessons.exercises.paged_attention.script import (
    Array,
    Case,
    Diagnosis,
    Mistake,
    Mix,
    Spot,
    Way,
    arrays_of,
    attention,
    cases,
    difference,
    lines_of,
    near,
    reads,
    softmax,
    walk_mistakes,
)

NAME = "paged_attention"


def _ask(learner: Learner, case: Case, errors: tuple[type[Exception], ...] = ()) -> Array:
    """What the learner's function gives; errors of these kinds are raised as they are."""
    arrays = arrays_of(case)
    arguments = (*arrays, np.array(case.rows), np.array(case.lengths))
    try:
        with np.errstate(all="ignore"):
            found = learner.attempt(NAME, *arguments, errors=errors)
    finally:
        learner.lines = _lines(case)
    if isinstance(found, Exception):
        raise found
    return _read(found, arrays.q.shape)


def _lines(case: Case) -> list[str]:
    called = f"{NAME}(q, k_cache, v_cache, np.array({case.rows}), np.array({case.lengths}))"
    return [*lines_of(case), called]


def _read(found: object, shape: tuple[int, ...]) -> Array:
    try:
        array = np.asarray(found, dtype=float)
    except (TypeError, ValueError):
        array = np.zeros(())
    if array.shape != shape:
        given = f"an array of shape {array.shape}" if array.shape else shown(found)
        raise Fault(
            f"{NAME} is to give an array of shape {shape}, that of q, and it gave {given}",
            law=RETURNS,
        )
    return array


# -- what people compute instead ---------------------------------------------------------------------------

RUBBISH = 3.0
CASES = [
    Case([[0]], [3], 4, dim=16, rubbish=RUBBISH, padding=0, wide=4),
    Case([[2, 0]], [6], 4, dim=16, rubbish=RUBBISH, padding=0, wide=4),
    Case([[4, 0], [1, 3]], [6, 7], 4, 4, 2, dim=16, rubbish=RUBBISH, padding=0, wide=4),
]
diagnosis = Diagnosis(CASES, _ask)


def _blocks(blocks: Sequence[int]) -> str:
    return f"block {blocks[0]}" if len(blocks) == 1 else f"blocks {_and(blocks)}"


def _and(blocks: Sequence[int]) -> str:
    return f"{', '.join(map(str, blocks[:-1]))} and {blocks[-1]}"


def _tokens(spot: Spot) -> str:
    return f"the sequence has {counted(spot.length, 'token')}"


def _end(spot: Spot) -> int:
    """The first position behind the last block."""
    return len(spot.table) * spot.case.size


LOGICAL = Mistake(
    Way(place=lambda spot, at: divmod(at, spot.case.size)),
    lambda spot: (
        f": that is what lies in {_blocks(range(len(spot.table)))}, and its table says "
        f"{_blocks(spot.table)}: logical block i is in physical block table[i]"
    ),
)
FIRST_ROW = Mistake(
    Way(place=lambda spot, at: (spot.case.rows[0][at // spot.case.size], at % spot.case.size)),
    lambda spot: (
        f": that is read from {_blocks(spot.case.tables[0])}, which are sequence 0's, and row {spot.seq} of "
        f"block_tables says {_blocks(spot.table)}"
    ),
)
SWAPPED = Mistake(
    Way(place=lambda spot, at: (spot.row[at % spot.case.size], at // spot.case.size)),
    lambda spot: (
        f": quotient and remainder are mixed up: in blocks of {spot.case.size}, position 1 is slot 1 of logical block "
        "0, not slot 0 of logical block 1"
    ),
)
NOT_CURRENT = Mistake(
    Way(positions=lambda spot: range(spot.length - 1)),
    lambda spot: (
        f": {_tokens(spot)}, and that is what the first {spot.length - 1} give; the current token, at "
        f"position {spot.length - 1}, attends to itself, too"
    ),
)
ONE_MORE = Mistake(
    Way(positions=lambda spot: range(spot.length + 1)),
    lambda spot: (
        f": {_tokens(spot)}, so the last is at position {spot.length - 1}, and position "
        f"{spot.length} was read as well"
    ),
)
WHOLE_BLOCK = Mistake(
    Way(positions=lambda spot: range(_end(spot))),
    lambda spot: (
        f": {_tokens(spot)}, and all {_end(spot)} slots of its {counted(len(spot.table), 'block')} "
        "were read; what stands past the last token is not the sequence's"
    ),
)
WHOLE_ROW = Mistake(
    Way(positions=lambda spot: range(len(spot.row) * spot.case.size)),
    lambda spot: (
        f": {_tokens(spot)}, in {_blocks(spot.table)}, and all {len(spot.row)} entries of the row "
        f"were used; those past its {counted(len(spot.table), 'block')} mean nothing"
    ),
)


TURN_ABOUT = Mistake(
    Way(kv_head=lambda spot: spot.head % spot.case.kv_heads),
    lambda spot: f": that is from KV head {spot.head % spot.case.kv_heads}, and {reads(spot)}",
)
ALWAYS_FIRST = Mistake(
    Way(kv_head=lambda _: 0),
    lambda spot: f": that is from KV head 0, and {reads(spot)}",
)
NO_SCALE = Mistake(
    Way(scale=lambda _: 1.0),
    lambda spot: f": the scores are not divided by sqrt(head_dim), which is {spot.case.dim**0.5:g}",
)
WHOLE_DIM = Mistake(
    Way(scale=lambda case: 1 / case.dim),
    lambda spot: (
        f": the scores are divided by {spot.case.dim}, head_dim, and its square root, {spot.case.dim**0.5:g}, "
        "is asked for"
    ),
)
TIMES = Mistake(
    Way(scale=lambda case: case.dim**0.5),
    lambda spot: (
        f": the scores are multiplied by sqrt(head_dim), {spot.case.dim**0.5:g}, and are to be divided by it"
    ),
)
BLOCK_SIZE = Mistake(
    Way(scale=lambda case: case.size**-0.5),
    lambda spot: (
        f": the scores are divided by the square root of block_size, {spot.case.size}, and not of "
        f"head_dim, {spot.case.dim}"
    ),
)
K_FOR_V = Mistake(
    Way(value=lambda arrays: arrays.k),
    lambda _: ": K is mixed where V should be: K is for the scores only",
)


def _in_runs(of: int, join: Mix) -> Mix:
    """Each run of so many keys by itself, then joined."""

    def mix(scores: Array, values: Array) -> Array:
        starts = range(0, len(scores), of)
        return sum(
            (join(scores[s : s + of], values[s : s + of]) for s in starts),
            np.zeros(values.shape[1]),
        )

    return mix


def _unweighted(scores: Array, values: Array) -> Array:
    return np.asarray(np.exp(scores) @ values)


def _mean_of_blocks(case: Case) -> Mix:
    return lambda scores, values: (
        _in_runs(case.size, softmax)(scores, values) / -(-len(scores) // case.size)
    )


PER_BLOCK = Mistake(
    Way(mix=lambda case: _in_runs(case.size, softmax)),
    lambda spot: (
        f": each of the {len(spot.table)} blocks has a softmax of its own, and the weights of all tokens "
        "together are to add up to 1"
    ),
)
MEAN_OF_BLOCKS = Mistake(
    Way(mix=_mean_of_blocks),
    lambda spot: (
        f": that is the mean of the {len(spot.table)} blocks' own results, and one softmax over all tokens is "
        "asked for: a block with large scores counts for more"
    ),
)
PLAIN_SUM = Mistake(
    Way(mix=lambda _: _unweighted),
    lambda _: ": the weights are e^score, not yet divided by their sum, so they do not add up to 1",
)


WALK = walk_mistakes(lambda case: case.size, "block")


# -- where people fall ---------------------------------------------------------------------------------------


def inside(learner: Learner) -> None:
    """No index beyond an array; the usual way to mix up positions, blocks and slots."""

    def examine(case: Case) -> None:
        try:
            _ask(learner, case, errors=(IndexError,))
        except IndexError as error:
            heads = (
                f", {case.heads} query heads, {case.kv_heads} KV heads" if case.heads > 1 else ""
            )
            raise Fault(
                f"{NAME} raised IndexError: {error}{learner.place_of(error)}; the pool has "
                f"{counted(case.num_blocks, 'block')} of {case.size} slots, a row {len(case.rows[0])} entries{heads}"
            ) from None

    for_each(learner, CASES, examine)


def unwritten(learner: Learner) -> None:
    """NaN in the slots that nobody wrote."""

    def examine(case: Case) -> None:
        found = _ask(learner, case)
        if np.isnan(found).any():
            last, used = case.tables[0][-1], (case.lengths[0] - 1) % case.size + 1
            raise Fault(
                f"the result has NaN: block {last} has {counted(used, 'written slot')} of {case.size}, the rest holds "
                "NaN, and some of that got in; a weight of 0 does not keep it out, as 0 x NaN is NaN"
            )

    for_each(learner, [Case([[0]], [3], 4), Case([[2, 0]], [6], 4)], examine)


def padding(learner: Learner) -> None:
    """Rows are filled up with numbers of blocks that are not there."""

    def examine(case: Case) -> None:
        own, row = len(case.tables[0]), case.rows[0]
        told = f"row 0 is {row}, of which {counted(case.lengths[0], 'token')} in blocks of {case.size} need {own}"
        try:
            found = _ask(learner, case, errors=(IndexError,))
        except IndexError as error:
            raise Fault(
                f"{NAME} raised IndexError: {error}{learner.place_of(error)}; {told}; the others fill the row up, "
                "and no block is to be looked for there"
            ) from None
        if not near(found, attention(case)):
            raise difference(case, found, lambda _: f"; {told}")

    for_each(
        learner,
        [Case([[1]], [3], 4, padding=filler, wide=3) for filler in (99, -1)]
        + [Case([[1], [2, 0]], [3, 6], 4, padding=filler) for filler in (99, -1)],
        examine,
    )


def large(learner: Learner) -> None:
    """Scores of a thousand and more."""

    def examine(case: Case) -> None:
        found = _ask(learner, case)
        if not np.isfinite(found).all():
            score = float(np.abs(_scores(case)).max())
            raise Fault(
                f"the result has {found[~np.isfinite(found)][0]}: scores go up to {score:,.0f} here, and exp of that "
                "is larger than any float; subtract the largest score from all first, which leaves the softmax as it is"
            )
        if not near(found, attention(case)):
            raise difference(case, found, lambda _: ", with large scores")

    for_each(learner, [case._replace(strength=3000.0) for case in CASES[:2]], examine)


def _scores(case: Case) -> Array:
    arrays = arrays_of(case)
    written = [arrays.k[block, :slots, 0] for block, slots in case.written().items()]
    return np.asarray(np.concatenate(written) @ arrays.q[0, 0] / case.dim**0.5)


def any_batch(learner: Learner) -> None:
    def examine(case: Case) -> None:
        found = _ask(learner, case)
        if not near(found, attention(case)):
            raise difference(case, found)

    for_all(learner, cases(), examine, examples=20)


EXERCISE = Exercise(
    name="paged-attention",
    title="Attention through a block table",
    lesson=10,
    names=(NAME,),
    needs=("numpy",),
    hints=(
        (
            "For one sequence and one head, first collect the K and V of its tokens: for each position from 0 to the "
            "length (without it) there is a block, which the table names, and a slot in that block. Exercise "
            "slot-mapping has the rule. After that it is ordinary attention."
        ),
        (
            "NumPy can look up all positions at once: with arrays block and slot of the same length, "
            "k_cache[block, slot, kv_head] has one row for each position. Use only positions that are written, rather "
            "than reading whole blocks and masking: NaN stays NaN. For the KV head, divide the query head by the size "
            "of a group."
        ),
        (
            "position = np.arange(length) gives all positions; table[position // block_size] and position % "
            "block_size are the two arrays. The scores are K @ query, divided by the root of head_dim. Subtract their "
            "largest before np.exp, and divide the weights by their sum before (or after) they meet V."
        ),
    ),
    checks=(
        Check("inside", "only blocks, slots and heads that exist are read", inside),
        Check(
            "table",
            "logical block i of a sequence is in the block that entry i of its row names",
            diagnosis.of(LOGICAL, FIRST_ROW, SWAPPED),
        ),
        Check(
            "length",
            "all tokens of the sequence are read, the current one too, and nothing past it",
            diagnosis.of(NOT_CURRENT, ONE_MORE, WHOLE_BLOCK, WHOLE_ROW),
        ),
        Check(
            "heads",
            "neighbouring query heads share a KV head",
            diagnosis.of(TURN_ABOUT, ALWAYS_FIRST),
        ),
        Check(
            "scale",
            "a score is query . K, divided by the square root of head_dim",
            diagnosis.of(NO_SCALE, WHOLE_DIM, TIMES, BLOCK_SIZE),
        ),
        Check(
            "values",
            "scores are made from K, and V is what is mixed by them",
            diagnosis.of(K_FOR_V),
        ),
        Check(
            "one-softmax",
            "the weights of all tokens of a sequence together add up to 1",
            diagnosis.of(PER_BLOCK, MEAN_OF_BLOCKS, PLAIN_SUM, *WALK),
        ),
        Check(
            "unwritten",
            "what stands in slots that nobody wrote does not matter",
            diagnosis.only_if_right(unwritten),
        ),
        Check(
            "padding",
            "what fills a row up after its blocks does not matter",
            diagnosis.only_if_right(padding),
        ),
        Check(
            "large-scores", "the size of the scores does not matter", diagnosis.only_if_right(large)
        ),
        Check("attention", "the result is attention over the sequence's tokens", any_batch),
    ),
)
