"""No array but those given: key by key, as lists."""

from math import exp, sqrt


def paged_attention(q, k_cache, v_cache, block_tables, lengths):
    block_size, kv_heads, head_dim = len(k_cache[0]), len(k_cache[0][0]), len(q[0][0])
    result = []
    for query, table, length in zip(q, block_tables, lengths, strict=True):
        places = [(table[p // block_size], p % block_size) for p in range(length)]
        rows = []
        for head, numbers in enumerate(query):
            kv = head // (len(query) // kv_heads)
            scores = [
                sum(a * b for a, b in zip(numbers, k_cache[b][s][kv], strict=True)) / sqrt(head_dim)
                for b, s in places
            ]
            weights = [exp(score - max(scores)) for score in scores]
            rows.append(
                [
                    sum(w * v_cache[b][s][kv][d] for w, (b, s) in zip(weights, places, strict=True))
                    / sum(weights)
                    for d in range(head_dim)
                ]
            )
        result.append(rows)
    return result
