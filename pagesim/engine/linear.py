"""A matrix to multiply by. Knows nothing about what it means.

On a CPU the weights are stored once more, in the order in which oneDNN reads them: for a few dozen tokens that is
a quarter to a half faster than ``torch.nn.functional.linear``, which reads them row by row. torch's own compiler does
the same, with the same two functions; where they are missing, or the dtype or device is another one, nothing is packed.
"""

from collections.abc import Callable
from functools import cache
from typing import cast

import torch
from torch.nn import functional

TYPICAL_TOKENS = 64
"""The packed order suits some number of tokens best; any number works."""


class Linear:
    """``weight`` (outputs, inputs), ``bias`` (outputs,) or None; neither may change afterwards."""

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None = None) -> None:
        self._bias = bias
        self._packed = weight.device.type == "cpu" and weight.dtype == torch.float32 and _can_pack()
        self._weight = _pack(weight) if self._packed else weight

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """(tokens, inputs) -> (tokens, outputs)."""
        if not self._packed:
            return functional.linear(x, self._weight, self._bias)
        return _multiply(x, self._weight, self._bias)


def _pack(weight: torch.Tensor) -> torch.Tensor:
    pack = cast(Callable[..., torch.Tensor], torch.ops.mkldnn._reorder_linear_weight)
    return pack(weight, TYPICAL_TOKENS)


def _multiply(x: torch.Tensor, packed: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    multiply = cast(Callable[..., torch.Tensor], torch.ops.mkldnn._linear_pointwise)
    return multiply(x, packed, bias, "none", [], "")


@cache
def _can_pack() -> bool:
    """Whether this torch can, tried out once: the functions are torch's private ones."""
    x, nothing, weight = torch.ones(3, 16), torch.ones(0, 16), torch.ones(8, 16)
    try:
        if not torch._C._has_mkldnn:
            return False
        packed = _pack(weight)
        right = bool((_multiply(x, packed, None) == 16).all())
        return right and _multiply(nothing, packed, None).shape == (0, 8)
    except (AttributeError, RuntimeError):
        return False
