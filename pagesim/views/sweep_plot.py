"""A figure of a sweep: one metric against the first axis that varies, a line for each combination of the others.

Matplotlib is imported when a figure is made. Lines differ in marker and dashes as well as in colour, so that grey
prints can be read. Knows nothing about how points are run.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING

from pagesim.core.errors import InputError
from pagesim.replay.metrics import Metric, Unit
from pagesim.views.palette import OWNER_COLORS
from pagesim.views.plots import WIDE_SPREAD, dashes, new_figure, plain, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_LINES = 24
MARKERS = "osD^vPX"
WIDTH, HEIGHT, LEGEND_LINE = 6.6, 3.6, 0.18
"""In inches."""
MOST_LETTERS = 80
"""Of a text in the plot before it is cut."""
MOST_LEGEND_COLUMNS, LETTERS_ACROSS, LENGTH_OF_A_SAMPLE = 6, 100, 10


@dataclass(frozen=True, slots=True)
class PlotAxis:
    """What runs along x. ``sizes`` are ``None`` for names, which stand side by side."""

    label: str
    texts: tuple[str, ...]
    sizes: tuple[float, ...] | None


@dataclass(frozen=True, slots=True)
class PlotLine:
    """One combination of the other axes, empty if there are none; a figure, or ``None``, for each value of x."""

    name: str
    figures: tuple[float | None, ...]


def check_drawable(num_lines: int) -> None:
    """Raises InputError where matplotlib is missing or so many lines could not be told apart."""
    if num_lines > MOST_LINES:
        raise InputError(
            f"--plot would draw {num_lines:,} lines, one for each combination of all axes but the first; "
            f"{MOST_LINES} are the most, so type the axis with most values first or give fewer values"
        )
    style()


def sweep_figure(x: PlotAxis, others: str, lines: Sequence[PlotLine], metric: Metric) -> "Figure":
    """``others`` says what the lines' names are."""
    with style():
        from matplotlib.ticker import FuncFormatter

        rows = 1 - (-len(lines) // _legend_columns(lines)) if len(lines) > 1 else 0
        figure = new_figure(WIDTH, HEIGHT + LEGEND_LINE * rows)  # as high as its legend needs
        axes = figure.add_subplot()
        places = list(range(len(x.texts))) if x.sizes is None else list(x.sizes)
        scale, unit = _unit(metric, lines)
        for at, line in enumerate(lines):
            axes.plot(
                places,
                [nan if value is None else value / scale for value in line.figures],
                marker=MARKERS[at % len(MARKERS)],
                markersize=5,
                linewidth=1.3,
                color=OWNER_COLORS[at % len(OWNER_COLORS)],
                linestyle=dashes(at),
                label=plain(line.name, MOST_LETTERS) or "all",
                clip_on=False,
                zorder=3,
            )
        _x_scale(axes, x, places)
        axes.set_ylim(0, 1.06 * max(_largest(lines) / scale, 1e-9))
        axes.set_xlabel(plain(x.label, MOST_LETTERS))
        axes.set_ylabel(f"{metric.title}{unit}")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        axes.grid(color="#dddddd", linewidth=0.5)
        if len(lines) > 1:
            figure.legend(
                loc="outside upper left",
                ncols=_legend_columns(lines),
                handlelength=3.2,
                title=plain(others, MOST_LETTERS),
                title_fontsize="medium",
                alignment="left",
            )
        _tell_of_gaps(axes, lines)
    return figure


# -- parts -------------------------------------------------------------------------------------------


def _legend_columns(lines: Sequence[PlotLine]) -> int:
    longest = max(len(line.name) for line in lines) + LENGTH_OF_A_SAMPLE
    return max(1, min(len(lines), MOST_LEGEND_COLUMNS, LETTERS_ACROSS // longest))


def _unit(metric: Metric, lines: Sequence[PlotLine]) -> tuple[float, str]:
    """What figures are divided by, and what they are in then."""
    if metric.unit is Unit.PERCENT:
        return 1.0, " (%)"
    if metric.unit is not Unit.SECONDS:
        return 1.0, ""
    return (1e-3, " (ms)") if _largest(lines) < 1 else (1.0, " (s)")


def _largest(lines: Sequence[PlotLine]) -> float:
    return max((value for line in lines for value in line.figures if value is not None), default=0)


def _x_scale(axes: "Axes", x: PlotAxis, places: Sequence[float]) -> None:
    """Every value has its tick; sizes that are far apart are drawn by their logarithms."""
    if x.sizes is not None and max(places) >= WIDE_SPREAD * min(places) > 0:
        axes.set_xscale("log", base=2)
    axes.set_xticks(places, [plain(text, MOST_LETTERS) for text in x.texts])
    axes.minorticks_off()
    if sum(len(text) + 2 for text in x.texts) > 90:
        axes.tick_params(axis="x", labelrotation=45)
    if x.sizes is None:
        axes.set_xlim(-0.3, len(places) - 0.7)


def _tell_of_gaps(axes: "Axes", lines: Sequence[PlotLine]) -> None:
    gaps = sum(value is None for line in lines for value in line.figures)
    total = sum(len(line.figures) for line in lines)
    if gaps:
        axes.set_title(f"no figure at {gaps} of {total} points", fontsize=8, color="#555555")
