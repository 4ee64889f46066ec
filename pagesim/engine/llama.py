"""A Llama: token ids in, logits out. Attention itself, and the memory behind it, belong to whoever calls.

The model knows nothing about blocks, sequences or batches. It sees tokens, one after another, each with its position;
prompts, chunks of prompts and single new tokens of many sequences may stand side by side, since every layer but
attention treats a token by itself. In attention it hands q, k and v to ``attend``, which stores k and v and answers.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch.nn import functional

from pagesim.engine.config import LlamaConfig
from pagesim.engine.linear import Linear
from pagesim.engine.rope import angles, inverse_frequencies, rotate

Weights = Mapping[str, torch.Tensor]
"""Parameters under their Hugging Face names; what ``config.parameter_shapes`` lists."""
Attend = Callable[[int, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
"""Of a layer: q (tokens, heads, head_dim), k and v (tokens, kv_heads, head_dim) -> (tokens, heads, head_dim).

k and q are rotated already. All three may be views with gaps between tokens; a head's elements lie side by side.
"""


class Layer(NamedTuple):
    """One layer's parameters. ``qk_norm`` (heads + kv_heads, head_dim): q's norm for each of its heads, then k's."""

    attention_norm: torch.Tensor  # (hidden,)
    qkv: Linear  # hidden -> (heads + 2 kv_heads) * head_dim
    qk_norm: torch.Tensor | None
    output: Linear  # heads * head_dim -> hidden
    mlp_norm: torch.Tensor  # (hidden,)
    gate_up: Linear  # hidden -> 2 * intermediate
    down: Linear  # intermediate -> hidden


class Llama:
    """A decoder of the Llama family. Its parameters do not change."""

    def __init__(self, config: LlamaConfig, weights: Weights) -> None:
        """Takes each of ``weights`` once, in order, and stacks those that multiply the same input."""
        self.config = config
        self._embedding = weights["model.embed_tokens.weight"]  # (vocab, hidden)
        self._layers = [_layer(config, index, weights) for index in range(config.num_layers)]
        self._norm = weights["model.norm.weight"]  # (hidden,)
        head = self._embedding if config.tie_embeddings else weights["lm_head.weight"]
        self._head = Linear(head)  # hidden -> vocab
        self._frequencies = inverse_frequencies(
            config.head_dim, config.rope_theta, config.rope_scaling
        ).to(head.device)

    @property
    def dtype(self) -> torch.dtype:
        return self._embedding.dtype

    @property
    def device(self) -> torch.device:
        return self._embedding.device

    @torch.inference_mode()
    def forward(
        self, token_ids: torch.Tensor, positions: torch.Tensor, attend: Attend
    ) -> torch.Tensor:
        """``token_ids``, ``positions`` (tokens,) int64 -> what the layers made of them, (tokens, hidden).

        ``attend`` is called once for each layer, in order.
        """
        config = self.config
        heads, kv_heads, eps = config.num_heads, config.num_kv_heads, config.rms_norm_eps
        in_heads = len(token_ids), heads + 2 * kv_heads, config.head_dim
        cos, sin = angles(positions, self._frequencies, self.dtype)
        x = functional.embedding(token_ids, self._embedding)  # (tokens, hidden)
        for index, layer in enumerate(self._layers):
            normed = rms_norm(x, layer.attention_norm, eps)
            qkv = layer.qkv(normed).view(in_heads)
            qk, v = qkv[:, : heads + kv_heads], qkv[:, heads + kv_heads :]
            if layer.qk_norm is not None:
                qk = rms_norm(qk, layer.qk_norm, eps)
            qk = rotate(qk, cos, sin)  # (tokens, heads + kv_heads, head_dim)
            attended = attend(index, qk[:, :heads], qk[:, heads:], v)  # (tokens, heads, head_dim)
            x = x + layer.output(attended.flatten(1))
            normed = rms_norm(x, layer.mlp_norm, eps)
            gate, up = layer.gate_up(normed).chunk(2, dim=-1)  # 2 x (tokens, intermediate)
            x = x + layer.down(functional.silu(gate) * up)
        return x

    @torch.inference_mode()
    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """Final norm and output layer for some rows of ``forward``'s result: (n, hidden) -> (n, vocab) float32."""
        return self._head(rms_norm(hidden, self._norm, self.config.rms_norm_eps)).float()


def rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    """Every row divided by the root of its mean square, which is taken in float32, then times ``weight``."""
    wide = x.float()
    scale = torch.rsqrt(wide.square().mean(dim=-1, keepdim=True) + eps)
    return (wide * scale).to(x.dtype) * weight


def _layer(config: LlamaConfig, index: int, weights: Weights) -> Layer:
    def stacked(kind: str, *names: str) -> torch.Tensor:
        return torch.cat([weights[f"model.layers.{index}.{name}.{kind}"] for name in names])

    projections = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")
    output = "self_attn.o_proj"
    return Layer(
        attention_norm=stacked("weight", "input_layernorm"),
        qkv=Linear(
            stacked("weight", *projections),
            stacked("bias", *projections) if config.attention_bias else None,
        ),
        qk_norm=_qk_norm(config, index, weights),
        output=Linear(
            stacked("weight", output), stacked("bias", output) if config.output_bias else None
        ),
        mlp_norm=stacked("weight", "post_attention_layernorm"),
        gate_up=Linear(stacked("weight", "mlp.gate_proj", "mlp.up_proj")),
        down=Linear(stacked("weight", "mlp.down_proj")),
    )


def _qk_norm(config: LlamaConfig, index: int, weights: Weights) -> torch.Tensor | None:
    """Both norms as one tensor, so that q and k are normalised at once."""
    if not config.qk_norm:
        return None
    parts: Sequence[tuple[str, int]] = (("q", config.num_heads), ("k", config.num_kv_heads))
    norms = [
        weights[f"model.layers.{index}.self_attn.{part}_norm.weight"].expand(heads, -1)
        for part, heads in parts
    ]
    return torch.cat(norms)  # (heads + kv_heads, head_dim)
