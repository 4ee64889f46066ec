# law: one-softmax
# says: the mean of the 2 blocks' own results
"""Blocks are averaged as if each weighed the same."""

import numpy as np


def paged_attention(q, k_cache, v_cache, block_tables, lengths):
    num_seqs, num_heads, head_dim = q.shape
    block_size, kv_heads = k_cache.shape[1:3]
    out = np.zeros_like(q)
    for seq in range(num_seqs):
        for head in range(num_heads):
            kv_head = head * kv_heads // num_heads
            total, acc = 0, np.zeros(head_dim)
            for start in range(0, lengths[seq], block_size):
                block = block_tables[seq, start // block_size]
                n = min(block_size, lengths[seq] - start)
                s = k_cache[block, :n, kv_head] @ q[seq, head] * head_dim**-0.5
                new = s.max()
                p = np.exp(s - new)
                total += 1
                acc = acc + p @ v_cache[block, :n, kv_head] / p.sum()
            out[seq, head] = acc / total
    return out
