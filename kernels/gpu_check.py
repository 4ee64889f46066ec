"""One run on a GPU machine, under three minutes: is the kernel right, how near memory's limit, what does paging cost?

    python kernels/gpu_check.py           needs torch and triton, no network; JSON into the folder that OUT names
    python kernels/gpu_check.py --dry     the correctness part, small, in Triton's interpreter; no GPU

Exit code 1 if a case failed. A speed is K and V read once, over the median time of a CUDA graph in which the call
runs on several sets of K and V in turn, together at least 256 MiB, so that no cache holds what comes next.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

START = time.monotonic()
CASES, SHARDS, DRY_CASES = 120, 12, 16
HEADS, KV_HEADS, HEAD_DIM = 32, 8, 128
SETTINGS = (
    (1, 8192),
    (1, 65536),
    (8, 4096),
    (64, 2048),
    (256, 1024),
    (32, 16384),
)  # sequences, keys of each
BLOCK_SIZES = (1, 16, 128)
ROTATED_BYTES = 256 << 20
REPLAYS = 20


def seconds() -> float:
    return time.monotonic() - START


# -- correctness ---------------------------------------------------------------------------------------------


def shard(first: int, step: int, cases: int, *, dry: bool) -> int:
    """Check every step-th case; one JSON line a case on standard output. Returns how many failed."""
    if dry:
        from pagesim_kernels.interpreter import use_interpreter

        use_interpreter()
    import torch
    from pagesim_kernels.check import check

    torch.set_num_threads(1)
    failed = 0
    for result in check(range(first, cases, step), device="cpu" if dry else "cuda", small=dry):
        failed += not result.passed
        line = {
            "case": str(result.case), "tiling": str(result.tiling), "dtype": result.case.dtype,
            "kind": result.case.kind(), "error": result.error, "of_tolerance": (result.error or 0) / result.tolerance,
            "same_as_twin": result.same_as_twin, "same_elsewhere": result.same_elsewhere,
            "failure": result.failure, "passed": result.passed,
        }  # fmt: skip
        print(json.dumps(line), flush=True)
    return failed


def correctness(cases: int, shards: int, *, dry: bool) -> tuple[dict[str, object], int]:
    """All cases, shared out to processes so that their compiles overlap. What is to be kept, and how many failed."""
    command = [sys.executable, __file__, "--shards", str(shards), "--cases", str(cases)]
    command += ["--dry"] if dry else []
    running = [
        subprocess.Popen([*command, "--shard", str(i)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for i in range(shards)
    ]  # fmt: skip
    results, broken = [], []
    for process in running:
        out, err = process.communicate()
        results += [json.loads(line) for line in out.splitlines() if line.startswith("{")]
        if process.returncode not in (0, 1):
            broken.append(err.strip()[-400:])
    failed = [result for result in results if not result["passed"]]
    for result in failed[:5]:
        print(
            f"  FAILED {result['case']} {result['tiling']} error {result['error']} {result['failure']}"
        )
    for text in broken[:2]:
        print(f"  a process ended early: {text}")
    worst = {
        dtype: max(result["of_tolerance"] for result in results if result["dtype"] == dtype)
        for dtype in Counter(result["dtype"] for result in results)
    }
    missing = cases - len(results)
    same = sum(result["same_as_twin"] and result["same_elsewhere"] for result in results)
    shares = ", ".join(f"{dtype} {share:.2f}" for dtype, share in sorted(worst.items()))
    print(
        f"correctness: {len(results) - len(failed)} of {cases} cases within tolerance of float64 (worst, as a share of "
        f"it: {shares}); {same} equal to the contiguous twin and with the blocks elsewhere, bit for bit  "
        f"[{seconds():.0f} s]",
        flush=True,
    )
    kept = {
        "cases": cases,
        "failed": failed,
        "missing": missing,
        "worst_of_tolerance": worst,
        "same_bits": same,
    }
    return kept, len(failed) + missing


def pipelining_and_far_blocks() -> list[str]:
    """What only a GPU shows: the same bits for any number of stages, and blocks beyond 4 GiB. What is wrong."""
    import torch
    from pagesim_kernels.cases import Case, error_of, make_batch
    from pagesim_kernels.paged_attention import paged_attention
    from pagesim_kernels.reference import reference_attention
    from pagesim_kernels.tiling import Launch, Tiling

    wrong = []
    case = Case((3000, 777, 64), (1, 1, 1), 32, 8, 128, 16, "fp16")
    batch = make_batch(case)
    here = batch.to("cuda")
    want = reference_attention(*batch.paged(), batch.options)
    tiling = Tiling(16, 64, split_len=512)
    outs = [
        paged_attention(*here.paged(), here.options, Launch(replace(tiling, stages=stages)))
        for stages in (1, 2, 3, 4)
    ]
    if not all(torch.equal(outs[0], out) for out in outs[1:]):
        wrong.append("1, 2, 3 and 4 stages give different bits")
    blocks, used = 150_000, batch.k_cache.shape[0]  # of 32 KiB: 4.9 GB of K, 2.4e9 elements
    far = []
    for cache in (here.k_cache, here.v_cache):
        pool = torch.empty((blocks, *cache.shape[1:]), dtype=cache.dtype, device="cuda")
        pool[-used:] = cache
        far.append(pool)
    tables = torch.where(here.block_tables >= 0, here.block_tables + (blocks - used), -1)
    moved = here._replace(k_cache=far[0], v_cache=far[1], block_tables=tables)
    if error_of(paged_attention(*moved.paged(), moved.options), want) > 2e-3:
        wrong.append("blocks beyond 4 GiB are read wrongly")
    return wrong


# -- speed ---------------------------------------------------------------------------------------------------


def timed(calls: Sequence[Callable[[], object]]) -> float:
    """Seconds a call: the median replay of a graph of all of them, over their number."""
    import torch

    for call in calls:
        call()  # compiles
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for call in calls:
            call()
    times = []
    for _ in range(REPLAYS):
        before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        before.record()
        graph.replay()
        after.record()
        torch.cuda.synchronize()
        times.append(before.elapsed_time(after) * 1e-3)
    return sorted(times)[len(times) // 2] / len(calls)


def ceilings() -> dict[str, float]:
    import torch

    source = torch.ones(1 << 30, dtype=torch.float16, device="cuda")
    target = torch.empty_like(source)
    size = source.numel() * source.element_size()
    copy = 2 * size / timed([lambda: target.copy_(source)])
    read = size / timed([lambda: source.view(torch.int64).max()])
    print(
        f"ceilings: copy {copy / 1e9:.0f} GB/s (read + written), read {read / 1e9:.0f} GB/s",
        flush=True,
    )
    return {"copy": copy, "read": read}


def speed(seqs: int, context: int, copy: float) -> dict[str, Any]:
    """One setting: the twin, paged with blocks of each size, the best SDPA on contiguous K and V. Times in seconds."""
    import torch
    from pagesim_kernels.options import PLAIN
    from pagesim_kernels.paged_attention import contiguous_attention, paged_attention
    from pagesim_kernels.tiling import Launch

    kv_bytes = 2 * seqs * context * KV_HEADS * HEAD_DIM * 2
    sets = max(2, -(-ROTATED_BYTES // kv_bytes))
    shape = (sets, seqs, context, KV_HEADS, HEAD_DIM)
    k, v = (torch.randn(shape, device="cuda", dtype=torch.float16) for _ in range(2))
    q = torch.randn(seqs, HEADS, HEAD_DIM, device="cuda", dtype=torch.float16)
    lens = torch.full((seqs,), context, device="cuda", dtype=torch.int32)
    starts = torch.arange(seqs + 1, device="cuda", dtype=torch.int32)
    launch = Launch(None, 1, context)
    tiling = launch.sizes(q, k[0], lens, starts).tiling
    twin_launch = replace(launch, tiling=replace(tiling, stages=tiling.stages - 1))
    row: dict[str, Any] = {"seqs": seqs, "context": context, "sets": sets, "kv_bytes": kv_bytes}
    twin = timed(
        [
            partial(contiguous_attention, q, k[i], v[i], lens, starts, PLAIN, twin_launch)
            for i in range(sets)
        ]
    )
    row |= {"twin": twin, "twin_of_copy": kv_bytes / twin / copy}
    for block_size in BLOCK_SIZES:
        tables, k_pool, v_pool = scattered(k, v, block_size)
        calls = [
            partial(paged_attention, q, k_pool, v_pool, table, lens, starts, PLAIN, launch)
            for table in tables
        ]
        row[f"paged_{block_size}"] = timed(calls)
        del calls, k_pool, v_pool
    row["sdpa"], row["sdpa_backend"] = best_sdpa(q, k, v)
    return row


def scattered(k: "Tensor", v: "Tensor", block_size: int) -> "tuple[Tensor, Tensor, Tensor]":
    """The same keys in blocks anywhere in one pool: tables (sets, seqs, blocks), and the pools of K and V."""
    import torch

    sets, seqs, context = k.shape[:3]
    order = torch.randperm(sets * seqs * (context // block_size), device=k.device)
    pools = []
    for contiguous in (k, v):
        blocks = contiguous.view(-1, block_size, *k.shape[3:])
        pools.append(torch.empty_like(blocks))
        pools[-1][order] = blocks
    return order.view(sets, seqs, -1).int(), pools[0], pools[1]


def best_sdpa(q: "Tensor", k: "Tensor", v: "Tensor") -> tuple[float | None, str]:
    import torch.nn.functional as F  # noqa: N812
    from torch.nn.attention import SDPBackend, sdpa_kernel

    best: tuple[float | None, str] = (None, "none")
    for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION):
        calls = [
            partial(F.scaled_dot_product_attention, q[:, :, None], keys, values, enable_gqa=True)
            for keys, values in zip(k.transpose(2, 3), v.transpose(2, 3), strict=True)
        ]
        try:
            with sdpa_kernel(backend):
                one = timed(calls)
        except Exception as error:  # a backend may refuse grouped heads
            print(f"  {backend.name}: {type(error).__name__} {str(error)[:80]}")
            continue
        if best[0] is None or one < best[0]:
            best = one, backend.name.split("_")[0].lower()
    return best


def cache_speed() -> dict[str, float]:
    """Bytes a second (read + written) of copy_blocks and write_kv."""
    import torch
    from pagesim_kernels.cache_ops import copy_blocks, write_kv

    k, v = (
        torch.randn(32_768, 16, KV_HEADS, HEAD_DIM, device="cuda", dtype=torch.float16)
        for _ in range(2)
    )
    block_bytes = k[0].numel() * k.element_size()
    order = torch.randperm(32_768, device="cuda", dtype=torch.int32)
    copies = torch.stack(
        [order[:8192], order[8192:16_384], torch.full_like(order[:8192], 16)], 1
    ).contiguous()
    new = torch.randn(65_536, KV_HEADS, HEAD_DIM, device="cuda", dtype=torch.float16)
    slots = torch.randperm(32_768 * 16, device="cuda")[:65_536]
    return {
        "copy_blocks": 2 * 2 * 8192 * block_bytes / timed([lambda: copy_blocks(k, v, copies)]),
        "write_kv": 2 * 2 * new.numel() * 2 / timed([lambda: write_kv(new, new, k, v, slots)]),
    }


def table(rows: list[dict[str, Any]]) -> list[str]:
    heads = "".join(f" | {f'p{size} us':>8}    over" for size in BLOCK_SIZES)
    lines = [f" seqs x keys   twin us  % copy{heads} |  sdpa us  backend  twin/sdpa"]
    for row in rows:
        twin = row["twin"]
        line = f"{row['seqs']:>5} x {row['context']:>5} {twin * 1e6:8.1f} {100 * row['twin_of_copy']:7.1f}"
        for size in BLOCK_SIZES:
            paged = row[f"paged_{size}"]
            line += f" | {paged * 1e6:8.1f} {100 * (paged / twin - 1):+5.1f} %"
        sdpa = row["sdpa"]
        if sdpa is None:
            lines.append(line + " |     none")
            continue
        lines.append(f"{line} | {sdpa * 1e6:8.1f} {row['sdpa_backend']:>8} {twin / sdpa:10.2f}")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--dry",
        action="store_true",
        help="correctness only, in Triton's interpreter, without a GPU",
    )
    parser.add_argument("--cases", type=int, help=f"default {CASES}, with --dry {DRY_CASES}")
    parser.add_argument("--shards", type=int, help="processes that share the cases")
    parser.add_argument("--shard", type=int, help=argparse.SUPPRESS)
    parser.add_argument(
        "--limit", type=float, default=160, help="seconds after which no further setting is timed"
    )
    chosen = parser.parse_args()
    cases = chosen.cases or (DRY_CASES if chosen.dry else CASES)
    shards = chosen.shards or (2 if chosen.dry else SHARDS)
    if chosen.shard is not None:
        return int(shard(chosen.shard, shards, cases, dry=chosen.dry) > 0)
    if chosen.dry:
        _, failed = correctness(cases, shards, dry=True)
        print(
            f"{cases - failed} passed, {failed} failed; not measured on a GPU  [{seconds():.0f} s in all]"
        )
        return int(failed > 0)
    import torch
    import triton

    if not torch.cuda.is_available():
        print("there is no GPU here; --dry runs the correctness part without one", file=sys.stderr)
        return 2
    machine = {
        "torch": torch.__version__,
        "triton": triton.__version__,
        "gpu": torch.cuda.get_device_name(),
    }
    print(" ".join(f"{name} {value}" for name, value in machine.items()), flush=True)
    document: dict[str, Any] = {"machine": machine}
    document["correctness"], failed = correctness(cases, shards, dry=False)
    wrong = pipelining_and_far_blocks()
    for sentence in wrong:
        print(f"  FAILED {sentence}")
    failed += len(wrong)
    document |= {"wrong": wrong, "ceilings": (limits := ceilings()), "rows": (rows := [])}
    for seqs, context in SETTINGS:
        if seconds() < chosen.limit:
            rows.append(speed(seqs, context, limits["copy"]))
    document["cache"] = moved = cache_speed()
    document["seconds"] = seconds()
    if os.environ.get("OUT"):
        (Path(os.environ["OUT"]) / "gpu_check.json").write_text(
            json.dumps(document, indent=1), encoding="utf-8"
        )
    print(
        f"\ndecoding, {HEADS}/{KV_HEADS} heads of {HEAD_DIM}, fp16; over: paged over twin, less 1; p16: blocks of 16"
    )
    print("\n".join(table(rows)))
    shares = ", ".join(
        f"{name} {100 * speed / limits['copy']:.0f} %" for name, speed in moved.items()
    )
    print(f"of the copy ceiling: {shares}")
    print(f"{cases + 2 - failed} passed, {failed} failed  [{seconds():.0f} s in all]")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
