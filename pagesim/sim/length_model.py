"""Draws pairs of prompt and output length from counted histograms of real requests.

Knows nothing about requests, arrival times or memory. A model is a table of facts
(``data/lengths_*.json``, built by ``scripts/build_length_models.py``): how many of the real pairs
fell into each cell of prompt bin x output bin. Powers of two are bin edges, of outputs and of whole
requests, so a reservation rounded up to one comes out as in the real list. Only ``Random.random()``
is used, whose sequence Python promises not to change: a seed means the same pairs for ever.
"""

import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import accumulate
from random import Random
from typing import Any, NamedTuple

from pagesim.core.errors import InputError

LENGTH_MODELS = ("sharegpt", "alpaca", "azure-chat", "azure-code")


class Lengths(NamedTuple):
    """How long one request is, in tokens, both 1 or more."""

    prompt: int
    output: int


class Cell(NamedTuple):
    """``num_pairs`` real pairs had a prompt of ``prompt_base`` + 1 to ``prompt_base`` +
    ``prompt_width`` tokens, an output of ``output_base`` + 1 to ``output_base`` + ``output_width``
    tokens, and more than ``total_base`` but at most ``total_most`` tokens in all."""

    prompt_base: int
    prompt_width: int
    output_base: int
    output_width: int
    total_base: int
    total_most: int
    num_pairs: int

    @property
    def least_total(self) -> int:
        """The shortest pair of the cell, prompt + output."""
        return max(self.prompt_base + self.output_base + 2, self.total_base + 1)


@dataclass(frozen=True, slots=True)
class LengthModel:
    """A joint histogram of lengths, and what else was counted in the same data.

    No real pair was longer than ``max_total`` tokens in all (``None``: no such limit).
    ``natural_rate`` is in requests per second and ``natural_cv`` the deviation of the gaps over
    their mean; ``None`` where the data hold no times.
    """

    name: str
    about: str
    origin: str
    license: str
    num_pairs: int
    max_total: int | None
    natural_rate: float | None
    natural_cv: float | None
    cells: tuple[Cell, ...]

    def sample(self, rng: Random, count: int, *, max_total: int | None = None) -> Iterator[Lengths]:
        """``count`` pairs, drawn as they are asked for; pairs of more than ``max_total`` tokens are
        redrawn.

        InputError, before the first pair, where no real pair is as short as that.
        """
        cells = self.cells
        if max_total is not None:
            cells = tuple(cell for cell in cells if cell.least_total <= max_total)
        if not cells:
            least = min(cell.least_total for cell in self.cells)
            raise InputError(
                f"no request of {self.name} has prompt + output of {max_total} tokens or fewer; "
                f"allow at least {least}"
            )
        return _draw(rng, count, cells, max_total)


def _draw(
    rng: Random, count: int, cells: Sequence[Cell], max_total: int | None
) -> Iterator[Lengths]:
    """A pair outside its cell is redrawn within it, so that cells keep their share; one beyond the
    caller's limit is redrawn altogether, as if the real list had been filtered."""
    ends = list(accumulate(cell.num_pairs for cell in cells))
    num_pairs, random = ends[-1], rng.random
    limit = max(cell.total_most for cell in cells) if max_total is None else max_total
    for _ in range(count):
        total = limit + 1
        while total > limit:
            cell = cells[bisect_right(ends, int(random() * num_pairs))]
            prompt_base, prompt_width, output_base, output_width, above, most, _pairs = cell
            total = above
            while not above < total <= most:
                prompt = prompt_base + 1 + int(random() * prompt_width)
                output = output_base + 1 + int(random() * output_width)
                total = prompt + output
        yield Lengths(prompt, output)


@cache
def load_length_model(name: str) -> LengthModel:
    """The built-in model of that name. InputError for an unknown one."""
    if name not in LENGTH_MODELS:
        known = ", ".join(LENGTH_MODELS)
        raise InputError(f'no length model is named "{name}"; known are {known}')
    file = files("pagesim.sim") / "data" / f"lengths_{name.replace('-', '_')}.json"
    facts = json.loads(file.read_text(encoding="utf-8"))
    return LengthModel(
        name=name,
        about=facts["about"],
        origin=facts["origin"],
        license=facts["license"],
        num_pairs=facts["num_pairs"],
        max_total=facts["max_total"],
        natural_rate=facts["natural_rate"],
        natural_cv=facts["natural_cv"],
        cells=tuple(_cells(facts)),
    )


def _cells(facts: dict[str, Any]) -> Iterator[Cell]:
    """The cells that hold pairs, in the order of the file; its ``layout`` says how to read them."""
    prompts, outputs, longest = facts["prompt_edges"], facts["output_edges"], facts["max_total"]
    for base, end, row in zip(prompts, prompts[1:], facts["counts"], strict=False):
        for output_bin, octave, num_pairs in zip(row[::3], row[1::3], row[2::3], strict=True):
            low, high = outputs[output_bin], outputs[output_bin + 1]
            most = 1 << octave
            yield Cell(
                base, end - base, low, high - low, most // 2, min(most, longest or most), num_pairs
            )
