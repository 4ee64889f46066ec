"""Paged attention, solved: look up a block and a slot for each position, then attend as ever."""

import numpy as np


def paged_attention(
    q: np.ndarray,
    k_cache: np.ndarray,
    v_cache: np.ndarray,
    block_tables: np.ndarray,
    lengths: np.ndarray,
) -> np.ndarray:
    """The result for each sequence and query head, in the shape of ``q``."""
    num_seqs, num_heads, head_dim = q.shape
    block_size, kv_heads = k_cache.shape[1:3]
    group = num_heads // kv_heads
    out = np.empty_like(q)
    for seq in range(num_seqs):
        position = np.arange(lengths[seq])  # positions of written slots, no others are ever read
        block = block_tables[seq, position // block_size]
        slot = position % block_size
        for head in range(num_heads):
            k = k_cache[block, slot, head // group]  # (tokens, head_dim)
            v = v_cache[block, slot, head // group]
            scores = k @ q[seq, head] / np.sqrt(head_dim)
            weights = np.exp(scores - scores.max())
            out[seq, head] = weights @ v / weights.sum()
    return out
