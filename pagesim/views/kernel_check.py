"""What ``pagesim kernel check`` shows: for each option, how many cases had it and the worst error.

Knows nothing about how cases are run.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.console import RenderableType
from rich.text import Text

from pagesim.views.figure_table import FigureTable, Group
from pagesim.views.figures import counted

if TYPE_CHECKING:
    from pagesim_kernels.check import Result

MOST_FAILURES = 5


class Kind(NamedTuple):
    """A row of the table: the cases it is about, and whose error it shows."""

    name: str
    holds: "Callable[[Result], bool]"
    error: "Callable[[Result], float | None]" = lambda result: result.error


KINDS = (
    Kind("decoding", lambda r: r.case.kind() == "decode"),
    Kind("chunks of prompts", lambda r: r.case.kind() == "extend"),
    Kind("both in one call", lambda r: r.case.kind() == "mixed"),
    Kind("float32", lambda r: r.case.dtype == "fp32"),
    Kind("float16", lambda r: r.case.dtype == "fp16"),
    Kind("bfloat16", lambda r: r.case.dtype == "bf16"),
    Kind("fp8 cache, scales", lambda r: r.case.dtype == "fp8"),
    Kind("sliding window", lambda r: r.case.window is not None),
    Kind("soft cap", lambda r: r.case.soft_cap is not None),
    Kind("ALiBi", lambda r: r.case.alibi),
    Kind("split keys", lambda r: r.tiling is not None and r.tiling.split_len > 0),
    Kind("block no power of 2", lambda r: r.case.block_size & (r.case.block_size - 1) > 0),
    Kind("an empty sequence", lambda r: 0 in r.case.context_lens),
    Kind("Numba kernel", lambda r: r.numba is not None, lambda r: r.numba),
    Kind("torch, gather first", lambda r: r.gather is not None, lambda r: r.gather),
)


def worst(results: "Sequence[Result]", kind: Kind) -> float | None:
    """The largest error over its tolerance; NaN counts as infinite; None without any."""
    shares = []
    for result in results:
        error = kind.error(result)
        if error is not None:
            shares.append(error / result.tolerance if error == error else float("inf"))
    return max(shares, default=None)


def check_parts(results: "Sequence[Result]", device: str, seed: int) -> list[RenderableType]:
    labels, cells = [], []
    for kind in KINDS:
        inside = [result for result in results if kind.holds(result)]
        if not inside:
            continue
        share = worst(inside, kind)
        errors = [error for error in map(kind.error, inside) if error is not None]
        largest = max(errors, key=lambda error: (error != error, error), default=None)
        labels.append(Text(kind.name))
        cells.append(
            (
                f"{len(inside)}",
                "not run" if largest is None else f"{largest:.1e}",
                "" if share is None else f"{share:.3f}",
                "ok" if all(result.passed for result in inside) else "FAILED",
            )
        )
    columns = ("cases", "worst error", "of tolerance", "verdict")
    table = FigureTable(labels, [Group((), columns, tuple(cells))])
    where = "Triton's interpreter on the CPU" if device == "cpu" else "the GPU"
    head = f"{counted(len(results), 'random case')} from seed {seed}, on {where}, judged by float64"
    return [Text(head), Text(), table, Text(), *_closing(results)]


def _closing(results: "Sequence[Result]") -> list[RenderableType]:
    failed = [result for result in results if not result.passed]
    lines: list[RenderableType] = []
    if any(result.error is not None for result in results):
        twin = sum(result.same_as_twin for result in results)
        moved = sum(result.same_elsewhere for result in results)
        lines.append(Text(f"equal to the contiguous twin, bit for bit: {twin} of {len(results)}"))
        lines.append(
            Text(f"equal with the blocks elsewhere, bit for bit:  {moved} of {len(results)}")
        )
    else:
        lines.append(Text("there is no triton on this system: its kernel was not run"))
    lines += [
        Text(f"FAILED: {result.case} {result.tiling} {result.failure}".rstrip())
        for result in failed[:MOST_FAILURES]
    ]
    lines.append(Text(f"{len(results) - len(failed)} passed, {len(failed)} failed"))
    return lines


def check_document(results: "Sequence[Result]", device: str, seed: int) -> dict[str, object]:
    """The same for machines."""
    rows: list[dict[str, object]] = []
    for kind in KINDS:
        inside = [result for result in results if kind.holds(result)]
        share = worst(inside, kind)
        rows.append(
            {
                "what": kind.name,
                "cases": len(inside),
                "worst_over_tolerance": share if share != float("inf") else None,
                "failed": sum(not result.passed for result in inside),
            }
        )
    failed = [result for result in results if not result.passed]
    return {
        "cases": len(results),
        "seed": seed,
        "device": device,
        "interpreter": device == "cpu",
        "rows": rows,
        "same_as_twin": sum(result.same_as_twin for result in results),
        "same_elsewhere": sum(result.same_elsewhere for result in results),
        "failed": [
            {"case": str(result.case), "tiling": str(result.tiling), "failure": result.failure}
            for result in failed
        ],
    }
