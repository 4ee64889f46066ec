"""What ``pagesim kernel report`` shows: a row a compiled kernel, paged ones beside their twin.

Knows nothing about compilers: it is given the report's document.
"""

from typing import Any

from rich.console import RenderableType
from rich.text import Text

from pagesim.views.figure_table import FigureTable, Group

CLOSING = (
    "Counted in what the compiler made; not measured on a GPU.",
    "loop: instructions of the main loop, for one warp; int: address arithmetic;",
    "mma: on tensor cores; 16 B: reads of 16 bytes; async: those of them that go",
    "straight to shared memory; less: narrower reads (the block table's).",
    "instr.: all warps' instructions for each KiB of K and V; over: over the",
    "contiguous twin's, which has one stage less, as it has no block to look up.",
)


def report_parts(document: dict[str, Any]) -> list[RenderableType]:
    parts: list[RenderableType] = [
        Text(f"The attention kernel for decoding, compiled by Triton {document['triton']}")
    ]
    targets = list(dict.fromkeys(row["target"] for row in document["rows"]))
    for target in targets:
        rows = [row for row in document["rows"] if row["target"] == target]
        parts += [Text(), Text(f"{target}, {rows[0]['dtype']}", style="bold")]
        parts += [*map(Text, _tiles(rows)), _table(rows)]
        parts += [
            Text(f"  {_name(row)}: {row['failed']}", style="dim") for row in rows if row["failed"]
        ]
    return [*parts, Text(), *(Text(line, style="dim") for line in CLOSING)]


def _name(row: dict[str, Any]) -> str:
    block = "twin" if row["block_size"] is None else f"block {row['block_size']}"
    return f"{row['head_dim']}, {block}"


def _tiles(rows: list[dict[str, Any]]) -> list[str]:
    """A line for each head size."""
    paged = {row["head_dim"]: row for row in rows if row["block_size"] is not None}
    return [
        f"head size {head_dim}: tiles of {row['keys']} keys, {row['warps']} warps, {row['stages']} stages"
        for head_dim, row in paged.items()
    ]


def _table(rows: list[dict[str, Any]]) -> FigureTable:
    program = Group(("program",), ("regs", "spills", "KiB"), tuple(map(_program, rows)))
    loop = Group(
        ("main loop",), ("loop", "int", "mma", "16 B", "async", "less"), tuple(map(_loop, rows))
    )
    cost = Group(("for each KiB",), ("instr.", "over"), tuple(map(_cost, rows)))
    return FigureTable([Text(_name(row)) for row in rows], [program, loop, cost])


def _program(row: dict[str, Any]) -> tuple[str, ...]:
    if row["failed"]:
        return "-", "-", "-"
    return f"{row['registers']}", f"{row['spills']}", f"{row['shared'] / 1024:.1f}"


def _loop(row: dict[str, Any]) -> tuple[str, ...]:
    names = ("instructions", "integer", "matrix", "wide", "asynchronous", "narrow")
    return tuple("-" if row["failed"] else f"{row[name]}" for name in names)


def _cost(row: dict[str, Any]) -> tuple[str, ...]:
    if row["failed"]:
        return "-", "-"
    over = row["over_twin"]
    return f"{row['per_kib']:.1f}", "" if over is None else f"{100 * over:+.1f} %"
