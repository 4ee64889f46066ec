"""How often a figure was how large, in fixed buckets. Knows nothing about what is measured or who asks."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple


class Counted(NamedTuple):
    """``buckets``: (upper bound, how many were at most that), the last bound infinite; ``total`` of all values."""

    buckets: tuple[tuple[float, int], ...]
    total: float


class Histogram:
    def __init__(self, bounds: Sequence[float]) -> None:
        """``bounds`` ascend."""
        self._bounds = (*bounds, float("inf"))
        self._counts = [0] * len(self._bounds)
        self._total = 0.0

    def add(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self._total += value

    def counted(self) -> Counted:
        sums = accumulate(self._counts)
        return Counted(tuple(zip(self._bounds, sums, strict=True)), self._total)
