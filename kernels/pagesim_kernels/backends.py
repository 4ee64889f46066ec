"""One function for whoever just wants attention: it picks who computes it. Also writes and copies for any device.

    tensors on a GPU           Triton
    float32 on a CPU           Numba, where it is installed
    everything else            torch, gathering first

Needs torch alone; the others are imported when they are used. Knows nothing about how attention is computed.
"""

from importlib.util import find_spec

import torch

from pagesim_kernels.inputs import FP8, KernelInputError, check_copies, check_write
from pagesim_kernels.options import PLAIN, Options
from pagesim_kernels.tiling import AUTOMATIC, Launch

BACKENDS = ("triton", "numba", "torch")


def pick_backend(q: torch.Tensor, k_cache: torch.Tensor) -> str:
    """The fastest backend that is installed and takes these tensors."""
    if q.device.type == "cuda" and find_spec("triton"):
        return "triton"
    if q.device.type == "cpu" and q.dtype == k_cache.dtype == torch.float32 and find_spec("numba"):
        return "numba"
    return "torch"


def attention(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_tables: torch.Tensor,
    context_lens: torch.Tensor,
    query_starts: torch.Tensor,
    options: Options = PLAIN,
    *,
    backend: str | None = None,
    launch: Launch = AUTOMATIC,
) -> torch.Tensor:
    """Attention of every new token to its sequence's keys in the cache: (tokens, heads, head_dim), q's dtype.

    Tensors as ``inputs.py`` lists them. ``backend``: None picks. ``launch``: what Triton need not find
    out or choose; the others have no use for it. KernelInputError for what no kernel takes.
    """
    call = (q, k_cache, v_cache, block_tables, context_lens, query_starts, options)
    chosen = pick_backend(q, k_cache) if backend is None else backend
    if chosen == "triton":
        from pagesim_kernels.paged_attention import paged_attention

        return paged_attention(*call, launch)
    if chosen == "numba":
        from pagesim_kernels.cpu import paged_attention_cpu

        return paged_attention_cpu(*call)
    if chosen == "torch":
        from pagesim_kernels.reference import gather_attention

        return gather_attention(*call)
    raise KernelInputError(f"there is no backend {chosen!r}; there are {', '.join(BACKENDS)}")


def to_fp8(values: torch.Tensor, scale: float, dtype: torch.dtype) -> torch.Tensor:
    """Values as an fp8 cache stores them: divided by the scale, cut to what fp8 can hold, rounded by torch."""
    if dtype not in FP8:
        raise KernelInputError(f"{dtype} is no fp8 type; float8_e4m3fn and float8_e5m2 are")
    most = torch.finfo(dtype).max
    return (values.float() / scale).clamp(-most, most).to(dtype)


def write_kv(
    k: torch.Tensor, v: torch.Tensor, k_cache: torch.Tensor, v_cache: torch.Tensor, slot_mapping: torch.Tensor
) -> None:  # fmt: skip
    """Write ``k``, ``v`` (tokens, kv_heads, head_dim) to the slots (tokens,) int64; negative ones write nothing."""
    if k.device.type == "cuda" and find_spec("triton"):
        from pagesim_kernels import cache_ops

        return cache_ops.write_kv(k, v, k_cache, v_cache, slot_mapping)
    check_write(k, v, k_cache, v_cache, slot_mapping)
    real = slot_mapping >= 0
    block_size = k_cache.shape[1]
    where = slot_mapping[real] // block_size, slot_mapping[real] % block_size
    for values, cache in ((k, k_cache), (v, v_cache)):
        _bytes(cache)[where] = _bytes(values)[real]
    return None


def copy_blocks(k_cache: torch.Tensor, v_cache: torch.Tensor, copies: torch.Tensor) -> None:
    """Copy the first slots of blocks, all at once: ``copies`` (n, 3) int32, source, target and number of slots."""
    if copies.device.type == "cuda" and find_spec("triton"):
        from pagesim_kernels import cache_ops

        return cache_ops.copy_blocks(k_cache, v_cache, copies)
    check_copies(k_cache, v_cache, copies)
    for source, target, num_slots in copies.tolist():
        for cache in (k_cache, v_cache):
            cache[target, :num_slots] = cache[source, :num_slots]
    return None


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    """fp8 has no indexed writes in torch; its bytes have."""
    return tensor.view(torch.uint8) if tensor.dtype in FP8 else tensor
