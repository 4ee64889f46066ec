"""Figures: their numbers are the folds' own, files are complete, and a missing matplotlib is said in a sentence."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagesim.core.errors import InputError
from pagesim.core.memories import MemorySettings
from pagesim.core.request import Request
from pagesim.planner.facts import gpu, model
from pagesim.replay.log import LogWriter, log_header
from pagesim.replay.report import Meters
from pagesim.sim.allocators import ALLOCATORS
from pagesim.sim.cost import cost_model
from pagesim.sim.simulate import RunSettings, build_loop
from pagesim.sim.workload import Arrival, Workload
from pagesim.views import plots
from pagesim.views.plots import Run, UsageSeries, binned, ecdf, usage_series

pytest.importorskip("matplotlib")

COST = cost_model(model("opt-13b"), gpu("a100-40gb"))
PAIRS = ((12, 12), (5, 9), (9, 3), (12, 12), (7, 12), (3, 8), (12, 4), (8, 8))
FIGURES = {
    "usage": plots.usage_figure,
    "waste": plots.waste_figure,
    "concurrency": plots.concurrency_figure,
    "latency": plots.latency_figure,
}


def measured(allocator, pairs=PAIRS, name=None, path=None):
    """A run's folds; its log, too, if there is a ``path``."""
    arrivals = tuple(
        Arrival(0, Request(f"r{i}", range(100 * i, 100 * i + p), o, 1))
        for i, (p, o) in enumerate(pairs)
    )
    meters, writers = [], []

    def listeners(geometry):
        meters.append(Meters(geometry))
        if path is None:
            return meters
        writers.append(LogWriter(path, log_header(geometry, allocator=allocator)))
        return [*meters, *writers]

    settings = RunSettings(MemorySettings(72, 4, 24), COST, rules="paper")
    loop = build_loop(Workload("w", "", arrivals, saturated=True), allocator, settings, listeners)
    loop.run()
    for writer in writers:
        writer.close()
    report = meters[0].report(saturated=True)
    slots = loop.scheduler.memory.geometry.num_slots
    return Run(name or allocator, meters[0].waste, meters[0].latency, slots, report.waste)


@pytest.fixture(name="runs", scope="module")
def _runs():
    return [measured(allocator) for allocator in ALLOCATORS]


def test_the_series_are_the_split_step_by_step(runs):
    for run in runs:
        series = usage_series(run)
        for step in range(run.waste.num_steps):
            assert tuple(kind[step] for kind in series.kinds) == run.waste.split(step, step + 1)[:5]
            assert sum(kind[step] for kind in series.kinds) == run.num_slots


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 100)), min_size=1, max_size=2000))
def test_averaging_over_time_keeps_the_area(steps):
    ends = np.cumsum([length for length, _ in steps]).astype(float)
    used = [held for _, held in steps]
    rest = [100 - held for held in used]
    edges, columns = binned(UsageSeries(list(ends), (used, rest, [0] * len(used)), 100))
    assert len(edges) <= plots.MOST_POINTS + 1
    assert edges[-1] == ends[-1]
    area = sum(length * held for length, held in steps)
    assert np.sum(columns[0] * np.diff(edges)) == pytest.approx(area)
    assert sum(columns) == pytest.approx(100)


@given(st.lists(st.floats(0, 1e6), max_size=50))
def test_an_ecdf_says_how_many_are_as_small(values):
    at, share = ecdf(values)
    assert at == sorted(at)
    for x, percent in list(zip(at, share, strict=True))[1:]:
        # of equal values the last one tells
        assert percent <= 100 * sum(value <= x for value in values) / len(values) + 1e-9
    assert not values or share[-1] == 100


@pytest.mark.parametrize("kind", FIGURES)
def test_axes_have_names_and_units_and_every_run_is_named(runs, kind):
    figure = FIGURES[kind](runs)
    labels = [axes.get_xlabel() for axes in figure.axes if axes.get_xlabel()]
    labels += [axes.get_ylabel() for axes in figure.axes if axes.get_ylabel()]
    assert labels
    assert all(
        "(" in label or label in ("requests at once", "sequences waiting") for label in labels
    )
    texts = [text.get_text() for text in figure.findobj(lambda part: hasattr(part, "get_text"))]
    for run in runs:
        assert any(run.name in text for text in texts)


def test_bars_are_the_splits(runs):
    (axes,) = plots.waste_figure(runs).axes
    widths = [patch.get_width() for patch in axes.patches]
    expected = [share for run in runs for share in run.split.percent().values()]
    assert widths == pytest.approx(expected)
    hatches = {patch.get_hatch() for patch in axes.patches}
    assert len(hatches) >= 4


def test_lines_differ_without_colour(runs):
    figure = plots.concurrency_figure(runs)
    dashes = [line._unscaled_dash_pattern for line in figure.axes[0].lines]
    assert len(set(map(str, dashes))) == len(runs)


def test_grey_prints_tell_used_and_free_from_waste():
    def grey(color):
        red, green, blue = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
        return 0.299 * red + 0.587 * green + 0.114 * blue

    used, *middle, free = map(grey, plots.FILLS)
    assert all(shade - used > 0.2 and free - shade > 0.1 for shade in middle)
    assert len(set(plots.HATCHES[1:4])) == 3


@pytest.mark.parametrize("kind", FIGURES)
@pytest.mark.parametrize("suffix", ["png", "pdf", "svg"])
def test_files_are_whole_and_the_same_twice(runs, kind, suffix, tmp_path):
    one, two = tmp_path / f"one.{suffix}", tmp_path / f"two.{suffix}"
    for path in (one, two):
        plots.save(FIGURES[kind](runs[:2]), path)
    assert one.read_bytes() == two.read_bytes()
    assert one.stat().st_size > 3000


@pytest.mark.parametrize("kind", FIGURES)
def test_runs_without_a_step_are_drawn_too(kind, tmp_path):
    plots.save(FIGURES[kind]([measured("paged", ()), measured("max", PAIRS)]), tmp_path / "x.png")


def test_names_from_outside_are_plain_text(tmp_path):
    for name in ("$\\frac{", "名前", "\x1b[31m", "_x", ""):
        run = measured("paged", PAIRS[:2], name=name)
        for draw in FIGURES.values():
            plots.save(draw([run, run]), tmp_path / "x.png")


def test_block_sizes(tmp_path):
    figure = plots.block_size_figure(
        {"sharegpt": {1: 100.0, 16: 96.0, 256: 60.0}, "alpaca": {16: 85.0}}
    )
    (axes,) = figure.axes
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1", "16", "256"]
    assert axes.get_xlabel() == "block size (tokens)"
    plots.save(figure, tmp_path / "x.png")


def test_without_matplotlib_it_says_what_to_install(monkeypatch, runs):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"pip install 'pagesim\[plots\]'"):
        plots.usage_figure(runs)


def test_views_import_without_matplotlib():
    script = (
        "import sys, pagesim.views.plots, pagesim.cli.plot\nassert 'matplotlib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


# -- the program -------------------------------------------------------------------------------------


def pagesim(*words):
    return subprocess.run(
        [sys.executable, "-m", "pagesim", *map(str, words)],
        capture_output=True,
        text=True,
        env={k: v for k, v in os.environ.items() if k != "LC_ALL"},
        check=False,
    )


@pytest.fixture(name="logs", scope="module")
def _logs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    paths = [folder / f"{allocator}.jsonl" for allocator in ("max", "paged")]
    for path in paths:
        measured(path.stem, path=path)
    return paths


@pytest.mark.parametrize("kind", FIGURES)
def test_plot_draws_logs(logs, kind, tmp_path):
    target = tmp_path / "x.png"
    done = pagesim("plot", *logs, "-o", target, "--kind", kind)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert target.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("target", "more"),
    [
        ("x.gif", ()),
        ("x", ()),
        ("no/x.png", ()),
        ("x.png", ("--kind", "colours")),
        ("x.png", ("gone.jsonl",)),
    ],
)
def test_bad_input_is_one_sentence(logs, tmp_path, target, more):
    done = pagesim("plot", logs[0], "-o", tmp_path / target, *more)
    assert done.returncode == 2
    assert done.stderr.startswith("pagesim: ")
    assert len(done.stderr.splitlines()) == 1
    assert not Path(tmp_path / target).exists()
