"""A small model that needs no file: two layers, bytes for tokens, weights drawn from a seed. It babbles.

The generator is NumPy's frozen one, so the weights are the same in every process, version and platform.
"""

from functools import partial

import numpy as np
import torch

from pagesim.engine.config import LlamaConfig, parameter_shapes
from pagesim.engine.tokenizer import ByteTokenizer
from pagesim.engine.weights import Stored

TINY = LlamaConfig(
    vocab_size=ByteTokenizer.VOCAB_SIZE,
    hidden_size=64,
    intermediate_size=160,
    num_layers=2,
    num_heads=4,
    num_kv_heads=2,
    head_dim=16,
    max_position=4096,
    eos_ids=ByteTokenizer.eos_ids,
)
SHARPNESS = 3.0
"""Output weights are so much larger than the others', so that the likeliest token wins clearly."""


def random_weights(config: LlamaConfig, seed: int = 0) -> dict[str, Stored]:
    """Normal with the variance that keeps activations' size, norms around 1; another for every seed."""
    generator = np.random.RandomState(seed)
    drawn: dict[str, Stored] = {}
    for name, shape in parameter_shapes(config).items():
        values = generator.standard_normal(shape).astype(np.float32)
        if len(shape) == 1:
            values *= np.float32(0.1)
            values += np.float32(name.endswith("norm.weight"))
        elif name != "model.embed_tokens.weight":
            values *= np.float32(shape[1] ** -0.5 * (SHARPNESS if name == "lm_head.weight" else 1))
        drawn[name] = Stored(shape, partial(torch.from_numpy, values))
    return drawn
