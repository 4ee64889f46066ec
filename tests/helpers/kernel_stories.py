"""Small situations in which attention kernels of the past went wrong. Each is given the kernels' module, or a mutant.

A story asserts; it returns nothing. They run in Triton's interpreter, where every access is checked to be inside a
tensor, and in memory whose unwritten slots are NaN.
"""

import contextlib
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from types import ModuleType

import kernel_setup  # noqa: F401
import torch
from pagesim_kernels.cases import TOLERANCE, Batch, Case, Filling, error_of, make_batch
from pagesim_kernels.interpreter import checked_run, overflow_checks
from pagesim_kernels.reference import reference_attention
from pagesim_kernels.tiling import Launch, Tiling

SMALL = Tiling(16, 16)
SPLIT = Tiling(16, 16, split_len=16)
LENGTHS = (1, 3, 4, 5, 16, 17, 37)
ONES = (1,) * len(LENGTHS)
FAR = 2**31
"""More elements than 32 bits count."""


def attend(
    kernels: ModuleType,
    batch: Batch,
    tiling: Tiling = SMALL,
    out: torch.Tensor | None = None,
    *,
    overflow: bool = False,
) -> torch.Tensor:
    out = torch.empty_like(batch.q) if out is None else out
    with contextlib.ExitStack() as stack:
        stack.enter_context(checked_run([*batch.tensors(), out]))
        if overflow:
            stack.enter_context(overflow_checks())
        return kernels.paged_attention(*batch.paged(), batch.options, Launch(tiling), out)


def right(kernels: ModuleType, case: Case, tiling: Tiling = SMALL) -> None:
    """Within tolerance of float64."""
    batch = make_batch(case)
    near(attend(kernels, batch, tiling), batch)


def near(got: torch.Tensor, batch: Batch, dtype: str = "fp32") -> None:
    dtype = {torch.float16: "fp16", torch.bfloat16: "bf16"}.get(batch.q.dtype, dtype)
    error = error_of(got, reference_attention(*batch.paged(), batch.options))
    assert error <= TOLERANCE[dtype], f"off by {error:.1e}"


def decode(*lengths: int, **changes: object) -> Case:
    return replace(Case(lengths, (1,) * len(lengths)), **changes)


# -- the table and the blocks ------------------------------------------------------------------------------


def unwritten_slots_are_not_read(kernels):
    """H15, flash-attention#1745, vllm#936: NaN stands after every sequence's last key, in prefill and decode."""
    right(kernels, decode(*LENGTHS))
    right(kernels, Case((5, 16, 18), (5, 3, 18)))
    for filler in (float("nan"), float("inf")):
        batch = make_batch(Case((5,), (5,)), Filling(unwritten=filler))
        near(attend(kernels, batch), batch)


def padding_of_the_table_is_not_read(kernels):
    """tt-plugin#104, vllm#56862: whatever stands past the last block, the bits are the same; nor past the last row."""
    case = decode(3, 16, 37)
    fillings = [Filling(padding=padding) for padding in (-1, 0, 2**30)]
    first, *others = [attend(kernels, make_batch(case, filling)) for filling in fillings]
    assert all(torch.equal(first, other) for other in others), "padding was read"


def block_sizes_that_are_no_power_of_two(kernels):
    """vllm#38502"""
    for block_size in (1, 3, 5, 24):
        right(kernels, decode(*LENGTHS, block_size=block_size))


def tile_inside_one_block(kernels):
    right(kernels, decode(1, 31, 32, 33, 70, block_size=32))
    right(kernels, Case((40, 70), (9, 20), block_size=64))


def blocks_lie_anywhere(kernels):
    """H17: ten tokens in blocks [0,1,2], [7,3,5] and [2,1,0], everything else 10,000: the same bits."""
    plain = make_batch(decode(10))
    results = []
    for blocks in ([0, 1, 2], [7, 3, 5], [2, 1, 0]):
        caches = []
        for keys in (plain.k, plain.v):
            cache = torch.full((8, 4, *keys.shape[2:]), 1e4)
            padded = torch.full((12, *keys.shape[2:]), 1e4)
            padded[:10] = keys[0]
            cache[blocks] = padded.view(3, 4, *keys.shape[2:])
            caches.append(cache)
        tables = torch.tensor([blocks], dtype=torch.int32)
        batch = plain._replace(k_cache=caches[0], v_cache=caches[1], block_tables=tables)
        results.append(attend(kernels, batch))
        near(results[-1], batch)
    assert all(torch.equal(results[0], other) for other in results[1:]), "bits moved"


def one_block_in_two_tables_and_twice_in_one(kernels):
    """vllm#30915: a shared prefix."""
    batch = make_batch(decode(12, 12))
    tables = torch.tensor([[1, 0, 1], [0, 1, 4]], dtype=torch.int32)
    caches = [torch.randn(6, 4, 2, 16, generator=torch.Generator().manual_seed(n)) for n in (1, 2)]
    batch = batch._replace(k_cache=caches[0], v_cache=caches[1], block_tables=tables)
    near(attend(kernels, batch), batch)


def any_stride_between_blocks(kernels):
    """aiter#3498: K and V of a block side by side, so a block's stride is not its slots' times their number."""
    batch = make_batch(decode(*LENGTHS))
    both = torch.stack([batch.k_cache, batch.v_cache], dim=1)
    apart = batch._replace(k_cache=both[:, 0], v_cache=both[:, 1])
    assert torch.equal(attend(kernels, apart), attend(kernels, batch)), "strides were assumed"


def pool_larger_than_32_bits_count(kernels):
    """vllm#47671, sglang#20389, aiter#4427: blocks, and q's tokens, more than 2^31 elements apart."""
    batch = make_batch(decode(20, 9, 5, dtype="fp16"))
    far = [_spread(cache) for cache in (batch.k_cache, batch.v_cache)]
    near(attend(kernels, batch._replace(k_cache=far[0], v_cache=far[1]), overflow=True), batch)
    q = _spread(batch.q)
    near(
        attend(
            kernels, batch._replace(q=q), out=torch.empty(q.shape, dtype=q.dtype), overflow=True
        ),
        batch,
    )


def _spread(tensor: torch.Tensor) -> torch.Tensor:
    """The same with its last row more than 2^31 elements away; what lies between is never touched."""
    step = FAR // (len(tensor) - 1) + 64
    storage = torch.empty(step * len(tensor), dtype=tensor.dtype)
    return storage.as_strided(tensor.shape, (step, *tensor.stride()[1:])).copy_(tensor)


# -- sequences -----------------------------------------------------------------------------------------------


def empty_sequence_between_others(kernels):
    """vllm#57017, sglang#1779: length 0 with a query row gives zeros, and its neighbours their own bits."""
    for tiling in (SMALL, SPLIT):
        batch = make_batch(decode(5, 0, 40, 0))
        got = attend(kernels, batch, tiling)
        assert not got[1::2].any(), "an empty sequence has an output"
        near(got, batch)


def batch_mates_do_not_matter(kernels):
    """flash-attention#1897: each sequence alone, and in a batch, gives the same bits."""
    case = decode(37, 5, 64, 17)
    batch = make_batch(case)
    for tiling in (SMALL, SPLIT):
        together = attend(kernels, batch, tiling)
        for seq in range(len(case.context_lens)):
            alone = batch._replace(
                q=batch.q[seq : seq + 1],
                block_tables=batch.block_tables[seq : seq + 1],
                context_lens=batch.context_lens[seq : seq + 1],
                query_starts=torch.tensor([0, 1], dtype=torch.int32),
            )
            assert torch.equal(attend(kernels, alone, tiling)[0], together[seq]), "mates matter"


def any_chunking_of_a_prompt(kernels):
    """sparkinfer#3, candle#3743: chunks with context give what one prefill gives, row by row."""
    whole = make_batch(Case((23,), (23,), heads=6))
    want = attend(kernels, whole)
    near(want, whole)
    for cuts in ((0, 7, 23), (0, 1, 2, 20, 23)):
        for start, stop in pairwise(cuts):
            chunk = whole._replace(
                q=whole.q[start:stop],
                context_lens=torch.tensor([stop], dtype=torch.int32),
                query_starts=torch.tensor([0, stop - start], dtype=torch.int32),
            )
            assert error_of(attend(kernels, chunk), want[start:stop]) <= 1e-6, (
                f"chunk {start}-{stop}"
            )


def decodes_and_chunks_in_one_call(kernels):
    right(kernels, Case((5, 40, 17, 9), (5, 9, 1, 0)))
    right(kernels, Case((40, 33), (1, 30), heads=6))


def groups_of_any_size(kernels):
    """vllm#23424: groups larger than a tile's rows, and no power of two."""
    for heads, kv_heads in ((20, 1), (24, 1), (9, 3), (14, 2)):
        right(kernels, decode(9, 21, heads=heads, kv_heads=kv_heads))


def head_sizes_that_are_no_power_of_two(kernels):
    """vllm#4127: the neighbour's elements, here NaN, are not part of a head."""
    batch = make_batch(decode(*LENGTHS, head_dim=24))
    wide = []
    for tensor in (batch.q, batch.k_cache, batch.v_cache):
        padded = torch.full((*tensor.shape[:-1], 32), float("nan"))
        padded[..., :24] = tensor
        wide.append(padded[..., :24])
    apart = batch._replace(q=wide[0], k_cache=wide[1], v_cache=wide[2])
    out = torch.empty(*batch.q.shape[:-1], 40)[..., :24]
    near(attend(kernels, apart, out=out), batch)


# -- scores --------------------------------------------------------------------------------------------------


def window_counts_the_current_token(kernels):
    """H16: keys all zero, values 0, 1, 2 ...: means of the last four, from one prefill and from decoding."""
    batch = make_batch(Case((6,), (6,), heads=1, kv_heads=1, window=4))
    slots = batch.block_tables[0].repeat_interleave(4)[:6].long(), torch.arange(6) % 4
    batch.k_cache[slots] = 0.0
    batch.v_cache[slots] = torch.arange(6.0)[:, None, None].expand(6, 1, 16)
    want = torch.tensor([0, 0.5, 1, 1.5, 2.5, 3.5])
    assert torch.allclose(attend(kernels, batch)[:, 0, 0], want), "prefill"
    for position in (3, 4, 5):
        one = batch._replace(
            q=batch.q[position : position + 1],
            context_lens=torch.tensor([position + 1], dtype=torch.int32),
            query_starts=torch.tensor([0, 1], dtype=torch.int32),
        )
        assert torch.allclose(attend(kernels, one)[0, 0, 0], want[position]), "decode"


def windows_of_every_kind(kernels):
    """zml#763, tokenspeed#578: 1, a block and its neighbours, a tile, the length and beyond; also in chunks."""
    for window in (1, 3, 4, 5, 16, 40, 41):
        right(kernels, Case((40, 64, 9), (1, 3, 9), window=window))


def keys_before_the_window_are_gone(kernels):
    """vllm#53628: their blocks belong to others by now (NaN), and their table entries are rubbish."""
    for new in (1, 5):
        case = Case((45,), (new,), window=6)
        batch = make_batch(case)
        want = reference_attention(*batch.paged(), batch.options)
        gone = 45 - new - 6 + 1
        for position in range(gone):
            block = batch.block_tables[0, position // 4]
            batch.k_cache[block, position % 4] = float("nan")
            batch.v_cache[block, position % 4] = float("nan")
        tables = batch.block_tables.clone()
        tables[0, : gone // 4] = 0
        assert error_of(attend(kernels, batch._replace(block_tables=tables)), want) <= 2e-5


def soft_cap_of_large_scores(kernels):
    """vllm#56578: scores of 10,000 do not overflow."""
    right(kernels, decode(20, 9, soft_cap=5.0, scale=4000.0))
    right(kernels, Case((20, 9), (4, 9), soft_cap=5.0))


def alibi_counts_from_the_query(kernels):
    """vllm#945, keras-hub#2862"""
    right(kernels, Case((5, 40), (5, 9), alibi=True))
    right(kernels, decode(40, 3, alibi=True), SPLIT)


def one_key_outweighs_all_before(kernels):
    """The maximum grows late, and again later: what was summed must shrink, and small weights must count."""
    batch = make_batch(decode(60, heads=2, kv_heads=2))
    slots = batch.block_tables[0].repeat_interleave(4)[:60].long(), torch.arange(60) % 4
    strength = torch.zeros(60)
    strength[[20, 50]] = torch.tensor([0.5, 1.0])
    batch.k_cache[slots] = strength[:, None, None] * 4 * batch.q[0][None]
    near(attend(kernels, batch), batch)
    near(attend(kernels, batch, SPLIT), batch)


# -- splits --------------------------------------------------------------------------------------------------


def splits_of_any_length(kernels):
    """torchtitan#3235: lengths below, at and above a split's edge; parts that nobody wrote are NaN."""
    right(kernels, decode(1, 15, 16, 17, 31, 32, 33, 64), SPLIT)
    right(kernels, Case((40, 17, 5), (9, 1, 5)), Tiling(16, 16, split_len=32))


def splits_with_a_window(kernels):
    """openvino#38034: mixed lengths, a window that is no multiple of the block."""
    right(kernels, Case((70, 33, 5), (3, 1, 1), window=21), SPLIT)
    right(kernels, decode(64, 20, window=5), SPLIT)


def one_split_is_no_split(kernels):
    """So that a launch may leave the combining out where the longest sequence fits one split."""
    batch = make_batch(decode(16, 40, 5))
    long = attend(kernels, batch, Tiling(16, 16, split_len=48))
    assert torch.equal(long, attend(kernels, batch, SMALL)), "bits differ"
    alone = attend(kernels, batch, SPLIT)[0]
    assert torch.equal(alone, long[0]), "bits differ"


def output_with_strides_of_its_own(kernels):
    """FlagGems#5235: the output is a view into something larger."""
    batch = make_batch(decode(37, 5, 64))
    for tiling in (SMALL, SPLIT):
        out = torch.full((3, 7, 32), 7.0)[:, 1:5, :16]
        near(attend(kernels, batch, tiling, out), batch)


# -- types ---------------------------------------------------------------------------------------------------


def float32_stays_float32(kernels):
    """vllm#2368, triton#5895: weights of many keys that count alike, to 2e-5."""
    right(kernels, decode(60, 37, scale=0.05))


def sixteen_bit_types(kernels):
    right(kernels, decode(*LENGTHS, dtype="bf16"))
    right(kernels, Case((40, 20), (9, 20), dtype="fp16"))


def fp8_cache_with_two_scales(kernels):
    """sglang#18882: K's scale is not V's."""
    right(kernels, decode(20, 9, dtype="fp8", k_scale=0.5, v_scale=3.0))
    right(kernels, decode(40, 9, dtype="fp8", k_scale=0.5, v_scale=3.0), SPLIT)


def twin_is_equal_bit_for_bit(kernels):
    for case, tiling in (
        (Case((5, 40, 17), (5, 9, 1), block_size=3), SMALL),
        (decode(70, 33, block_size=24, window=20), SPLIT),
        (decode(70, 33, block_size=32, dtype="bf16", alibi=True), Tiling(16, 32)),
    ):
        batch = make_batch(case)
        paged = attend(kernels, batch, tiling)
        out = torch.empty_like(batch.q)
        with checked_run([*batch.tensors(), out]):
            twin = kernels.contiguous_attention(
                *batch.contiguous(), batch.options, Launch(tiling), out
            )
        assert torch.equal(paged, twin), "bits differ"


STORIES: dict[str, Callable[[ModuleType], None]] = {
    story.__name__: story
    for story in (
        unwritten_slots_are_not_read,
        padding_of_the_table_is_not_read,
        block_sizes_that_are_no_power_of_two,
        tile_inside_one_block,
        blocks_lie_anywhere,
        one_block_in_two_tables_and_twice_in_one,
        any_stride_between_blocks,
        pool_larger_than_32_bits_count,
        empty_sequence_between_others,
        batch_mates_do_not_matter,
        any_chunking_of_a_prompt,
        decodes_and_chunks_in_one_call,
        groups_of_any_size,
        head_sizes_that_are_no_power_of_two,
        window_counts_the_current_token,
        windows_of_every_kind,
        keys_before_the_window_are_gone,
        soft_cap_of_large_scores,
        alibi_counts_from_the_query,
        one_key_outweighs_all_before,
        splits_of_any_length,
        splits_with_a_window,
        one_split_is_no_split,
        output_with_strides_of_its_own,
        float32_stays_float32,
        sixteen_bit_types,
        fp8_cache_with_two_scales,
        twin_is_equal_bit_for_bit,
    )
}
