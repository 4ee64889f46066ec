# law: one-softmax
# says: not yet divided by their sum
"""Weights that are not divided by their sum."""

import numpy as np


def paged_attention(q, k_cache, v_cache, block_tables, lengths):
    num_seqs, num_heads, head_dim = q.shape
    block_size, kv_heads = k_cache.shape[1:3]
    group = num_heads // kv_heads
    out = np.zeros_like(q)
    for seq in range(num_seqs):
        position = np.arange(lengths[seq])
        block = block_tables[seq][position // block_size]
        slot = position % block_size
        for head in range(num_heads):
            k = k_cache[block, slot, head // group]
            v = v_cache[block, slot, head // group]
            scores = k @ q[seq, head] / np.sqrt(head_dim)
            weights = np.exp(scores)
            out[seq, head] = weights @ v
    return out
