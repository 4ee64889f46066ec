"""Where attention reads K and V: through block tables by a kernel, or from slabs as slices of one tensor.

One object serves one step; the model calls it once a layer. K and V of the whole batch are written before
anybody reads: two sequences of a step may share blocks that one of them fills in it.
"""

from collections.abc import Callable

import torch
from pagesim_kernels.backends import attention
from pagesim_kernels.options import Options
from pagesim_kernels.tiling import Launch
from torch.nn.functional import scaled_dot_product_attention

from pagesim.engine.kv_cache import KVCache
from pagesim.engine.step_batch import StepBatch

Attend = Callable[[int, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
"""From layer, q (tokens, heads, head_dim), k and v (tokens, kv_heads, head_dim) to the output, shaped as q."""

PAGED_BACKENDS = ("triton", "numba", "torch")


class PagedAttention:
    """Through block tables. ``backend``: triton, numba or torch (which gathers first); ``None`` picks."""

    def __init__(
        self, cache: KVCache, batch: StepBatch, window: int | None, backend: str | None = None
    ) -> None:
        self._cache = cache
        self._batch = batch
        self._options = Options(window=window)
        self._backend = backend
        self._launch = Launch(
            max_query_len=batch.max_query_len, max_context_len=batch.max_context_len
        )

    def __call__(
        self, layer: int, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor
    ) -> torch.Tensor:
        batch = self._batch
        k_cache, v_cache = self._cache.layer(layer)
        _write(k_cache, batch.slots, k)
        _write(v_cache, batch.slots, v)
        return attention(
            q,
            k_cache,
            v_cache,
            batch.block_tables,
            batch.context_lens,
            batch.query_starts,
            self._options,
            backend=self._backend,
            launch=self._launch,
        )


class ContiguousAttention:
    """From slabs: each sequence's K and V are one slice of a cache whose blocks are single slots."""

    def __init__(self, cache: KVCache, batch: StepBatch, window: int | None) -> None:
        self._cache = cache
        self._slots = batch.slots
        starts, lengths = batch.query_starts.tolist(), batch.context_lens.tolist()
        firsts = batch.block_tables[:, 0].tolist()
        self._spans = [
            (start, stop, first, length, _mask(stop - start, length, window, batch.slots.device))
            for start, stop, first, length in zip(
                starts[:-1], starts[1:], firsts, lengths, strict=True
            )
        ]

    def __call__(
        self, layer: int, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor
    ) -> torch.Tensor:
        k_cache, v_cache = self._cache.layer(layer)
        _write(k_cache, self._slots, k)
        _write(v_cache, self._slots, v)
        out = torch.empty_like(q)
        for start, stop, first, length, mask in self._spans:
            keys = k_cache[first : first + length, 0].transpose(0, 1)  # (kv_heads, keys, head_dim)
            values = v_cache[first : first + length, 0].transpose(0, 1)
            queries = q[start:stop].transpose(0, 1)  # (heads, tokens, head_dim)
            seen = scaled_dot_product_attention(
                queries[None], keys[None], values[None], attn_mask=mask, enable_gqa=True
            )
            out[start:stop] = seen[0].transpose(0, 1)
        return out


def _write(cache: torch.Tensor, slots: torch.Tensor, values: torch.Tensor) -> None:
    """``cache``: (blocks, block_size, kv_heads, head_dim); ``slots``: (tokens,) of the two first axes as one."""
    cache.view(-1, *cache.shape[2:]).index_copy_(0, slots, values.to(cache.dtype))


def _mask(
    num_queries: int, length: int, window: int | None, device: torch.device
) -> torch.Tensor | None:
    """(queries, keys), true where a query sees a key; ``None`` where each sees all."""
    if num_queries == 1 and (window is None or length <= window):
        return None
    query = torch.arange(length - num_queries, length, device=device)[:, None]
    key = torch.arange(length, device=device)[None]
    seen = key <= query
    return seen if window is None else seen & (key > query - window)
