"""First the largest score of all, then the sums; base 2, while instead of for."""

import torch
import triton
import triton.language as tl


@triton.jit
def decode_kernel(
    q_ptr,  # (seqs, heads, HEAD_DIM), contiguous
    k_ptr,  # (blocks, BLOCK_SIZE, kv_heads, HEAD_DIM)
    v_ptr,  # the same
    out_ptr,  # as q
    table_ptr,  # (seqs, table_stride), contiguous: the blocks of each sequence, then anything
    lengths_ptr,  # (seqs,): tokens of each sequence, the current one included, at least 1
    scale,  # 1 / sqrt(HEAD_DIM): a score is query . K, times this
    block_stride,
    slot_stride,
    kv_head_stride,
    table_stride,
    HEADS: tl.constexpr,  # query heads
    GROUP: tl.constexpr,  # query heads that share a KV head: the first GROUP share the first, and so on
    HEAD_DIM: tl.constexpr,  # a power of two
    BLOCK_SIZE: tl.constexpr,
    TILE: tl.constexpr,  # a power of two
) -> None:
    """One query head of one sequence."""
    seq, head = tl.program_id(0), tl.program_id(1)
    length = tl.load(lengths_ptr + seq)
    dim, lane = tl.arange(0, HEAD_DIM), tl.arange(0, TILE)
    row = (seq * HEADS + head) * HEAD_DIM
    q = tl.load(q_ptr + row + dim)[None, :] * (scale * 1.4426950408889634)
    table = table_ptr + seq * table_stride
    head_at = (head // GROUP) * kv_head_stride

    largest = float("-inf")
    start = 0
    while start < length:
        position = start + lane
        live = position < length
        block = tl.load(table + position // BLOCK_SIZE, mask=live, other=0).to(tl.int64)
        at = block * block_stride + (position % BLOCK_SIZE) * slot_stride + head_at
        k = tl.load(k_ptr + at[:, None] + dim[None, :], mask=live[:, None], other=0.0)
        s = tl.where(live, tl.sum(q * k, axis=1), float("-inf"))
        largest = tl.maximum(largest, tl.max(s, axis=0))
        start += TILE

    weights = tl.zeros((TILE,), tl.float32)
    acc = tl.zeros((TILE, HEAD_DIM), tl.float32)
    start = 0
    while start < length:
        position = start + lane
        live = position < length
        block = tl.load(table + position // BLOCK_SIZE, mask=live, other=0).to(tl.int64)
        at = block * block_stride + (position % BLOCK_SIZE) * slot_stride + head_at
        k = tl.load(k_ptr + at[:, None] + dim[None, :], mask=live[:, None], other=0.0)
        v = tl.load(v_ptr + at[:, None] + dim[None, :], mask=live[:, None], other=0.0)
        p = tl.where(live, tl.exp2(tl.sum(q * k, axis=1) - largest), 0.0)
        weights += p
        acc += p[:, None] * v
        start += TILE
    tl.store(out_ptr + row + dim, tl.sum(acc, axis=0) / tl.sum(weights, axis=0))


def paged_decode(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_tables: torch.Tensor,
    lengths: torch.Tensor,
    out: torch.Tensor,
) -> None:
    """Start the kernel: attention of each sequence's new token, written into ``out``."""
    num_seqs, num_heads, head_dim = q.shape
    block_size, kv_heads = k_cache.shape[1:3]
    block_stride, slot_stride, kv_head_stride = k_cache.stride()[:3]
    decode_kernel[(num_seqs, num_heads)](
        q,
        k_cache,
        v_cache,
        out,
        block_tables,
        lengths,
        head_dim**-0.5,
        block_stride,
        slot_stride,
        kv_head_stride,
        block_tables.stride(0),
        HEADS=num_heads,
        GROUP=num_heads // kv_heads,
        HEAD_DIM=head_dim,
        BLOCK_SIZE=block_size,
        TILE=8,
    )
