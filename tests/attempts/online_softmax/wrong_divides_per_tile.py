# law: acc
# says: divide once, in result
"""Each tile is divided by the sum so far, and multiplied again with the next."""

import math


class Attention:
    def __init__(self, dim):
        self.largest = -math.inf
        self.total = 0.0
        self.acc = [0.0] * dim

    def add(self, scores, values):
        largest = max([self.largest, *scores])
        if largest == -math.inf:
            return
        shrink = 2.0 ** (self.largest - largest)
        self.largest, self.before = largest, self.total
        self.total *= shrink
        self.acc = [number * shrink * self.before for number in self.acc]
        for score, value in zip(scores, values, strict=True):
            weight = 2.0 ** (score - largest)
            self.total += weight
            for d, number in enumerate(value):
                self.acc[d] += weight * number
        self.acc = [number / self.total for number in self.acc]

    def result(self):
        if self.total == 0:
            return [0.0] * len(self.acc)
        return self.acc
