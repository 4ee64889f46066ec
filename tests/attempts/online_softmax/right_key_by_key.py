"""A tile is so many keys, and a key is a tile of one."""

import math


class Attention:
    def __init__(self, dim):
        self.largest, self.total, self.acc = -math.inf, 0.0, (0.0,) * dim

    def add(self, scores, values):
        for score, value in zip(scores, values, strict=True):
            if score > self.largest:
                self._rise_to(score)
            if score > -math.inf:
                weight = math.pow(2, score - self.largest)
                self.total += weight
                self.acc = tuple(a + weight * v for a, v in zip(self.acc, value, strict=True))

    def _rise_to(self, score):
        factor = math.pow(2, self.largest - score)
        self.total *= factor
        self.acc = tuple(a * factor for a in self.acc)
        self.largest = score

    def result(self):
        return tuple(a / self.total if self.total else 0.0 for a in self.acc)
