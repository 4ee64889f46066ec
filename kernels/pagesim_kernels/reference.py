"""The judge: attention in float64, one head at a time in plain sight. And the way without a paged kernel: gather first.

Both gather a sequence's K and V through its block table into contiguous tensors, which is what the kernels avoid.
Knows nothing about tiles.
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812

from pagesim_kernels.inputs import check_attention
from pagesim_kernels.options import PLAIN, Options

Attend = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
"""One sequence: q (new, heads, head_dim), k and v (length, kv_heads, head_dim) -> (new, heads, head_dim)."""


def reference_attention(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_tables: torch.Tensor | None,
    context_lens: torch.Tensor,
    query_starts: torch.Tensor,
    options: Options = PLAIN,
) -> torch.Tensor:
    """Attention in float64, (tokens, heads, head_dim). ``block_tables`` None: K and V are contiguous."""

    def one(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return attend(q.double(), k.double(), v.double(), options)

    out = torch.zeros(q.shape, dtype=torch.float64, device=q.device)
    return _each(one, out, q, k_cache, v_cache, block_tables, context_lens, query_starts)


def gather_attention(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_tables: torch.Tensor,
    context_lens: torch.Tensor,
    query_starts: torch.Tensor,
    options: Options = PLAIN,
) -> torch.Tensor:
    """Attention that gathers first, one sequence at a time: any option, dtype and device; computed in float32.

    With plain options the attention itself is torch's ``scaled_dot_product_attention``.
    """
    check_attention(q, k_cache, v_cache, block_tables, context_lens, query_starts, options)
    plain = options.window is None and options.soft_cap is None and options.alibi_slopes is None

    def one(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        attend_one = _sdpa if plain else attend
        return attend_one(q.float(), k.float(), v.float(), options).to(out.dtype)

    out = torch.zeros_like(q)
    return _each(one, out, q, k_cache, v_cache, block_tables, context_lens, query_starts)


def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, options: Options) -> torch.Tensor:
    """One sequence: q (new, heads, head_dim) are the last tokens of k, v (length, kv_heads, head_dim)."""
    new, length, group = len(q), len(k), q.shape[1] // k.shape[1]
    k = (k * options.k_scale).repeat_interleave(group, 1)  # (length, heads, head_dim)
    v = (v * options.v_scale).repeat_interleave(group, 1)
    scores = torch.einsum("qhd,khd->hqk", q, k) * options.scale_for(q.shape[2])
    if options.soft_cap is not None:
        scores = options.soft_cap * torch.tanh(scores / options.soft_cap)
    query_pos = torch.arange(length - new, length, device=q.device)[:, None]
    key_pos = torch.arange(length, device=q.device)[None]
    if options.alibi_slopes is not None:
        slopes = options.alibi_slopes.to(q.dtype)[:, None, None]
        scores = scores + slopes * (key_pos - query_pos)
    sees = key_pos <= query_pos  # (new, length)
    if options.window is not None:
        sees = sees & (query_pos - key_pos < options.window)
    weights = torch.softmax(scores.masked_fill(~sees, -math.inf), -1)
    return torch.einsum("hqk,khd->qhd", weights, v)


def _sdpa(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, options: Options) -> torch.Tensor:
    """As ``attend`` with plain options. The queries of a KV head's group are rows of one product."""
    (new, heads, head_dim), (length, kv_heads) = q.shape, k.shape[:2]
    group = heads // kv_heads
    causal = torch.ones(new, length, dtype=torch.bool, device=q.device).tril(length - new)
    out = F.scaled_dot_product_attention(
        q.transpose(0, 1).reshape(1, kv_heads, group * new, head_dim),
        k.transpose(0, 1)[None],
        v.transpose(0, 1)[None],
        attn_mask=None if new == 1 else causal.repeat(group, 1),
        scale=options.scale_for(head_dim) * options.k_scale,
    )
    return out.view(heads, new, head_dim).transpose(0, 1) * options.v_scale


def _each(
    attend_one: Attend,
    out: torch.Tensor,
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_tables: torch.Tensor | None,
    context_lens: torch.Tensor,
    query_starts: torch.Tensor,
) -> torch.Tensor:
    starts = query_starts.tolist()
    for seq, length in enumerate(context_lens.tolist()):
        start, stop = starts[seq], starts[seq + 1]
        if stop > start and length:
            k = gathered(k_cache, block_tables, seq, length)
            v = gathered(v_cache, block_tables, seq, length)
            out[start:stop] = attend_one(q[start:stop], k, v)
    return out


def gathered(
    cache: torch.Tensor, block_tables: torch.Tensor | None, seq: int, length: int
) -> torch.Tensor:
    """The first ``length`` slots of a sequence, contiguous: (length, kv_heads, head_dim)."""
    if block_tables is None:
        return cache[seq, :length]
    ids = block_tables[seq, : -(-length // cache.shape[1])].long()
    return cache[ids].flatten(0, 1)[:length]
