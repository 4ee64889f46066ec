"""Online softmax, solved: when the largest score rises, both sums shrink by one factor."""

import math
from collections.abc import Sequence


class Attention:
    """Attention of one query, as far as its keys have come."""

    def __init__(self, dim: int) -> None:
        self.largest = -math.inf
        self.total = 0.0
        self.acc = [0.0] * dim

    def add(self, scores: Sequence[float], values: Sequence[Sequence[float]]) -> None:
        """Take in one tile of keys."""
        largest = max([self.largest, *scores])
        if largest == -math.inf:
            return  # nothing has weighed anything yet, and -inf - -inf would be NaN
        shrink = 2.0 ** (
            self.largest - largest
        )  # 1 if the largest score stays, 0 for the first tile
        weights = [2.0 ** (score - largest) for score in scores]  # at most 1 each
        self.total = self.total * shrink + sum(weights)
        self.acc = [
            old * shrink
            + sum(weight * value[d] for weight, value in zip(weights, values, strict=True))
            for d, old in enumerate(self.acc)
        ]
        self.largest = largest

    def result(self) -> Sequence[float]:
        """The mean of the values so far by their weights; divided only here, once."""
        if self.total == 0.0:
            return [0.0] * len(self.acc)
        return [number / self.total for number in self.acc]
