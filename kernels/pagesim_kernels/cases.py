"""Batches to check attention with: random, and laid out so that a mistake shows.

Every slot that no token was written to holds NaN; block tables end in -1; blocks are scattered. The same keys are
there in contiguous form too. Knows nothing about who computes attention.
"""

import random
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch

from pagesim_kernels.options import Options

DTYPES = {
    "fp32": torch.float32,
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
    "fp8": torch.float8_e4m3fn,
}
TOLERANCE = {"fp32": 2e-5, "fp16": 2e-3, "bf16": 1.6e-2, "fp8": 2e-3}
"""Norm of the difference to float64 over the norm of the result, by dtype of the cache: the rounding of the output
and of the weights. (An fp8 case is judged on the fp8 values themselves, with q in fp16.)"""
HEADS = ((4, 2), (4, 4), (6, 2), (7, 1), (8, 2), (9, 3), (14, 2), (20, 1), (24, 1))
"""Query heads and KV heads: groups that are a power of two, that are not, and that are larger than a tile's rows."""


@dataclass(frozen=True, slots=True)
class Case:
    """What a batch is made of. ``query_lens`` one for each sequence; ``dtype`` a key of ``DTYPES``, of the cache."""

    context_lens: tuple[int, ...]
    query_lens: tuple[int, ...]
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 16
    block_size: int = 4
    dtype: str = "fp32"
    window: int | None = None
    soft_cap: float | None = None
    alibi: bool = False
    scale: float | None = None
    k_scale: float = 1.0
    v_scale: float = 1.0
    seed: int = 0

    def options(self) -> Options:
        slopes = None
        if self.alibi:
            slopes = torch.tensor([2.0 ** -(head % 8 + 1) for head in range(self.heads)])
        return Options(self.scale, self.window, self.soft_cap, slopes, self.k_scale, self.v_scale)

    def kind(self) -> str:
        if all(length == 1 for length in self.query_lens):
            return "decode"
        return "extend" if all(length != 1 for length in self.query_lens) else "mixed"


Tensor = torch.Tensor
Paged = tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]
Contiguous = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]


class Batch(NamedTuple):
    """The tensors of a case, as the kernels take them; ``k``, ``v`` are the contiguous form of the same keys."""

    q: torch.Tensor
    k_cache: torch.Tensor
    v_cache: torch.Tensor
    block_tables: torch.Tensor
    context_lens: torch.Tensor
    query_starts: torch.Tensor
    options: Options
    k: torch.Tensor
    v: torch.Tensor

    def paged(self) -> Paged:
        return self[:6]

    def contiguous(self) -> Contiguous:
        return self.q, self.k, self.v, self.context_lens, self.query_starts

    def to(self, device: str) -> "Batch":
        slopes = self.options.alibi_slopes
        options = (
            self.options
            if slopes is None
            else replace(self.options, alibi_slopes=slopes.to(device))
        )
        q, k_cache, v_cache, tables, lens, starts = (part.to(device) for part in self.paged())
        return Batch(
            q, k_cache, v_cache, tables, lens, starts, options, self.k.to(device), self.v.to(device)
        )

    def tensors(self) -> list[torch.Tensor]:
        """All that a kernel may read."""
        slopes = self.options.alibi_slopes
        parts = [part for part in self if isinstance(part, torch.Tensor)]
        return parts if slopes is None else [*parts, slopes]


@dataclass(frozen=True, slots=True)
class Filling:
    """What stands where nothing was written, and in what order blocks are handed out."""

    unwritten: float = float("nan")
    padding: int = -1
    spare_blocks: int = 3
    shuffle: int = 0


def make_batch(case: Case, filling: Filling = Filling()) -> Batch:
    """The case's tensors, on the CPU; the same keys and values for any ``filling`` and block size."""
    generator = torch.Generator().manual_seed(case.seed)
    lens, block_size = case.context_lens, case.block_size
    shape = (case.kv_heads, case.head_dim)
    counts = [-(-length // block_size) for length in lens]
    order = torch.randperm(
        sum(counts) + filling.spare_blocks, generator=torch.Generator().manual_seed(filling.shuffle)
    )
    tables = torch.full((len(lens), max([*counts, 1])), filling.padding, dtype=torch.int32)
    longest = max([*lens, 1])
    k = torch.full((2, len(lens), longest, *shape), filling.unwritten)  # K, then V
    cache = torch.full((2, len(order), block_size, *shape), filling.unwritten)
    used = 0
    for seq, (length, count) in enumerate(zip(lens, counts, strict=True)):
        ids = order[used : used + count]
        used += count
        tables[seq, :count] = ids.int()
        k[:, seq, :length] = torch.randn(2, length, *shape, generator=generator)
        padded = torch.full((2, count * block_size, *shape), filling.unwritten)
        padded[:, :length] = k[:, seq, :length]
        cache[:, ids] = padded.view(2, count, block_size, *shape)
    starts = torch.tensor([0, *case.query_lens], dtype=torch.int32).cumsum(0, dtype=torch.int32)
    q = torch.randn(int(starts[-1]), case.heads, case.head_dim, generator=generator)
    dtype = DTYPES[case.dtype]
    q_dtype = torch.float16 if case.dtype == "fp8" else dtype
    k_cache, v_cache = cache.to(dtype)
    k_whole, v_whole = k.to(dtype)
    context_lens = torch.tensor(lens, dtype=torch.int32)
    return Batch(
        q.to(q_dtype), k_cache, v_cache, tables, context_lens, starts, case.options(), k_whole, v_whole
    )  # fmt: skip


def error_of(got: torch.Tensor, want: torch.Tensor) -> float:
    """Norm of the difference over the norm of what is wanted (at least 1); NaN where either has one."""
    difference = torch.linalg.vector_norm(got.double().cpu() - want.double().cpu())
    return float(difference / max(1.0, float(torch.linalg.vector_norm(want.double()))))


def random_case(seed: int, *, small: bool) -> Case:
    """A case drawn from everything there is. ``small``: of a size for the interpreter."""
    draw = random.Random(seed)
    kind = draw.choice(("decode", "decode", "extend", "mixed"))
    top = 48 if small else draw.choice((70, 700, 3000))
    usual = (0, 1, 16, 33)
    lens = [
        draw.choice((*usual, *(draw.randint(1, top) for _ in usual)))
        for _ in range(draw.randint(1, 3 if small else 9))
    ]
    most_new = 6 if small else 300
    new = [
        1 if kind == "decode" or (kind == "mixed" and draw.random() < 0.5)
        else draw.randint(0, min(length, most_new))
        for length in lens
    ]  # fmt: skip
    heads, kv_heads = draw.choice(HEADS)
    dtype = draw.choice(("fp32", "fp16", "bf16", "fp8"))
    variant = draw.choice(("", "", "window", "soft cap", "alibi", "all"))
    return Case(
        tuple(lens),
        tuple(new),
        heads,
        kv_heads,
        head_dim=draw.choice((16, 24) if small else (64, 80, 96, 128, 192, 256)),
        block_size=draw.choice(
            (1, 3, 4, 8, 16, 24, 64) if small else (1, 3, 8, 16, 24, 64, 128, 256)
        ),
        dtype=dtype,
        window=draw.choice((1, 3, 4, 7, 16, 17, 64)) if variant in ("window", "all") else None,
        soft_cap=draw.choice((2.0, 15.0)) if variant in ("soft cap", "all") else None,
        alibi=variant in ("alibi", "all"),
        k_scale=0.5 if dtype == "fp8" else 1.0,
        v_scale=3.0 if dtype == "fp8" else 1.0,
        seed=seed,
    )
