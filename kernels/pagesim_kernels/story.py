"""One new token's way through its block table, with every number kept; in NumPy alone, so that it runs anywhere.

It takes the steps of ``paged_attention.attention_kernel``: a table entry, the slots of a block, a tile of scores, the
running maximum, sum and accumulator. Knows nothing about where the numbers come from, or about drawing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


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


def follow(
    q: Array,
    k_cache: Array,
    v_cache: Array,
    table: Sequence[int],
    context_len: int,
    keys: int,
    expected: Array,
    window: int | None = None,
    scale: float | None = None,
) -> Walk:
    """One query row ``q`` (head_dim,) and one head: caches are (blocks, block_size, head_dim); tiles of ``keys``.

    ``scale``: None is head_dim ** -0.5. ``expected`` (head_dim,) is a judge's result, kept beside ours.
    """
    block_size, head_dim = k_cache.shape[1:]
    scale = (head_dim**-0.5 if scale is None else scale) / math.log(2)  # base 2
    begin = 0 if window is None else max(0, context_len - window)

    def lane(pos: int) -> Lane:
        if not begin <= pos < context_len:
            return Lane(pos)
        entry, slot = divmod(pos, block_size)
        block = table[entry]
        return Lane(pos, entry, block, slot, float(q @ k_cache[block, slot]) * scale)

    tiles: list[Tile] = []
    maximum, total, accumulator = -math.inf, 0.0, np.zeros_like(q)
    for start in range(begin // keys * keys, context_len, keys):
        lanes = tuple(lane(pos) for pos in range(start, start + keys))
        scores = [lane.score for lane in lanes if lane.score is not None]
        new = max(maximum, *scores) if scores else maximum
        shrink = 0.0 if maximum == -math.inf else 2.0 ** (maximum - new)
        lanes = tuple(
            lane if lane.score is None else lane._replace(weight=2.0 ** (lane.score - new))
            for lane in lanes
        )
        before, total = total, total * shrink + sum(lane.weight for lane in lanes)
        accumulator = accumulator * shrink
        for one in lanes:
            if one.live:
                accumulator = accumulator + one.weight * v_cache[one.block, one.slot]
        kept = tuple(accumulator.tolist())
        tiles.append(Tile(start, lanes, maximum, new, shrink, before, total, kept))
        maximum = new
    return Walk(
        context_len, block_size, keys, window, tuple(table), _pool(len(k_cache), block_size, table, context_len),
        scale, tuple(tiles), tuple((accumulator / total).tolist()), tuple(expected.tolist()),
    )  # fmt: skip


def _pool(
    num_blocks: int, block_size: int, table: Sequence[int], context_len: int
) -> tuple[tuple[int | None, ...], ...]:
    blocks: list[tuple[int | None, ...]] = [(None,) * block_size] * num_blocks
    for entry, block in enumerate(table):
        first = entry * block_size
        blocks[block] = tuple(
            pos if pos < context_len else None for pos in range(first, first + block_size)
        )
    return tuple(blocks)
