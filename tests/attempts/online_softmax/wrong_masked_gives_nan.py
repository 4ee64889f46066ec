# law: nothing-seen
# says: -inf - -inf is NaN
"""Nothing is done about -inf - -inf."""

import math


class Attention:
    def __init__(self, dim):
        self.largest = -math.inf
        self.total = 0.0
        self.acc = [0.0] * dim

    def add(self, scores, values):
        largest = max([self.largest, *scores])
        shrink = 2.0 ** (self.largest - largest)
        self.largest = largest
        self.total *= shrink
        self.acc = [number * shrink for number in self.acc]
        for score, value in zip(scores, values, strict=True):
            weight = 2.0 ** (score - largest)
            self.total += weight
            for d, number in enumerate(value):
                self.acc[d] += weight * number

    def result(self):
        if self.total == 0:
            return [0.0] * len(self.acc)
        return [number / self.total for number in self.acc]
