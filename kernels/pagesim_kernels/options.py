"""What a model may ask of attention besides q, K and V. Knows nothing about how it is computed."""

from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True, eq=False)
class Options:
    """Options of one attention call; the defaults are plain causal attention.

    ``scale``: factor of q . k; None is head_dim ** -0.5.
    ``window``: how many keys a query sees, itself included; None is all before it (Mistral, arXiv 2310.06825).
    ``soft_cap``: scores become soft_cap * tanh(score / soft_cap) (Gemma 2, arXiv 2408.00118).
    ``alibi_slopes``: (heads,) float32; slope * (key - query position) is added to a score (arXiv 2108.12409).
    ``k_scale``, ``v_scale``: what the stored K and V are multiplied by; for fp8 caches.
    """

    scale: float | None = None
    window: int | None = None
    soft_cap: float | None = None
    alibi_slopes: torch.Tensor | None = None
    k_scale: float = 1.0
    v_scale: float = 1.0

    def scale_for(self, head_dim: int) -> float:
        return head_dim**-0.5 if self.scale is None else self.scale


PLAIN = Options()
