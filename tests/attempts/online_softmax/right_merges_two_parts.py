"""A tile is summed up by itself, and then two sums, each with its own largest score, are merged."""

import math


def summed(scores, values, dim):
    """Largest score, sum of weights, sum of weighted values of one tile."""
    live = [
        (score, value) for score, value in zip(scores, values, strict=True) if score != -math.inf
    ]
    if not live:
        return -math.inf, 0.0, [0.0] * dim
    top = max(score for score, _ in live)
    weights = [math.exp((score - top) * math.log(2)) for score, _ in live]
    return (
        top,
        math.fsum(weights),
        [
            math.fsum(w * value[d] for w, (_, value) in zip(weights, live, strict=True))
            for d in range(dim)
        ],
    )


class Attention:
    def __init__(self, dim):
        self.dim = dim
        self.part = summed([], [], dim)

    largest = property(lambda self: self.part[0])
    total = property(lambda self: self.part[1])
    acc = property(lambda self: self.part[2])

    def add(self, scores, values):
        one, other = sorted([self.part, summed(scores, values, self.dim)], key=lambda part: part[0])
        if other[0] == -math.inf:
            return
        factor = 2.0 ** (one[0] - other[0])
        total = one[1] * factor + other[1]
        self.part = other[0], total, [a * factor + b for a, b in zip(one[2], other[2], strict=True)]

    def result(self):
        return [a / self.total for a in self.acc] if self.total else [0] * self.dim
