"""Bytes per token: what K and V of one token take, for real models. Knows nothing about running."""

from pagesim.planner import facts
from pagesim.planner.facts import Attention, ModelFacts
from pagesim.planner.kv_cache import cache_layout, kv_bytes_per_token
from pagesim.planner.units import format_bytes
from pagesim.practice.answers import Size, Whole
from pagesim_lessons.quizzes.draws import Draws
from pagesim_lessons.quizzes.problem import Drawn, Posed, Question

MODELS = (
    "llama-2-7b", "llama-2-13b", "llama-2-70b", "llama-3.1-8b", "llama-3.1-70b", "llama-3.2-1b",
    "llama-3.2-3b", "codellama-34b", "yi-34b", "mistral-7b-v0.3", "mixtral-8x7b", "qwen2.5-0.5b",
    "qwen2.5-1.5b", "qwen2.5-7b", "qwen2.5-32b", "qwen3-0.6b", "qwen3-8b", "qwen3-32b",
    "qwen3-30b-a3b", "phi-4", "smollm2-135m", "smollm2-360m", "opt-125m", "opt-13b", "falcon-7b",
    "deepseek-v2-lite", "deepseek-v3",
)  # fmt: skip
"""Written out, so that a new model changes no problem. Models with sliding windows are left out."""
LENGTHS = (500, 1000, 1500, 2000, 3000, 4000)
TYPES = {2: "16-bit numbers: 2 bytes each", 1: "fp8: 1 byte each"}


def pose(draws: Draws) -> Posed:
    model = facts.model(draws.one_of(MODELS))
    dtype_bytes = draws.one_of((2, 2, 2, 1))
    block_size, length = draws.one_of((16, 16, 32)), draws.one_of(LENGTHS)
    tokens = draws.one_of((2, 4, 8, 16)) * 1024
    story = (
        f"{model.name} caches K and V of every token in every layer. What decides how much that is:",
        _facts(model, dtype_bytes),
        _about(model),
    )
    questions = [
        _layer(model, dtype_bytes),
        _token(model, dtype_bytes),
        _block(model, dtype_bytes, block_size),
        _request(model, dtype_bytes, length),
        _fitting(model, dtype_bytes, tokens),
    ]
    return Posed(story, tuple(questions), given(model, dtype_bytes))


def given(model: ModelFacts, dtype_bytes: int) -> dict[str, object]:
    """What the story says of a model."""
    latent = model.latent
    return {
        "model": model.key,
        "layers": model.num_layers,
        "heads": model.num_heads,
        "kv_heads": None if latent else model.num_kv_heads,
        "head_dim": model.head_dim,
        "latent_rank": latent.rank if latent else None,
        "latent_rope": latent.rope_dim if latent else None,
        "bytes": dtype_bytes,
    }


def _facts(model: ModelFacts, dtype_bytes: int) -> Drawn:
    lines = [f"layers            {model.num_layers}", f"hidden size       {model.hidden_size}"]
    lines.append(f"query heads       {model.num_heads}")
    if model.latent is None:
        lines += [f"KV heads          {model.num_kv_heads}", f"head size         {model.head_dim}"]
    else:
        lines += [
            f"latent of K and V {model.latent.rank} numbers",
            f"rotary part       {model.latent.rope_dim} numbers",
        ]
    return Drawn((*lines, f"kept as           {TYPES[dtype_bytes]}"))


def _about(model: ModelFacts) -> str:
    match model.attention:
        case Attention.MLA:
            return (
                "It uses multi-head latent attention (MLA): instead of K and V of each head, a layer keeps one latent, "
                "from which both are made again, and a rotary part that all heads share."
            )
        case Attention.GQA:
            return "It uses grouped-query attention (GQA): several query heads share one head of K and V."
        case Attention.MQA:
            return "It uses multi-query attention (MQA): all query heads share one head of K and V."
        case _:
            return "It uses multi-head attention (MHA): every query head has K and V of its own."


def layer_bytes(model: ModelFacts, dtype_bytes: int) -> int:
    """One token's bytes in one layer."""
    return cache_layout(model, dtype_bytes=dtype_bytes).layer_bytes


def layer_sum(model: ModelFacts, dtype_bytes: int) -> str:
    """ "2 x 8 x 128 x 2 = 4,096"."""
    amount = layer_bytes(model, dtype_bytes)
    if model.latent is not None:
        return f"({model.latent.rank} + {model.latent.rope_dim}) x {dtype_bytes} = {amount:,}"
    return f"2 x {model.num_kv_heads} x {model.head_dim} x {dtype_bytes} = {amount:,}"


def _layer(model: ModelFacts, dtype_bytes: int) -> Question:
    amount, working = layer_bytes(model, dtype_bytes), layer_sum(model, dtype_bytes)
    if model.latent is None:
        what = "K and V, KV heads, numbers of a head, bytes of a number"
        first = f"K alone is {model.num_kv_heads} x {model.head_dim} numbers."
        medium = "Two (K and V) x KV heads x head size x bytes of a number."
        weak = "Heads of queries are not cached: only those of K and V count."
    else:
        what = "numbers of the latent and of the rotary part, bytes of a number"
        first = f"A layer keeps {model.latent.rank} + {model.latent.rope_dim} numbers of a token."
        medium = "What a layer keeps of a token, whatever the number of heads, x bytes of a number."
        weak = "There is no K and V for each head here; look at what is kept instead."
    return Question(
        "How many bytes does one token take in one layer?",
        ("layer bytes",),
        Size(amount),
        (f"Multiply: {what}.", f"{working} bytes."),
        (weak, medium, first),
        f"{working} bytes.",
    )


def _token(model: ModelFacts, dtype_bytes: int) -> Question:
    layer, amount = (
        layer_bytes(model, dtype_bytes),
        kv_bytes_per_token(model, dtype_bytes=dtype_bytes),
    )
    return Question(
        "How many bytes does one token take in all layers?",
        ("token bytes",),
        Size(amount),
        (
            f"One layer: {layer_sum(model, dtype_bytes)} bytes.",
            f"{layer:,} x {model.num_layers} layers = {amount:,} bytes, {format_bytes(amount)}.",
        ),
        (
            "Every layer has a cache of its own for the same token.",
            "One layer's bytes x layers.",
            f"One layer takes {layer:,} bytes.",
        ),
        f"{layer:,} x {model.num_layers} = {amount:,} bytes ({format_bytes(amount)}). The figure to know of a model.",
    )


def _block(model: ModelFacts, dtype_bytes: int, block_size: int) -> Question:
    token = kv_bytes_per_token(model, dtype_bytes=dtype_bytes)
    amount = cache_layout(model, dtype_bytes=dtype_bytes).block_bytes(block_size)
    return Question(
        f"How much memory does one block of {block_size} tokens take, in all layers together?",
        ("block bytes", block_size),
        Size(amount),
        (
            f"One token: {token:,} bytes.",
            f"{token:,} x {block_size} = {amount:,} bytes, {format_bytes(amount)}.",
        ),
        (
            "One block id stands for a piece of memory in every layer.",
            "Bytes of a token x tokens of a block.",
            f"A token takes {token:,} bytes.",
        ),
        f"{token:,} x {block_size} = {amount:,} bytes ({format_bytes(amount)}).",
    )


def _request(model: ModelFacts, dtype_bytes: int, length: int) -> Question:
    token = kv_bytes_per_token(model, dtype_bytes=dtype_bytes)
    amount = token * length
    return Question(
        f"How much do the K and V of a request of {length:,} tokens take, without the unfilled part of its last block?",
        ("request bytes", length),
        Size(amount),
        (
            f"One token: {token:,} bytes.",
            f"{token:,} x {length:,} = {amount:,} bytes, {format_bytes(amount)}.",
        ),
        (
            "K and V of every token are kept, of the prompt and of the outputs alike.",
            "Bytes of a token x tokens.",
            f"A token takes {token:,} bytes.",
        ),
        f"{token:,} x {length:,} = {amount:,} bytes ({format_bytes(amount)}).",
    )


def _fitting(model: ModelFacts, dtype_bytes: int, tokens: int) -> Question:
    token = kv_bytes_per_token(model, dtype_bytes=dtype_bytes)
    memory = -(-token * tokens // 2**30)  # whole GiB
    most = memory * 2**30 // token
    return Question(
        f"How many tokens fit into {memory} GiB, in whole tokens?",
        ("tokens in GiB", memory),
        Whole(most, "tokens"),
        (
            f"{memory} GiB = {memory * 2**30:,} bytes.",
            f"{memory * 2**30:,} / {token:,}, rounded down, is {most:,}.",
        ),
        (
            "A GiB is a power of two, not of ten.",
            "Bytes of the memory, divided by the bytes of a token, rounded down.",
            f"{memory} GiB is {memory * 2**30:,} bytes; a token takes {token:,}.",
        ),
        f"{memory * 2**30:,} / {token:,} = {most:,} tokens, shared by all who are served at once.",
    )
