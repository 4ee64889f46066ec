"""Attention through block tables: one Triton kernel for decode, for chunked prefill, and for both in one call.

The K and V of a sequence lie in blocks somewhere in a pool; its row of the block table says where. A program
holds a tile of query rows and walks the keys of its sequence, a tile of keys at a time:

    position         0  1  2  3      4  5  6  7      8  9                      context_len 10, BLOCK_SIZE 4
    table entry      0               1               2              3
    holds block      7               3               5             -1
                     |               |               |
    in the pool   7: k0 k1 k2 k3  3: k4 k5 k6 k7  5: k8 k9 ~~ ~~               anywhere, in any order
                     |               |               |
    tiles           [k0 k1 k2 k3     k4 k5 k6 k7]   [k8 k9 -- -- -- -- -- --]  KEYS 8

Every lane of a tile looks up its own block. A tile is as large as the hardware likes, a block as large as the
memory manager likes. Lanes past the end (--) load nothing: not the slots that nobody wrote (~~; NaN times a weight
of 0 would be NaN), not the table's padding (-1).

No row ever holds all its scores. For a tile with scores s and values v a row updates three things:

    m' = max(m, max s)      l' = l * 2^(m-m') + sum 2^(s-m')      acc' = acc * 2^(m-m') + 2^(s-m') @ v

and ends with acc / l ("online softmax", arXiv 1805.02867; in tiles: FlashAttention, arXiv 2205.14135). Scores are
kept in base 2, since exp2 is what the hardware has. With splits, several programs share the keys of one sequence, a
fixed run of keys each, and ``combine_kernel`` adds their parts in the order of the keys: never by who was first.
"""

# fmt: off
import torch
import triton
import triton.language as tl

from pagesim_kernels.inputs import check_attention
from pagesim_kernels.options import PLAIN, Options
from pagesim_kernels.tiling import AUTOMATIC, Launch, launch_grid

LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def key_offsets(
    table_row, seq, start, lane, live, block_stride, slot_stride,
    BLOCK_SIZE: tl.constexpr, KEYS: tl.constexpr, LAYOUT: tl.constexpr,
):
    """Where the keys start .. start + KEYS - 1 lie, as int64 offsets (KEYS,), the same in K and in V.

    This is all that paging changes. Offsets are 64-bit from the block id on: a pool has more than 2^31 elements.
    """
    if LAYOUT == "contiguous":  # the twin: sequence number seq is one long block
        return seq.to(tl.int64) * block_stride + start * slot_stride.to(tl.int64) + lane.to(tl.int64) * slot_stride
    elif LAYOUT == "tile in block":  # one table entry for the whole tile
        block = tl.load(table_row + start // BLOCK_SIZE).to(tl.int64)
        first = block * block_stride + (start % BLOCK_SIZE) * slot_stride.to(tl.int64)
        return first + lane.to(tl.int64) * slot_stride
    else:  # an entry a lane; in whole blocks, which lane is where in its block is the same for every tile
        place = lane if KEYS % BLOCK_SIZE == 0 else start + lane
        entry = place // BLOCK_SIZE + (start // BLOCK_SIZE if KEYS % BLOCK_SIZE == 0 else 0)
        block = tl.load(table_row + entry, mask=live, other=0)
        return block.to(tl.int64) * block_stride + (place % BLOCK_SIZE).to(tl.int64) * slot_stride


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, part_ptr, lse_ptr, block_tables_ptr, context_lens_ptr, query_starts_ptr, slopes_ptr,
    scale, soft_cap, v_scale, split_len,
    q_token_stride, q_head_stride, out_token_stride, out_head_stride,
    block_stride, slot_stride, kv_head_stride, table_stride, query_tiles, num_tokens, num_heads,
    GROUP: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK_SIZE: tl.constexpr, ROWS: tl.constexpr, KEYS: tl.constexpr,
    DIMS: tl.constexpr, WINDOW: tl.constexpr, SOFT_CAP: tl.constexpr, ALIBI: tl.constexpr, SPLIT: tl.constexpr,
    LAYOUT: tl.constexpr, STAGES: tl.constexpr, F32_DOT: tl.constexpr,
):
    """One tile of query rows of one sequence and one KV head, against its keys (of one split)."""
    seq, tile = tl.program_id(0) // query_tiles, tl.program_id(0) % query_tiles
    kv_head, split = tl.program_id(1), tl.program_id(2)
    query_start = tl.load(query_starts_ptr + seq)
    query_len = tl.load(query_starts_ptr + seq + 1) - query_start
    context_len = tl.load(context_lens_ptr + seq)
    if tile * ROWS >= query_len * GROUP:
        return

    # A row is a pair (token, query head of the KV head's group), so that a tile is full for any group.
    row = tile * ROWS + tl.arange(0, ROWS)  # (ROWS,)
    row_ok = row < query_len * GROUP
    token = query_start + row // GROUP
    head = kv_head * GROUP + row % GROUP
    past_len = context_len - query_len
    query_pos = past_len + row // GROUP

    # The keys that any row of this tile sees: [begin, end), and of those the ones of this split.
    end = past_len + tl.minimum(query_len, (tile * ROWS + ROWS - 1) // GROUP + 1)
    begin = tl.maximum(0, past_len + tile * ROWS // GROUP - WINDOW + 1) if WINDOW > 0 else 0
    if SPLIT:
        begin = tl.maximum(begin, split * split_len)
        end = tl.minimum(end, (split + 1) * split_len)
        if begin >= end:  # combine_kernel leaves this part out
            return

    dim = tl.arange(0, DIMS)  # (DIMS,): the head's dimensions, up to a power of two
    dim_ok = dim < HEAD_DIM
    q_mask = row_ok[:, None] & dim_ok[None, :]
    q_offset = token.to(tl.int64)[:, None] * q_token_stride + head[:, None] * q_head_stride
    q = tl.load(q_ptr + q_offset + dim[None, :], mask=q_mask, other=0.0)  # (ROWS, DIMS)
    if ALIBI:
        slope = tl.load(slopes_ptr + head, mask=row_ok, other=0.0) * LOG2E  # (ROWS,)
    m = tl.full((ROWS,), float("-inf"), tl.float32)  # running maximum of a row's scores
    l = tl.full((ROWS,), 0.0, tl.float32)  # running sum of its weights
    acc = tl.full((ROWS, DIMS), 0.0, tl.float32)  # running weighted sum of values
    lane = tl.arange(0, KEYS)  # (KEYS,)
    head_offset = kv_head.to(tl.int64) * kv_head_stride + dim[None, :]  # (1, DIMS)
    table_row = block_tables_ptr + seq.to(tl.int64) * table_stride

    for start in tl.range(begin // KEYS * KEYS, end, KEYS, num_stages=STAGES):
        key_pos = start + lane
        live = key_pos < end
        if WINDOW > 0:  # a block before the window may be another sequence's by now
            live = live & (key_pos >= begin)
        key = key_offsets(table_row, seq, start, lane, live, block_stride, slot_stride, BLOCK_SIZE, KEYS, LAYOUT)
        kv_offset = key[:, None] + head_offset  # (KEYS, DIMS)
        kv_mask = live[:, None] & dim_ok[None, :]
        k = tl.load(k_ptr + kv_offset, mask=kv_mask, other=0.0)  # (KEYS, DIMS)
        s = tl.dot(q, tl.trans(k.to(q.dtype)), input_precision=F32_DOT) * scale  # (ROWS, KEYS)
        if SOFT_CAP:  # tanh(x) = 2 / (1 + e^-2x) - 1, which does not overflow
            s = soft_cap * (2.0 / (1.0 + tl.exp2(s * (-2.0 * LOG2E / soft_cap))) - 1.0)
        if ALIBI:
            s += slope[:, None] * (key_pos[None, :] - query_pos[:, None])
        see = live[None, :] & (key_pos[None, :] <= query_pos[:, None])
        if WINDOW > 0:
            see = see & (query_pos[:, None] - key_pos[None, :] < WINDOW)
        s = tl.where(see, s, float("-inf"))
        m_new = tl.maximum(m, tl.max(s, 1))
        m_ref = tl.where(m_new == float("-inf"), 0.0, m_new)  # nothing seen: not -inf - -inf
        shrink = tl.exp2(m - m_ref)
        p = tl.exp2(s - m_ref[:, None])  # (ROWS, KEYS)
        v = tl.load(v_ptr + kv_offset, mask=kv_mask, other=0.0)  # (KEYS, DIMS)
        l = l * shrink + tl.sum(p, 1)
        acc = acc * shrink[:, None] + tl.dot(p.to(q.dtype), v.to(q.dtype), input_precision=F32_DOT)
        m = m_new

    l = tl.where(l == 0.0, 1.0, l)  # rows that saw nothing give zeros
    acc = acc * (v_scale / l)[:, None]
    if SPLIT:
        part = (split.to(tl.int64) * num_tokens + token) * num_heads + head  # (ROWS,)
        tl.store(lse_ptr + part, m + tl.log2(l), mask=row_ok)  # -inf if nothing was seen
        tl.store(part_ptr + part[:, None] * HEAD_DIM + dim[None, :], acc, mask=q_mask)
    else:
        out = out_ptr + token.to(tl.int64)[:, None] * out_token_stride + head[:, None] * out_head_stride
        tl.store(out + dim[None, :], acc.to(out_ptr.dtype.element_ty), mask=q_mask)


@triton.jit
def combine_kernel(
    part_ptr, lse_ptr, out_ptr, context_lens_ptr, query_starts_ptr,
    max_query_len, split_len, num_tokens, num_heads, out_token_stride, out_head_stride,
    HEAD_DIM: tl.constexpr, DIMS: tl.constexpr, WINDOW: tl.constexpr, STAGES: tl.constexpr,
):
    """One (token, head): its parts, weighted by 2^lse, added in the order of the splits."""
    seq, t, head = tl.program_id(0) // max_query_len, tl.program_id(0) % max_query_len, tl.program_id(1)
    token, next_start = tl.load(query_starts_ptr + seq) + t, tl.load(query_starts_ptr + seq + 1)
    if token >= next_start:
        return
    end = tl.load(context_lens_ptr + seq) - next_start + token + 1
    begin = tl.maximum(0, end - WINDOW) if WINDOW > 0 else 0
    dim = tl.arange(0, DIMS)
    m, l, acc = float("-inf"), 0.0, tl.full((DIMS,), 0.0, tl.float32)
    splits = (end + split_len - 1) // split_len  # later ones wrote nothing
    for split in tl.range(begin // split_len, splits, num_stages=STAGES):
        part = (tl.full((), split, tl.int64) * num_tokens + token) * num_heads + head
        lse = tl.load(lse_ptr + part)
        value = tl.load(part_ptr + part * HEAD_DIM + dim, mask=dim < HEAD_DIM, other=0.0)
        m_new = tl.maximum(m, lse)
        m_ref = tl.where(m_new == float("-inf"), 0.0, m_new)
        weight, shrink = tl.exp2(lse - m_ref), tl.exp2(m - m_ref)
        l = l * shrink + weight
        acc = acc * shrink + weight * value
        m = m_new
    acc = acc / tl.where(l == 0.0, 1.0, l)
    out = out_ptr + token.to(tl.int64) * out_token_stride + head * out_head_stride + dim
    tl.store(out, acc.to(out_ptr.dtype.element_ty), mask=dim < HEAD_DIM)


def paged_attention(
    q: torch.Tensor, k_cache: torch.Tensor, v_cache: torch.Tensor, block_tables: torch.Tensor | None,
    context_lens: torch.Tensor, query_starts: torch.Tensor, options: Options = PLAIN,
    launch: Launch = AUTOMATIC, out: torch.Tensor | None = None,
) -> torch.Tensor:
    """Attention of every new token to its sequence's keys: (tokens, heads, head_dim) in q's dtype, or into ``out``.

    Tensors as in ``inputs.py``; KernelInputError for others. The new tokens' K and V must be in the cache already.
    """
    check_attention(q, k_cache, v_cache, block_tables, context_lens, query_starts, options, for_triton=True)
    (num_tokens, num_heads, head_dim), (block_size, kv_heads) = q.shape, k_cache.shape[1:3]
    num_seqs, out = context_lens.numel(), torch.empty_like(q) if out is None else out
    tiling, max_query_len, query_tiles, splits = launch.sizes(q, k_cache, context_lens, query_starts)
    scratch = (splits if splits > 1 else 0, num_tokens, num_heads)
    lse, part = q.new_empty(scratch, dtype=torch.float32), q.new_empty((*scratch, head_dim), dtype=torch.float32)
    table = context_lens if block_tables is None else block_tables
    slopes = context_lens if options.alibi_slopes is None else options.alibi_slopes
    dims, window, soft_cap = tiling.dims(head_dim), options.window or 0, options.soft_cap or 0.0
    attention_kernel[launch_grid(num_seqs, query_tiles, kv_heads, splits)](
        q, k_cache, v_cache, out, part, lse, table, context_lens, query_starts, slopes,
        options.scale_for(head_dim) * options.k_scale * LOG2E.value, soft_cap * LOG2E.value, options.v_scale,
        tiling.split_len, q.stride(0), q.stride(1), out.stride(0), out.stride(1), *k_cache.stride()[:3],
        table.stride(0), query_tiles, num_tokens, num_heads, GROUP=num_heads // kv_heads,
        HEAD_DIM=head_dim, BLOCK_SIZE=block_size, ROWS=tiling.rows, KEYS=tiling.keys, DIMS=dims,
        WINDOW=window, SOFT_CAP=soft_cap > 0, ALIBI=options.alibi_slopes is not None, SPLIT=splits > 1,
        LAYOUT="contiguous" if block_tables is None else tiling.layout(block_size),
        STAGES=tiling.stages, F32_DOT=tiling.float32_dot, num_warps=tiling.warps, num_stages=tiling.stages,
    )
    if splits > 1:
        combine_kernel[(num_seqs * max_query_len, num_heads)](
            part, lse, out, context_lens, query_starts, max_query_len, tiling.split_len, num_tokens, num_heads,
            out.stride(0), out.stride(1), HEAD_DIM=head_dim, DIMS=dims, WINDOW=window, STAGES=4, num_warps=2,
        )
    return out


def contiguous_attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, context_lens: torch.Tensor, query_starts: torch.Tensor,
    options: Options = PLAIN, launch: Launch = AUTOMATIC, out: torch.Tensor | None = None,
) -> torch.Tensor:
    """The twin: the same kernel over ``k``, ``v`` (seqs, max_len, kv_heads, head_dim), with no table to look up."""
    return paged_attention(q, k, v, None, context_lens, query_starts, options, launch, out)
