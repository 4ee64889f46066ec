"""How fast attention is on this machine: paged, contiguous, gather first, SDPA; beside the speed of a plain copy.

All ways run in one process, round after round, each round in another order, so that a busy neighbour and what ran
before meet each of them; before each there is a pause in which the threads of the one before go to sleep. Medians.
GB/s counts K and V once, whatever a way really moves. On a CPU the paged kernel is Numba's; its contiguous twin is the
same kernel with every sequence one long block; and the K and V of every way are in huge pages. Knows nothing about
how results are shown.
"""

import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812

from pagesim_kernels.huge_pages import empty_pool
from pagesim_kernels.inputs import need
from pagesim_kernels.options import PLAIN

COPY_BYTES = 256 << 20
PAUSE_S = 0.005
MOST_BYTES = 4 * 10**9
DTYPES = ("float32", "float16", "bfloat16")
Work = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Setting:
    """Decoding: ``seqs`` sequences of ``context`` keys each. ``context`` a multiple of ``block_size``."""

    seqs: int = 32
    context: int = 1024
    heads: int = 9
    kv_heads: int = 3
    head_dim: int = 64
    block_size: int = 16
    dtype: str = "float32"
    device: str = "cpu"

    def __post_init__(self) -> None:
        sizes = (self.seqs, self.context, self.heads, self.kv_heads, self.head_dim, self.block_size)
        need(min(sizes) >= 1, f"one of the sizes is {min(sizes)}; each must be at least 1")
        need(
            self.heads % self.kv_heads == 0,
            f"{self.heads} query heads on {self.kv_heads} KV heads; the query heads must be a multiple of the KV heads",
        )
        need(
            self.context % self.block_size == 0,
            f"{self.context} keys in blocks of {self.block_size}; the keys must fill whole blocks here",
        )
        need(
            self.dtype in DTYPES,
            f"the dtype is {self.dtype!r}; it must be one of {', '.join(DTYPES)}",
        )
        need(
            self.kv_bytes <= MOST_BYTES,
            f"K and V of {self.kv_bytes / 1e9:.1f} GB; at most {MOST_BYTES / 1e9:.0f} GB are timed here (it needs "
            "three times that): fewer sequences or keys",
        )

    @property
    def kv_bytes(self) -> int:
        size = torch.empty(0, dtype=getattr(torch, self.dtype)).element_size()
        return 2 * self.seqs * self.context * self.kv_heads * self.head_dim * size


class Timing(NamedTuple):
    """``seconds``: the median. ``bandwidth``: bytes a second, K and V counted once. ``failed``: why it did not run."""

    name: str
    seconds: float
    bandwidth: float
    of_copy: float
    failed: str = ""


class Tensors(NamedTuple):
    q: torch.Tensor
    k_cache: torch.Tensor
    v_cache: torch.Tensor
    tables: torch.Tensor
    lens: torch.Tensor
    starts: torch.Tensor
    k: torch.Tensor  # contiguous: (seqs, context, kv_heads, head_dim)
    v: torch.Tensor


def make_tensors(setting: Setting) -> Tensors:
    """Random K and V in scattered blocks, and the same in one piece each."""
    dtype, device = getattr(torch, setting.dtype), setting.device
    generator = torch.Generator(device).manual_seed(0)
    blocks_each = setting.context // setting.block_size
    blocks = setting.seqs * blocks_each
    shape = (blocks, setting.block_size, setting.kv_heads, setting.head_dim)
    k_cache, v_cache = (
        _pool(torch.randn(shape, generator=generator, device=device).to(dtype)) for _ in range(2)
    )
    order = torch.randperm(blocks, generator=generator, device=device)
    tables = order.view(setting.seqs, blocks_each)
    q = torch.randn(
        setting.seqs, setting.heads, setting.head_dim, generator=generator, device=device
    )
    return Tensors(
        q.to(dtype), k_cache, v_cache, tables.int(),
        torch.full((setting.seqs,), setting.context, dtype=torch.int32, device=device),
        torch.arange(setting.seqs + 1, dtype=torch.int32, device=device),
        _pool(k_cache[tables].flatten(1, 2)), _pool(v_cache[tables].flatten(1, 2)),
    )  # fmt: skip


def _pool(values: torch.Tensor) -> torch.Tensor:
    """The same, contiguous; on a CPU in huge pages, as an engine's pool should be."""
    if values.device.type != "cpu":
        return values.contiguous()
    return empty_pool(tuple(values.shape), values.dtype).copy_(values)


def ways(setting: Setting, t: Tensors) -> dict[str, Work]:
    """The ways to compute the same attention, by name; each returns (seqs, heads, head_dim)."""
    head_major = (_pool(t.k.transpose(1, 2)), _pool(t.v.transpose(1, 2)))
    rows = t.tables.long()

    def gathered() -> torch.Tensor:
        k, v = (cache[rows].flatten(1, 2).transpose(1, 2) for cache in (t.k_cache, t.v_cache))
        return _sdpa(t.q, k, v)

    return {
        "paged": lambda: _paged(setting, t),
        "contiguous twin": lambda: _twin(setting, t),
        "SDPA, contiguous": lambda: _sdpa(t.q, *head_major),
        "gather, then SDPA": gathered,
    }


def _paged(setting: Setting, t: Tensors) -> torch.Tensor:
    from pagesim_kernels.backends import attention

    if setting.device == "cpu":
        return attention(*t[:6], PLAIN)
    from pagesim_kernels.paged_attention import paged_attention
    from pagesim_kernels.tiling import Launch

    return paged_attention(*t[:6], PLAIN, Launch(None, 1, setting.context))


def _twin(setting: Setting, t: Tensors) -> torch.Tensor:
    if setting.device == "cpu":
        from pagesim_kernels.backends import attention

        one_block_each = torch.arange(setting.seqs, dtype=torch.int32)[:, None]
        return attention(t.q, t.k, t.v, one_block_each, t.lens, t.starts, PLAIN)
    from dataclasses import replace

    from pagesim_kernels.paged_attention import contiguous_attention
    from pagesim_kernels.tiling import Launch

    launch = Launch(None, 1, setting.context)
    tiling = launch.sizes(t.q, t.k_cache, t.lens, t.starts).tiling
    twin = replace(launch, tiling=replace(tiling, stages=tiling.stages - 1))
    return contiguous_attention(t.q, t.k, t.v, t.lens, t.starts, PLAIN, twin)


def _sdpa(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """torch's attention; the query heads of a KV head as rows of one product, its quickest form on a CPU."""
    grouped = q.view(q.shape[0], k.shape[1], -1, q.shape[2])
    return F.scaled_dot_product_attention(grouped, k, v).flatten(1, 2)


def bench(setting: Setting, rounds: int = 20) -> tuple[float, list[Timing]]:
    """The copy bandwidth (bytes read and written a second), and the ways in the order of ``ways``."""
    source = torch.ones(COPY_BYTES // 4, device=setting.device)
    target = torch.empty_like(source)
    tensors = make_tensors(setting)
    works: dict[str, Work] = {"copy": lambda: target.copy_(source), **ways(setting, tensors)}
    failed = {}
    for name, work in works.items():
        try:
            work()  # compiles, and touches the memory
        except Exception as error:  # a backend that does not take this is a row that says so
            failed[name] = " ".join(f"{type(error).__name__}: {error}".split())[:120]
    seconds: dict[str, list[float]] = {name: [] for name in works if name not in failed}
    order = list(seconds)
    shuffle = random.Random(0).shuffle
    for _ in range(rounds):
        shuffle(order)
        for name in order:
            time.sleep(PAUSE_S)
            seconds[name].append(timed(works[name], setting.device))
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    copy = 2 * COPY_BYTES / medians["copy"]
    timings = []
    for name in list(works)[1:]:
        if name in failed:
            timings.append(Timing(name, 0.0, 0.0, 0.0, failed[name]))
        else:
            speed = setting.kv_bytes / medians[name]
            timings.append(Timing(name, medians[name], speed, speed / copy))
    return copy, timings


def timed(work: Work, device: str) -> float:
    if device != "cpu":
        torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    if device != "cpu":
        torch.cuda.synchronize()
    return time.perf_counter() - start
