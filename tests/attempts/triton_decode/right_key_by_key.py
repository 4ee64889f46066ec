"""A tile of one key: no lanes, no masks."""

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
    seq = tl.program_id(0)
    head = tl.program_id(1)
    dim = tl.arange(0, HEAD_DIM)
    q = tl.load(q_ptr + (seq * HEADS + head) * HEAD_DIM + dim) * scale
    m = float("-inf")
    d = 0.0
    acc = tl.zeros((HEAD_DIM,), tl.float32)
    for position in range(tl.load(lengths_ptr + seq)):
        block = tl.load(table_ptr + seq * table_stride + position // BLOCK_SIZE).to(tl.int64)
        at = (
            block * block_stride
            + (position % BLOCK_SIZE) * slot_stride
            + (head // GROUP) * kv_head_stride
            + dim
        )
        score = tl.sum(q * tl.load(k_ptr + at), 0)
        new = tl.maximum(m, score)
        weight = tl.exp(score - new)
        d = d * tl.exp(m - new) + weight
        acc = acc * tl.exp(m - new) + weight * tl.load(v_ptr + at)
        m = new
    tl.store(out_ptr + (seq * HEADS + head) * HEAD_DIM + dim, acc / d)


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
