# law: total
# says: that is this tile alone
"""Every tile begins anew, but for the largest score."""

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
        self.largest = largest
        self.total = 0.0
        self.acc = [0.0] * len(self.acc)
        for score, value in zip(scores, values, strict=True):
            weight = 2.0 ** (score - largest)
            self.total += weight
            for d, number in enumerate(value):
                self.acc[d] += weight * number

    def result(self):
        if self.total == 0:
            return [0.0] * len(self.acc)
        return [number / self.total for number in self.acc]
