# law: one-softmax
# says: neither the sum of weights nor
"""A running maximum without shrinking what was summed."""

import numpy as np


def paged_attention(q, k_cache, v_cache, block_tables, lengths):
    num_seqs, num_heads, head_dim = q.shape
    block_size, kv_heads = k_cache.shape[1:3]
    out = np.zeros_like(q)
    for seq in range(num_seqs):
        for head in range(num_heads):
            kv_head = head * kv_heads // num_heads
            m, total, acc = -np.inf, 0.0, np.zeros(head_dim)
            for start in range(0, lengths[seq], block_size):
                block = block_tables[seq, start // block_size]
                n = min(block_size, lengths[seq] - start)
                s = k_cache[block, :n, kv_head] @ q[seq, head] * head_dim**-0.5
                new = max(m, s.max())
                p = np.exp(s - new)
                total = total + p.sum()
                acc = acc + p @ v_cache[block, :n, kv_head]
                m = new
            out[seq, head] = acc / total
    return out
