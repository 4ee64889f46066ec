"""One small case, step by step: what the kernel does for one new token and one head, with every number kept.

It takes the same steps as ``paged_attention.attention_kernel`` in float32: a table entry, the slots of a block, a tile
of scores, the running maximum, sum and accumulator. For ``pagesim kernel explain``. Knows nothing about drawing.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch

from pagesim_kernels.cases import Batch, Case, make_batch
from pagesim_kernels.inputs import need
from pagesim_kernels.reference import reference_attention

HEAD_DIM = 16


class Lane(NamedTuple):
    """One lane of a tile: key ``pos`` and where it lies. None where the lane is masked and loads nothing."""

    pos: int
    entry: int | None = None
    block: int | None = None
    slot: int | None = None
    score: float | None = None  # None: not seen, counts as -inf
    weight: float = 0.0

    @property
    def live(self) -> bool:
        return self.block is not None


class Tile(NamedTuple):
    """One turn of the loop: its lanes, and what the row keeps before and after it.

    ``shrink`` is what the old sum and accumulator are multiplied by; scores are in base 2.
    """

    start: int
    lanes: tuple[Lane, ...]
    maximum_before: float
    maximum: float
    shrink: float
    total_before: float
    total: float
    accumulator: tuple[float, ...]  # the first dimensions


@dataclass(frozen=True, slots=True)
class Walk:
    """The whole story. ``pool``: for each physical block, which keys lie in it (None: never written)."""

    context_len: int
    block_size: int
    keys: int
    window: int | None
    table: tuple[int, ...]
    pool: tuple[tuple[int | None, ...], ...]
    scale: float
    tiles: tuple[Tile, ...]
    output: tuple[float, ...]
    expected: tuple[float, ...]

    @property
    def error(self) -> float:
        return max(abs(a - b) for a, b in zip(self.output, self.expected, strict=True))


def walk(
    context_len: int = 10,
    block_size: int = 4,
    keys: int = 8,
    window: int | None = None,
    seed: int = 0,
) -> Walk:
    """The last token of a sequence of ``context_len`` decodes, in tiles of ``keys``. KernelInputError if odd."""
    need(
        1 <= context_len <= 64,
        f"the context length is {context_len}; choose 1 to 64, it is to be read",
    )
    need(1 <= block_size <= 16, f"the block size is {block_size}; choose 1 to 16")
    need(1 <= keys <= 16, f"a tile of {keys} keys; choose 1 to 16")
    need(window is None or window >= 1, f"the window is {window}; choose at least 1")
    case = Case((context_len,), (1,), 1, 1, HEAD_DIM, block_size, window=window, seed=seed)
    batch = make_batch(case)
    scale = case.options().scale_for(HEAD_DIM) / math.log(2)  # base 2
    begin = 0 if window is None else max(0, context_len - window)
    tiles: list[Tile] = []
    maximum, total, accumulator = -math.inf, 0.0, torch.zeros(HEAD_DIM)
    for start in range(begin // keys * keys, context_len, keys):
        lanes = tuple(
            _lane(batch, pos, block_size, scale) if begin <= pos < context_len else Lane(pos)
            for pos in range(start, start + keys)
        )
        scores = [lane.score for lane in lanes if lane.score is not None]
        new = max(maximum, *scores) if scores else maximum
        shrink = 0.0 if maximum == -math.inf else 2.0 ** (maximum - new)
        lanes = tuple(
            lane if lane.score is None else lane._replace(weight=2.0 ** (lane.score - new))
            for lane in lanes
        )
        before, total = total, total * shrink + sum(lane.weight for lane in lanes)
        accumulator = accumulator * shrink
        for lane in lanes:
            if lane.live:
                accumulator = accumulator + lane.weight * batch.v_cache[lane.block, lane.slot, 0]
        tiles.append(
            Tile(start, lanes, maximum, new, shrink, before, total, tuple(accumulator.tolist()))
        )
        maximum = new
    expected = reference_attention(*batch.paged(), batch.options)[0, 0]
    return Walk(
        context_len, block_size, keys, window,
        tuple(batch.block_tables[0].tolist()), _pool(batch, context_len, block_size), scale, tuple(tiles),
        tuple((accumulator / total).tolist()), tuple(expected.tolist()),
    )  # fmt: skip


def _lane(batch: Batch, pos: int, block_size: int, scale: float) -> Lane:
    entry, slot = divmod(pos, block_size)
    block = int(batch.block_tables[0, entry])
    score = float(batch.q[0, 0] @ batch.k_cache[block, slot, 0]) * scale
    return Lane(pos, entry, block, slot, score)


def _pool(batch: Batch, context_len: int, block_size: int) -> tuple[tuple[int | None, ...], ...]:
    blocks: list[tuple[int | None, ...]] = [(None,) * block_size for _ in batch.k_cache]
    for entry, block in enumerate(batch.block_tables[0].tolist()):
        first = entry * block_size
        blocks[block] = tuple(
            pos if pos < context_len else None for pos in range(first, first + block_size)
        )
    return tuple(blocks)
