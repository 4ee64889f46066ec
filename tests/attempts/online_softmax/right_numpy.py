"""NumPy: the tile's weights as a vector, the accumulator as an array."""

import numpy as np


class Attention:
    def __init__(self, dim):
        self.dim = dim
        self.largest = -np.inf
        self.total = 0.0
        self.acc = np.zeros(dim)

    def add(self, scores, values):
        scores, values = np.asarray(scores, float), np.asarray(values, float).reshape(-1, self.dim)
        new = np.max(scores, initial=self.largest)
        base = 0.0 if new == -np.inf else new
        factor = np.exp2(self.largest - base)
        weights = np.exp2(scores - base)
        self.total = self.total * factor + weights.sum()
        self.acc = self.acc * factor + weights @ values
        self.largest = new

    def result(self):
        return self.acc / (self.total or 1.0)
