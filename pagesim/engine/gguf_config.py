"""A model's shape from the metadata of a GGUF file, and what GGUF calls its tensors. Knows nothing about torch."""

from collections.abc import Iterator

from pagesim.core.errors import InputError
from pagesim.engine.config import ListedScaling, LlamaConfig, RopeScaling
from pagesim.engine.gguf_file import GgufFile

ARCHITECTURES = {
    "llama": "Llama 2, Llama 3, SmolLM2, Mistral",
    "qwen2": "Qwen2",
    "qwen3": "Qwen3",
}
"""``general.architecture``, and who has it."""
ROPE_FACTORS = "rope_freqs.weight"
"""What rotary frequencies are divided by, where they are scaled as Llama 3 does."""
TOP_NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
}
LAYER_NAMES = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
"""Hugging Face's names, and GGUF's; a suffix ``.weight`` or ``.bias`` is the same in both."""


def gguf_name(name: str) -> str:
    """``model.layers.3.mlp.up_proj.weight`` is ``blk.3.ffn_up.weight``."""
    stem, _, suffix = name.rpartition(".")
    if stem in TOP_NAMES:
        return f"{TOP_NAMES[stem]}.{suffix}"
    layer, _, part = stem.removeprefix("model.layers.").partition(".")
    return f"blk.{layer}.{LAYER_NAMES[part]}.{suffix}"


def config_from_gguf(file: GgufFile) -> LlamaConfig:
    """The shape that the metadata give. What the decoder cannot do is refused by the name of the field."""
    kind = file.need("general.architecture", str)
    if kind not in ARCHITECTURES:
        supported = ", ".join(f"{key} ({names})" for key, names in ARCHITECTURES.items())
        raise InputError(
            f"{file.path}: architecture {kind!r} is not supported; these are: {supported}"
        )
    if file.get(f"{kind}.expert_count", int):
        raise InputError(f"{file.path}: a mixture of experts is not supported; dense models are")
    heads = file.need(f"{kind}.attention.head_count", int)
    hidden = file.need(f"{kind}.embedding_length", int)
    head_dim = file.get(f"{kind}.attention.key_length", int) or hidden // max(1, heads)
    rotated = file.get(f"{kind}.rope.dimension_count", int) or head_dim
    if rotated != head_dim or file.get(f"{kind}.attention.value_length", int) not in (
        None,
        head_dim,
    ):
        raise InputError(
            f"{file.path}: of heads of {head_dim} elements, rotary embedding turns {rotated}; it must be all of "
            "them, and V must be as wide as K"
        )
    return LlamaConfig(
        vocab_size=_vocab_size(file, kind),
        hidden_size=hidden,
        intermediate_size=file.need(f"{kind}.feed_forward_length", int),
        num_layers=file.need(f"{kind}.block_count", int),
        num_heads=heads,
        num_kv_heads=file.get(f"{kind}.attention.head_count_kv", int) or heads,
        head_dim=head_dim,
        max_position=file.need(f"{kind}.context_length", int),
        rms_norm_eps=file.need(f"{kind}.attention.layer_norm_rms_epsilon", float),
        rope_theta=file.get(f"{kind}.rope.freq_base", float) or 10_000.0,
        rope_scaling=_rope_scaling(file, kind),
        tie_embeddings="output.weight" not in file.tensors,
        attention_bias="blk.0.attn_q.bias" in file.tensors,
        output_bias="blk.0.attn_output.bias" in file.tensors,
        qk_norm=kind == "qwen3",
        sliding_window=file.get(f"{kind}.attention.sliding_window", int),
        eos_ids=tuple(dict.fromkeys(_eos_ids(file))),
        bos_id=file.get("tokenizer.ggml.bos_token_id", int),
    )


def _vocab_size(file: GgufFile, kind: str) -> int:
    """The rows of the embedding, where it is there; there may be more of them than the tokenizer knows."""
    embedding = file.tensors.get("token_embd.weight")
    return file.need(f"{kind}.vocab_size", int) if embedding is None else embedding.shape[0]


def _rope_scaling(file: GgufFile, kind: str) -> RopeScaling | None:
    scaling = file.get(f"{kind}.rope.scaling.type", str) or "none"
    if scaling != "none":
        raise InputError(
            f"{file.path}: rotary scaling of type {scaling!r} is not supported; Llama 3's is, or none at all"
        )
    factors = file.tensors.get(ROPE_FACTORS)
    if factors is None:
        return None
    if len(factors.shape) != 1:
        raise InputError(f"{file.path}: {ROPE_FACTORS} is {factors.shape}; it must be a list")
    return ListedScaling(tuple(file.floats(ROPE_FACTORS).tolist()))


def _eos_ids(file: GgufFile) -> Iterator[int]:
    """The end of a text, and the end of a turn where it is another one."""
    for name in ("eos_token_id", "eot_token_id"):
        token = file.get(f"tokenizer.ggml.{name}", int)
        if token is not None:
            yield token
