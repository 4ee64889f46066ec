"""Triton decode, solved: every lane looks up its own block, and the tile is masked by the length."""

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
    dim = tl.arange(0, HEAD_DIM)
    row = (seq * HEADS + head) * HEAD_DIM + dim  # where this head's numbers are, in q and in out
    q = tl.load(q_ptr + row)  # (HEAD_DIM,)
    lane = tl.arange(0, TILE)

    largest = float("-inf")
    total = 0.0
    acc = tl.full((HEAD_DIM,), 0.0, tl.float32)
    for start in tl.range(0, length, TILE):
        position = start + lane
        live = position < length
        entry = table_ptr + seq * table_stride + position // BLOCK_SIZE
        block = tl.load(entry, mask=live, other=0).to(tl.int64)  # a large pool needs 64 bits
        key = block * block_stride + position % BLOCK_SIZE * slot_stride
        key += head // GROUP * kv_head_stride
        offset = key[:, None] + dim[None, :]  # (TILE, HEAD_DIM), the same in K and in V
        k = tl.load(k_ptr + offset, mask=live[:, None], other=0.0)
        v = tl.load(v_ptr + offset, mask=live[:, None], other=0.0)

        scores = tl.sum(q[None, :] * k, 1) * scale
        scores = tl.where(live, scores, float("-inf"))  # a score of 0 would weigh something
        new = tl.maximum(largest, tl.max(scores, 0))
        shrink = tl.exp(largest - new)
        weights = tl.exp(scores - new)
        total = total * shrink + tl.sum(weights, 0)
        acc = acc * shrink + tl.sum(weights[:, None] * v, 0)
        largest = new
    tl.store(out_ptr + row, acc / total)


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
