"""What ``pagesim kernel bench`` shows: ways to compute the same attention, and how near they come to a copy.

Knows nothing about how they are timed.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from pagesim.views.figure_table import FigureTable, Group

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pagesim_kernels.bench import Setting, Timing

PAGED = "paged"


def describe(setting: "Setting") -> str:
    return (
        f"{setting.seqs} x {setting.context:,} keys, {setting.heads}/{setting.kv_heads} heads of {setting.head_dim}, "
        f"{setting.dtype}, blocks of {setting.block_size}: {setting.kv_bytes / 1e6:.1f} MB"
    )


def bench_parts(
    setting: "Setting", rounds: int, copy: float, timings: "Sequence[Timing]"
) -> list[RenderableType]:
    paged = next((timing.seconds for timing in timings if timing.name == PAGED), 0.0)
    cells = []
    for timing in timings:
        if timing.failed:
            cells.append(("failed", "", "", ""))
            continue
        over = f"{timing.seconds / paged:.2f}" if paged else ""
        speed = f"{timing.bandwidth / 1e9:.1f}"
        cells.append(
            (f"{timing.seconds * 1e3:.2f} ms", speed, f"{100 * timing.of_copy:.0f} %", over)
        )
    columns = ("median", "GB/s", "of copy", "time / paged")
    table = FigureTable(
        [Text(timing.name) for timing in timings], [Group((), columns, tuple(cells))]
    )
    cpu = setting.device == "cpu"
    parts: list[RenderableType] = [
        Text(f"Decoding {describe(setting)}"),
        Text(f"{rounds} rounds; a copy moves {copy / 1e9:.1f} GB/s (read + written)"),
        Text("on the CPU, not measured on a GPU" if cpu else "on the GPU"),
        Text(),
        table,
    ]
    return parts + [
        Text(f"{timing.name}: {timing.failed}", style="dim") for timing in timings if timing.failed
    ]


def bench_document(
    setting: "Setting", rounds: int, copy: float, timings: "Sequence[Timing]"
) -> dict[str, object]:
    from dataclasses import asdict

    return {
        "setting": asdict(setting),
        "kv_bytes": setting.kv_bytes,
        "rounds": rounds,
        "copy_bytes_per_second": round(copy),
        "ways": [
            {
                "name": timing.name,
                "median_seconds": timing.seconds,
                "bytes_per_second": round(timing.bandwidth),
                "of_copy": round(timing.of_copy, 4),
                "failed": timing.failed or None,
            }
            for timing in timings
        ],
    }


def bench_figure(setting: "Setting", copy: float, timings: "Sequence[Timing]") -> "Figure":
    """A bar a way: GB/s of K and V, and the copy's as a line."""
    from pagesim.views.plots import EDGE, FILLS, HATCHES, new_figure, style

    done = [timing for timing in timings if not timing.failed]
    with style():
        figure = new_figure(6.6, 1.2 + 0.42 * len(done))
        axes = figure.add_subplot()
        for at, timing in enumerate(done):
            own = 0 if timing.name == PAGED else 4
            speed = timing.bandwidth / 1e9
            axes.barh(
                at, speed, height=0.6, facecolor=FILLS[own], edgecolor=EDGE, linewidth=0.4, hatch=HATCHES[own]
            )  # fmt: skip
            axes.annotate(
                f" {speed:.1f}  ({timing.seconds * 1e3:.2f} ms)",
                (speed, at),
                va="center",
                fontsize=8,
            )
        axes.axvline(copy / 1e9, color=EDGE, linestyle="--", linewidth=1)
        axes.annotate(
            f"a copy: {copy / 1e9:.1f} ", (copy / 1e9, -0.5), ha="right", va="bottom", fontsize=8
        )
        axes.set_yticks(range(len(done)), [timing.name for timing in done])
        axes.set_ylim(len(done) - 0.5, -0.75)
        axes.set_xlim(0, 1.1 * max(copy / 1e9, *(timing.bandwidth / 1e9 for timing in done)))
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel("GB/s of K and V, counted once")
        axes.set_title(describe(setting), fontsize=8)
    return figure
