r"""Paged attention: one step of decoding, K and V read through block tables, in NumPy.

Each sequence has one new token, the current one; its K and V are written already. The query of each head is compared
with the K of every token of the sequence, the current one included, and the V of the same tokens are mixed:

    score   = (query . K) / sqrt(head_dim)           one for each token
    weights = softmax of all these scores
    result  = sum of weight x V                      head_dim numbers for each head

K and V lie in blocks, anywhere in the pool. Here ``block_size`` is 4 and a sequence of 6 tokens has the table [5, 2]:

    position            0  1  2  3       4  5
    k_cache[5]       [ k0 k1 k2 k3 ]
    k_cache[2]                        [ k4 k5 ~~ ~~ ]       ~~ nobody wrote: NaN, or what another sequence left

Several query heads share the K and V of one head in the cache (grouped heads). With 4 query heads and 2 KV heads:

    query head       0    1    2    3
                      \  /      \  /
    KV head             0         1

Write ``paged_attention``. How you do it is up to you: key by key, block by block, or all at once.
"""

import numpy as np


def paged_attention(
    q: np.ndarray,
    k_cache: np.ndarray,
    v_cache: np.ndarray,
    block_tables: np.ndarray,
    lengths: np.ndarray,
) -> np.ndarray:
    """The result for each sequence and query head, in the shape of ``q``.

    ``q`` is (sequences, heads, head_dim). ``k_cache`` and ``v_cache`` are (blocks, block_size, kv_heads, head_dim);
    ``kv_heads`` divides ``heads``. ``block_tables`` is (sequences, most blocks): row s has the blocks of sequence s,
    and after those anything at all, to fill it up. ``lengths`` is (sequences,): the tokens of each, at least 1.
    """
    raise NotImplementedError
