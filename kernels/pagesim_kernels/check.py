"""Random cases against float64: is the kernel right, with every option, wherever the blocks lie?

Each case runs three times: through block tables, through block tables with the blocks elsewhere and other rubbish in
the unwritten slots, and as the contiguous twin. The first is judged against float64; the three must be equal bit for
bit. Knows nothing about how results are shown.
"""

import contextlib
import math
import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from typing import NamedTuple

import torch

from pagesim_kernels.cases import (
    TOLERANCE,
    Batch,
    Case,
    Filling,
    error_of,
    make_batch,
    random_case,
)
from pagesim_kernels.interpreter import checked_run, interpreted
from pagesim_kernels.reference import gather_attention, reference_attention
from pagesim_kernels.tiling import Launch, Tiling

ELSEWHERE = Filling(unwritten=1e4, padding=2**30, shuffle=1)


class Result(NamedTuple):
    """A case, its launch, and how it went. ``failure``: what was raised, in one line; "" if nothing was.

    ``error`` is the Triton kernel's, ``numba`` and ``gather`` are the other backends': None where one was not asked.
    NaN is an error too.
    """

    case: Case
    tiling: Tiling | None
    error: float | None
    same_elsewhere: bool
    same_as_twin: bool
    failure: str = ""
    numba: float | None = None
    gather: float | None = None

    @property
    def tolerance(self) -> float:
        return TOLERANCE[self.case.dtype]

    @property
    def passed(self) -> bool:
        errors = [error for error in (self.error, self.numba, self.gather) if error is not None]
        within = all(error <= self.tolerance for error in errors)  # NaN is not
        return within and self.same_elsewhere and self.same_as_twin and not self.failure


def random_tiling(seed: int, *, small: bool) -> Tiling | None:
    """A tiling that differs from case to case; None is the automatic one."""
    draw = random.Random(-1 - seed)
    if not small and draw.random() < 0.5:
        return None
    rows, keys = draw.choice((16, 16, 32)), draw.choice((16, 32) if small else (32, 64))
    splits = draw.choice((0, keys, 2 * keys, 4 * keys))
    return Tiling(rows, keys, split_len=splits, gather=draw.random() < 0.5)


def check(seeds: Iterable[int], *, device: str, small: bool) -> Iterator[Result]:
    """One result a seed. ``small``: cases for the interpreter. On a CPU the other backends are judged as well."""
    for seed in seeds:
        case, tiling = random_case(seed, small=small), random_tiling(seed, small=small)
        if case.dtype == "fp8" and not has_fp8(device):
            case = replace(case, dtype="fp16")
        try:
            yield check_case(case, tiling, device)
        except Exception as error:  # a failed launch is a failed case, not the end of the check
            sentence = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            yield Result(case, tiling, math.nan, False, False, sentence)  # noqa: FBT003


def has_fp8(device: str) -> bool:
    """GPUs before sm89 have no fp8; the interpreter has."""
    return device == "cpu" or torch.cuda.get_device_capability() >= (8, 9)


def check_case(case: Case, tiling: Tiling | None, device: str = "cpu") -> Result:
    """Run one case every way there is. Whatever a launch raises is let through."""
    batch, elsewhere = make_batch(case), make_batch(case, ELSEWHERE)
    want = reference_attention(*batch.paged(), batch.options)
    error, same_elsewhere, same_as_twin = None, True, True
    if find_spec("triton"):
        launch = Launch(tiling)
        got = run_paged(batch.to(device), launch)
        error = error_of(got, want)
        same_elsewhere = torch.equal(got, run_paged(elsewhere.to(device), launch))
        same_as_twin = torch.equal(got, run_twin(batch.to(device), launch))
    gather = numba = None
    if device == "cpu":
        gather = error_of(gather_attention(*batch.paged(), batch.options), want)
        if case.dtype == "fp32" and find_spec("numba"):
            from pagesim_kernels.cpu import paged_attention_cpu

            numba = error_of(paged_attention_cpu(*batch.paged(), batch.options), want)
    return Result(case, tiling, error, same_elsewhere, same_as_twin, numba=numba, gather=gather)


def run_paged(batch: Batch, launch: Launch) -> torch.Tensor:
    from pagesim_kernels.paged_attention import paged_attention

    out = torch.empty_like(batch.q)
    with _watched([*batch.tensors(), out]):
        return paged_attention(*batch.paged(), batch.options, launch, out)


def run_twin(batch: Batch, launch: Launch) -> torch.Tensor:
    from pagesim_kernels.paged_attention import contiguous_attention

    out = torch.empty_like(batch.q)
    with _watched([*batch.tensors(), out]):
        return contiguous_attention(*batch.contiguous(), batch.options, launch, out)


def _watched(tensors: list[torch.Tensor]) -> contextlib.AbstractContextManager[None]:
    return checked_run(tensors) if interpreted() else contextlib.nullcontext()
