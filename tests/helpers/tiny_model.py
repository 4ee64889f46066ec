"""Tiny Llamas with random weights, a plain cache, and the model once more in float64, written otherwise."""

import cmath
import json
import math
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

for needed in ("torch", "safetensors", "tokenizers", "gguf", "jinja2"):
    if find_spec(needed) is None:
        pytest.skip(f"needs {needed}: pip install 'pagesim[engine]'", allow_module_level=True)

import numpy as np  # noqa: E402
import torch  # noqa: E402

from pagesim.engine.config import (  # noqa: E402
    ListedScaling,
    Llama3Scaling,
    LlamaConfig,
    parameter_shapes,
)
from pagesim.engine.llama import Llama  # noqa: E402
from pagesim.engine.tiny import random_weights  # noqa: E402

torch.set_num_threads(1)  # two test processes share the machine

BASE = LlamaConfig(
    vocab_size=67,
    hidden_size=32,
    intermediate_size=48,
    num_layers=2,
    num_heads=4,
    num_kv_heads=2,
    head_dim=8,
    max_position=512,
    rope_theta=100.0,
    eos_ids=(66,),
    bos_id=65,
)
SHORT_SCALING = Llama3Scaling(8.0, 1.0, 4.0, 32)
VARIANTS = {
    "grouped": BASE,
    "one kv head": replace(BASE, num_kv_heads=1),
    "as many kv heads": replace(BASE, num_kv_heads=4),
    "wide heads": replace(BASE, head_dim=16),
    "tied": replace(BASE, tie_embeddings=True),
    "biases": replace(BASE, attention_bias=True),
    "all biases": replace(BASE, attention_bias=True, output_bias=True),
    "q and k norms": replace(BASE, qk_norm=True),
    "scaled": replace(BASE, rope_scaling=SHORT_SCALING),
    "listed scaling": replace(BASE, rope_scaling=ListedScaling((1.0, 1.5, 3.0, 8.0))),
    "window": replace(BASE, sliding_window=5),
    "everything": replace(
        BASE,
        attention_bias=True,
        output_bias=True,
        qk_norm=True,
        rope_scaling=SHORT_SCALING,
        tie_embeddings=True,
        sliding_window=7,
    ),
}


def random_tensors(config, seed=0):
    """Parameters by their Hugging Face names, float32."""
    return {name: stored.read() for name, stored in random_weights(config, seed).items()}


def random_tokens(config, num_tokens, seed=0):
    return np.random.RandomState(seed).randint(0, config.vocab_size, num_tokens).tolist()


class PlainCache:
    """K and V of some sequences, each in one growing tensor a layer; attention one sequence after the other."""

    def __init__(self, config):
        self.config = config
        self.kept = {}

    def attend(self, spans):
        """For one forward: ``spans`` are (sequence, number of tokens), in the order of the batch."""

        def attend(layer, q, k, v):
            assert k.shape == v.shape == (len(q), self.config.num_kv_heads, self.config.head_dim)
            outputs, at = [], 0
            for name, count in spans:
                part = slice(at, at + count)
                outputs.append(self._one(layer, name, q[part], k[part], v[part]))
                at += count
            assert at == len(q)
            return torch.cat(outputs)

        return attend

    def _one(self, layer, name, q, k, v):
        if (layer, name) in self.kept:
            k, v = (torch.cat(pair) for pair in zip(self.kept[layer, name], (k, v), strict=True))
        self.kept[layer, name] = k, v
        return causal(q, k, v, self.config.sliding_window)

    def length(self, name):
        return len(self.kept[0, name][0]) if (0, name) in self.kept else 0


def causal(q, k, v, window=None):
    """The last len(q) of len(k) tokens attend: (tokens, heads, head_dim)."""
    keys, queries = torch.arange(len(k)), torch.arange(len(k) - len(q), len(k))
    seen = keys[None] <= queries[:, None]
    if window is not None:
        seen &= keys[None] > queries[:, None] - window
    group = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(group, 1) for x in (k, v))
    scores = torch.einsum("qhd,khd->hqk", q.float(), k.float()) * q.shape[2] ** -0.5
    weights = scores.masked_fill(~seen, -math.inf).softmax(dim=-1)
    return torch.einsum("hqk,khd->qhd", weights, v.float()).to(q.dtype)


def step(model, cache, spans):
    """One forward over ``spans``: (sequence, its next tokens). The logits of all their tokens, one after another."""
    tokens = [token for _, part in spans for token in part]
    starts = {name: cache.length(name) for name, _ in spans}
    positions = [starts[name] + i for name, part in spans for i in range(len(part))]
    hidden = model.forward(
        torch.tensor(tokens, dtype=torch.int64),
        torch.tensor(positions, dtype=torch.int64),
        cache.attend([(name, len(part)) for name, part in spans]),
    )
    return model.logits(hidden)


def whole_logits(model, tokens):
    """(tokens, vocab): everything computed at once, nothing cached before."""
    return step(model, PlainCache(model.config), [("all", tokens)])


def greedy(model, prompt, num_outputs):
    """The plain loop: recompute everything for each token."""
    tokens = list(prompt)
    for _ in range(num_outputs):
        tokens.append(int(whole_logits(model, tokens)[-1].argmax()))
    return tokens[len(prompt) :]


def build_model(config, tensors, dtype=torch.float32):
    return Llama(config, {name: tensor.to(dtype) for name, tensor in tensors.items()})


def published_frequencies(config):
    """Llama 3.1's reference code does it so, one frequency after the other (``apply_scaling``)."""
    scaling, size = config.rope_scaling, config.head_dim
    frequencies = [config.rope_theta ** (-2 * i / size) for i in range(size // 2)]
    if scaling is None:
        return frequencies
    if isinstance(scaling, ListedScaling):
        return [f / d for f, d in zip(frequencies, scaling.divisors, strict=True)]
    scaled = []
    for frequency in frequencies:
        wavelength = 2 * math.pi / frequency
        if wavelength < scaling.original_max_position / scaling.high_freq_factor:
            scaled.append(frequency)
        elif wavelength > scaling.original_max_position / scaling.low_freq_factor:
            scaled.append(frequency / scaling.factor)
        else:
            smooth = (scaling.original_max_position / wavelength - scaling.low_freq_factor) / (
                scaling.high_freq_factor - scaling.low_freq_factor
            )
            scaled.append((1 - smooth) * frequency / scaling.factor + smooth * frequency)
    return scaled


def reference_logits(config, tensors, tokens):
    """(tokens, vocab) float64: a token, a head and a pair at a time; rotation by complex numbers."""
    weights = {name: tensor.double().numpy() for name, tensor in tensors.items()}
    frequencies = published_frequencies(config)
    half, group = config.head_dim // 2, config.num_heads // config.num_kv_heads

    def norm(x, name):
        return x / math.sqrt(float(x @ x) / len(x) + config.rms_norm_eps) * weights[name]

    def project(x, name):
        return weights[f"{name}.weight"] @ x + weights.get(f"{name}.bias", 0.0)

    def heads_of(x, position, layer, part):
        heads = []
        for head in project(x, f"{layer}.{part}_proj").reshape(-1, config.head_dim):
            named = f"{layer}.{part}_norm.weight"
            values = norm(head, named) if named in weights else head
            if part != "v":
                pairs = [
                    complex(values[i], values[i + half]) * cmath.exp(1j * position * frequencies[i])
                    for i in range(half)
                ]
                values = np.array([z.real for z in pairs] + [z.imag for z in pairs])
            heads.append(values)
        return heads

    states = [weights["model.embed_tokens.weight"][token] for token in tokens]
    for index in range(config.num_layers):
        layer = f"model.layers.{index}"
        inputs = [norm(x, f"{layer}.input_layernorm.weight") for x in states]
        q, k, v = (
            [heads_of(x, position, f"{layer}.self_attn", part) for position, x in enumerate(inputs)]
            for part in "qkv"
        )
        for position in range(len(states)):
            first = max(0, position + 1 - (config.sliding_window or len(tokens)))
            seen = range(first, position + 1)
            mixed = []
            for head in range(config.num_heads):
                scores = np.array([q[position][head] @ k[s][head // group] for s in seen])
                chances = np.exp((scores - scores.max()) / math.sqrt(config.head_dim))
                chances /= chances.sum()
                mixed.append(
                    sum(c * v[s][head // group] for c, s in zip(chances, seen, strict=True))
                )
            attended = project(np.concatenate(mixed), f"{layer}.self_attn.o_proj")
            states[position] = states[position] + attended
        for position, x in enumerate(states):
            normed = norm(x, f"{layer}.post_attention_layernorm.weight")
            gate = project(normed, f"{layer}.mlp.gate_proj")
            activated = gate / (1 + np.exp(-gate)) * project(normed, f"{layer}.mlp.up_proj")
            states[position] = x + project(activated, f"{layer}.mlp.down_proj")
    head = "model.embed_tokens.weight" if config.tie_embeddings else "lm_head.weight"
    return np.stack([weights[head] @ norm(x, "model.norm.weight") for x in states])


def hf_fields(config, family="llama"):
    """What such a model's ``config.json`` says."""
    fields = {
        "model_type": family,
        "vocab_size": config.vocab_size,
        "hidden_size": config.hidden_size,
        "intermediate_size": config.intermediate_size,
        "num_hidden_layers": config.num_layers,
        "num_attention_heads": config.num_heads,
        "num_key_value_heads": config.num_kv_heads,
        "head_dim": config.head_dim,
        "max_position_embeddings": config.max_position,
        "rms_norm_eps": config.rms_norm_eps,
        "rope_theta": config.rope_theta,
        "tie_word_embeddings": config.tie_embeddings,
        "sliding_window": config.sliding_window,
        "eos_token_id": list(config.eos_ids),
        "bos_token_id": config.bos_id,
    }
    if family != "qwen2":  # has biases always, and no field for them
        fields["attention_bias"] = config.attention_bias
    if isinstance(config.rope_scaling, Llama3Scaling):
        fields["rope_scaling"] = {
            "rope_type": "llama3",
            "factor": config.rope_scaling.factor,
            "low_freq_factor": config.rope_scaling.low_freq_factor,
            "high_freq_factor": config.rope_scaling.high_freq_factor,
            "original_max_position_embeddings": config.rope_scaling.original_max_position,
        }
    return fields


def write_hf(folder, config, tensors, *, family="llama", shards=1, fields=None):
    """A Hugging Face folder without a tokenizer; with several shards there is an index."""
    from safetensors.torch import save_file

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(hf_fields(config, family) | (fields or {})))
    if shards == 1:
        save_file(tensors, folder / "model.safetensors")
        return folder
    where = {}
    for number in range(shards):
        name = f"model-{number + 1:05}-of-{shards:05}.safetensors"
        part = {n: t for i, (n, t) in enumerate(tensors.items()) if i % shards == number}
        save_file(part, folder / name)
        where |= dict.fromkeys(part, name)
    index = {"metadata": {}, "weight_map": where}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


def permuted_rows(values, heads):
    """How converters to GGUF store q and k of a Llama: of each head's two halves, rows by turns."""
    size = len(values) // heads
    order = [
        head * size + half * (size // 2) + i
        for head in range(heads)
        for i in range(size // 2)
        for half in (0, 1)
    ]
    return values[order]


GGUF_NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def gguf_tensor_name(name):
    for theirs, ours in GGUF_NAMES.items():
        name = name.replace(f"{theirs}.", f"{ours}.")
    return name.replace("model.layers.", "blk.")


def write_gguf(path, config, tensors, *, kind="llama", quantised=None, edit=None):
    """A GGUF file as converters write it. ``quantised``: a type for matrices. ``edit`` may add to the writer."""
    import gguf

    writer = gguf.GGUFWriter(path, kind)
    writer.add_vocab_size(config.vocab_size)
    writer.add_context_length(config.max_position)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_heads)
    writer.add_head_count_kv(config.num_kv_heads)
    writer.add_key_length(config.head_dim)
    writer.add_value_length(config.head_dim)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_theta)
    if config.bos_id is not None:
        writer.add_bos_token_id(config.bos_id)
    for token in config.eos_ids[:1]:
        writer.add_eos_token_id(token)
    if config.rope_scaling is not None:
        plain = published_frequencies(replace(config, rope_scaling=None))
        pairs = zip(plain, published_frequencies(config), strict=True)
        writer.add_tensor("rope_freqs.weight", np.array([p / s for p, s in pairs], np.float32))
    if config.sliding_window is not None:
        writer.add_sliding_window(config.sliding_window)
    if edit is not None:
        edit(writer)
    for name, tensor in tensors.items():
        values = tensor.numpy()
        if kind == "llama" and "q_proj" in name:
            values = permuted_rows(values, config.num_heads)
        if kind == "llama" and "k_proj" in name:
            values = permuted_rows(values, config.num_kv_heads)
        if quantised is not None and values.ndim == 2:
            raw = gguf.quants.quantize(values, quantised)
            writer.add_tensor(gguf_tensor_name(name), raw, raw_dtype=quantised)
        else:
            writer.add_tensor(gguf_tensor_name(name), np.ascontiguousarray(values))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def num_parameters(config):
    return sum(math.prod(shape) for shape in parameter_shapes(config).values())
