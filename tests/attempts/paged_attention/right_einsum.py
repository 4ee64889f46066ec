"""Gather what is written, and all heads at once in float32."""

import numpy as np


def paged_attention(q, k_cache, v_cache, block_tables, lengths):
    _, block_size, kv_heads, head_dim = k_cache.shape
    flat_k = k_cache.reshape(-1, kv_heads, head_dim)
    flat_v = v_cache.reshape(-1, kv_heads, head_dim)
    rows = []
    for query, table, length in zip(q, block_tables, lengths, strict=True):
        blocks = table[: -(-length // block_size)]
        slots = (blocks[:, None] * block_size + np.arange(block_size)).reshape(-1)[:length]
        k, v = flat_k[slots].astype(np.float32), flat_v[slots].astype(np.float32)
        grouped = query.reshape(kv_heads, -1, head_dim)
        scores = np.einsum("hgd,khd->hgk", grouped, k) / head_dim**0.5
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        rows.append(np.einsum("hgk,khd->hgd", weights, v).reshape(query.shape))
    return np.stack(rows)
