r"""A Triton kernel for decoding: K and V through the block table, softmax tile by tile.

This is exercise paged-attention as a GPU does it: one program for each sequence and query head, all at the same time.
A program walks the keys of its sequence in tiles of TILE keys, and updates three things after each, as in exercise
online-softmax: the largest score so far, the sum of weights, and the weighted sum of V; a weight is e^(score - largest)
here. BLOCK_SIZE is 4, TILE is 8, and a sequence of 10 tokens has the table [7, 3, 5]:

    position     0  1  2  3  4  5  6  7 | 8  9
    block        7  7  7  7  3  3  3  3 | 5  5
    slot in it   0  1  2  3  0  1  2  3 | 0  1
                                        |
    lane         0  1  2  3  4  5  6  7 | 0  1  2  3  4  5  6  7
                        tile 1          |         tile 2             lanes 2 to 7 are past the length

A lane is one key of the tile. It looks up its own block, so a tile may span several. Lanes past the length load
nothing: what their slots hold is NaN or another's, and their table entries mean nothing.

A tensor is given by the address of its first element, and one finds the others by adding offsets to it. In the caches,
head h of slot s in block b begins at offset b x block_stride + s x slot_stride + h x kv_head_stride, in K and V alike.
A large pool has more than 2^31 elements, so the block's part is to be computed in 64 bits: block.to(tl.int64).

Write the rest of the kernel. ``paged_decode``, which starts it, is ready and can stay as it is. The checks run it on
the CPU, in Triton's interpreter; the same code runs on a GPU.
"""

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
    # Over the tiles, for start in tl.range(0, ...): positions start + lane; block and slot of each; load K; scores;
    # update the three. After the last tile, tl.store(out_ptr + row, ...) writes the result.
    raise NotImplementedError


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
