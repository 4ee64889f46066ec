"""Online softmax: attention for one query, a tile of keys at a time.

Each key has a score and a value (a vector). A key's weight is 2^score, and attention gives the mean of the values by
these weights: the sum of weight x value, divided by the sum of weights. Two things are in the way. 2^score may be
larger than any float. And the keys come in tiles: when a tile is gone, its scores are gone, too.

So three things are kept: ``largest``, the largest score so far; ``total``, the sum of 2^(score - largest) over all
keys so far; and ``acc``, the sum of 2^(score - largest) x value over the same keys. When a tile brings a larger score,
what was summed before counts from the old largest score, and must be made to fit the new one:

    tile   scores  values                     largest   total                acc
                                              -inf      0                    [0]
    add    [3, 1]  [[2], [6]]                 3         1 + 1/4   = 1.25     [2 + 6/4]        = [3.5]
    add    [5]     [[8]]                      5         5/16 + 1  = 1.3125   [3.5/4 + 8]      = [8.875]
    add    [3]     [[1]]                      5         ... + 1/4 = 1.5625   [8.875 + 1/4]    = [9.125]

    result()  gives [9.125 / 1.5625] = [5.84]: the same as from all four keys at once

A score of -inf is a key that is masked: it weighs nothing. A tile may have nothing but such keys, or no key at all.
Write ``add`` and ``result``, in plain Python or NumPy. The three attributes are looked at by the checks after every
call.
"""

import math
from collections.abc import Sequence


class Attention:
    """Attention of one query, as far as its keys have come.

    ``largest`` and ``total`` are numbers; ``acc`` is a list (or an array) of ``dim`` numbers.
    """

    def __init__(self, dim: int) -> None:
        self.largest = -math.inf
        self.total = 0.0
        self.acc = [0.0] * dim

    def add(self, scores: Sequence[float], values: Sequence[Sequence[float]]) -> None:
        """Take in one tile: key ``i`` has ``scores[i]`` and the vector ``values[i]``."""
        raise NotImplementedError

    def result(self) -> Sequence[float]:
        """The mean of the values so far by their weights: ``dim`` numbers, all 0 if no key has weighed anything yet.

        It may be asked for at any time; it changes nothing.
        """
        raise NotImplementedError
