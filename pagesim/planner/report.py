"""A plan: what one model's KV cache takes on one GPU, and how many requests fit at once.

Knows nothing about terminals or JSON text: it gives plain rows and plain dictionaries. Every figure
of a report follows from one number of blocks, so figures shown together always agree.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from pagesim.core.errors import InputError
from pagesim.planner.facts import GpuFacts, ModelFacts
from pagesim.planner.kv_cache import (
    DEFAULT_BATCHED_TOKENS,
    DEFAULT_UTILISATION,
    DEFAULT_WORKSPACE_BYTES,
    CacheLayout,
    Concurrency,
    KVPool,
    MemoryBudget,
    cache_layout,
    kv_memory,
    kv_pool,
    max_concurrency,
)
from pagesim.planner.units import format_bytes, format_count, format_gb, format_gib

KV_DTYPES = {"fp16": 2, "bf16": 2, "fp8": 1, "fp32": 4}
"""Bytes of one cached K or V element, by name; "auto" is the model's own type."""


class Line(NamedTuple):
    """One row of a report as text: what it is, its value, and how it came about (may be empty)."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class PlanReport:
    """A model's cache on one rank. ``gpu`` and ``budget`` are ``None`` where the memory was given.

    ``fits`` holds one entry for each length asked for, all from ``pool.num_blocks``.
    """

    model: ModelFacts
    gpu: GpuFacts | None
    budget: MemoryBudget | None
    tensor_parallel: int
    kv_dtype: str
    dtype_bytes: int
    block_size: int
    layout: CacheLayout
    pool: KVPool
    fits: tuple[Concurrency, ...]

    @property
    def bytes_per_token(self) -> int:
        """Bytes of one token's K and V in all layers on one rank."""
        return self.layout.layer_bytes * self.model.num_layers

    def lines(self) -> list[Line]:
        """The report as rows of text, from the model down to the pool; ``fits`` are not among
        them."""
        pool, layout = self.pool, self.layout
        longest = f"{format_count(self.model.max_position)} tokens"
        blocks_note = (
            f"{format_gib(pool.memory_bytes)} / {format_bytes(pool.block_bytes)}, rounded down"
        )
        slots_note = f"{format_count(pool.num_blocks)} blocks x {self.block_size}"
        if layout.num_groups > 1:
            slots_note = f"(blocks // {layout.num_groups} groups) x {self.block_size}"
        return [
            Line("model", self.model.name, _shape_note(self.model)),
            Line("KV per token", format_bytes(self.bytes_per_token), self._per_token_note()),
            *self._budget_lines(),
            Line("KV memory", format_gib(pool.memory_bytes), format_gb(pool.memory_bytes)),
            Line("block", format_bytes(pool.block_bytes), self._block_note()),
            Line("blocks", format_count(pool.num_blocks), blocks_note),
            Line("slots (tokens)", format_count(pool.num_slots), slots_note),
            *(
                Line("longer", format_count(fit.length), f"the model's longest is {longest}")
                for fit in self.fits
                if fit.length > self.model.max_position
            ),
        ]

    def as_dict(self) -> dict[str, object]:
        """The report as plain numbers and strings, ready for JSON; bytes are whole bytes of one
        rank."""
        budget = self.budget
        return {
            "model": self.model.key,
            "gpu": None if self.gpu is None else self.gpu.key,
            "tensor_parallel": self.tensor_parallel,
            "kv_dtype": self.kv_dtype,
            "block_size": self.block_size,
            "gpu_bytes": None if budget is None else budget.gpu_bytes,
            "budget_bytes": None if budget is None else budget.budget_bytes,
            "weight_bytes": None if budget is None else budget.weight_bytes,
            "workspace_bytes": None if budget is None else budget.workspace_bytes,
            "kv_bytes": self.pool.memory_bytes,
            "kv_bytes_per_token": self.bytes_per_token,
            "block_bytes": self.pool.block_bytes,
            "num_groups": self.layout.num_groups,
            "num_blocks": self.pool.num_blocks,
            "num_slots": self.pool.num_slots,
            "requests": [
                {
                    "length": fit.length,
                    "blocks_each": fit.blocks_each,
                    "whole": fit.whole,
                    "ratio": round(fit.ratio, 6),
                }
                for fit in self.fits
            ],
            "source": self.model.source,
        }

    def _per_token_note(self) -> str:
        model, ranks = self.model, self.tensor_parallel
        if model.latent is not None:
            elements = f"(latent {model.latent.rank} + rotary {model.latent.rope_dim})"
        else:
            heads = max(1, model.num_kv_heads // ranks)
            elements = f"2 x {heads} KV heads x {model.head_dim}"
        note = f"{elements} x {self.dtype_bytes} B x {model.num_layers} layers"
        return note if ranks == 1 else f"{note}, on each of {ranks} ranks"

    def _block_note(self) -> str:
        if self.layout.num_groups == 1:
            return f"{self.block_size} tokens in all {self.model.num_layers} layers"
        groups = f"{self.layout.full_groups} full + {self.layout.window_groups} sliding groups"
        return f"{self.block_size} tokens in {self.layout.layers_per_block} layers; {groups}"

    def _budget_lines(self) -> list[Line]:
        if self.gpu is None or self.budget is None:
            return []
        budget = self.budget
        basis = "data sheet" if self.gpu.visible_bytes is None else "as engines see it"
        share = budget.budget_bytes / budget.gpu_bytes
        return [
            Line("GPU", self.gpu.name, f"{format_gib(budget.gpu_bytes)} {basis}"),
            Line("budget", format_gib(budget.budget_bytes), f"{share:.0%} of it"),
            Line("weights", format_gib(budget.weight_bytes), _weights_note(self)),
            Line("workspace", format_gib(budget.workspace_bytes), "activations, runtime (assumed)"),
        ]


def plan_report(
    model: ModelFacts,
    *,
    gpu: GpuFacts | None = None,
    kv_bytes: int | None = None,
    lengths: Sequence[int] = (),
    block_size: int = 16,
    tensor_parallel: int = 1,
    kv_dtype: str = "auto",
    utilisation: Fraction = DEFAULT_UTILISATION,
    workspace_bytes: int = DEFAULT_WORKSPACE_BYTES,
    max_batched_tokens: int = DEFAULT_BATCHED_TOKENS,
) -> PlanReport:
    """Plan ``model``'s cache on ``gpu``, or in ``kv_bytes`` of one rank: exactly one of the two.

    ``lengths`` are whole requests in tokens (prompt and output); none means the model's longest.
    Raises ``InputError`` where a value is out of range, where the weights do not fit and where not
    one block does.
    """
    dtype_bytes = _dtype_bytes(model, kv_dtype)
    _check_positive("block size", block_size, "tokens, such as 16")
    _check_positive("tensor-parallel size", tensor_parallel, "ranks, such as 1")
    for length in lengths:
        _check_positive("length", length, "tokens, such as 2048")
    layout = cache_layout(model, dtype_bytes=dtype_bytes, tensor_parallel=tensor_parallel)
    budget = None
    if gpu is not None and kv_bytes is None:
        budget = kv_memory(
            gpu,
            model,
            utilisation=utilisation,
            tensor_parallel=tensor_parallel,
            workspace_bytes=workspace_bytes,
        )
        memory_bytes = _left_for_cache(gpu, model, budget, tensor_parallel)
    elif kv_bytes is not None and gpu is None:
        memory_bytes = kv_bytes
    else:
        given = "neither a GPU nor a KV memory was"
        if gpu is not None:
            given = "both a GPU and a KV memory were"
        raise InputError(f"{given} given: name a GPU or the memory, not both")
    pool = kv_pool(memory_bytes, layout, block_size)
    if pool.num_blocks == 0:
        raise InputError(
            f"{format_bytes(memory_bytes)} of KV memory is less than one block of {block_size} "
            f"tokens ({format_bytes(pool.block_bytes)}): give more memory or a smaller block size"
        )
    return PlanReport(
        model=model,
        gpu=gpu,
        budget=budget,
        tensor_parallel=tensor_parallel,
        kv_dtype=kv_dtype,
        dtype_bytes=dtype_bytes,
        block_size=block_size,
        layout=layout,
        pool=pool,
        fits=tuple(
            max_concurrency(
                pool.num_blocks,
                length,
                block_size,
                layout=layout,
                max_batched_tokens=max_batched_tokens,
            )
            for length in lengths or (model.max_position,)
        ),
    )


def _dtype_bytes(model: ModelFacts, kv_dtype: str) -> int:
    name = kv_dtype.strip().lower()
    if name == "auto":
        return model.dtype_bytes
    if name not in KV_DTYPES:
        raise InputError(f"KV dtype {kv_dtype!r} is unknown: give auto, {', '.join(KV_DTYPES)}")
    return KV_DTYPES[name]


def _check_positive(what: str, value: int, example: str) -> None:
    if value < 1:
        raise InputError(f"{what} {value} is not allowed: give 1 or more {example}")


def _left_for_cache(
    gpu: GpuFacts, model: ModelFacts, budget: MemoryBudget, tensor_parallel: int
) -> int:
    if budget.kv_bytes > 0:
        return budget.kv_bytes
    raise InputError(
        f"{model.key} leaves no KV memory on {gpu.key}: of {format_gib(budget.budget_bytes)} the "
        f"weights take {format_gib(budget.weight_bytes)} and the workspace "
        f"{format_gib(budget.workspace_bytes)}; use more tensor-parallel ranks than "
        f"{tensor_parallel}, a higher utilisation or a larger GPU"
    )


def _weights_note(report: PlanReport) -> str:
    params = f"{report.model.params / 1e9:.2f}e9 parameters"
    if report.tensor_parallel > 1:
        return f"{params} on {report.tensor_parallel} ranks"
    return params


def _shape_note(model: ModelFacts) -> str:
    note = f"{model.num_layers} layers, {model.num_heads} heads, {model.num_kv_heads} KV heads"
    if model.latent is not None:
        return f"{note}, one latent (MLA)"
    if model.window is not None:
        return f"{note}, {model.num_window_layers} layers slide over {model.window.tokens} tokens"
    return note
