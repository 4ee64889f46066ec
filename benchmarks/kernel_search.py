"""Which tile, warps and stages the attention kernel is launched with: `python benchmarks/kernel_search.py`.

Compiles every candidate for sm90 and reads the machine code, no GPU needed; the best are then compiled for sm80 and
sm100. Its result is the table in `pagesim_kernels/tiling.py`. The rules, in this order:

1. no register spills, and all of K and V read 16 bytes at a time (fp8, which is widened in registers, never is);
2. at most 100 KiB of shared memory, what every GPU since sm80 has for one program;
3. in decoding, while one tile is computed, at least 40 KiB of K and V on their way to each multiprocessor (programs
   that fit beside each other, times stages in flight, times a tile): an H200 moves 4.8 TB/s over 132 multiprocessors,
   and a read takes about a microsecond, so it needs 36 KiB;
4. the fewest instructions for each KiB of K and V (and each 16 rows that share it), blocks of 16. All within 20 % of
   that count as equal (it is far from the 200 or so that an H200 can issue while a KiB arrives), and of those four
   warps go first (two hide less latency, eight need more instructions), then fewer instructions.

It counts; it does not measure. Not measured on a GPU.
"""

import argparse
import itertools
import sys
from collections.abc import Iterator

from pagesim_kernels.aot import Compiled, Target, Variant, compile_variant
from pagesim_kernels.tiling import Tiling

REGISTERS, SHARED, PROGRAMS = 65_536, 227 * 1024, 32  # of a multiprocessor of sm90
MOST_SHARED = 100 * 1024
IN_FLIGHT = 40 * 1024
TYPES = {"fp16": ("fp16", "fp16"), "fp32": ("fp32", "fp32"), "fp8": ("fp16", "fp8e4nv")}


def candidates(rows: tuple[int, ...]) -> Iterator[Tiling]:
    """Of three stages: with two nothing is under way, with four the code is the same and more is under way."""
    warps = (2, 4, 8) if rows == (16,) else (4, 8)
    for row, keys, warp in itertools.product(rows, (16, 32, 64, 128), warps):
        yield Tiling(row, keys, warp, 3, split_len=512 if rows == (16,) else 0)


def in_flight(made: Compiled) -> int:
    """Bytes of K and V under way to a multiprocessor. The table's look-up is one of the stages."""
    tiling = made.tiling
    registers = made.code.registers * 32 * tiling.warps
    programs = min(REGISTERS // registers, SHARED // max(made.shared + 1024, 1), PROGRAMS)
    return programs * max(tiling.stages - 2, 0) * made.tile_bytes


def allowed(made: Compiled) -> bool:
    return (
        made.code.spills == 0
        and (made.wide_share >= 1 or made.variant.kv_type == "fp8e4nv")
        and made.shared <= MOST_SHARED
        and (made.tiling.rows > 16 or in_flight(made) >= IN_FLIGHT)
    )


def compiled(variant: Variant, tiling: Tiling, target: str) -> Compiled | None:
    try:
        return compile_variant(variant, tiling, Target(target))
    except Exception as error:  # what does not compile is no candidate
        print(f"  {target} {tiling}: {type(error).__name__}", file=sys.stderr)
        return None


def cost(made: Compiled) -> float:
    """Instructions for each KiB of K and V and each 16 query rows that share it."""
    return made.per_kib / (made.tiling.rows / 16)


def search(dtype: str, head_dim: int, rows: tuple[int, ...]) -> list[Compiled]:
    """What is allowed, best first."""
    variant = Variant(head_dim, 16, *TYPES[dtype])
    made = [compiled(variant, tiling, "sm90") for tiling in candidates(rows)]
    good = [one for one in made if one is not None and allowed(one)]
    if not good:
        return []
    least = min(map(cost, good))

    def rank(one: Compiled) -> tuple[bool, bool, float]:
        near = cost(one) <= 1.2 * least
        return not near, near and one.tiling.warps != 4, cost(one)

    return sorted(good, key=rank)


def elsewhere(dtype: str, head_dim: int, tiling: Tiling) -> bool:
    """No spills on sm80 (which has no fp8) and sm100 either."""
    targets = ("sm100",) if dtype == "fp8" else ("sm80", "sm100")
    variant = Variant(head_dim, 16, *TYPES[dtype])
    made = [compiled(variant, tiling, target) for target in targets]
    return all(one is not None and one.code.spills == 0 for one in made)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dtypes", nargs="+", default=list(TYPES), choices=TYPES)
    parser.add_argument("--head-dims", nargs="+", type=int, default=[64, 128, 256])
    parser.add_argument(
        "--rows", nargs="+", type=int, default=[16], help="16: decoding; 16 32 64: chunks"
    )
    parser.add_argument("--show", type=int, default=3, help="how many of the best to print")
    chosen = parser.parse_args()
    print("dtype head rows keys warps stages  regs shared in-flight ins/KiB for 16 rows")
    for dtype, head_dim in itertools.product(chosen.dtypes, chosen.head_dims):
        best = search(dtype, head_dim, tuple(chosen.rows))
        for one in [one for one in best[:12] if elsewhere(dtype, head_dim, one.tiling)][
            : chosen.show
        ]:
            t = one.tiling
            print(
                f"{dtype:5} {head_dim:4} {t.rows:4} {t.keys:4} {t.warps:5} {t.stages:6} {one.code.registers:5} "
                f"{one.shared / 1024:6.1f} {in_flight(one) / 1024:9.0f} {one.per_kib:7.1f} {cost(one):11.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
