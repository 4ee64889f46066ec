"""What is known of models and GPUs: the figures that decide cache size and speed, each with its
source.

Knows nothing about caches, plans or cost. The tables are ``data/models.json`` and
``data/gpus.json``; they are read on the first look-up and never change.
"""

import json
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from enum import Enum
from functools import cache
from importlib.resources import files
from typing import NotRequired, TypedDict, cast

from pagesim.core.errors import InputError
from pagesim.planner.units import GIB


class Attention(Enum):
    """How heads share keys and values: one pair each, one per group, one for all, or one latent for
    all."""

    MHA = "mha"
    GQA = "gqa"
    MQA = "mqa"
    MLA = "mla"


@dataclass(frozen=True, slots=True)
class Latent:
    """Sizes of multi-head latent attention, in elements: ``rank`` and ``rope_dim`` are what one
    layer caches of one token; ``query_dim`` (without the rotary part) and ``value_dim`` are per
    head."""

    rank: int
    rope_dim: int
    query_dim: int
    value_dim: int


@dataclass(frozen=True, slots=True)
class Window:
    """Sliding-window attention over ``tokens`` tokens in every layer but ``full_layers`` (counted
    from 0)."""

    tokens: int
    full_layers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """One model. ``head_dim`` is ``None`` exactly where ``latent`` is given; ``window`` is ``None``
    where every layer attends to everything. ``max_position`` is in tokens. ``weight_bytes`` is the
    size of the weights as they ship; ``dtype_bytes`` is that of the activations, and of K and V by
    default."""

    key: str
    hf_id: str
    num_layers: int
    hidden_size: int
    num_heads: int
    num_kv_heads: int
    head_dim: int | None
    max_position: int
    dtype_bytes: int
    attention: Attention
    latent: Latent | None
    window: Window | None
    params: int
    active_params: int
    weight_bytes: int
    source: str

    @property
    def name(self) -> str:
        """The name without its publisher."""
        return self.hf_id.split("/")[-1]

    @property
    def num_window_layers(self) -> int:
        return 0 if self.window is None else self.num_layers - len(self.window.full_layers)


@dataclass(frozen=True, slots=True)
class GpuFacts:
    """One GPU. ``memory_bytes`` is the data sheet's size (GB = 10^9); ``visible_bytes`` is what
    engines or the driver saw of it, ``None`` where nobody wrote it down (it is often more: cards
    sold as "80 GB" hold nearly 80 GiB). Rates are peaks, per second, one direction, dense;
    ``fp8_flops`` is ``None`` where the card has no fp8 units."""

    key: str
    name: str
    memory_bytes: int
    visible_bytes: int | None
    bandwidth_bytes_s: int
    dense_flops: int
    fp8_flops: int | None
    host_link_bytes_s: int
    source: str


class _LatentRow(TypedDict):
    rank: int
    rope_dim: int
    query_dim: int
    value_dim: int


class _WindowRow(TypedDict):
    tokens: int
    full_layers: list[int]


class _ModelRow(TypedDict):
    key: str
    hf_id: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: NotRequired[int]
    max_position: int
    dtype_bytes: int
    attention: str
    latent: NotRequired[_LatentRow]
    window: NotRequired[_WindowRow]
    params: int
    active_params: NotRequired[int]
    weight_bytes: NotRequired[int]
    aliases: NotRequired[list[str]]
    source: str


class _GpuRow(TypedDict):
    key: str
    name: str
    memory_gb: int
    visible_gib: NotRequired[Decimal | int]
    bandwidth_gb_s: Decimal | int
    dense_tflops: Decimal | int
    fp8_tflops: NotRequired[Decimal | int]
    host_link_gb_s: Decimal | int
    aliases: NotRequired[list[str]]
    source: str


def models() -> tuple[ModelFacts, ...]:
    """Return every model of the table, in its order: by family, then by size."""
    return tuple(found for found, _ in _model_table())


def gpus() -> tuple[GpuFacts, ...]:
    """Return every GPU of the table, in its order: data centre by age, then desktop."""
    return tuple(found for found, _ in _gpu_table())


def model(key: str) -> ModelFacts:
    """Return the model called ``key``: its key, its Hugging Face id or an alias, in any case.

    Raises ``InputError`` with the nearest names if there is none.
    """
    wanted = _plain(key).split("/")[-1]
    names = {name: found for found, names in _model_table() for name in names}
    found = names.get(wanted) or names.get(wanted.removesuffix("-hf").removesuffix("-instruct"))
    if found is None:
        raise _unknown(
            "model", key, wanted, {name: row.key for name, row in names.items()}, "pagesim models"
        )
    return found


def gpu(key: str) -> GpuFacts:
    """Return the GPU called ``key``: its key, its name or an alias such as "a100-40gb", in any
    case.

    Raises ``InputError`` with the nearest names if there is none.
    """
    wanted = _plain(key)
    names = {name: found for found, names in _gpu_table() for name in names}
    if wanted not in names:
        raise _unknown(
            "GPU", key, wanted, {name: row.key for name, row in names.items()}, "pagesim gpus"
        )
    return names[wanted]


def _unknown(
    kind: str, given: str, wanted: str, key_of: dict[str, str], command: str
) -> InputError:
    """``key_of`` maps every plain name to the key it stands for; names that begin alike come
    first."""
    begin_alike = [name for name in key_of if wanted and name.startswith(wanted)]
    names = begin_alike or get_close_matches(wanted, key_of, n=4, cutoff=0.5)
    near = ", ".join(dict.fromkeys(key_of[name] for name in names))
    hint = f"the nearest are {near}, and " if near else ""
    return InputError(f"no {kind} is called {given[:60]!r}: {hint}`{command}` lists them all")


def _plain(name: str) -> str:
    return "-".join(name.strip().casefold().replace("_", " ").split())


def _rows(file_name: str) -> object:
    text = (files("pagesim.planner") / "data" / file_name).read_text(encoding="utf-8")
    return json.loads(text, parse_float=Decimal)


@cache
def _model_table() -> tuple[tuple[ModelFacts, tuple[str, ...]], ...]:
    """Every model with the names it answers to, plain."""
    rows = cast(list[_ModelRow], _rows("models.json"))
    return tuple(
        (_model(row), (row["key"], _plain(row["hf_id"].split("/")[-1]), *row.get("aliases", ())))
        for row in rows
    )


@cache
def _gpu_table() -> tuple[tuple[GpuFacts, tuple[str, ...]], ...]:
    """Every GPU with the names it answers to, plain."""
    rows = cast(list[_GpuRow], _rows("gpus.json"))
    return tuple(
        (_gpu(row), (row["key"], _plain(row["name"]), *row.get("aliases", ()))) for row in rows
    )


def _model(row: _ModelRow) -> ModelFacts:
    latent, window, params = row.get("latent"), row.get("window"), row["params"]
    return ModelFacts(
        key=row["key"],
        hf_id=row["hf_id"],
        num_layers=row["layers"],
        hidden_size=row["hidden"],
        num_heads=row["heads"],
        num_kv_heads=row["kv_heads"],
        head_dim=row.get("head_dim"),
        max_position=row["max_position"],
        dtype_bytes=row["dtype_bytes"],
        attention=Attention(row["attention"]),
        latent=None if latent is None else Latent(**latent),
        window=None if window is None else Window(window["tokens"], tuple(window["full_layers"])),
        params=params,
        active_params=row.get("active_params", params),
        weight_bytes=row.get("weight_bytes", params * row["dtype_bytes"]),
        source=row["source"],
    )


def _gpu(row: _GpuRow) -> GpuFacts:
    visible_gib, fp8_tflops = row.get("visible_gib"), row.get("fp8_tflops")
    return GpuFacts(
        key=row["key"],
        name=row["name"],
        memory_bytes=row["memory_gb"] * 10**9,
        visible_bytes=None if visible_gib is None else int(visible_gib * GIB),
        bandwidth_bytes_s=int(row["bandwidth_gb_s"] * 10**9),
        dense_flops=int(row["dense_tflops"] * 10**12),
        fp8_flops=None if fp8_tflops is None else int(fp8_tflops * 10**12),
        host_link_bytes_s=int(row["host_link_gb_s"] * 10**9),
        source=row["source"],
    )
