"""How a request wants its tokens drawn. Knows nothing about logits or torch."""

import math
from dataclasses import dataclass

from pagesim.core.errors import InputError

MOST_LOGPROBS = 20
"""As many as OpenAI's API gives."""


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """``temperature`` 0 is greedy, and the default. The filters are off by default; each leaves at least one token.

    ``min_p``: tokens at least so likely, as a share of the likeliest. ``top_k``: the so many likeliest. ``top_p``:
    the fewest, likeliest first, that have at least this much probability together. ``seed``: the same one draws the
    same tokens. ``logprobs``: for each token drawn, its log-probability and those of so many of the likeliest; None:
    none. ``stops``: strings that end an answer and are not part of it.
    """

    temperature: float = 0.0
    top_k: int | None = None
    top_p: float = 1.0
    min_p: float = 0.0
    seed: int = 0
    logprobs: int | None = None
    stops: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """InputError that names the value and what is allowed."""
        if not (math.isfinite(self.temperature) and self.temperature >= 0):
            raise InputError(f"temperature is {self.temperature}; it must be 0 (greedy) or above")
        if self.top_k is not None and self.top_k < 1:
            raise InputError(
                f"top_k is {self.top_k}; it must be at least 1, or left out for all tokens"
            )
        if not 0 < self.top_p <= 1:
            raise InputError(f"top_p is {self.top_p}; it must be above 0 and at most 1")
        if not 0 <= self.min_p <= 1:
            raise InputError(f"min_p is {self.min_p}; it must be from 0 to 1")
        if not 0 <= self.seed < 2**63:
            raise InputError(f"seed is {self.seed}; it must be from 0 to 2^63 - 1")
        if self.logprobs is not None and not 0 <= self.logprobs <= MOST_LOGPROBS:
            raise InputError(f"logprobs is {self.logprobs}; it must be from 0 to {MOST_LOGPROBS}")
        if "" in self.stops:
            raise InputError("a stop string is empty; it must have at least one character")

    @property
    def is_greedy(self) -> bool:
        return self.temperature == 0


GREEDY = SamplingParams()
