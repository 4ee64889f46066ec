"""``pagesim models`` and ``pagesim gpus``: the planner's tables of facts, as tables or JSON.

Knows nothing about what the facts are used for.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from pagesim.planner.facts import GpuFacts, ModelFacts

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON array, with sources.")]


def models(as_json: AsJson = False) -> None:
    """List the models that `pagesim plan` knows."""
    from pagesim.planner import facts

    found = facts.models()
    if as_json:
        _print_json([asdict(row) for row in found])
    else:
        _print_table(model_table(found))


def gpus(as_json: AsJson = False) -> None:
    """List the GPUs that `pagesim plan` knows."""
    from pagesim.planner import facts

    found = facts.gpus()
    if as_json:
        _print_json([asdict(row) for row in found])
    else:
        _print_table(gpu_table(found))


def model_table(found: Sequence["ModelFacts"]) -> "Table":
    """Models with what decides the size of their cache; 16-bit KV on one GPU."""
    from pagesim.planner.kv_cache import kv_bytes_per_token
    from pagesim.planner.units import format_bytes, format_count

    table = _table("model", "attention", "layers", "KV heads", "longest", "params", "KV per token")
    for row in found:
        kind = row.attention.value.upper() + ("" if row.window is None else " + window")
        table.add_row(
            row.key,
            kind,
            str(row.num_layers),
            str(row.num_kv_heads) if row.latent is None else "-",
            format_count(row.max_position),
            f"{row.params / 10**9:.2f}e9",
            format_bytes(kv_bytes_per_token(row)),
        )
    return table


def gpu_table(found: Sequence["GpuFacts"]) -> "Table":
    """GPUs with their peak rates; "visible" is what engines see of the memory, where known."""
    from pagesim.planner.units import format_gib

    table = _table("GPU", "memory", "visible", "GB/s", "TFLOPS", "host GB/s")
    for row in found:
        table.add_row(
            row.key,
            f"{row.memory_bytes // 10**9} GB",
            "-" if row.visible_bytes is None else format_gib(row.visible_bytes),
            f"{row.bandwidth_bytes_s // 10**9:,}",
            f"{row.dense_flops / 10**12:,.1f}",
            str(row.host_link_bytes_s // 10**9),
        )
    return table


def _table(first: str, *others: str) -> "Table":
    from rich.table import Table

    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column(first, no_wrap=True)
    for heading in others:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _print_table(table: "Table") -> None:
    from pagesim.views.console import make_console

    make_console().print(table)


def _print_json(rows: list[dict[str, object]]) -> None:
    import json

    typer.echo(json.dumps(rows, indent=2, default=lambda value: value.value))
