"""The static report: what paging costs in machine code, for GPUs that are not here.

``python -m pagesim_kernels.report`` prints one JSON document; it is a program of its own since a process is either
Triton's interpreter or its compiler. A figure here is counted in the compiler's output, never measured.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

TARGETS = ("sm80", "sm90", "sm100", "gfx942")
HEAD_DIMS = (64, 128)
BLOCK_SIZES = (128, 16, 1)


@dataclass(frozen=True, slots=True)
class Row:
    """One compiled kernel. ``block_size`` None: the contiguous twin. ``failed``: what the compiler said, if it did.

    ``over_twin``: instructions per KiB over the twin's, less 1; None for the twin. The twin has one pipeline stage
    less, because looking a block up is a stage of its own: both then fetch K and V equally far ahead.
    """

    target: str
    dtype: str
    head_dim: int
    block_size: int | None
    keys: int
    warps: int
    stages: int
    registers: int = 0
    spills: int = 0
    shared: int = 0
    instructions: int = 0
    integer: int = 0
    matrix: int = 0
    wide: int = 0
    asynchronous: int = 0
    narrow: int = 0
    wide_share: float = 0.0
    per_kib: float = 0.0
    over_twin: float | None = None
    failed: str = ""


def report(
    targets: Sequence[str] = TARGETS,
    head_dims: Sequence[int] = HEAD_DIMS,
    block_sizes: Sequence[int] = BLOCK_SIZES,
    dtype: str = "fp16",
) -> list[Row]:
    """A row for the twin and for every block size, of decoding with four query heads a KV head."""
    rows = []
    for target in targets:
        for head_dim in head_dims:
            twin = _row(target, dtype, head_dim, None)
            rows.append(twin)
            for block_size in block_sizes:
                row = _row(target, dtype, head_dim, block_size)
                if not (row.failed or twin.failed):
                    row = replace(row, over_twin=row.per_kib / twin.per_kib - 1)
                rows.append(row)
    return rows


def _row(target: str, dtype: str, head_dim: int, block_size: int | None) -> Row:
    from pagesim_kernels.aot import BYTES, Target, Variant, compile_variant
    from pagesim_kernels.tiling import choose_tiling

    tiling = choose_tiling(head_dim, BYTES[dtype], 4, split=True)
    if block_size is None:
        tiling = replace(tiling, stages=tiling.stages - 1)
    row = Row(target, dtype, head_dim, block_size, tiling.keys, tiling.warps, tiling.stages)
    try:
        made = compile_variant(Variant(head_dim, block_size, dtype, dtype), tiling, Target(target))
    except Exception as error:  # whatever the compiler raises is the row's result
        return replace(row, failed=" ".join(f"{type(error).__name__}: {error}".split())[:200])
    return replace(
        row,
        registers=made.code.registers,
        spills=made.code.spills,
        shared=made.shared,
        wide_share=made.wide_share,
        per_kib=made.per_kib,
        **made.counts._asdict(),
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m pagesim_kernels.report")
    parser.add_argument("--targets", nargs="+", default=TARGETS)
    parser.add_argument("--head-dims", nargs="+", type=int, default=HEAD_DIMS)
    parser.add_argument("--block-sizes", nargs="+", type=int, default=BLOCK_SIZES)
    parser.add_argument("--dtype", default="fp16", choices=("fp16", "bf16", "fp32"))
    chosen = parser.parse_args(arguments)
    import triton

    rows = report(chosen.targets, chosen.head_dims, chosen.block_sizes, chosen.dtype)
    document = {"triton": triton.__version__, "rows": [asdict(row) for row in rows]}
    json.dump(document, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
