"""Attention checked and timed on whatever machine this is, with what is installed there. For lesson 10.

With torch these are the kernels of ``pagesim_kernels``; without, NumPy shows what gathering costs. Imports torch only
inside functions. Knows nothing about lessons.
"""

import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pagesim.engine.needs import missing_modules

ENGINE_PARTS = ("torch", "numba", "triton")
CONTIGUOUS, PAGED, GATHER = "contiguous", "paged", "gather first"
SEQS, CONTEXT, BLOCK_SIZE, HEAD_DIM = 16, 1024, 16, 64
ROUNDS = 15


class Way(NamedTuple):
    """One way to compute the same attention: how it is done, and the median time of a call."""

    name: str
    how: str
    seconds: float


class Checked(NamedTuple):
    """An implementation and its largest error against float64; ``None``: not run here, and why."""

    name: str
    error: float | None
    note: str


def can_run_kernels() -> bool:
    return not missing_modules("torch", "numba")


def ways() -> list[Way]:
    """Decoding, timed now: a few tenths of a second."""
    return _kernel_ways() if can_run_kernels() else _numpy_ways()


def checks() -> list[Checked]:
    """The project's kernels on one small case. Needs torch."""
    from pagesim_kernels.interpreter import use_interpreter

    missing = missing_modules(*ENGINE_PARTS)
    if "triton" not in missing:
        try:
            use_interpreter()
        except RuntimeError as error:
            missing.append("triton")
            return [Checked("Triton", None, str(error)), *_checked(missing)]
    return _checked(missing)


def _checked(missing: list[str]) -> list[Checked]:
    from pagesim_kernels.cases import Case, make_batch
    from pagesim_kernels.check import check_case
    from pagesim_kernels.reference import gather_attention, reference_attention

    case = Case((33, 7), (1, 1), block_size=BLOCK_SIZE, seed=1)
    if "triton" in missing:
        batch = make_batch(case)
        want = reference_attention(*batch.paged(), batch.options)
        error = float((gather_attention(*batch.paged(), batch.options) - want).abs().max())
        return [Checked("torch, gathers first", error, "")]
    result = check_case(case, None)
    same = result.same_elsewhere and result.same_as_twin
    note = "same bits: blocks elsewhere" if same else "NOT the same elsewhere"
    found = [Checked("Triton, in its interpreter", result.error, note)]
    if result.numba is not None:
        found.append(Checked("Numba, on the CPU", result.numba, ""))
    return [*found, Checked("torch, gathers first", result.gather, "")]


def _kernel_ways() -> list[Way]:
    from pagesim_kernels.bench import Setting, make_tensors
    from pagesim_kernels.bench import ways as all_ways

    setting = Setting(seqs=SEQS, context=CONTEXT, head_dim=HEAD_DIM, block_size=BLOCK_SIZE)
    works = all_ways(setting, make_tensors(setting))
    return _timed(
        {
            (CONTIGUOUS, "torch, K and V in one piece each"): works["SDPA, contiguous"],
            (PAGED, "Numba, through the block table"): works["paged"],
            (GATHER, "copy all blocks, then torch"): works["gather, then SDPA"],
        }
    )


def _numpy_ways() -> list[Way]:
    """Contiguous against gather first. A loop over blocks in Python would time Python."""
    draw = np.random.default_rng(0)
    blocks_each = CONTEXT // BLOCK_SIZE
    shape = (SEQS * blocks_each, BLOCK_SIZE, HEAD_DIM)
    k_cache, v_cache = (draw.random(shape, dtype=np.float32) for _ in range(2))
    tables = draw.permutation(SEQS * blocks_each).reshape(SEQS, blocks_each)
    q = draw.random((SEQS, 1, HEAD_DIM), dtype=np.float32)

    def gathered(cache: np.ndarray) -> np.ndarray:
        return cache[tables].reshape(SEQS, CONTEXT, HEAD_DIM)

    def attend(k: np.ndarray, v: np.ndarray) -> np.ndarray:
        scores = q @ k.swapaxes(1, 2) * HEAD_DIM**-0.5
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return np.asarray(weights @ v / weights.sum(-1, keepdims=True))

    k, v = gathered(k_cache), gathered(v_cache)
    return _timed(
        {
            (CONTIGUOUS, "NumPy, K and V in one piece each"): lambda: attend(k, v),
            (GATHER, "copy all blocks, then the same"): lambda: attend(
                gathered(k_cache), gathered(v_cache)
            ),
        }
    )


def _timed(works: dict[tuple[str, str], Callable[[], object]]) -> list[Way]:
    """Round after round, so that a busy neighbour meets all of them; medians."""
    times: dict[tuple[str, str], list[float]] = {key: [] for key in works}
    for work in works.values():
        work()  # compiles, and touches the memory
    for _ in range(ROUNDS):
        for key, work in works.items():
            start = time.perf_counter()
            work()
            times[key].append(time.perf_counter() - start)
    return [Way(*key, statistics.median(found)) for key, found in times.items()]
