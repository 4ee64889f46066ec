"""The walk through the block table on a CPU, in Numba, in float32: nothing is gathered, nothing is copied.

A task is one new token; tasks run side by side on all cores. It takes the keys of its sequence a chunk at a time, as
``paged_attention.py`` takes tiles: the scores of every head, one softmax update a head, then the values. K and V are
read where they lie, ``k_cache[block, slot, head]``: one dimension, contiguous, so that it becomes vector instructions.
"""

import numpy as np
import torch
from numba import get_num_threads, njit, prange

from pagesim_kernels.inputs import check_attention, need
from pagesim_kernels.options import PLAIN, Options
from pagesim_kernels.prefetch import LINE_FLOATS, prefetch_at

CHUNK = 64
"""Keys that are scored before one softmax update."""
AHEAD = 16
"""How many keys ahead K and V are asked for."""
FAST = frozenset({"reassoc", "contract", "arcp", "nsz"})
"""Sums may be reordered; infinities stay what they are, since -inf is used."""


@njit(fastmath=set(FAST), error_model="numpy", inline="always", cache=True)
def exponentials(scores, count, maximum, bits):
    """scores[:count] become e^(score - maximum); returns their sum. ``bits`` is scratch of int32.

    e^y = 2^n * e^f with n whole and 0 <= f < ln 2: n goes into the bits of the exponent, e^f is its Taylor sum to
    f^7 (relative error 3e-7 at most). No call and no branch, so this is vectorised too.
    """
    powers = bits.view(np.float32)
    for i in range(count):
        y = max((scores[i] - maximum) * np.float32(1.4426950), np.float32(-126.0))
        n = np.floor(y)
        f = (y - n) * np.float32(0.6931472)
        bits[i] = (np.int32(n) + np.int32(127)) << np.int32(23)
        e = np.float32(1 / 720) + f * np.float32(1 / 5040)
        e = np.float32(1 / 24) + f * (np.float32(1 / 120) + f * e)
        e = np.float32(1 / 2) + f * (np.float32(1 / 6) + f * e)
        scores[i] = np.float32(1) + f * (np.float32(1) + f * e)
    total = np.float32(0)
    for i in range(count):
        scores[i] *= powers[i]
        total += scores[i]
    return total


@njit(inline="always", cache=True)
def ask_for(cache, table, pos, head, elements):
    """Key ``pos`` of a sequence: have ``elements`` from this head on come nearer."""
    block_size = cache.shape[1]
    row = cache[table[pos // block_size], pos % block_size, head]
    for element in range(0, elements, LINE_FLOATS):
        prefetch_at(row, element)  # type: ignore[call-arg]


@njit(parallel=True, fastmath=set(FAST), error_model="numpy", cache=True)
def attention_kernel(
    q, k_cache, v_cache, tables, context_lens, query_starts, seq_of_token,
    scale, window, soft_cap, slopes, v_scale, parts, out,
):  # fmt: skip
    """``parts`` tasks a token, each for as many KV heads. window 0, soft_cap 0, no slopes: without."""
    block_size, kv_heads, head_dim = k_cache.shape[1:]
    group = q.shape[1] // kv_heads
    task_heads = kv_heads // parts
    for task in prange(q.shape[0] * parts):
        token, first_head = task // parts, task % parts * task_heads
        rows = task_heads * group  # query heads of this task
        first_row = first_head * group
        seq = seq_of_token[token]
        query_pos = context_lens[seq] - query_starts[seq + 1] + token
        end = query_pos + 1 if context_lens[seq] > 0 else 0
        begin = max(0, end - window) if window > 0 else 0
        query = q[token, first_row : first_row + rows] * scale  # (rows, head_dim)
        s = np.empty((rows, CHUNK), np.float32)  # scores, then weights
        bits = np.empty(CHUNK, np.int32)
        m = np.full(rows, -np.inf, np.float32)  # running maximum
        l = np.zeros(rows, np.float32)  # running sum of weights
        acc = np.zeros((rows, head_dim), np.float32)  # running weighted sum of values
        for start in range(begin, end, CHUNK):
            count = min(CHUNK, end - start)
            for i in range(count):
                pos = start + i
                block, slot = tables[seq, pos // block_size], pos % block_size
                if pos + AHEAD < end:
                    ask_for(k_cache, tables[seq], pos + AHEAD, first_head, task_heads * head_dim)
                for h in range(task_heads):
                    key = k_cache[block, slot, first_head + h]  # (head_dim,)
                    for r in range(h * group, (h + 1) * group):
                        dot = np.float32(0)
                        for d in range(head_dim):
                            dot += query[r, d] * key[d]
                        s[r, i] = dot
            if soft_cap > 0:
                for r in range(rows):
                    for i in range(count):
                        s[r, i] = soft_cap * np.tanh(s[r, i] / soft_cap)
            if slopes.size > 0:
                for r in range(rows):
                    for i in range(count):
                        s[r, i] += slopes[first_row + r] * np.float32(start + i - query_pos)
            for r in range(rows):
                maximum = m[r]
                for i in range(count):
                    maximum = max(maximum, s[r, i])
                shrink = np.float32(np.exp(m[r] - maximum))
                l[r] = l[r] * shrink + exponentials(s[r], count, maximum, bits)
                m[r] = maximum
                for d in range(head_dim):
                    acc[r, d] *= shrink
            for i in range(count):
                pos = start + i
                block, slot = tables[seq, pos // block_size], pos % block_size
                if pos + AHEAD < end:
                    ask_for(v_cache, tables[seq], pos + AHEAD, first_head, task_heads * head_dim)
                for h in range(task_heads):
                    value = v_cache[block, slot, first_head + h]  # (head_dim,)
                    for r in range(h * group, (h + 1) * group):
                        weight = s[r, i]
                        for d in range(head_dim):
                            acc[r, d] += weight * value[d]
        for r in range(rows):
            factor = v_scale / l[r] if l[r] > 0 else np.float32(0)  # nothing seen: zeros
            for d in range(head_dim):
                out[token, first_row + r, d] = acc[r, d] * factor


def paged_attention_cpu(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_tables: torch.Tensor,
    context_lens: torch.Tensor,
    query_starts: torch.Tensor,
    options: Options = PLAIN,
) -> torch.Tensor:
    """As ``paged_attention.paged_attention``, for float32 q and cache on a CPU: (tokens, heads, head_dim)."""
    check_attention(q, k_cache, v_cache, block_tables, context_lens, query_starts, options)
    need(
        q.dtype == k_cache.dtype == torch.float32 and q.device.type == "cpu",
        f"q is {q.dtype} and the cache {k_cache.dtype} on {q.device}; the Numba kernel takes float32 on a CPU: "
        'use backend="torch"',
    )
    need(
        k_cache.stride(3) == v_cache.stride(3) == 1,
        "the head's elements are not side by side in the cache; call .contiguous() on it first",
    )
    starts = query_starts.numpy()
    seq_of_token = np.repeat(np.arange(len(context_lens)), np.diff(starts))
    slopes = q.new_empty(0) if options.alibi_slopes is None else options.alibi_slopes
    enough = len(q) >= 2 * get_num_threads()  # else a token's KV heads are shared out as well
    out = torch.empty_like(q, memory_format=torch.contiguous_format)
    attention_kernel(
        q.contiguous().numpy(), k_cache.numpy(), v_cache.numpy(), block_tables.numpy(),
        context_lens.numpy(), starts, seq_of_token,
        np.float32(options.scale_for(q.shape[2]) * options.k_scale), options.window or 0,
        np.float32(options.soft_cap or 0), slopes.numpy(), np.float32(options.v_scale),
        1 if enough else k_cache.shape[2], out.numpy(),
    )  # fmt: skip
    return out
