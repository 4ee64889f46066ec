"""A model's shape from the ``config.json`` of a Hugging Face folder. Knows nothing about weights.

What the decoder cannot do is refused here, by the name of the field: nothing is computed wrongly in silence.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from pagesim.core.errors import InputError
from pagesim.engine.config import Llama3Scaling, LlamaConfig, RopeScaling

FAMILIES = {
    "llama": "Llama 2, Llama 3, SmolLM2",
    "mistral": "Mistral",
    "qwen2": "Qwen2",
    "qwen3": "Qwen3",
}
"""``model_type``, and who has it."""
Value = TypeVar("Value")


class Fields:
    """A JSON object with typed questions. InputError names the file, the field and what it should be."""

    def __init__(self, values: Mapping[str, object], place: str) -> None:
        self._values = values
        self._place = place

    def get(self, name: str, kind: type[Value]) -> Value | None:
        """None where the field is missing or null."""
        value = self._values.get(name)
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if value is None or (isinstance(value, kind) and not (kind is int and value is True)):
            return value
        raise InputError(
            f"{self._place}: {name} is {str(value)[:60]!r}; it must be {kind.__name__}"
        )

    def need(self, name: str, kind: type[Value]) -> Value:
        value = self.get(name, kind)
        if value is None:
            raise InputError(f"{self._place} has no {name}; a Llama-like model needs it")
        return value

    def ids(self, name: str) -> tuple[int, ...]:
        """One token id or a list of them."""
        value = self._values.get(name)
        ids = value if isinstance(value, list) else [] if value is None else [value]
        if not all(isinstance(token, int) and not isinstance(token, bool) for token in ids):
            raise InputError(f"{self._place}: {name} is {str(value)[:60]!r}; it must be token ids")
        return tuple(ids)


def read_json(path: Path) -> Mapping[str, object]:
    """InputError unless the file holds a JSON object."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON ({error}); was it downloaded whole?") from error
    if not isinstance(value, dict):
        raise InputError(f"{path} holds no JSON object; was it downloaded whole?")
    return value


def config_from_hf(folder: Path) -> LlamaConfig:
    """The shape that ``config.json`` gives; answers end with what it or ``generation_config.json`` names."""
    path = folder / "config.json"
    values = read_json(path)
    fields = Fields(values, str(path))
    family = _family(fields, path)
    _refuse_what_is_not_there(fields, path)
    heads = fields.need("num_attention_heads", int)
    hidden = fields.need("hidden_size", int)
    biased = family == "qwen2" or bool(fields.get("attention_bias", bool))
    theta, scaling = _rope(fields, path)
    return LlamaConfig(
        vocab_size=fields.need("vocab_size", int),
        hidden_size=hidden,
        intermediate_size=fields.need("intermediate_size", int),
        num_layers=fields.need("num_hidden_layers", int),
        num_heads=heads,
        num_kv_heads=fields.get("num_key_value_heads", int) or heads,
        head_dim=fields.get("head_dim", int) or hidden // max(1, heads),
        max_position=fields.need("max_position_embeddings", int),
        rms_norm_eps=fields.get("rms_norm_eps", float) or 1e-6,
        rope_theta=theta,
        rope_scaling=scaling,
        tie_embeddings=bool(fields.get("tie_word_embeddings", bool)),
        attention_bias=biased,
        output_bias=biased and family != "qwen2",
        qk_norm=family == "qwen3",
        sliding_window=_window(fields, family, path),
        eos_ids=_eos_ids(fields, folder),
        bos_id=fields.get("bos_token_id", int),
    )


def _family(fields: Fields, path: Path) -> str:
    family = fields.get("model_type", str)
    if family not in FAMILIES:
        supported = ", ".join(f"{key} ({names})" for key, names in FAMILIES.items())
        raise InputError(f"{path}: model_type {family!r} is not supported; these are: {supported}")
    return family


def _refuse_what_is_not_there(fields: Fields, path: Path) -> None:
    activation = fields.get("hidden_act", str) or "silu"
    if activation not in ("silu", "swish"):
        raise InputError(f"{path}: hidden_act {activation!r} is not supported; silu is")
    if fields.get("mlp_bias", bool):
        raise InputError(f"{path}: mlp_bias is not supported; the model must have none")
    if fields.get("quantization_config", dict):
        raise InputError(
            f"{path}: the weights are quantised (quantization_config), which is not supported; "
            "use the model in fp32, bf16 or fp16, or as GGUF"
        )


def _rope(fields: Fields, path: Path) -> tuple[float, RopeScaling | None]:
    """Theta and scaling: since transformers 5 both are in ``rope_parameters``, before that beside each other."""
    place = f"{path}: rope_parameters"
    newer = fields.get("rope_parameters", dict)
    older = fields.get("rope_scaling", dict)
    if newer is None:
        place = f"{path}: rope_scaling"
    rope = Fields(newer or older or {}, place)
    theta = rope.get("rope_theta", float) or fields.get("rope_theta", float) or 10_000.0
    rotated = rope.get("partial_rotary_factor", float) or fields.get("partial_rotary_factor", float)
    if rotated not in (None, 1.0):
        raise InputError(f"{path}: partial_rotary_factor {rotated} is not supported; 1.0 is")
    kind = rope.get("rope_type", str) or rope.get("type", str) or "default"
    if kind == "default":
        return theta, None
    if kind != "llama3":
        raise InputError(f"{place} of type {kind!r} is not supported; llama3 is, or none at all")
    return theta, Llama3Scaling(
        rope.need("factor", float),
        rope.need("low_freq_factor", float),
        rope.need("high_freq_factor", float),
        rope.need("original_max_position_embeddings", int),
    )


def _window(fields: Fields, family: str, path: Path) -> int | None:
    """How far all layers see, or None. Llama files may carry the field, but Llama has no window."""
    window = fields.get("sliding_window", int)
    if family == "mistral" or window is None:
        return window if family == "mistral" else None
    if family == "llama" or not fields.get("use_sliding_window", bool):
        return None
    layers = fields.need("num_hidden_layers", int)
    full = fields.get("max_window_layers", int)
    full = 28 if full is None else full  # the first so many layers see everything
    kinds = fields.get("layer_types", list) or [
        "full_attention" if layer < full else "sliding_attention" for layer in range(layers)
    ]
    if len(set(kinds)) > 1:
        raise InputError(
            f"{path}: some layers have a sliding window and others none, which is not supported; "
            "all or none must have it"
        )
    return window if "sliding_attention" in kinds else None


def _eos_ids(fields: Fields, folder: Path) -> tuple[int, ...]:
    ids = fields.ids("eos_token_id")
    path = folder / "generation_config.json"
    if path.exists():
        ids += Fields(read_json(path), str(path)).ids("eos_token_id")
    return tuple(dict.fromkeys(ids))
