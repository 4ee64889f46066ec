"""Tiles of keys, how they are added one after another, what is to be seen after each, and what should be."""

import math
from collections.abc import Iterator
from typing import NamedTuple

from pagesim.practice.learner import Learner, Subject, items, number

Vector = list[float]


class Tile(NamedTuple):
    scores: Vector
    values: list[Vector]


class State(NamedTuple):
    """The three attributes, read."""

    largest: float
    total: float
    acc: Vector


class Moment(NamedTuple):
    """One tile taken in. ``keys`` are all so far, as pairs of score and value; ``at`` counts the tiles from 1."""

    at: int
    tile: Tile
    keys: list[tuple[float, Vector]]
    before: State
    after: State

    @property
    def largest(self) -> float:
        return max([score for score, _ in self.keys], default=-math.inf)

    @property
    def add(self) -> str:
        """The call, in words."""
        return f"after tile {self.at}, add({shown_list(self.tile.scores)}, {shown_lists(self.tile.values)}),"


def tile_of(*pairs: tuple[float, Vector]) -> Tile:
    return Tile([float(score) for score, _ in pairs], [[*map(float, value)] for _, value in pairs])


ONE = [tile_of((3, [2]), (1, [6]))]
RISES = [tile_of((1, [5])), tile_of((3, [7]))]
FALLS = [tile_of((3, [5])), tile_of((1, [7]))]
LONGER = [
    tile_of((3, [2, 1]), (1, [6, 0])),
    tile_of((5, [8, 3])),
    tile_of((3, [1, 4]), (4, [0, 2])),
]
STORIES = [ONE, RISES, FALLS, LONGER]


def tell(learner: Learner, tiles: list[Tile]) -> Iterator[tuple[Subject, Moment]]:
    """Add the tiles one after another, and look after each."""
    attention = learner.make("attention", "Attention", len(tiles[0].values[0]))
    after, keys = read(attention), list[tuple[float, Vector]]()
    for at, tile in enumerate(tiles, start=1):
        before = after
        attention.call("add", *tile)
        after = read(attention)
        keys += zip(*tile, strict=True)
        yield attention, Moment(at, tile, list(keys), before, after)


def read(attention: Subject) -> State:
    return State(
        number(attention.look("largest"), "largest"),
        number(attention.look("total"), "total"),
        vector(attention.look("acc"), "acc"),
    )


def vector(value: object, what: str) -> Vector:
    return [number(item, f"an entry of {what}") for item in items(value, what)]


def weights_of(moment: Moment) -> Vector:
    return [2.0 ** (score - moment.largest) for score, _ in moment.keys]


def total_of(moment: Moment) -> float:
    return sum(weights_of(moment))


def acc_of(moment: Moment) -> Vector:
    dim = len(moment.after.acc) if not moment.keys else len(moment.keys[0][1])
    pairs = list(zip(weights_of(moment), moment.keys, strict=True))
    return [sum(weight * value[d] for weight, (_, value) in pairs) for d in range(dim)]


def near(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9)


def all_near(a: Vector, b: Vector) -> bool:
    return len(a) == len(b) and all(map(near, a, b))


def short(value: float) -> str:
    return f"{value:.6g}"


def shown_list(vector: Vector) -> str:
    return f"[{', '.join(map(short, vector))}]"


def shown_lists(vectors: list[Vector]) -> str:
    return f"[{', '.join(map(shown_list, vectors))}]"


def mean(keys: list[tuple[float, Vector]], dim: int) -> Vector:
    """All keys at once."""
    top = max([score for score, _ in keys], default=-math.inf)
    if top == -math.inf:
        return [0.0] * dim
    weights = [2.0 ** (score - top) for score, _ in keys]
    pairs = list(zip(weights, keys, strict=True))
    return [sum(w * value[d] for w, (_, value) in pairs) / sum(weights) for d in range(dim)]
