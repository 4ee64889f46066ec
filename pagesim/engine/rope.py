"""Rotary position embedding: a head's elements are pairs, and each pair is turned by an angle that grows with the
position. Knows nothing about layers or attention.

Element i is paired with element i + head_dim / 2, as Hugging Face stores the weights; the paper (arXiv 2104.09864)
and GGUF files of Llamas pair neighbours, so those rows come in another order.
"""

import math

import torch

from pagesim.engine.config import ListedScaling, RopeScaling


def inverse_frequencies(
    head_dim: int, theta: float, scaling: RopeScaling | None = None
) -> torch.Tensor:
    """Radians a position for each pair, the fastest first: (head_dim / 2,) float32.

    Llama 3.1 divides the slow ones, whose wave is longer than the context it was first trained on, by ``factor``,
    leaves the fast ones, and goes from one to the other in between.
    """
    exponents = torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim
    frequencies = 1.0 / theta**exponents  # (head_dim / 2,)
    if scaling is None:
        return frequencies
    if isinstance(scaling, ListedScaling):
        return frequencies / torch.tensor(scaling.divisors, dtype=torch.float32)
    low, high = scaling.low_freq_factor, scaling.high_freq_factor
    waves = scaling.original_max_position * frequencies / (2 * math.pi)  # in the first context
    kept = ((waves - low) / (high - low)).clamp(0, 1)  # 0: divided, 1: left as it is
    return frequencies * (kept + (1 - kept) / scaling.factor)


def angles(
    positions: torch.Tensor, frequencies: torch.Tensor, dtype: torch.dtype
) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosine and sine for each token and pair: 2 x (tokens, 1, head_dim / 2)."""
    turned = positions[:, None, None] * frequencies  # (tokens, 1, head_dim / 2) float32
    return turned.cos().to(dtype), turned.sin().to(dtype)


def rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Turn every pair of every head: (tokens, heads, head_dim), contiguous."""
    first, second = x.chunk(2, dim=-1)  # 2 x (tokens, heads, head_dim / 2)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
