"""The shape of a Llama-like model: what its config file says, checked. Knows nothing about tensors or torch.

One decoder serves Llama 2 and 3, SmolLM2, Mistral, Qwen2 and Qwen3: they differ in biases on the projections, in
norms on q and k, in a sliding window and in how rotary frequencies are scaled. All else is refused.
"""

from dataclasses import dataclass

from pagesim.core.errors import InputError

MOST_LAYERS = 10_000
"""Far more than any model has: a damaged file should not make us list billions of names."""


@dataclass(frozen=True, slots=True)
class Llama3Scaling:
    """How Llama 3.1 stretches slow rotary frequencies; ``rope.py`` has the formula."""

    factor: float
    low_freq_factor: float
    high_freq_factor: float
    original_max_position: int


@dataclass(frozen=True, slots=True)
class ListedScaling:
    """What each rotary frequency is divided by, the fastest first: GGUF files list the result, not the rule."""

    divisors: tuple[float, ...]


RopeScaling = Llama3Scaling | ListedScaling


@dataclass(frozen=True, slots=True)
class LlamaConfig:
    """One model. ``attention_bias``: on the q, k and v projections; ``output_bias``: on the one after attention.

    ``qk_norm``: every head of q and k is normalised before it is rotated (Qwen3). ``sliding_window``: how many
    tokens a token sees, itself one; None is all before it. ``tie_embeddings``: the output layer is the embedding.
    """

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    max_position: int
    rms_norm_eps: float = 1e-5
    rope_theta: float = 10_000.0
    rope_scaling: RopeScaling | None = None
    tie_embeddings: bool = False
    attention_bias: bool = False
    output_bias: bool = False
    qk_norm: bool = False
    sliding_window: int | None = None
    eos_ids: tuple[int, ...] = ()
    bos_id: int | None = None

    def __post_init__(self) -> None:
        """InputError that names what cannot be."""
        for name in (
            "vocab_size", "hidden_size", "intermediate_size", "num_layers", "num_heads", "num_kv_heads", "head_dim",
            "max_position",
        ):  # fmt: skip
            if getattr(self, name) < 1:
                raise InputError(
                    f"the model's {name} is {getattr(self, name)}; it must be at least 1"
                )
        if self.num_layers > MOST_LAYERS:
            raise InputError(
                f"the model has {self.num_layers:,} layers; {MOST_LAYERS:,} is the most"
            )
        if self.num_heads % self.num_kv_heads:
            raise InputError(
                f"the model has {self.num_heads} query heads on {self.num_kv_heads} KV heads; "
                "the query heads must be a multiple of the KV heads"
            )
        if self.head_dim % 2:
            raise InputError(
                f"the model's head size is {self.head_dim}; rotary embedding turns pairs, so it must be even"
            )
        if not self.rms_norm_eps > 0 or not self.rope_theta > 0:
            raise InputError(
                f"the model's rms_norm_eps is {self.rms_norm_eps} and its rope_theta {self.rope_theta}; "
                "both must be above 0"
            )
        if self.sliding_window is not None and self.sliding_window < 1:
            raise InputError(
                f"the model's sliding window is {self.sliding_window} tokens; it must be at least 1"
            )
        self._check_scaling()
        self._check_ids()

    def _check_scaling(self) -> None:
        scaling = self.rope_scaling
        if isinstance(scaling, Llama3Scaling):
            if not (
                scaling.factor >= 1
                and 0 < scaling.low_freq_factor < scaling.high_freq_factor
                and scaling.original_max_position > 0
            ):
                raise InputError(
                    f"the model's rotary scaling is {scaling}; factor must be at least 1, low_freq_factor above 0 "
                    "and below high_freq_factor, and original_max_position above 0"
                )
        elif scaling is not None and (
            len(scaling.divisors) != self.head_dim // 2 or not min(scaling.divisors) > 0
        ):
            raise InputError(
                f"the model lists {len(scaling.divisors)} rotary factors for a head size of {self.head_dim}; "
                f"there must be {self.head_dim // 2}, all above 0"
            )

    def _check_ids(self) -> None:
        ids = self.eos_ids if self.bos_id is None else (*self.eos_ids, self.bos_id)
        outside = [token for token in ids if not 0 <= token < self.vocab_size]
        if outside:
            raise InputError(
                f"the model's special token {outside[0]} is outside its vocabulary of {self.vocab_size} tokens"
            )


def parameter_shapes(config: LlamaConfig) -> dict[str, tuple[int, ...]]:
    """Every parameter under its Hugging Face name, with its shape: what a checkpoint must hold, no more, no less."""
    hidden, inner = config.hidden_size, config.intermediate_size
    q_size = config.num_heads * config.head_dim
    kv_size = config.num_kv_heads * config.head_dim
    layer: dict[str, tuple[int, ...]] = {
        "input_layernorm.weight": (hidden,),
        "self_attn.q_proj.weight": (q_size, hidden),
        "self_attn.k_proj.weight": (kv_size, hidden),
        "self_attn.v_proj.weight": (kv_size, hidden),
        "self_attn.o_proj.weight": (hidden, q_size),
        "post_attention_layernorm.weight": (hidden,),
        "mlp.gate_proj.weight": (inner, hidden),
        "mlp.up_proj.weight": (inner, hidden),
        "mlp.down_proj.weight": (hidden, inner),
    }
    if config.attention_bias:
        layer["self_attn.q_proj.bias"] = (q_size,)
        layer["self_attn.k_proj.bias"] = (kv_size,)
        layer["self_attn.v_proj.bias"] = (kv_size,)
    if config.output_bias:
        layer["self_attn.o_proj.bias"] = (hidden,)
    if config.qk_norm:
        layer["self_attn.q_norm.weight"] = (config.head_dim,)
        layer["self_attn.k_norm.weight"] = (config.head_dim,)
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (config.vocab_size, hidden)}
    for index in range(config.num_layers):
        shapes |= {f"model.layers.{index}.{name}": shape for name, shape in layer.items()}
    shapes["model.norm.weight"] = (hidden,)
    if not config.tie_embeddings:
        shapes["lm_head.weight"] = (config.vocab_size, hidden)
    return shapes
