"""What tensors a GGUF file holds, under Hugging Face's names and in its order of rows. Knows nothing about models.

Converters reorder the rows of q and k of Llamas, so that rotary embedding turns neighbours; here pairs lie half a head
apart, so the order is undone. Qwen's are left as they were.
"""

from functools import partial

import torch

from pagesim.core.errors import InputError
from pagesim.engine.config import LlamaConfig, parameter_shapes
from pagesim.engine.gguf_config import ROPE_FACTORS, gguf_name
from pagesim.engine.gguf_file import GgufFile
from pagesim.engine.weights import Stored

NO_PARAMETERS = (ROPE_FACTORS,)
"""The config has them already."""


def stored_in_gguf(file: GgufFile, config: LlamaConfig) -> dict[str, Stored]:
    """Every parameter; those that no such model has keep their GGUF name. InputError if the file is one of several."""
    if (file.get("split.count", int) or 1) > 1:
        raise InputError(
            f"{file.path} is one of {file.fields['split.count']} parts, which is not supported; join them to one file"
        )
    names = {gguf_name(name): name for name in parameter_shapes(config)}
    permuted = file.need("general.architecture", str) == "llama"
    stored = {}
    for found, tensor in file.tensors.items():
        if found in NO_PARAMETERS:
            continue
        name = names.get(found, found)
        heads = _heads_to_reorder(name, config) if permuted else None
        stored[name] = Stored(tensor.shape, partial(_read, file, found, heads))
    return stored


def _heads_to_reorder(name: str, config: LlamaConfig) -> int | None:
    if ".self_attn.q_proj." in name:
        return config.num_heads
    return config.num_kv_heads if ".self_attn.k_proj." in name else None


def _read(file: GgufFile, name: str, heads: int | None) -> torch.Tensor:
    values = torch.from_numpy(file.floats(name))
    return values if heads is None else halves_apart(values, heads)


def halves_apart(rows: torch.Tensor, heads: int) -> torch.Tensor:
    """In each head, rows 0, 1, 2, 3, ... become 0, 2, 4, ..., 1, 3, 5, ...: (heads * head_dim, ...)."""
    pairs = rows.reshape(heads, -1, 2, *rows.shape[1:])  # (heads, head_dim / 2, 2, ...)
    return pairs.transpose(1, 2).reshape(rows.shape)
