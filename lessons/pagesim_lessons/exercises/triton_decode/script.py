"""A learner's kernel in Triton's interpreter, and what people write in such kernels instead.

Imports torch and triton only when a kernel is run.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import numpy as np

from pagesim.practice.exercise import RETURNS, WRITTEN, Fault
from pagesim.practice.learner import Learner
from pagesim_lessons.exercises.paged_attention.script import (
    Array,
    Case,
    Mistake,
    Spot,
    Way,
    arrays_of,
    lines_of,
    reads,
    softmax,
    walk_mistakes,
)

if TYPE_CHECKING:
    from torch import Tensor

NAME = "paged_decode"
TILE = 8
FAR = 1 << 30
"""Elements between two blocks of a pool that is spread out."""
UNTOUCHED = 7777.0
"""What stands in ``out`` before."""


class OutsideError(Exception):
    """The kernel reached outside its tensors."""


class OverflowIn32BitsError(Exception):
    """A sum or product does not fit 32 bits."""


def ask(learner: Learner, case: Case, *, far: bool = False) -> Array:
    """What the kernel writes. OutsideError, or OverflowIn32BitsError if the blocks lie ``far`` apart."""
    import torch
    from pagesim_kernels.interpreter import checked_run, overflow_checks
    from triton.runtime.errors import InterpreterError

    q, k, v = (torch.from_numpy(array).float() for array in arrays_of(case))
    if far:
        k, v = _spread(k, v)
    rows, lengths = (torch.tensor(given, dtype=torch.int32) for given in (case.rows, case.lengths))
    out = torch.full_like(q, UNTOUCHED)
    tensors = (q, k, v, rows, lengths, out)
    function = getattr(learner.module, NAME)
    with ExitStack() as stack:
        stack.enter_context(_lines(learner, case))
        stack.enter_context(checked_run(tensors))
        if far:
            stack.enter_context(overflow_checks())
        failed = learner.run(
            lambda: function(*tensors),
            NAME,
            (),
            {},
            line=f"{NAME}(%s)",
            allowed=(InterpreterError,),
        )
    if isinstance(failed, Exception):
        raise _why(learner, failed)
    return np.asarray(out.numpy(), dtype=float)


def _spread(k: "Tensor", v: "Tensor") -> "tuple[Tensor, Tensor]":
    """The same numbers, the blocks FAR apart, in 16 bits; the memory between them is asked for and never touched."""
    import torch

    block = k[0].numel()
    pool = torch.empty((len(k) - 1) * FAR + 2 * block, dtype=torch.float16)
    strides = (FAR, *k.stride()[1:])
    spread_k, spread_v = (pool.as_strided(k.shape, strides, start) for start in (0, block))
    return spread_k.copy_(k), spread_v.copy_(v)


@contextmanager
def _lines(learner: Learner, case: Case) -> Iterator[None]:
    """Afterwards the learner's lines are those that make the tensors, and the call."""
    given = [f"torch.tensor({numbers}, dtype=torch.int32)" for numbers in (case.rows, case.lengths)]
    try:
        yield
    finally:
        learner.lines = [
            "import os",
            'os.environ["TRITON_INTERPRET"] = "1"  # before triton is imported',
            f"from triton_decode import {NAME}",
            *lines_of(case),
            "import torch",
            "q, k_cache, v_cache = (torch.from_numpy(x).float() for x in (q, k_cache, v_cache))",
            "out = torch.empty_like(q)",
            f"{NAME}(q, k_cache, v_cache, {', '.join(given)}, out)",
        ]


def _why(learner: Learner, failed: Exception) -> Exception:
    """What an error of the interpreter was in truth."""
    from pagesim_kernels.interpreter import OutOfBoundsError

    found: BaseException = failed
    while found.__cause__ is not None:
        found = found.__cause__
    what, place = " ".join(str(found).split())[:200], learner.place_of(found)
    if isinstance(found, NotImplementedError):
        return Fault(f"decode_kernel is not written yet{place}", law=WRITTEN)
    if isinstance(found, OutOfBoundsError):
        reach = what.partition(",")[0].replace("lanes", "numbers")
        return OutsideError(f"{reach}{place}")
    if "overflow" in what:
        return OverflowIn32BitsError(place)
    colon = ": " if what else ""
    return Fault(f"your kernel raised {type(found).__name__}{colon}{what}{place}", law=RETURNS)


# -- what people write instead ---------------------------------------------------------------------------------


def _tiles(spot: Spot) -> int:
    return -(-spot.length // TILE)


def _lanes(spot: Spot) -> str:
    """Which lanes of the last tile are past the length, in a clause."""
    first = spot.length % TILE
    which = f"lane {first} is" if first == TILE - 1 else f"lanes {first} to {TILE - 1} are"
    return (
        f"the sequence has {spot.length} tokens, so in tile {_tiles(spot)} {which} past the length"
    )


def _with_zeros(scores: Array, values: Array) -> Array:
    """Lanes past the length count, with a score of 0 and a V of 0."""
    extra = -len(scores) % TILE
    none = np.zeros((extra, values.shape[1]))
    return softmax(np.concatenate([scores, np.zeros(extra)]), np.concatenate([values, none]))


def _beyond(spot: Spot, position: int) -> tuple[int, int]:
    """The slot in which a KV head with the query head's number would be, if the heads of a slot went on."""
    case = spot.case
    slot = spot.row[position // case.size] * case.size + position % case.size
    return divmod(slot + spot.head // case.kv_heads, case.size)


HEAD_AS_KV_HEAD = Mistake(
    Way(place=_beyond, kv_head=lambda spot: spot.head % spot.case.kv_heads),
    lambda spot: (
        f": the number of the query head was taken for that of the KV head, and {reads(spot)}"
    ),
)
WHOLE_TILE = Mistake(
    Way(positions=lambda spot: range(_tiles(spot) * TILE)),
    lambda spot: f": {_lanes(spot)}, and what lies there was read all the same",
)
ZERO_SCORES = Mistake(
    Way(mix=lambda _: _with_zeros),
    lambda spot: (
        f": {_lanes(spot)}; what was loaded for them is 0, so their score is 0, and e^0 is a weight like any other: a "
        "score that is not to count is -inf"
    ),
)
FIRST_TILE = Mistake(
    Way(positions=lambda spot: range(min(TILE, spot.length))),
    lambda spot: (
        f": that is what the first {TILE} keys give, and there are {spot.length}; each turn of the loop has keys of "
        "its own, at positions from start on"
    ),
)
WHOLE_TILES_ONLY = Mistake(
    Way(positions=lambda spot: range(spot.length // TILE * TILE)),
    lambda spot: (
        f": the sequence has {spot.length} tokens, and only whole tiles of {TILE} were read; the last tile counts, "
        f"too, though it has only {spot.length % TILE} keys"
    ),
)


NO_SHRINK, ACC_KEPT, TOTAL_KEPT, LAST_TILE, NOT_DIVIDED = walk_mistakes(lambda _: TILE, "tile")
