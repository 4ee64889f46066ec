"""How large a KV cache is: bytes per token, the memory left for it, blocks, and requests at once.

Knows nothing about a running block manager, about time, or about printing. Everything is per rank:
with tensor parallelism every rank holds its share of each token's K and V in a pool of its own, the
pools are alike, and a request needs its blocks on every rank.
"""

from dataclasses import dataclass
from fractions import Fraction

from pagesim.core.errors import InputError
from pagesim.core.types import blocks_for
from pagesim.planner.facts import GpuFacts, ModelFacts
from pagesim.planner.units import GIB

DEFAULT_UTILISATION = Fraction(9, 10)
"""Share of a GPU an engine takes for itself; vLLM's default."""

DEFAULT_WORKSPACE_BYTES = GIB
"""Activations and runtime beside weights and cache; the PagedAttention paper's artifact sets 1 GiB.
Engine logs show 1.4 to 3 GiB: it grows with the tokens of one step."""

DEFAULT_BATCHED_TOKENS = 8192
"""Most tokens of one step (vLLM's ``max_num_batched_tokens``); read for sliding windows only."""


@dataclass(frozen=True, slots=True)
class CacheLayout:
    """How one rank's cache of one model is cut into blocks.

    One block holds ``layers_per_block`` layers. Models with one kind of layer have one group: a
    block holds all layers. Hybrids group layers by kind, ``layers_per_block`` at a time, and a
    request takes blocks for each of its ``full_groups`` and ``window_groups`` (the last group of a
    kind may be padded). ``window`` is in tokens, ``None`` where no layer slides. ``layer_bytes``
    are one token's, in one layer.
    """

    layer_bytes: int
    layers_per_block: int
    full_groups: int
    window_groups: int
    window: int | None

    @property
    def num_groups(self) -> int:
        return self.full_groups + self.window_groups

    def block_bytes(self, block_size: int) -> int:
        return self.layer_bytes * self.layers_per_block * block_size

    def blocks_per_request(self, length: int, block_size: int, max_batched_tokens: int) -> int:
        """Blocks that one request of ``length`` tokens takes at its longest.

        A window layer keeps the window less one token and what one step adds, plus one block
        because a window seldom starts at a block's edge.
        """
        full = blocks_for(length, block_size)
        if self.window is None:
            return full * self.full_groups
        kept = min(self.window - 1 + max_batched_tokens, length)
        return full * self.full_groups + (blocks_for(kept, block_size) + 1) * self.window_groups


@dataclass(frozen=True, slots=True)
class MemoryBudget:
    """One GPU's memory, in bytes: of ``gpu_bytes`` an engine may use ``budget_bytes``; weights and
    workspace come first, and ``kv_bytes`` is what is left (negative: the weights do not fit)."""

    gpu_bytes: int
    budget_bytes: int
    weight_bytes: int
    workspace_bytes: int

    @property
    def kv_bytes(self) -> int:
        return self.budget_bytes - self.weight_bytes - self.workspace_bytes


@dataclass(frozen=True, slots=True)
class KVPool:
    """A pool cut into blocks: ``num_blocks`` of ``block_bytes`` each out of ``memory_bytes``.

    ``num_slots`` tokens fit if all groups of layers grow alike (one group: blocks x block size).
    """

    memory_bytes: int
    block_bytes: int
    num_blocks: int
    num_slots: int


@dataclass(frozen=True, slots=True)
class Concurrency:
    """Requests of one length that fit at once: ``num_blocks`` of the pool, ``blocks_each`` per
    request."""

    length: int
    num_blocks: int
    blocks_each: int

    @property
    def whole(self) -> int:
        """Requests that fit: floor(blocks / blocks each)."""
        return self.num_blocks // self.blocks_each

    @property
    def ratio(self) -> float:
        """The same before rounding down, as engines print it."""
        return self.num_blocks / self.blocks_each


def kv_bytes_per_token(model: ModelFacts, *, dtype_bytes: int = 2, tensor_parallel: int = 1) -> int:
    """Bytes of one token's K and V in all layers on one rank.

    2 x (KV heads / ranks) x head size x bytes x layers; more ranks than KV heads keep one head
    each. A latent (MLA) is kept whole on every rank. ``dtype_bytes`` is 1 for an fp8 cache. Raises
    ``InputError`` if the heads cannot be shared equally by ``tensor_parallel`` ranks.
    """
    return _layer_bytes(model, dtype_bytes, tensor_parallel) * model.num_layers


def cache_layout(
    model: ModelFacts, *, dtype_bytes: int = 2, tensor_parallel: int = 1
) -> CacheLayout:
    """How ``model``'s cache is cut on one rank; hybrids group layers by the rarer kind's number of
    layers."""
    layer_bytes = _layer_bytes(model, dtype_bytes, tensor_parallel)
    sliding = model.num_window_layers
    full = model.num_layers - sliding
    layers_per_block = min(full, sliding) or model.num_layers
    return CacheLayout(
        layer_bytes=layer_bytes,
        layers_per_block=layers_per_block,
        full_groups=-(-full // layers_per_block),
        window_groups=-(-sliding // layers_per_block),
        window=None if model.window is None else model.window.tokens,
    )


def kv_memory(
    gpu: GpuFacts,
    model: ModelFacts,
    *,
    utilisation: Fraction = DEFAULT_UTILISATION,
    tensor_parallel: int = 1,
    weight_bytes: int | None = None,
    workspace_bytes: int = DEFAULT_WORKSPACE_BYTES,
) -> MemoryBudget:
    """What one GPU has left for K and V: memory x utilisation - its share of the weights -
    workspace.

    Memory is what engines saw of the card where that is known, else the data sheet's GB.
    ``weight_bytes`` is the whole model's; ``None``: as it ships. Raises ``InputError`` for a
    utilisation outside (0, 1].
    """
    if not 0 < utilisation <= 1:
        raise InputError(
            f"utilisation {float(utilisation):g} is not a share of the GPU's memory: "
            "give a number above 0 and at most 1, such as 0.9"
        )
    check_tensor_parallel(model, tensor_parallel)
    whole = model.weight_bytes if weight_bytes is None else weight_bytes
    gpu_bytes = gpu.memory_bytes if gpu.visible_bytes is None else gpu.visible_bytes
    return MemoryBudget(
        gpu_bytes=gpu_bytes,
        budget_bytes=int(gpu_bytes * utilisation),
        weight_bytes=-(-whole // tensor_parallel),
        workspace_bytes=workspace_bytes,
    )


def kv_pool(memory_bytes: int, layout: CacheLayout, block_size: int) -> KVPool:
    """Cut ``memory_bytes`` of one rank into whole blocks of ``block_size`` tokens; none fit below
    one block."""
    block_bytes = layout.block_bytes(block_size)
    num_blocks = max(memory_bytes, 0) // block_bytes
    return KVPool(
        memory_bytes=memory_bytes,
        block_bytes=block_bytes,
        num_blocks=num_blocks,
        num_slots=num_blocks // layout.num_groups * block_size,
    )


def max_concurrency(
    pool_blocks: int,
    length: int,
    block_size: int,
    *,
    layout: CacheLayout | None = None,
    max_batched_tokens: int = DEFAULT_BATCHED_TOKENS,
) -> Concurrency:
    """Requests of ``length`` tokens that fit at once in ``pool_blocks`` blocks: whole blocks each.

    ``layout`` matters for sliding windows only; ``None``: every layer keeps everything.
    """
    if layout is None:
        blocks_each = blocks_for(length, block_size)
    else:
        blocks_each = layout.blocks_per_request(length, block_size, max_batched_tokens)
    return Concurrency(length=length, num_blocks=pool_blocks, blocks_each=blocks_each)


def check_tensor_parallel(model: ModelFacts, tensor_parallel: int) -> None:
    """Raise ``InputError`` unless ``tensor_parallel`` ranks can share the heads equally."""
    heads, kv_heads = model.num_heads, model.num_kv_heads
    if tensor_parallel >= 1 and heads % tensor_parallel == 0:
        if model.latent is not None:
            return
        if kv_heads % tensor_parallel == 0 or tensor_parallel % kv_heads == 0:
            return
    allowed = [
        ranks
        for ranks in range(1, heads + 1)
        if heads % ranks == 0 and (kv_heads % ranks == 0 or ranks % kv_heads == 0)
    ]
    raise InputError(
        f"{tensor_parallel} tensor-parallel ranks cannot share {model.key}'s {heads} heads and "
        f"{kv_heads} KV heads equally: give one of {', '.join(map(str, allowed))}"
    )


def _layer_bytes(model: ModelFacts, dtype_bytes: int, tensor_parallel: int) -> int:
    check_tensor_parallel(model, tensor_parallel)
    if model.latent is not None:
        return (model.latent.rank + model.latent.rope_dim) * dtype_bytes
    assert model.head_dim is not None, f"{model.key} has neither a head size nor a latent"
    return 2 * max(1, model.num_kv_heads // tensor_parallel) * model.head_dim * dtype_bytes
