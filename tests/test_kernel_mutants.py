"""The stories are worth their names: one-line mutants of the kernels, each refused by the story meant for it.

``pytest -k mutants -v`` reads as a table. A mutant is the kernels' own source with one piece of text replaced, loaded
as a module of its own. (That the stories pass on the kernels as they are is ``test_kernel_stories.py``.)
"""

import importlib.util
from pathlib import Path
from typing import NamedTuple

import kernel_setup  # noqa: F401
import pytest
from kernel_cache_stories import CACHE_STORIES
from kernel_stories import STORIES
from pagesim_kernels import cache_ops, paged_attention

ATTENTION = Path(paged_attention.__file__)
CACHE = Path(cache_ops.__file__)


class KernelMutant(NamedTuple):
    """``old`` becomes ``new``, once, in ``file``; ``story`` must refuse it."""

    name: str
    story: str
    old: str
    new: str
    file: Path = ATTENTION


M = KernelMutant
MUTANTS = [
    # where a key lies
    M("block-times-stride-in-32-bits", "pool_larger_than_32_bits_count",
      "return block.to(tl.int64) * block_stride + (place % BLOCK_SIZE).to(tl.int64) * slot_stride",
      "return (block * block_stride + (place % BLOCK_SIZE) * slot_stride).to(tl.int64)"),
    M("token-times-stride-of-q-in-32-bits", "pool_larger_than_32_bits_count",
      "q_offset = token.to(tl.int64)[:, None] * q_token_stride", "q_offset = token[:, None] * q_token_stride"),
    M("block-stride-taken-for-slots-times-their-number", "any_stride_between_blocks",
      "return block.to(tl.int64) * block_stride + (place % BLOCK_SIZE)",
      "return block.to(tl.int64) * (slot_stride * BLOCK_SIZE) + (place % BLOCK_SIZE)"),
    M("entry-and-slot-swapped", "block_sizes_that_are_no_power_of_two",
      "entry = place // BLOCK_SIZE", "entry = place % BLOCK_SIZE"),
    M("slot-counted-from-the-tile", "block_sizes_that_are_no_power_of_two",
      "(place % BLOCK_SIZE).to(tl.int64)", "(lane % BLOCK_SIZE).to(tl.int64)"),
    M("tile-starts-at-its-block", "tile_inside_one_block",
      "first = block * block_stride + (start % BLOCK_SIZE)", "first = block * block_stride + 0 * (start % BLOCK_SIZE)"),
    M("table-row-of-the-first-sequence", "decodes_and_chunks_in_one_call",
      "block_tables_ptr + seq.to(tl.int64) * table_stride", "block_tables_ptr + 0 * seq.to(tl.int64) * table_stride"),
    M("table-taken-for-the-identity", "blocks_lie_anywhere",
      "block = tl.load(table_row + entry, mask=live, other=0)", "block = entry"),
    M("first-block-of-a-tile-for-all-of-it", "one_block_in_two_tables_and_twice_in_one",
      "entry = place // BLOCK_SIZE", "entry = 0 * place"),
    # what is not read
    M("table-read-past-its-end", "padding_of_the_table_is_not_read",
      "block = tl.load(table_row + entry, mask=live, other=0)", "block = tl.load(table_row + entry)"),
    M("unwritten-slots-loaded", "unwritten_slots_are_not_read",
      "kv_mask = live[:, None] & dim_ok[None, :]", "kv_mask = (lane >= 0)[:, None] & dim_ok[None, :]"),
    M("length-left-out-of-the-score-mask", "decodes_and_chunks_in_one_call",
      "see = live[None, :] & (key_pos[None, :] <= query_pos[:, None])", "see = live[None, :] | (key_pos < 0)[None, :]"),
    M("loop-ends-a-key-early", "unwritten_slots_are_not_read",
      "for start in tl.range(begin // KEYS * KEYS, end, KEYS",
      "for start in tl.range(begin // KEYS * KEYS, end - 1, KEYS"),
    M("keys-before-the-window-loaded", "keys_before_the_window_are_gone",
      "live = live & (key_pos >= begin)", "live = live & (key_pos >= 0)"),
    M("elements-past-the-head-loaded", "head_sizes_that_are_no_power_of_two",
      "dim_ok = dim < HEAD_DIM", "dim_ok = dim < DIMS"),
    # sequences and rows
    M("context-left-out-of-a-query-s-position", "any_chunking_of_a_prompt",
      "query_pos = past_len + row // GROUP", "query_pos = row // GROUP"),
    M("keys-end-with-the-tile-s-first-token", "any_chunking_of_a_prompt",
      "(tile * ROWS + ROWS - 1) // GROUP + 1)", "tile * ROWS // GROUP + 1)"),
    M("row-s-head-taken-from-the-tile", "groups_of_any_size",
      "head = kv_head * GROUP + row % GROUP", "head = kv_head * GROUP + row % ROWS"),
    M("second-tile-of-rows-forgotten", "groups_of_any_size",
      "row = tile * ROWS + tl.arange(0, ROWS)", "row = tl.arange(0, ROWS)"),
    M("rows-past-the-sequence-stored", "decodes_and_chunks_in_one_call",
      "row_ok = row < query_len * GROUP", "row_ok = row >= 0"),
    M("every-program-on-the-first-kv-head", "unwritten_slots_are_not_read",
      "head_offset = kv_head.to(tl.int64) * kv_head_stride", "head_offset = kv_head.to(tl.int64) * 0"),
    M("empty-row-divided-by-zero", "empty_sequence_between_others",
      "l = tl.where(l == 0.0, 1.0, l)  # rows", "l = l  # rows"),
    M("combine-of-nothing-divided-by-zero", "empty_sequence_between_others",
      "acc = acc / tl.where(l == 0.0, 1.0, l)", "acc = acc / l"),
    # scores
    M("infinity-minus-infinity", "windows_of_every_kind",
      'm_ref = tl.where(m_new == float("-inf"), 0.0, m_new)  # nothing', "m_ref = m_new  # nothing"),
    M("window-of-one-key-more", "window_counts_the_current_token",
      "query_pos[:, None] - key_pos[None, :] < WINDOW", "query_pos[:, None] - key_pos[None, :] <= WINDOW"),
    M("window-starts-with-the-tile-s-last-row", "windows_of_every_kind",
      "past_len + tile * ROWS // GROUP - WINDOW + 1)", "past_len + (tile * ROWS + ROWS - 1) // GROUP - WINDOW + 1)"),
    M("soft-cap-by-exponentials-that-overflow", "soft_cap_of_large_scores",
      "s = soft_cap * (2.0 / (1.0 + tl.exp2(s * (-2.0 * LOG2E / soft_cap))) - 1.0)",
      "s = soft_cap * (tl.exp2(s * (2.0 * LOG2E / soft_cap)) - 1.0) / (tl.exp2(s * (2.0 * LOG2E / soft_cap)) + 1.0)"),
    M("soft-cap-of-half-the-slope", "soft_cap_of_large_scores", "(-2.0 * LOG2E / soft_cap)",
      "(-1.0 * LOG2E / soft_cap)"),
    M("alibi-counted-from-the-tile", "alibi_counts_from_the_query",
      "slope[:, None] * (key_pos[None, :] - query_pos[:, None])",
      "slope[:, None] * (lane[None, :] - query_pos[:, None])"),
    M("alibi-the-wrong-way-round", "alibi_counts_from_the_query",
      "(key_pos[None, :] - query_pos[:, None])", "(query_pos[:, None] - key_pos[None, :])"),
    M("alibi-not-in-base-2", "alibi_counts_from_the_query", "mask=row_ok, other=0.0) * LOG2E",
      "mask=row_ok, other=0.0)"),
    M("accumulator-not-shrunk", "one_key_outweighs_all_before",
      "acc = acc * shrink[:, None] + tl.dot", "acc = acc + tl.dot"),
    M("sum-not-shrunk", "one_key_outweighs_all_before", "l = l * shrink + tl.sum(p, 1)", "l = l + tl.sum(p, 1)"),
    # splits
    M("split-starts-a-tile-late", "splits_of_any_length",
      "begin = tl.maximum(begin, split * split_len)", "begin = tl.maximum(begin, split * split_len + KEYS)"),
    M("splits-overlap", "splits_of_any_length",
      "end = tl.minimum(end, (split + 1) * split_len)", "end = tl.minimum(end, (split + 1) * split_len + KEYS)"),
    M("combine-reads-an-unwritten-part", "splits_of_any_length",
      "splits = (end + split_len - 1) // split_len", "splits = (end + split_len - 1) // split_len + 1"),
    M("combine-starts-before-the-window", "splits_with_a_window",
      "for split in tl.range(begin // split_len,", "for split in tl.range(0 * begin,"),
    M("combine-weighs-without-the-maximum", "splits_of_any_length",
      "weight, shrink = tl.exp2(lse - m_ref),", "weight, shrink = tl.exp2(lse),"),
    M("combine-takes-the-batch-s-first-length", "splits_of_any_length",
      "end = tl.load(context_lens_ptr + seq) -", "end = tl.load(context_lens_ptr) -"),
    M("combine-stores-as-if-contiguous", "output_with_strides_of_its_own",
      "out = out_ptr + token.to(tl.int64) * out_token_stride + head * out_head_stride",
      "out = out_ptr + token.to(tl.int64) * num_heads * HEAD_DIM + head * HEAD_DIM"),
    M("output-stored-with-q-s-strides", "output_with_strides_of_its_own",
      "out = out_ptr + token.to(tl.int64)[:, None] * out_token_stride",
      "out = out_ptr + token.to(tl.int64)[:, None] * q_token_stride"),
    M("parts-not-normalised", "splits_of_any_length",
      "acc = acc * (v_scale / l)[:, None]", "acc = acc * v_scale if SPLIT else acc * (v_scale / l)[:, None]"),
    # types
    M("values-scaled-by-k-s-scale", "fp8_cache_with_two_scales",
      "options.scale_for(head_dim) * options.k_scale * LOG2E.value, soft_cap * LOG2E.value, options.v_scale",
      "options.scale_for(head_dim) * options.k_scale * LOG2E.value, soft_cap * LOG2E.value, options.k_scale"),
    M("k-s-scale-forgotten", "fp8_cache_with_two_scales",
      "options.scale_for(head_dim) * options.k_scale * LOG2E", "options.scale_for(head_dim) * LOG2E"),
    M("twin-with-a-block-stride-of-its-own", "twin_is_equal_bit_for_bit",
      "return seq.to(tl.int64) * block_stride + start", "return seq.to(tl.int64) * 0 * block_stride + start"),
    M("v-s-scale-forgotten", "fp8_cache_with_two_scales", "acc = acc * (v_scale / l)", "acc = acc * (1.0 / l)"),
    M("weights-rounded-to-16-bits", "float32_stays_float32",
      "tl.dot(p.to(q.dtype), v.to(q.dtype)", "tl.dot(p.to(tl.float16).to(q.dtype), v.to(q.dtype)"),
    # the cache
    M("slot-times-stride-in-32-bits", "slots_beyond_32_bits",
      "target = slot // BLOCK_SIZE * block_stride", "target = (slot // BLOCK_SIZE).to(tl.int32) * block_stride", CACHE),
    M("padding-written", "negative_slots_write_nothing", "if slot < 0:", "if slot < -1:", CACHE),
    M("v-written-from-k", "writes_its_slots_and_no_others",
      "tl.store(v_cache_ptr + target, tl.load(v_ptr + source",
      "tl.store(v_cache_ptr + target, tl.load(k_ptr + source", CACHE),
    M("heads-written-as-if-contiguous", "values_with_strides_of_their_own",
      "source = token.to(tl.int64) * token_stride", "source = token.to(tl.int64) * HEADS * HEAD_DIM", CACHE),
    M("whole-block-copied", "copies_the_first_slots_of_blocks", "if slot >= tl.load(copy + 2):", "if slot < 0:", CACHE),
    M("source-and-target-swapped", "copies_the_first_slots_of_blocks",
      "source = tl.load(copy).to(tl.int64) * block_stride + inside",
      "source = tl.load(copy + 1).to(tl.int64) * block_stride + inside", CACHE),
    M("copy-s-block-times-stride-in-32-bits", "copies_between_far_blocks",
      "source = tl.load(copy).to(tl.int64) * block_stride", "source = tl.load(copy) * block_stride", CACHE),
]  # fmt: skip


def load(mutant: KernelMutant, folder: Path):
    source = mutant.file.read_text(encoding="utf-8")
    found = source.count(mutant.old)
    assert found == 1, f"{mutant.old!r} is {found} times in {mutant.file.name}"
    path = folder / "mutated.py"
    path.write_text(source.replace(mutant.old, mutant.new), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("mutated", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def refusal(story, module):
    """Why the story refuses the module: a broken assertion, or what the interpreter raised; None if it does not."""
    try:
        story(module)
    except AssertionError as error:
        return str(error) or "assertion"
    except (
        Exception
    ) as error:  # out of bounds or overflow inside a kernel is wrapped by the interpreter
        return str(error)
    return None


@pytest.mark.parametrize(
    "mutant", MUTANTS, ids=[f"{m.name}--refused-by--{m.story}" for m in MUTANTS]
)
def test_kernel_mutants(mutant, tmp_path, record_property):
    why = refusal((STORIES | CACHE_STORIES)[mutant.story], load(mutant, tmp_path))
    assert why is not None, f"{mutant.name} was not noticed"
    for slip in ("NameError", "SyntaxError", "CompilationError", "TypeError", "AttributeError"):
        assert slip not in why, f"the mutant does not run: {why}"
    record_property("refused", why)
