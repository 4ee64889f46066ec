"""Bad input is one sentence: what was given, what is allowed. Good input in odd forms works."""

from dataclasses import replace

import kernel_setup  # noqa: F401
import pytest
import torch
from pagesim_kernels import backends, cache_ops
from pagesim_kernels.backends import attention, pick_backend
from pagesim_kernels.cases import Case, error_of, make_batch
from pagesim_kernels.inputs import KernelInputError
from pagesim_kernels.options import Options
from pagesim_kernels.paged_attention import contiguous_attention, paged_attention
from pagesim_kernels.reference import reference_attention
from pagesim_kernels.tiling import Launch, Tiling, choose_tiling, launch_grid

GOOD = make_batch(Case((9, 5), (2, 1)))
INT = torch.int32

WRONG = {
    "q-of-two-dimensions": ({"q": GOOD.q[:, 0]}, r"q is \(3, 16\); it must be \(tokens, heads, head_dim\)"),
    "cache-of-all-layers": ({"k_cache": GOOD.k_cache[None]}, r"it must be \(blocks, block_size, kv_heads, head_dim\)"),
    "heads-not-divisible": ({"q": GOOD.q[:, :3]}, "3 query heads on 2 KV heads; .* must be a multiple"),
    "head-sizes-differ": ({"q": GOOD.q[..., :8]}, "q has head size 8 and the cache 16"),
    "v-narrower-than-k": ({"v_cache": GOOD.v_cache[..., :8]}, r"a V narrower than K \(as in MLA\) is not supported"),
    "k-and-v-of-two-types": ({"v_cache": GOOD.v_cache.half()}, "k_cache is float32 and v_cache float16"),
    "q-of-integers": ({"q": GOOD.q.int()}, "q is int32 and the cache float32; .* convert one of them"),
    "q-and-cache-differ": ({"q": GOOD.q.half()}, "q is float16 and the cache float32"),
    "tables-of-int64": ({"block_tables": GOOD.block_tables.long()}, r"of int64; .* must be \(2, max_blocks\) of int32"),
    "tables-of-another-batch": ({"block_tables": GOOD.block_tables[:1]}, "with 2 context_lens they must be"),
    "lens-of-int64": ({"context_lens": GOOD.context_lens.long()}, r"context_lens are \(2,\) of int64"),
    "starts-of-another-batch": ({"query_starts": GOOD.query_starts[:2]}, r"query_starts are \(2,\) of int32; .*\(3,\)"),
    "starts-that-fall": ({"query_starts": torch.tensor([0, 4, 3], dtype=INT)}, "must start at 0, never fall and end"),
    "starts-that-end-early": ({"query_starts": torch.tensor([0, 1, 2], dtype=INT)}, "for 3 tokens in q"),
    "negative-length": ({"context_lens": torch.tensor([9, -1], dtype=INT)}, "sequence 1 has a context length of -1"),
    "context-without-the-new": (
        {"context_lens": torch.tensor([1, 5], dtype=INT)}, "2 new tokens and a context length of 1"),
    "table-too-narrow": ({"block_tables": GOOD.block_tables[:, :2].contiguous()}, "at least 3 entries and has 2"),
    "block-that-is-not-there": (
        {"block_tables": GOOD.block_tables + 100}, r"sequence 0 names block \d+; the cache has blocks 0 to 7"),
    "padding-inside-a-table": (
        {"block_tables": torch.full_like(GOOD.block_tables, -1)}, "sequence 0 names block -1"),
    "window-of-nothing": ({"options": Options(window=0)}, "the window is 0; .* at least 1"),
    "soft-cap-of-nothing": ({"options": Options(soft_cap=0.0)}, "the soft cap is 0.0; .* above 0"),
    "scale-that-is-no-number": ({"options": Options(scale=float("nan"))}, "scale is nan; it must be finite"),
    "slopes-of-another-model": ({"options": Options(alibi_slopes=torch.ones(3))}, r"alibi_slopes are \(3,\)"),
}  # fmt: skip


@pytest.mark.parametrize("backend", ["triton", "numba", "torch"])
@pytest.mark.parametrize("name", WRONG)
def test_wrong_tensors_are_one_sentence(name, backend):
    change, sentence = WRONG[name]
    batch = GOOD._replace(**change)
    with pytest.raises(KernelInputError, match=sentence) as error:
        attention(*batch.paged(), batch.options, backend=backend)
    assert "\n" not in str(error.value)


def test_what_one_backend_does_not_take_names_another():
    half = make_batch(Case((9,), (1,), dtype="fp16"))
    with pytest.raises(KernelInputError, match='takes float32 on a CPU: use backend="torch"'):
        attention(*half.paged(), backend="numba")
    strided = GOOD._replace(k_cache=GOOD.k_cache.transpose(2, 3).contiguous().transpose(2, 3))
    with pytest.raises(KernelInputError, match=r"call \.contiguous"):
        attention(*strided.paged(), backend="triton")
    with pytest.raises(
        KernelInputError, match="there is no backend 'cuda'; there are triton, numba, torch"
    ):
        attention(*GOOD.paged(), backend="cuda")


def test_contiguous_k_and_v_must_hold_the_batch():
    with pytest.raises(KernelInputError, match="have 1 rows for 2 sequences"):
        contiguous_attention(GOOD.q, GOOD.k[:1], GOOD.v[:1], GOOD.context_lens, GOOD.query_starts)
    with pytest.raises(KernelInputError, match="a sequence of 9 keys in K and V of 8 rows"):
        contiguous_attention(
            GOOD.q, GOOD.k[:, :8], GOOD.v[:, :8], GOOD.context_lens, GOOD.query_starts
        )


def test_backends_are_picked_by_type_and_place():
    assert pick_backend(GOOD.q, GOOD.k_cache) == "numba"
    assert pick_backend(GOOD.q.half(), GOOD.k_cache.half()) == "torch"
    for batch in (GOOD, make_batch(Case((9, 5), (2, 1), dtype="bf16"))):
        want = reference_attention(*batch.paged())
        assert error_of(attention(*batch.paged()), want) < 1.6e-2


@pytest.mark.parametrize("backend", ["triton", "numba", "torch"])
def test_no_sequences_and_no_tokens(backend):
    nothing = GOOD._replace(
        q=GOOD.q[:0],
        block_tables=GOOD.block_tables[:0],
        context_lens=GOOD.context_lens[:0],
        query_starts=torch.zeros(1, dtype=INT),
    )
    assert attention(*nothing.paged(), backend=backend).shape == (0, 4, 16)
    idle = GOOD._replace(q=GOOD.q[:0], query_starts=torch.zeros(3, dtype=INT))
    assert attention(*idle.paged(), backend=backend).shape == (0, 4, 16)


def test_writes_and_copies_that_can_not_be():
    cache = torch.zeros(4, 2, 1, 16)
    one, slot = torch.ones(1, 1, 16), torch.tensor([0])
    for module in (cache_ops, backends):
        for arguments, sentence in (
            ((one[0], one[0], cache, cache, slot), r"both must be \(tokens, 1, 16\)"),
            ((one.half(), one.half(), cache, cache, slot), "k and v are float16"),
            ((one, one, cache, cache, slot.int()), r"must be \(1,\) of int64"),
            ((one, one, cache, cache, slot + 8), "slot 8 of a cache with slots 0 to 7"),
            ((one.repeat(2, 1, 1),) * 2 + (cache, cache, slot.repeat(2)), "names a slot twice"),
        ):
            with pytest.raises(KernelInputError, match=sentence):
                module.write_kv(*arguments)
        for copies, sentence in (
            ([[0, 4, 1]], "from block 0 to block 4; the cache has blocks 0 to 3"),
            ([[0, 1, 3]], "a copy of 3 slots; a block has 2"),
            ([[0, 1, 2], [2, 1, 2]], "two of the copies write one block"),
            ([[0, 1, 2], [1, 2, 2]], "cut them into batches first"),
        ):
            with pytest.raises(KernelInputError, match=sentence):
                module.copy_blocks(cache, cache, torch.tensor(copies, dtype=INT))
        with pytest.raises(KernelInputError, match=r"must be \(n, 3\) of int32"):
            module.copy_blocks(cache, cache, torch.zeros(1, 3))


def test_a_tiling_is_made_of_powers_of_two():
    with pytest.raises(ValueError, match="keys is 24; a tile needs a power of two of at least 16"):
        Tiling(16, 24)
    with pytest.raises(ValueError, match="split_len is 40; it must be a multiple of keys"):
        Tiling(16, 16, split_len=40)


def test_seventy_thousand_sequences_fit_a_grid():
    """triton#3299: the second and third axis of a grid end at 65,535, so sequences are on the first."""
    assert launch_grid(70_000, 2, 8, 4) == (140_000, 8, 4)
    with pytest.raises(ValueError, match="choose a longer split_len"):
        launch_grid(1, 1, 8, 70_000)


@pytest.mark.parametrize("head_dim", [16, 24, 64, 80, 96, 128, 192, 256])
@pytest.mark.parametrize("kv_bytes", [1, 2, 4])
def test_every_choice_is_a_tiling(head_dim, kv_bytes):
    for rows_needed in (1, 7, 16, 17, 5000):
        tiling = choose_tiling(head_dim, kv_bytes, rows_needed, split=rows_needed < 16)
        assert tiling.rows <= 64
        assert tiling.rows >= min(rows_needed, 16)


def test_the_automatic_tiling_in_the_interpreter_splits_long_decodes():
    batch = make_batch(Case((1100, 3), (1, 1), block_size=16))
    want = reference_attention(*batch.paged())
    assert error_of(paged_attention(*batch.paged()), want) < 2e-5
    told = Launch(max_query_len=1, max_context_len=4000)
    assert torch.equal(
        paged_attention(*batch.paged(), launch=told), paged_attention(*batch.paged())
    )


def test_options_may_be_changed_with_replace():
    assert replace(Options(), window=4).window == 4
    assert Options().scale_for(64) == 0.125
