"""The sizes a launch is made of: tile, warps, stages, split; and why these.

The table below was made by ``benchmarks/kernel_search.py``, which compiles every candidate for sm80, sm90 and sm100
and reads the machine code. It knows instructions, registers, spills and shared memory; it was not measured on a GPU.
Knows nothing about what the kernels compute.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch

MOST_GRID_YZ = 65_535
"""CUDA's limit on the second and third axis of a grid; the first goes to 2^31 - 1, so sequences are there."""


@dataclass(frozen=True, slots=True)
class Tiling:
    """How the work is cut. Two calls with the same tiling give the same bits for a sequence, whatever the batch.

    ``rows``: (token, head) pairs of a tile; ``keys``: keys of a tile. Powers of two, at least 16 (``tl.dot``).
    ``split_len``: keys of one split, a multiple of ``keys``; 0 is one program for all keys.
    ``gather``: read the table for every key even where a tile lies inside one block.
    ``float32_dot``: "tf32x3" (three tensor-core products, nearly float32) or "ieee" (no tensor cores).
    """

    rows: int
    keys: int
    warps: int = 4
    stages: int = 3
    split_len: int = 0
    gather: bool = False
    float32_dot: str = "tf32x3"

    def __post_init__(self) -> None:
        for name, size in (("rows", self.rows), ("keys", self.keys)):
            if size < 16 or size & (size - 1):
                raise ValueError(f"{name} is {size}; a tile needs a power of two of at least 16")
        if self.split_len < 0 or self.split_len % self.keys:
            raise ValueError(
                f"split_len is {self.split_len}; it must be a multiple of keys ({self.keys}), or 0 for no splits"
            )

    def layout(self, block_size: int) -> str:
        inside = block_size % self.keys == 0 and not self.gather
        return "tile in block" if inside else "gather"

    @staticmethod
    def dims(head_dim: int) -> int:
        """The head's dimensions in a tile: a power of two, at least 16."""
        return max(16, 1 << (head_dim - 1).bit_length())


class Choice(NamedTuple):
    """Keys and warps of a decoding launch (16 rows); rows, keys and warps of one with chunks of prompts."""

    decode_keys: int
    decode_warps: int
    chunk_rows: int
    chunk_keys: int
    chunk_warps: int


CHOICES = {  # (bytes of a cache element, dimensions of a tile)
    (2, 64): Choice(128, 4, 64, 64, 4),
    (2, 128): Choice(128, 4, 64, 32, 4),
    (2, 256): Choice(32, 4, 32, 32, 4),
    (4, 64): Choice(64, 4, 32, 32, 4),
    (4, 128): Choice(32, 4, 16, 32, 4),
    (4, 256): Choice(16, 8, 16, 16, 8),
    (1, 64): Choice(128, 4, 64, 64, 4),
    (1, 128): Choice(64, 4, 64, 64, 4),
    (1, 256): Choice(32, 4, 16, 32, 4),
}
"""The result of the search, and why. In decoding a tile of K is 16 to 32 KiB: wide enough for 16-byte copies by all
threads, and few instructions for each KiB. For head size 128, 128 keys take a fifth fewer of them than 64, and paging
adds 2 % instead of 14 (Triton 3.9, sm90). Where registers run out the tile is smaller; only float32 of head size 256
spills whatever the tile (18 instructions with this one, 3.9). For fp8, whose widening in registers the rules do not
describe well, the largest tile that did not spill. Three stages throughout: looking a block up is a stage of its own,
so K and V are fetched one tile ahead; with two, loads of loads are not pipelined (triton-lang/triton#4721)."""
SPLIT_LEN = 512
"""Keys of a split in decoding. One sequence of 8,192 keys and 8 KV heads becomes 128 programs, about as many as an
H200 has multiprocessors (132); the parts that are written and read again are 1.6 % of the K and V of a group of 4."""


def choose_tiling(head_dim: int, kv_bytes: int, rows_needed: int, *, split: bool) -> Tiling:
    """The tiling for heads of this size, cache elements of so many bytes, and as many query rows a sequence."""
    choice = CHOICES[kv_bytes, min(256, max(64, Tiling.dims(head_dim)))]
    rows, keys, warps = choice.chunk_rows, choice.chunk_keys, choice.chunk_warps
    if rows_needed <= 16 or rows == 16:
        rows, keys, warps = 16, choice.decode_keys, choice.decode_warps
    rows = min(rows, max(16, 1 << (rows_needed - 1).bit_length()))
    split_len = SPLIT_LEN if split else 0
    return Tiling(rows, keys, warps, split_len=split_len, float32_dot=_float32_dot())


def _float32_dot() -> str:
    return "ieee" if torch.version.hip else "tf32x3"  # AMD's compiler has no tf32x3


class Sizes(NamedTuple):
    tiling: Tiling
    max_query_len: int
    query_tiles: int
    splits: int


@dataclass(frozen=True, slots=True)
class Launch:
    """What a caller may fix about a launch.

    ``tiling``: instead of the chosen one. ``max_query_len``, ``max_context_len``: at least the true maxima; if both
    are given, nothing is read back from the device, and the launch can be captured in a CUDA graph.
    """

    tiling: Tiling | None = None
    max_query_len: int | None = None
    max_context_len: int | None = None

    def sizes(
        self,
        q: torch.Tensor,
        k_cache: torch.Tensor,
        context_lens: torch.Tensor,
        query_starts: torch.Tensor,
    ) -> Sizes:
        longest_query, longest = self.max_query_len, self.max_context_len
        if longest_query is None:
            longest_query = (
                int((query_starts[1:] - query_starts[:-1]).max()) if len(context_lens) else 0
            )
        rows_needed = max(1, longest_query * (q.shape[1] // k_cache.shape[2]))
        tiling = self.tiling or choose_tiling(
            q.shape[2], k_cache.element_size(), rows_needed, split=longest_query == 1
        )
        splits = 1
        if tiling.split_len:
            if longest is None:
                longest = int(context_lens.max()) if len(context_lens) else 0
            splits = max(1, -(-longest // tiling.split_len))
        return Sizes(tiling, longest_query, -(-rows_needed // tiling.rows), splits)


AUTOMATIC = Launch()


def launch_grid(
    num_seqs: int, query_tiles: int, kv_heads: int, splits: int
) -> tuple[int, int, int]:
    """Sequences and their query tiles on the axis that is long enough. ValueError if the others are not."""
    if max(kv_heads, splits) > MOST_GRID_YZ:
        raise ValueError(
            f"{kv_heads:,} KV heads and {splits:,} splits; a launch takes {MOST_GRID_YZ:,} of each at most: "
            "choose a longer split_len"
        )
    return num_seqs * query_tiles, kv_heads, splits
