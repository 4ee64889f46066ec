"""What changes the cache: ``write_kv`` puts new tokens into their slots, ``copy_blocks`` copies blocks.

Forks and copy-on-write order the copies; they run before the step's writes. A program moves one slot's K and V.
"""

# fmt: off
import torch
import triton
import triton.language as tl

from pagesim_kernels.inputs import check_copies, check_write


@triton.jit
def write_kernel(
    k_ptr, v_ptr, k_cache_ptr, v_cache_ptr, slots_ptr,
    token_stride, head_stride, block_stride, slot_stride, kv_head_stride,
    BLOCK_SIZE: tl.constexpr, HEADS: tl.constexpr, HEAD_DIM: tl.constexpr, ELEMENTS: tl.constexpr,
):
    """One token. Slots below 0 are padding."""
    token = tl.program_id(0)
    slot = tl.load(slots_ptr + token)  # int64: so are the offsets below
    if slot < 0:
        return
    i = tl.arange(0, ELEMENTS)  # all heads of the token, one after the other
    head, dim, ok = i // HEAD_DIM, i % HEAD_DIM, i < HEADS * HEAD_DIM
    source = token.to(tl.int64) * token_stride + head * head_stride + dim
    inside = slot % BLOCK_SIZE * slot_stride + head * kv_head_stride + dim
    target = slot // BLOCK_SIZE * block_stride + inside
    tl.store(k_cache_ptr + target, tl.load(k_ptr + source, mask=ok, other=0.0), mask=ok)
    tl.store(v_cache_ptr + target, tl.load(v_ptr + source, mask=ok, other=0.0), mask=ok)


@triton.jit
def copy_kernel(
    k_cache_ptr, v_cache_ptr, copies_ptr, block_stride, slot_stride, kv_head_stride,
    HEADS: tl.constexpr, HEAD_DIM: tl.constexpr, ELEMENTS: tl.constexpr,
):
    """One slot of one copy."""
    copy = copies_ptr + tl.program_id(0) * 3
    slot = tl.program_id(1)
    if slot >= tl.load(copy + 2):
        return
    i = tl.arange(0, ELEMENTS)
    ok = i < HEADS * HEAD_DIM
    inside = slot * slot_stride + i // HEAD_DIM * kv_head_stride + i % HEAD_DIM
    source = tl.load(copy).to(tl.int64) * block_stride + inside
    target = tl.load(copy + 1).to(tl.int64) * block_stride + inside
    tl.store(k_cache_ptr + target, tl.load(k_cache_ptr + source, mask=ok, other=0.0), mask=ok)
    tl.store(v_cache_ptr + target, tl.load(v_cache_ptr + source, mask=ok, other=0.0), mask=ok)


def write_kv(
    k: torch.Tensor, v: torch.Tensor, k_cache: torch.Tensor, v_cache: torch.Tensor, slot_mapping: torch.Tensor
) -> None:
    """Write ``k``, ``v`` (tokens, kv_heads, head_dim) to the slots (tokens,) int64 = block * block_size + place.

    A negative slot writes nothing. Values must have the cache's dtype: ``backends.to_fp8`` makes fp8 of them.
    """
    check_write(k, v, k_cache, v_cache, slot_mapping)
    heads, head_dim = k.shape[1:]
    write_kernel[(k.shape[0],)](
        k, v, k_cache, v_cache, slot_mapping, k.stride(0), k.stride(1), *k_cache.stride()[:3],
        BLOCK_SIZE=k_cache.shape[1], HEADS=heads, HEAD_DIM=head_dim, ELEMENTS=triton.next_power_of_2(heads * head_dim),
    )


def copy_blocks(k_cache: torch.Tensor, v_cache: torch.Tensor, copies: torch.Tensor) -> None:
    """Copy the first slots of blocks: ``copies`` (n, 3) int32, each a source, a target and a number of slots.

    All run at once, so none may read or write what another writes (``pagesim.core.copies`` cuts such batches).
    """
    check_copies(k_cache, v_cache, copies)
    heads, head_dim = k_cache.shape[2:]
    copy_kernel[(copies.shape[0], k_cache.shape[1])](
        k_cache, v_cache, copies, *k_cache.stride()[:3],
        HEADS=heads, HEAD_DIM=head_dim, ELEMENTS=triton.next_power_of_2(heads * head_dim),
    )
