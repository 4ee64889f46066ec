"""The laws of the Triton decode kernel, and how a broken one is told."""

import numpy as np

from pagesim.practice.drawing import for_each
from pagesim.practice.exercise import Check, Exercise, Fault
from pagesim.practice.learner import Learner
from pagesim_lessons.exercises.paged_attention.checks import (
    ALWAYS_FIRST,
    FIRST_ROW,
    K_FOR_V,
    LOGICAL,
    NO_SCALE,
    NOT_CURRENT,
    ONE_MORE,
    SWAPPED,
    TURN_ABOUT,
    WHOLE_DIM,
)
from pagesim_lessons.exercises.paged_attention.script import (
    Array,
    Case,
    Diagnosis,
    attention,
    difference,
    near,
)
from pagesim_lessons.exercises.triton_decode.script import (
    ACC_KEPT,
    FAR,
    FIRST_TILE,
    HEAD_AS_KV_HEAD,
    LAST_TILE,
    NAME,
    NO_SHRINK,
    NOT_DIVIDED,
    TOTAL_KEPT,
    UNTOUCHED,
    WHOLE_TILE,
    WHOLE_TILES_ONLY,
    ZERO_SCORES,
    OutsideError,
    OverflowIn32BitsError,
    ask,
)

CASES = [
    Case([[0]], [3], 4, dim=16, rubbish=3.0, padding=0, wide=6),
    Case([[2, 0]], [6], 4, dim=16, rubbish=3.0, padding=0, wide=6),
    Case([[3, 0, 1, 2]], [13], 4, dim=16, seed=3, strength=2.0, rubbish=3.0, padding=0, wide=6),
    Case([[4, 0, 5], [1, 3]], [10, 7], 4, 4, 2, 16, rubbish=3.0, padding=0, wide=6),
]


def _ask(learner: Learner, case: Case) -> Array:
    try:
        return ask(learner, case)
    except OutsideError as error:
        raise Fault(
            f"the kernel reaches outside its tensors: {error}, with tables {case.tables} and lengths {case.lengths} in "
            f"a pool of {case.num_blocks} blocks of {case.size}: one part of an offset is wrong, or a mask is missing",
            law="inside",
        ) from None


diagnosis = Diagnosis(CASES, _ask)


def inside(learner: Learner) -> None:
    """Every lane that is not masked loads and stores inside the tensors, and every program stores."""
    answers = diagnosis.answers(learner)
    if isinstance(answers, Fault):
        raise answers
    for case, found in zip(CASES, answers, strict=True):
        missing = np.argwhere((found == UNTOUCHED).any(axis=2))
        if len(missing):
            seq, head = missing[0]
            learner.begin()
            _ask(learner, case)
            raise Fault(
                f"nothing is stored in out for sequence {seq}, head {head}: each program is to store the result of its "
                "own head"
            )


def unwritten(learner: Learner) -> None:
    def examine(case: Case) -> None:
        found = _ask(learner, case)
        if np.isnan(found).any():
            raise Fault(
                f"the result has NaN: the sequence has {case.lengths[0]} tokens, what stands in the slots past them is "
                "NaN, and some of that got in; a weight of 0 does not keep it out, as 0 x NaN is NaN: do not load it"
            )

    for_each(learner, [Case([[2, 0]], [6], 4, dim=16, wide=6, padding=0)], examine)


def padding(learner: Learner) -> None:
    """Rows end with their blocks, or go on with what is no block."""

    def examine(case: Case) -> None:
        try:
            found = ask(learner, case)
        except OutsideError as error:
            row, blocks = case.rows[0], len(case.tables[0])
            raise Fault(
                f"row 0 of the table is {row}, of which {case.lengths[0]} tokens need {blocks}, and the kernel looks "
                f"further: {error}; mask the lanes past the length when you load from the table, too"
            ) from None
        if not near(found, attention(case)):
            raise difference(case, found)

    cases = [Case([[1]], [3], 4, dim=16, padding=filler, wide=2) for filler in (99, -1)]
    for_each(learner, [*cases, Case([[2, 0]], [6], 3, dim=16)], examine)


def wide(learner: Learner) -> None:
    """A pool of more than 2^31 elements."""
    case = Case([[2, 0]], [6], 4, dim=16)

    def examine(case: Case) -> None:
        try:
            found = ask(learner, case, far=True)
        except OverflowIn32BitsError as error:
            raise Fault(
                f"block 2 begins {FAR:,} x 2 elements into the pool, more than 32 bits can count, and the kernel "
                f"computes that in 32{error}: make the block 64 bits wide before it is multiplied"
            ) from None
        except OutsideError as error:
            raise Fault(
                f"in a pool of {2 * FAR:,} elements the kernel loads elsewhere: {error}"
            ) from None
        except (RuntimeError, MemoryError):
            return  # this machine does not lend so much address space
        if not np.allclose(found, attention(case), atol=0.01):  # K and V have 16 bits here
            raise difference(case, found)

    for_each(learner, [case], examine)


def large(learner: Learner) -> None:
    def examine(case: Case) -> None:
        found = _ask(learner, case)
        if not np.isfinite(found).all():
            raise Fault(
                f"the result has {found[~np.isfinite(found)][0]}: scores go up to thousands here, whose exp is larger "
                "than any float; subtract the largest score of all tiles so far first"
            )
        if not near(found, attention(case)):
            raise difference(case, found, lambda _: ", with large scores")

    for_each(learner, [CASES[2]._replace(strength=3000.0)], examine)


def any_batch(learner: Learner) -> None:
    """Other block sizes, groups, head sizes; shared blocks; lengths at the edges of tiles."""

    def examine(case: Case) -> None:
        found = _ask(learner, case)
        if not near(found, attention(case)):
            raise difference(case, found)

    cases = [
        Case([[0]], [1], 1, dim=4),
        Case([[1, 0, 2]], [8], 3, 1, 1, 8),
        Case([[1]], [9], 16, 2, 1, 4),
        Case([[3, 1], [3, 0]], [6, 7], 5, 3, 3, 4),
        Case([[5, 2, 0, 3, 1]], [17], 4, 3, 1, 2),
    ]
    for_each(learner, cases, examine)


EXERCISE = Exercise(
    name="triton-decode",
    title="A Triton kernel for decoding",
    lesson=10,
    names=("decode_kernel", NAME),
    needs=("torch", "triton"),
    seconds=60.0,
    call_seconds=10.0,
    memory_mib=8192,
    hints=(
        (
            "Begin with positions: start + lane has TILE of them. Which are below the length? That is the mask for "
            "every load in the loop: of the table, of K and of V. The table entry of a lane is its position divided by "
            "BLOCK_SIZE, in row seq, and rows are table_stride apart."
        ),
        (
            "A lane's offset is block x block_stride + slot x slot_stride + KV head x kv_head_stride, with the block "
            "as tl.int64. With [:, None] it becomes a column; dim[None, :] added to it gives the (TILE, HEAD_DIM) "
            "offsets of all numbers of the tile. tl.sum(a * b, 1) adds along a row: so q[None, :] and K make "
            "scores."
        ),
        (
            "tl.where(live, scores, -inf) keeps masked lanes from weighing. The new largest score is tl.maximum of the "
            "old one and tl.max(scores, 0); total and acc are multiplied by tl.exp(old largest - new), and the tile's "
            "own tl.exp(scores - new) are added: to acc as a column, [:, None], times V, summed along axis 0. At the "
            "end acc is divided by total. The KV head is head // GROUP."
        ),
    ),
    checks=(
        Check(
            "inside",
            "every program stores its result, and reaches no memory outside the tensors",
            inside,
        ),
        Check(
            "table",
            "logical block i of a sequence is in the block that entry i of its row names",
            diagnosis.of(LOGICAL, FIRST_ROW, SWAPPED),
        ),
        Check(
            "tiles",
            "every key is in one tile, the last tile's too",
            diagnosis.of(FIRST_TILE, WHOLE_TILES_ONLY, LAST_TILE),
        ),
        Check(
            "length",
            "lanes past the length do not count, and the current token does",
            diagnosis.of(ZERO_SCORES, WHOLE_TILE, NOT_CURRENT, ONE_MORE),
        ),
        Check(
            "heads",
            "neighbouring query heads share a KV head",
            diagnosis.of(TURN_ABOUT, ALWAYS_FIRST, HEAD_AS_KV_HEAD),
        ),
        Check("scale", "a score is query . K, times scale", diagnosis.of(NO_SCALE, WHOLE_DIM)),
        Check(
            "values",
            "scores are made from K, and V is what is mixed by them",
            diagnosis.of(K_FOR_V),
        ),
        Check(
            "rescale",
            "when the largest score rises, what was summed before shrinks by one factor",
            diagnosis.of(ACC_KEPT, TOTAL_KEPT, NO_SHRINK),
        ),
        Check(
            "divided", "the result is acc divided by the sum of weights", diagnosis.of(NOT_DIVIDED)
        ),
        Check(
            "unwritten",
            "what stands in slots that nobody wrote does not matter",
            diagnosis.only_if_right(unwritten),
        ),
        Check(
            "padding",
            "what stands in a row after its blocks does not matter",
            diagnosis.only_if_right(padding),
        ),
        Check(
            "wide",
            "in a pool of more than 2^31 elements the right ones are found",
            diagnosis.only_if_right(wide),
        ),
        Check(
            "large-scores", "the size of the scores does not matter", diagnosis.only_if_right(large)
        ),
        Check("attention", "the result is attention over the sequence's tokens", any_batch),
    ),
)
