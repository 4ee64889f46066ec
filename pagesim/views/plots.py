"""Figures for paper and slides: memory over time, waste, requests at once, latencies, block sizes.

Matplotlib is imported when a figure is made, and draws without a screen. Whatever is told by colour is told by a
hatch or a line's dashes as well, so that grey prints can be read. Knows nothing about logs: it is given folds.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pagesim.core.errors import InputError
from pagesim.replay.latency import LatencyMeter
from pagesim.replay.waste import WasteMeter, WasteSplit
from pagesim.views.palette import KINDS, OWNER_COLORS

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

DPI = 300
MOST_POINTS = 600
"""Columns of a stacked figure; more steps than that are averaged over time."""
WIDE_SPREAD = 8
"""A largest value so many times the median calls for a logarithmic axis."""
HATCHES = ("", "////", "....", "xxxx", "")
FILLS = ("#00966b", "#8fc8ea", "#f2b661", "#e3b3d1", "#ededed")
"""The five kinds in print: the palette's hues at greys that differ (0.45, 0.73, 0.74, 0.76, 0.93; the
middle three by their hatches)."""
EDGE = "#333333"
DASHES: tuple[str | tuple[int, tuple[float, ...]], ...] = (
    "solid", (0, (5, 2)), (0, (1, 1.4)), (0, (6, 2, 1, 2)), (0, (3, 1.2)), (0, (6, 1.5, 1, 1.5, 1, 1.5)),
)  # fmt: skip
STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "hatch.linewidth": 0.5,
    "legend.frameon": False,
    "svg.hashsalt": "pagesim",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
}


class UsageSeries(NamedTuple):
    """Slots of each kind in each step, in the order of ``KINDS``; ``ends`` are the steps' ends in seconds."""

    ends: Sequence[float]
    kinds: tuple[Sequence[int], ...]
    num_slots: int


@dataclass(frozen=True, slots=True)
class Run:
    """A run's name in a figure, and its folds."""

    name: str
    waste: WasteMeter
    latency: LatencyMeter
    num_slots: int
    split: WasteSplit | None = None


def usage_series(run: Run) -> UsageSeries:
    """Each step's split, as ``WasteMeter.split`` has its mean."""
    meter = run.waste
    kinds: tuple[list[int], ...] = ([], [], [], [], [])
    for used, granted, rounding, blocked, internal in zip(
        meter.used_series,
        meter.granted_series,
        meter.rounding_series,
        meter.blocked_series,
        meter.internal_series(),
        strict=True,
    ):
        idle = run.num_slots - granted
        external = rounding + (idle if blocked else 0)
        reserved = granted - rounding - used - internal
        parts = (used, reserved, internal, external, 0 if blocked else idle)
        for kind, slots in zip(kinds, parts, strict=True):
            kind.append(slots)
    return UsageSeries([ns / 1e9 for ns in run.latency.end_series], kinds, run.num_slots)


# -- figures -----------------------------------------------------------------------------------------


def usage_figure(runs: Sequence[Run]) -> "Figure":
    """The memory's five kinds over simulated time, stacked; a panel a run."""
    with style():
        figure = new_figure(6.6, 1.0 + 1.9 * len(runs))
        panels = _panels(figure, len(runs))
        for panel, run in zip(panels, runs, strict=True):
            series = usage_series(run)
            edges, columns = binned(series)
            if len(edges) > 1:
                _stack(panel, edges, columns)
            panel.set_ylim(0, 100)
            panel.set_ylabel("share of KV slots (%)")
            panel.set_title(f"{plain(run.name)} ({run.num_slots:,} slots)")
        panels[-1].set_xlim(0, max(_end(runs), 1e-9))
        panels[-1].set_xlabel("simulated time (s)")
        _kinds_legend(figure)
    return figure


def waste_figure(runs: Sequence[Run]) -> "Figure":
    """Where the memory went, as means: one stacked bar a run."""
    with style():
        figure = new_figure(6.6, 1.4 + 0.5 * len(runs))
        axes = figure.add_subplot()
        for at, run in enumerate(runs):
            if run.split is None:
                axes.text(1, at, "no step ran", va="center", fontsize=8)
                continue
            left = 0.0
            for number, share in enumerate(run.split.percent().values()):
                axes.barh(
                    at,
                    share,
                    left=left,
                    height=0.62,
                    facecolor=FILLS[number],
                    edgecolor=EDGE,
                    linewidth=0.4,
                    hatch=HATCHES[number],
                )
                if share >= 6:
                    _figure_in_bar(axes, left + share / 2, at, f"{share:.1f}", number)
                left += share
        axes.set_yticks(range(len(runs)), [plain(run.name) for run in runs])
        axes.set_ylim(len(runs) - 0.5, -0.5)
        axes.set_xlim(0, 100)
        axes.set_xlabel("share of KV slots, mean over steps (%)")
        axes.tick_params(axis="y", length=0)
        _kinds_legend(figure)
    return figure


def concurrency_figure(runs: Sequence[Run]) -> "Figure":
    """Requests that hold memory, and sequences that wait, over simulated time; a line a run."""
    with style():
        figure = new_figure(6.6, 4.4)
        upper, lower = _panels(figure, 2)
        for at, run in enumerate(runs):
            ends = [ns / 1e9 for ns in run.latency.end_series]
            for panel, series in (
                (upper, run.latency.requests_series),
                (lower, run.latency.waiting_series),
            ):
                counts = [float(count) for count in series[: len(ends)]]
                _step_line(panel, [0.0, *ends], [*counts, 0.0], at, run.name)
        upper.set_ylabel("requests at once")
        lower.set_ylabel("sequences waiting")
        lower.set_xlabel("simulated time (s)")
        for panel in (upper, lower):
            panel.set_ylim(bottom=0)
            panel.set_xlim(0, max(_end(runs), 1e-9))
            panel.grid(axis="y", color="#dddddd", linewidth=0.5)
        _lines_legend(figure, upper)
    return figure


def latency_figure(runs: Sequence[Run]) -> "Figure":
    """The share of requests that were as quick or quicker: to the first token, and per output token."""
    with style():
        figure = new_figure(6.6, 3.2)
        left, right = figure.subplots(1, 2, sharey=True)
        for at, run in enumerate(runs):
            first = [ns / 1e9 for ns in run.latency.first_token_ns]
            each = [ns / 1e6 for ns in run.latency.per_token_ns]
            for panel, values in ((left, first), (right, each)):
                _step_line(panel, *ecdf(values), at, run.name)
        left.set_xlabel("time to first token (s)")
        right.set_xlabel("time per output token (ms)")
        left.set_ylabel("share of requests (%)")
        left.set_ylim(0, 101)
        left.set_xlim(left=0)
        _suited_scale(right, [ns / 1e6 for run in runs for ns in run.latency.per_token_ns])
        for panel in (left, right):
            panel.grid(color="#dddddd", linewidth=0.5)
            for percent in (50, 99):
                panel.axhline(percent, color="#999999", linewidth=0.6, linestyle=(0, (2, 3)))
        for percent in (50, 99):
            beside = right.get_yaxis_transform()
            right.text(1.01, percent, f"p{percent}", va="center", fontsize=8, transform=beside)
        _lines_legend(figure, left)
    return figure


def block_size_figure(efficiency: Mapping[str, Mapping[int, float]]) -> "Figure":
    """The share of the memory that holds tokens against the block size; a line a workload, percent by size."""
    with style():
        figure = new_figure(5.2, 3.2)
        axes = figure.add_subplot()
        sizes = sorted({size for line in efficiency.values() for size in line})
        for at, (name, line) in enumerate(efficiency.items()):
            ordered = sorted(line.items())
            axes.plot(
                [size for size, _ in ordered],
                [share for _, share in ordered],
                marker="osD^vP"[at % 6],
                markersize=4,
                label=plain(name),
                color=OWNER_COLORS[at % len(OWNER_COLORS)],
                linestyle=dashes(at),
            )
        axes.set_xscale("log", base=2)
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axes.minorticks_off()
        axes.set_ylim(0, 101)
        axes.set_xlabel("block size (tokens)")
        axes.set_ylabel("KV slots that hold tokens (%)")
        axes.grid(color="#dddddd", linewidth=0.5)
        _lines_legend(figure, axes)
    return figure


def save(figure: "Figure", path: Path) -> None:
    """Write it as its suffix says; the same figure is the same file. Raises InputError if that fails."""
    dates = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
    metadata = dates.get(path.suffix.lower(), {})
    try:
        with style():
            figure.savefig(path, dpi=DPI, metadata=metadata)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}; name another file") from None


# -- numbers -----------------------------------------------------------------------------------------


def ecdf(values: Sequence[float]) -> tuple[list[float], list[float]]:
    """Values in order, and what percent of all are as small or smaller; it starts at 0."""
    ordered = sorted(values)
    shares = [100 * (at + 1) / len(ordered) for at in range(len(ordered))]
    return [ordered[0], *ordered] if ordered else [], [0.0, *shares] if ordered else []


def binned(series: UsageSeries) -> "tuple[Floats, list[Floats]]":
    """Edges in seconds, and the mean percent of each kind between them, weighted by time."""
    import numpy as np

    ends = np.asarray(series.ends, dtype=np.float64)
    count = min(len(ends), len(series.kinds[0]))
    ends = np.maximum.accumulate(ends[:count]) if count else ends
    edges = np.concatenate([[0.0], ends])
    percent = [
        100 * np.asarray(kind[:count], dtype=np.float64) / series.num_slots for kind in series.kinds
    ]
    if count <= MOST_POINTS:
        return edges, percent
    coarse = np.linspace(0, edges[-1], MOST_POINTS + 1)
    columns = []
    for kind in percent:
        area = np.concatenate([[0.0], np.cumsum(kind * np.diff(edges))])
        columns.append(np.diff(np.interp(coarse, edges, area)) / np.diff(coarse))
    return coarse, columns


# -- parts -------------------------------------------------------------------------------------------


def style() -> AbstractContextManager[None]:
    try:
        import matplotlib
    except ImportError:
        raise InputError(
            "plots need matplotlib, which is not installed; `pip install 'pagesim[plots]'`"
        ) from None
    return matplotlib.rc_context(STYLE)  # type: ignore[arg-type,unused-ignore]


def new_figure(width: float, height: float) -> "Figure":
    """Sizes in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def dashes(at: int) -> str | tuple[int, tuple[float, ...]]:
    """Of the line with that number. A solid one is named so: some readers of SVG draw an empty list as nothing."""
    return DASHES[at % len(DASHES)]


def _panels(figure: "Figure", count: int) -> "list[Axes]":
    return list(figure.subplots(count, 1, sharex=True, squeeze=False)[:, 0])


def _end(runs: Sequence[Run]) -> float:
    """When the last of the runs was over, in seconds."""
    return max(
        (run.latency.end_series[-1] / 1e9 for run in runs if run.latency.end_series), default=0
    )


def _suited_scale(panel: "Axes", values: Sequence[float]) -> None:
    """Logarithmic where few values are far from the others, which a line from 0 on would press together."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ordered = sorted(values)
    if not ordered or ordered[0] <= 0 or ordered[-1] < WIDE_SPREAD * ordered[len(ordered) // 2]:
        panel.set_xlim(left=0)
        return
    panel.set_xscale("log")
    panel.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    panel.xaxis.set_minor_formatter(NullFormatter())


def _step_line(panel: "Axes", x: Sequence[float], y: Sequence[float], at: int, name: str) -> None:
    panel.step(
        x,
        y,
        where="post",
        color=OWNER_COLORS[at % len(OWNER_COLORS)],
        linestyle=dashes(at),
        linewidth=1.3,
        label=plain(name),
    )


def _stack(panel: "Axes", edges: "Floats", columns: "Sequence[Floats]") -> None:
    import numpy as np

    lower = np.zeros(len(edges) - 1)
    for number, column in enumerate(columns):
        upper = lower + column
        panel.fill_between(
            edges,
            np.append(lower, lower[-1]),
            np.append(upper, upper[-1]),
            step="post",
            facecolor=FILLS[number],
            edgecolor=EDGE,
            linewidth=0.0,
            hatch=HATCHES[number],
        )
        lower = upper


def _figure_in_bar(axes: "Axes", x: float, y: float, text: str, number: int) -> None:
    """A number on a hatched bar stands on a patch of the bar's own colour."""
    box = {"facecolor": FILLS[number], "edgecolor": "none", "pad": 1.2}
    color = "white" if number == 0 else "black"
    axes.text(x, y, text, ha="center", va="center", fontsize=8, color=color, bbox=box)


def _kinds_legend(figure: "Figure") -> None:
    from matplotlib.patches import Patch

    patches = [
        Patch(
            label=kind.name, facecolor=FILLS[at], edgecolor=EDGE, linewidth=0.4, hatch=HATCHES[at]
        )
        for at, kind in enumerate(KINDS)
    ]
    figure.legend(handles=patches, loc="outside upper center", ncols=len(KINDS), handlelength=1.6)


def _lines_legend(figure: "Figure", axes: "Axes") -> None:
    handles, labels = axes.get_legend_handles_labels()
    if len(handles) > 1:
        figure.legend(
            handles,
            labels,
            loc="outside upper center",
            ncols=min(len(handles), 4),
            handlelength=2.6,
        )
    elif labels:
        axes.set_title(labels[0])


def plain(name: str, most: int = 60) -> str:
    """Text from outside: one line, no mathematics, only what the font has."""
    shown = "".join(c if c.isascii() and c.isprintable() else "?" for c in name[:most])
    return shown.replace("$", r"\$")
