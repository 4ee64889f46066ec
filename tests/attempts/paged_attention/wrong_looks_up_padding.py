# law: padding
# says: no block is to be looked for there
"""Blocks of the whole row are fetched, and then cut to the length."""

import numpy as np


def paged_attention(q, k_cache, v_cache, block_tables, lengths):
    num_seqs, num_heads, head_dim = q.shape
    kv_heads = k_cache.shape[2]
    group = num_heads // kv_heads
    out = np.zeros_like(q)
    for seq in range(num_seqs):
        position = np.arange(lengths[seq])
        keys = k_cache[block_tables[seq]].reshape(-1, kv_heads, head_dim)[position]
        values = v_cache[block_tables[seq]].reshape(-1, kv_heads, head_dim)[position]
        for head in range(num_heads):
            k = keys[:, head // group]
            v = values[:, head // group]
            scores = k @ q[seq, head] / np.sqrt(head_dim)
            weights = np.exp(scores - scores.max())
            out[seq, head] = weights @ v / weights.sum()
    return out
