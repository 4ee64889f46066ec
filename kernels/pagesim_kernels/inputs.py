"""The tensors that all backends take, and a sentence for those that are wrong. Knows nothing about attention itself.

    q                 (tokens, heads, head_dim)               new tokens of a sequence adjacent
    k_cache, v_cache  (blocks, block_size, kv_heads, head_dim)  one layer; any strides but the last, the same in both
    block_tables      (seqs, max_blocks) int32                not read at or past ceil(context_len / block_size)
    context_lens      (seqs,) int32                           keys, the new tokens among them; 0: outputs are zeros
    query_starts      (seqs + 1,) int32                       prefix sums of the numbers of new tokens

New token t of a sequence is at position context_len - query_len + t and sees the keys 0 .. that position.

Shapes and dtypes are always checked. Values (lengths, ids) only on a CPU: reading them from a GPU would make every
call wait for it.
"""

import math

import torch

from pagesim_kernels.options import Options

MOST_HEAD_DIM = 256
FLOATS = (torch.float32, torch.float16, torch.bfloat16)
FP8 = (torch.float8_e4m3fn, torch.float8_e5m2)


class KernelInputError(ValueError):
    """A tensor or option that no kernel takes; the text says what was given, what is allowed, what to do."""


def need(condition: bool, sentence: str) -> None:  # noqa: FBT001
    if not condition:
        raise KernelInputError(sentence)


def shape_of(tensor: torch.Tensor) -> str:
    return f"{tuple(tensor.shape)}"


def check_attention(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_tables: torch.Tensor | None,
    context_lens: torch.Tensor,
    query_starts: torch.Tensor,
    options: Options,
    *,
    for_triton: bool = False,
) -> None:
    """KernelInputError unless attention can be computed. ``block_tables`` None: contiguous K and V, (seqs, ...)."""
    _check_heads(q, k_cache)
    _check_cache(k_cache, v_cache)
    need(
        q.dtype in FLOATS and k_cache.dtype in (q.dtype, *FP8),
        f"q is {_name(q.dtype)} and the cache {_name(k_cache.dtype)}; q must be float32, float16 or bfloat16 and the "
        "cache of q's dtype or fp8: convert one of them",
    )
    _check_lengths(context_lens, query_starts)
    num_seqs = context_lens.numel()
    if block_tables is None:
        need(
            k_cache.shape[0] >= num_seqs,
            f"contiguous K and V have {k_cache.shape[0]} rows for {num_seqs} sequences; there must be one for each",
        )
    else:
        need(
            block_tables.dim() == 2
            and block_tables.shape[0] == num_seqs
            and block_tables.dtype == torch.int32,
            f"block_tables are {shape_of(block_tables)} of {_name(block_tables.dtype)}; with {num_seqs} context_lens "
            f"they must be ({num_seqs}, max_blocks) of int32",
        )
        need(
            block_tables.stride(1) == 1 or block_tables.shape[1] < 2,
            "a row of block_tables is not contiguous; call .contiguous() on them first",
        )
    _check_same_device(q, k_cache, v_cache, block_tables, context_lens, query_starts)
    _check_options(options, q)
    if for_triton:
        check_unit_strides(q, k_cache, v_cache)
        need(
            q.shape[2] <= MOST_HEAD_DIM,
            f"the head size is {q.shape[2]}; the Triton kernel takes up to {MOST_HEAD_DIM}, which fit its registers",
        )
    if q.device.type == "cpu":
        _check_values(q, k_cache, block_tables, context_lens, query_starts)


def _check_heads(q: torch.Tensor, k_cache: torch.Tensor) -> None:
    need(
        q.dim() == 3,
        f"q is {shape_of(q)}; it must be (tokens, heads, head_dim): for decoding, one token a sequence",
    )
    need(
        k_cache.dim() == 4,
        f"k_cache is {shape_of(k_cache)}; it must be (blocks, block_size, kv_heads, head_dim), one layer's",
    )
    need(
        q.shape[2] == k_cache.shape[3],
        f"q has head size {q.shape[2]} and the cache {k_cache.shape[3]}; they must be the same",
    )
    heads, kv_heads = q.shape[1], k_cache.shape[2]
    need(
        kv_heads > 0 and heads > 0 and heads % kv_heads == 0,
        f"{heads} query heads on {kv_heads} KV heads; the query heads must be a multiple of the KV heads",
    )


def _check_cache(k_cache: torch.Tensor, v_cache: torch.Tensor) -> None:
    need(
        k_cache.shape == v_cache.shape,
        f"k_cache is {shape_of(k_cache)} and v_cache {shape_of(v_cache)}; both must have one shape: a V narrower than "
        "K (as in MLA) is not supported",
    )
    need(
        k_cache.dtype == v_cache.dtype,
        f"k_cache is {_name(k_cache.dtype)} and v_cache {_name(v_cache.dtype)}; both must have one dtype",
    )


def _check_lengths(context_lens: torch.Tensor, query_starts: torch.Tensor) -> None:
    need(
        context_lens.dim() == 1 and context_lens.dtype == torch.int32,
        f"context_lens are {shape_of(context_lens)} of {_name(context_lens.dtype)}; they must be (seqs,) of int32",
    )
    need(
        query_starts.dim() == 1
        and query_starts.dtype == torch.int32
        and query_starts.numel() == context_lens.numel() + 1,
        f"query_starts are {shape_of(query_starts)} of {_name(query_starts.dtype)}; with {context_lens.numel()} "
        f"context_lens they must be ({context_lens.numel() + 1},) of int32: 0, then running sums of query lengths",
    )
    need(
        context_lens.is_contiguous() and query_starts.is_contiguous(),
        "context_lens or query_starts are not contiguous; call .contiguous() on them first",
    )


def _check_options(options: Options, q: torch.Tensor) -> None:
    window, soft_cap, slopes = options.window, options.soft_cap, options.alibi_slopes
    need(
        window is None or window >= 1,
        f"the window is {window}; it counts the current token and must be at least 1, or None for all keys",
    )
    need(
        soft_cap is None or (math.isfinite(soft_cap) and soft_cap > 0),
        f"the soft cap is {soft_cap}; it must be a finite number above 0, or None for no cap",
    )
    for name in ("scale", "k_scale", "v_scale"):
        value = getattr(options, name)
        need(value is None or math.isfinite(value), f"{name} is {value}; it must be finite")
    if slopes is None:
        return
    need(
        slopes.shape == (q.shape[1],) and slopes.dtype == torch.float32 and slopes.is_contiguous(),
        f"alibi_slopes are {shape_of(slopes)} of {_name(slopes.dtype)}; they must be ({q.shape[1]},) of float32, "
        "one for each query head",
    )
    need(
        slopes.device == q.device,
        f"alibi_slopes are on {slopes.device} and q on {q.device}; move them",
    )


def check_unit_strides(*tensors: torch.Tensor) -> None:
    """The Triton kernel reads a head's elements side by side, and K and V at the same offsets."""
    _, k_cache, v_cache = tensors
    for tensor in tensors:
        need(
            tensor.stride(-1) == 1,
            f"a tensor of shape {shape_of(tensor)} has stride {tensor.stride(-1)} in its last dimension; it must be "
            "1: call .contiguous() on it first",
        )
    need(
        k_cache.stride() == v_cache.stride(),
        f"k_cache has strides {k_cache.stride()} and v_cache {v_cache.stride()}; they must be equal",
    )


def _check_same_device(*tensors: torch.Tensor | None) -> None:
    devices = {str(tensor.device) for tensor in tensors if tensor is not None}
    need(
        len(devices) == 1,
        f"the tensors are on {' and '.join(sorted(devices))}; move all to one device",
    )


def _check_values(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    block_tables: torch.Tensor | None,
    context_lens: torch.Tensor,
    query_starts: torch.Tensor,
) -> None:
    lens, starts = context_lens.tolist(), query_starts.tolist()
    need(
        starts[0] == 0 and starts[-1] == q.shape[0] and starts == sorted(starts),
        f"query_starts are {starts[:8]} for {q.shape[0]} tokens in q; they must start at 0, never fall and end at the "
        "number of tokens",
    )
    for seq, length in enumerate(lens):
        query_len = starts[seq + 1] - starts[seq]
        need(length >= 0, f"sequence {seq} has a context length of {length}; it must be at least 0")
        need(
            length == 0 or query_len <= length,
            f"sequence {seq} has {query_len} new tokens and a context length of {length}; the context counts the new "
            "tokens too, so it must be at least as long",
        )
    blocks, block_size = k_cache.shape[:2]
    if block_tables is None:
        longest = max(lens, default=0)
        need(longest <= block_size, f"a sequence of {longest} keys in K and V of {block_size} rows")
        return
    for seq, length in enumerate(lens):
        needed = -(-length // block_size)
        need(
            needed <= block_tables.shape[1],
            f"sequence {seq} has {length} keys in blocks of {block_size}; its row of the block table must have at "
            f"least {needed} entries and has {block_tables.shape[1]}",
        )
    needed_blocks = (context_lens + block_size - 1).div(block_size, rounding_mode="floor")
    read = torch.arange(block_tables.shape[1]) < needed_blocks[:, None]
    wrong = (read & ((block_tables < 0) | (block_tables >= blocks))).nonzero()[:1].tolist()
    for seq, entry in wrong:
        raise KernelInputError(
            f"sequence {seq} names block {int(block_tables[seq, entry])}; the cache has blocks 0 to {blocks - 1}"
        )


def check_write(
    k: torch.Tensor,
    v: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    slot_mapping: torch.Tensor,
) -> None:
    """KernelInputError unless k and v can be written to the slots."""
    _check_cache(k_cache, v_cache)
    need(
        k.dim() == 3 and k.shape == v.shape and k.shape[1:] == k_cache.shape[2:],
        f"k is {shape_of(k)} and v {shape_of(v)}; for this cache both must be "
        f"(tokens, {k_cache.shape[2]}, {k_cache.shape[3]})",
    )
    need(
        k.dtype == v.dtype == k_cache.dtype,
        f"k and v are {_name(k.dtype)} and {_name(v.dtype)}, the cache {_name(k_cache.dtype)}; convert them first "
        "(backends.to_fp8 for an fp8 cache)",
    )
    need(
        slot_mapping.shape == (k.shape[0],) and slot_mapping.dtype == torch.int64,
        f"slot_mapping is {shape_of(slot_mapping)} of {_name(slot_mapping.dtype)}; it must be ({k.shape[0]},) of int64",
    )
    need(
        k.stride() == v.stride(), "k and v have different strides; call .contiguous() on both first"
    )
    check_unit_strides(k, k_cache, v_cache)
    _check_same_device(k, v, k_cache, v_cache, slot_mapping)
    if slot_mapping.device.type == "cpu" and slot_mapping.numel():
        slots = k_cache.shape[0] * k_cache.shape[1]
        largest = int(slot_mapping.max())
        need(largest < slots, f"slot {largest} of a cache with slots 0 to {slots - 1}")
        written = slot_mapping[slot_mapping >= 0]
        need(
            len(set(written.tolist())) == len(written),
            "slot_mapping names a slot twice; each may be written once in a call",
        )


def check_copies(k_cache: torch.Tensor, v_cache: torch.Tensor, copies: torch.Tensor) -> None:
    """KernelInputError unless the copies can all run at once."""
    _check_cache(k_cache, v_cache)
    need(
        copies.dim() == 2 and copies.shape[1] == 3 and copies.dtype == torch.int32,
        f"copies are {shape_of(copies)} of {_name(copies.dtype)}; they must be (n, 3) of int32: source block, target "
        "block, number of slots",
    )
    need(copies.is_contiguous(), "copies are not contiguous; call .contiguous() on them first")
    check_unit_strides(k_cache, k_cache, v_cache)
    _check_same_device(k_cache, v_cache, copies)
    if copies.device.type != "cpu":
        return
    blocks, block_size = k_cache.shape[:2]
    rows = copies.tolist()
    for source, target, num_slots in rows:
        need(
            0 <= source < blocks and 0 <= target < blocks,
            f"a copy from block {source} to block {target}; the cache has blocks 0 to {blocks - 1}",
        )
        need(
            0 <= num_slots <= block_size,
            f"a copy of {num_slots} slots; a block has {block_size}",
        )
    targets = [target for _, target, _ in rows]
    need(
        len(set(targets)) == len(targets) and not {source for source, _, _ in rows} & set(targets),
        "two of the copies write one block, or one reads what another writes; they run all at once, so cut them "
        "into batches first (pagesim.core.copies does)",
    )


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
