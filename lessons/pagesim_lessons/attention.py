"""Small attention problems in NumPy, for lesson 10: a sequence in blocks, float64's word, and what may be changed.

The paged walk itself is ``pagesim_kernels.story.follow``. Knows nothing about lessons.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

import numpy as np
from numpy.typing import NDArray
from pagesim_kernels.story import Walk, follow

Array = NDArray[np.float32]
HEAD_DIM = 16


@dataclass(frozen=True)
class Problem:
    """One query and a sequence's keys and values, one head: ``q`` (16,), ``k`` and ``v`` (tokens, 16); and where
    they lie. Slots that nobody wrote hold ``rubbish``."""

    q: Array
    k: Array
    v: Array
    table: tuple[int, ...]
    num_blocks: int
    block_size: int
    tile: int
    rubbish: float = float("nan")

    def paged(self) -> Walk:
        """Attention through the table, tile by tile, in float32."""
        k_cache, v_cache = (self._cache(values) for values in (self.k, self.v))
        return follow(
            self.q,
            k_cache,
            v_cache,
            self.table,
            len(self.k),
            self.tile,
            dense(self.q, self.k, self.v),
        )

    def moved(self, table: Sequence[int]) -> "Problem":
        """The same in other blocks."""
        return replace(self, table=tuple(table))

    def in_blocks(self, block_size: int) -> "Problem":
        """The same in blocks of another size, handed out from the highest number down."""
        count = -(-len(self.k) // block_size)
        table = tuple(range(count, 0, -1))
        return replace(self, table=table, num_blocks=count + 1, block_size=block_size)

    def shuffled(self) -> "Problem":
        """Each key with its value, in another order."""
        order = list(range(len(self.k)))
        Random("order").shuffle(order)
        return replace(self, k=self.k[order], v=self.v[order])

    def torn(self) -> "Problem":
        """The keys in another order, the values where they were."""
        return replace(self, k=self.shuffled().k)

    def _cache(self, values: Array) -> Array:
        cache = np.full((self.num_blocks, self.block_size, HEAD_DIM), self.rubbish, np.float32)
        for pos, value in enumerate(values):
            cache[self.table[pos // self.block_size], pos % self.block_size] = value
        return cache


def problem(
    seed: int, tokens: int, table: Sequence[int], num_blocks: int, block_size: int, tile: int
) -> Problem:
    """Random numbers, the same for ever."""
    draw = Random(f"attention {seed}")
    rows = [[4 * draw.random() - 2 for _ in range(HEAD_DIM)] for _ in range(2 * tokens + 1)]
    numbers = np.array(rows, np.float32)
    q, k, v = numbers[0], numbers[1 : tokens + 1], numbers[tokens + 1 :]
    return Problem(q, k, v, tuple(table), num_blocks, block_size, tile)


def dense(q: Array, k: Array, v: Array) -> NDArray[np.float64]:
    """The judge: softmax of all scores at once, in float64."""
    scores = k.astype(np.float64) @ q.astype(np.float64) * HEAD_DIM**-0.5
    weights = np.exp(scores - scores.max())
    return np.asarray(weights @ v.astype(np.float64) / weights.sum())


def difference(one: Sequence[float], other: Sequence[float]) -> float:
    """The largest of all dimensions."""
    return max(abs(a - b) for a, b in zip(one, other, strict=True))
