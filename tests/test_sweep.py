"""``pagesim sweep``: the grid, its points, who runs them, and what is shown."""

import errno
import fcntl
import inspect
import itertools
import json
import os
import pty
import re
import select
import shlex
import signal
import struct
import subprocess
import sys
import termios
import time
from dataclasses import fields
from pathlib import Path

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from sweep_work import seventh_fails, seventh_is_killed, squared

from pagesim.cli import main as program
from pagesim.cli.options import Options
from pagesim.cli.run import run as run_command
from pagesim.cli.sweep import sweep as sweep_command
from pagesim.cli.sweep_axes import AXES, MOST_POINTS, read_axis
from pagesim.cli.sweep_grid import ONLY_HERE
from pagesim.core.errors import InputError, PagesimError
from pagesim.core.memories import MemorySettings
from pagesim.planner.facts import gpu, model
from pagesim.planner.kv_cache import kv_bytes_per_token
from pagesim.replay.metrics import METRICS, figures
from pagesim.replay.waste import KINDS
from pagesim.sim.cost import cost_model
from pagesim.sim.simulate import RunSettings, simulate
from pagesim.sim.sweep import Axis, grid, num_points
from pagesim.sim.workers import WorkFailedError, do_all
from pagesim.sim.workloads import build_workload
from pagesim.views.sweep_table import GROUPS, Heading, SweepRow, SweepTable, best_rows, shown

SMALL = ["--requests", "40", "--seed", "3"]
ENVIRON = {
    name: value
    for name, value in os.environ.items()
    if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LC_ALL", "CI")
}


def pagesim(*words, **environ):
    return subprocess.run(
        [sys.executable, "-m", "pagesim", *map(str, words)],
        capture_output=True,
        env={**ENVIRON, **environ},
        timeout=120,
        check=False,
    )


def called(*words):
    """The command in this process, with one process; raises what it raises."""
    command = typer.main.get_command(program.app)
    return command.main(
        ["sweep", "--jobs", "1", *map(str, words)], "pagesim", standalone_mode=False
    )


def rows_of(*words):
    done = pagesim("sweep", *words, "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == b""
    return json.loads(done.stdout)["rows"]


# -- the grid ----------------------------------------------------------------------------------------

AXIS_LISTS = st.lists(
    st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True), min_size=0, max_size=4
)


@given(AXIS_LISTS)
def test_a_grid_is_every_combination_once_and_the_last_axis_changes_fastest(lists):
    axes = [Axis(f"axis{at}", tuple(values)) for at, values in enumerate(lists)]
    points = [tuple(point.values()) for point in grid(axes)]
    assert len(points) == len(set(points)) == num_points(axes)
    places = [tuple(lists[at].index(v) for at, v in enumerate(point)) for point in points]
    assert places == sorted(places)
    assert all(list(point) == [axis.name for axis in axes] for point in grid(axes))


@given(st.integers(1, 1000), st.integers(0, 12))
def test_a_range_doubles_from_its_start_to_its_end(start, doublings):
    expected = tuple(start * 2**k for k in range(doublings + 1))
    assert read_axis("block_size", f"{start}..{expected[-1]}").values == expected
    halves = tuple(value / 2 for value in expected)
    assert read_axis("rate", f"{halves[0]}..{halves[-1]}").values == halves
    texts = tuple(f"{value}MiB" for value in expected)
    assert read_axis("kv_memory", f"{texts[0]}..{texts[-1]}").values == texts


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=20, unique=True))
def test_a_list_keeps_its_order(values):
    assert read_axis("max_num_seqs", ", ".join(map(str, values))).values == tuple(values)


def test_lists_ranges_and_other_names_mix():
    assert read_axis("block_size", "5,8..32,1").values == (5, 8, 16, 32, 1)
    assert read_axis("kv_memory", "1.5GiB..6GiB").values == ("1.5GiB", "3GiB", "6GiB")
    assert read_axis("kv_memory", "512MiB..1GiB").values == ("512MiB", "1024MiB")
    assert read_axis("model", "facebook/opt-13b").values == ("opt-13b",)
    assert read_axis("watermark", "0,1,1%, 2 % ,4%..8%").values == (
        "0",
        "1",
        "1%",
        "2%",
        "4%",
        "8%",
    )


def test_every_option_of_run_is_there_and_has_the_same_default():
    ours, theirs = (inspect.signature(f).parameters for f in (sweep_command, run_command))
    assert set(ours) - set(theirs) == set(ONLY_HERE) - {"as_json"}
    assert set(theirs) - set(ours) == {"log", "manager", "view"}
    for name in set(ours) & set(theirs):
        default = ours[name].default
        if name in AXES and default is not None:
            (default,) = read_axis(name, default).values
        assert default == theirs[name].default, name
    known = {field.name for field in fields(Options)}
    assert set(AXES) - known == {"allocator"}
    assert known <= set(ours)


# -- bad input ---------------------------------------------------------------------------------------

BAD = [
    (["--block-size", "8,16,x"], "--block-size: 'x' is not a whole number of 1 or more"),
    (["--block-size", "0"], "--block-size: '0' is not a whole number of 1 or more"),
    (["--block-size", ""], "--block-size: an empty value"),
    (["--block-size", "8,,16"], "--block-size: an empty value"),
    (["--block-size", "8,16,08"], "--block-size: 8 is listed twice"),
    (["--block-size", "8..32,16"], "--block-size: 16 is listed twice"),
    (["--block-size", "256..8"], r"256\.\.8 runs backwards; write 8\.\.256"),
    (["--block-size", "8..100"], r"doubles to 64 and then 128, never 100; write 8\.\.64 or"),
    (["--block-size", "8.."], "'' is not a whole number"),
    (["--rate", "1,nan"], "--rate: 'nan' is not a number above 0"),
    (["--rate", "1,-2"], "--rate: '-2' is not a number above 0"),
    (["--rate", "1e3..4e3"], "'1e3' cannot begin a range"),
    (["--kv-memory", "6GiB,12G"], "--kv-memory: memory size '12G' could mean two units"),
    (["--kv-memory", "1GiB,1024MiB"], "1GiB and 1024MiB are the same"),
    (["--model", "opt-13b,opt-13"], "--model: no model is called 'opt-13'"),
    (["--model", "opt-13b,facebook/opt-13b"], "--model: opt-13b is listed twice"),
    (["--gpu", "a100"], "--gpu: no GPU is called 'a100'"),
    (["--allocator", "paged,slab"], "--allocator: 'slab' is not known; there are max"),
    (["--placer", "worst-fit"], "--placer: 'worst-fit'"),
    (["--rules", "vllm"], "--rules: 'vllm'"),
    (["--order", "fcfs,lifo"], "--order: 'lifo' is no order"),
    (["--victim", "latest,/nowhere/x.py:mine"], "--victim: /nowhere/x.py is not a file"),
    (["--watermark", "1%,100%"], "--watermark: watermark '100%' was given"),
    (["--watermark", "1%,1.0%"], "1% and 1.0% are the same"),
    (["--watermark", "1..8%"], "1..8% runs backwards"),
    (["--seed", "-1"], "--seed: '-1' is not a whole number of 0 or more"),
    (["--seed", ",".join(map(str, range(MOST_POINTS + 1)))], "more than 1,000 values"),
    (["--seed", ",".join(map(str, range(101))), "--block-size", "1..512"], "101 x 10 values make"),
    (["--requests", "0"], "requests 0"),
    (["--requests", "100000000000"], "requests 100000000000"),
    (["--cv", "2"], "--cv was given"),
    (["--rules", "paper,engine", "--max-num-seqs", "8"], "--max-num-seqs was given"),
    (["--prompt-tokens", "8"], "--prompt-tokens was given"),
    (["sharegtp"], "sharegtp"),
    (["figure-8"], "figure-8 is a scenario"),
    (["--trace", "/nowhere/trace.csv"], "trace.csv"),
    (["--metric", "speed"], "--metric 'speed' is none; they are throughput"),
    (["--jobs", "0"], "--jobs 0 was given; it must be from 1"),
    (["--plot", "x.gif", "--block-size", "8,16"], "x.gif"),
    (["--plot", "/nowhere/x.png", "--block-size", "8,16"], "/nowhere/x.png cannot be written"),
    (["--plot", "x.png"], "nothing varies"),
    (["--plot", "x.png", "--rate", "1,2", "--block-size", "1..16777216"], "25 lines"),
]


@pytest.mark.parametrize(("words", "said"), BAD, ids=lambda value: str(value)[:40])
def test_bad_input_is_a_sentence_before_anything_runs(words, said):
    pytest.importorskip("matplotlib")
    with pytest.raises(InputError, match=said) as caught:
        called(*words)
    assert "\n" not in str(caught.value)


def test_bad_input_ends_with_code_2_and_nothing_on_standard_output(tmp_path):
    done = pagesim("sweep", "--block-size", "8,x", "--plot", tmp_path / "x.png")
    assert (done.returncode, done.stdout) == (2, b"")
    assert re.fullmatch(rb"pagesim: --block-size: [^\n]*\n", done.stderr)
    assert not list(tmp_path.iterdir())


def test_without_matplotlib_it_says_so_before_anything_runs(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"pip install 'pagesim\[plots\]'"):
        called("--block-size", "8,16", "--plot", "x.png")


# -- points ------------------------------------------------------------------------------------------

SETTINGS = ["--block-size", "8..32", "--kv-memory", "2GiB,4GiB"]


@pytest.fixture(name="value", scope="module")
def _value():
    done = pagesim("sweep", *SETTINGS, *SMALL, "--json", FORCE_COLOR="1")
    assert done.returncode == 0, done.stderr
    assert done.stderr == b""
    assert b"\x1b" not in done.stdout
    return json.loads(done.stdout)


def test_json_says_what_was_fixed_what_varied_and_every_figure(value):
    assert list(value) == ["command", "settings", "axes", "rows"]
    assert value["command"] == shlex.join(["pagesim", "sweep", *SETTINGS, *SMALL])
    assert value["settings"]["seed"] == 3
    assert value["settings"]["allocator"] == "paged"
    assert not {"block_size", "kv_memory"} & set(value["settings"])
    assert value["axes"] == [
        {"name": "block_size", "values": [8, 16, 32]},
        {"name": "kv_memory", "values": ["2GiB", "4GiB"]},
    ]
    points = [(row["point"]["block_size"], row["point"]["kv_memory"]) for row in value["rows"]]
    assert points == list(itertools.product((8, 16, 32), ("2GiB", "4GiB")))
    for row in value["rows"]:
        assert row["impossible"] is None
        assert row["means_over"]
        assert row["figures"]["num_finished"] == 40
        assert all(type(figure) in (int, float) for figure in row["figures"].values())
        shares = [row["figures"][f"{kind}_percent"] for kind in KINDS]
        assert sum(shares) == pytest.approx(100)


def test_a_row_is_what_simulate_gives_for_the_same_settings(value):
    opt = model("opt-13b")
    slots = 2 * 2**30 // kv_bytes_per_token(opt)
    memory = MemorySettings(slots, 16, 2048, keep_unkeyed_first=True)
    settings = RunSettings(memory, cost_model(opt, gpu("a100-sxm-40gb")))
    workload = build_workload("sharegpt", requests=40, rate=None, seed=3, max_model_len=2048)
    expected = figures(simulate(workload, "paged", settings).report)
    assert value["rows"][2]["point"] == {"block_size": 16, "kv_memory": "2GiB"}
    assert value["rows"][2]["figures"] == expected


def test_a_rows_command_gives_the_row_again(value):
    row = value["rows"][5]
    program_name, *words = shlex.split(row["command"])
    assert (program_name, words[0]) == ("pagesim", "run")
    report = json.loads(pagesim(*words, "--json").stdout)["runs"]["paged"]
    for name in set(row["figures"]) & set(report):
        assert row["figures"][name] == report[name], name
    assert row["figures"]["ttft_p99_s"] == report["ttft_s"]["p99"]


def test_commands_hold_all_that_was_typed(tmp_path):
    trace = tmp_path / "a trace.csv"
    trace.write_text("prompt_tokens,output_tokens\n10,5\n20,9\n")
    words = [
        "--trace",
        trace,
        "--rate",
        "0.5..2",
        "--no-prefix-caching",
        "--allocator",
        "max,paged",
    ]
    commands = [row["command"] for row in rows_of(*words)]
    assert commands[1] == (
        f"pagesim run --trace '{trace}' --rate 0.5 --no-prefix-caching --allocator paged"
    )
    assert len(set(commands)) == 6


def test_results_do_not_depend_on_the_number_of_processes(value):
    assert rows_of(*SETTINGS, *SMALL, "--jobs", "1") == value["rows"]
    assert rows_of(*SETTINGS, *SMALL, "--jobs", "2") == value["rows"]


def test_the_axis_typed_last_changes_fastest():
    rows = rows_of("--seed", "1,2", "--block-size", "8,16", "--requests", "5", *ONE)
    assert [tuple(row["point"].items()) for row in rows] == [
        (("seed", seed), ("block_size", size)) for seed in (1, 2) for size in (8, 16)
    ]


def test_a_workload_that_an_axis_changes_is_not_said_to_be_one_of_them(capsys):
    called("--seed", "1,2", "--requests", "5")
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["workload", "sharegpt"]
    assert lines[2].split() == ["varies", "seed", "1,", "2:", "2", "points"]


IMPOSSIBLE = ["--block-size", "16,50000", "--max-model-len", "1,1024", *SMALL]
ONE = ["--jobs", "1"]


def test_an_impossible_point_is_a_row_and_the_others_run():
    rows = rows_of(*IMPOSSIBLE, *ONE)
    said = [row["impossible"] for row in rows]
    assert "max model length 1 was given; it must be 2 or more" in said[0]
    assert said[1] is None
    assert rows[1]["figures"]["num_finished"] == 40
    assert "smaller than one block of 50000" in said[3]
    assert rows[3]["figures"] is None
    assert rows[3]["command"].endswith("--block-size 50000 --max-model-len 1024 " + " ".join(SMALL))
    shown = " ".join(pagesim("sweep", *IMPOSSIBLE, *ONE, COLUMNS="80").stdout.decode().split())
    assert "16 1 impossible: max model length 1 was given; it must be 2 or more" in shown


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_if_every_point_is_impossible_the_code_is_1(more):
    done = pagesim("sweep", "--max-model-len", "1", *SMALL, *more)
    assert done.returncode == 1
    assert b"max model length 1 was given" in done.stdout
    assert done.stderr == b""


# -- other processes ---------------------------------------------------------------------------------


@pytest.mark.parametrize("processes", [1, 2, 9])
def test_every_job_is_done_once_and_heard_of(processes):
    results, parts = {}, []
    do_all(
        squared,
        range(5),
        processes,
        told=lambda number, done, of: parts.append((number, done, of)),
        finished=lambda number, result: results.setdefault(number, []).append(result),
    )
    assert results == {number: [number * number] for number in range(5)}
    assert sorted(parts) == [(number, done, 3) for number in range(5) for done in range(3)]


def done_with(work, processes):
    do_all(work, range(9), processes, told=lambda *_: None, finished=lambda *_: None)


def test_a_fault_in_another_process_is_told_with_its_place():
    with pytest.raises(WorkFailedError, match="ValueError: seven is right out") as caught:
        done_with(seventh_fails, 2)
    assert "sweep_work.py" in caught.value.__notes__[0]
    with pytest.raises(ValueError, match="seven"):
        done_with(seventh_fails, 1)


def test_a_process_that_is_killed_is_no_endless_wait():
    with pytest.raises(PagesimError, match=r"ended by itself \(signal 9\).*fewer --jobs"):
        done_with(seventh_is_killed, 2)


# -- the table ---------------------------------------------------------------------------------------


def report_of(**changed):
    """A small run's report, with some figures changed."""
    from dataclasses import replace

    workload = build_workload("alpaca", requests=5, rate=None, seed=0, max_model_len=512)
    settings = RunSettings(
        MemorySettings(2048, 16, 512), cost_model(model("opt-13b"), gpu("a100-40gb"))
    )
    return replace(simulate(workload, "paged", settings).report, **changed)


def drawn(table, width, encoding="utf-8"):
    with open(os.devnull, "w", encoding=encoding) as nowhere:  # noqa: PTH123
        console = Console(file=nowhere, width=width, record=True, color_system=None)
        console.print(table)
        return console.export_text()


def test_the_best_of_each_column_is_marked_where_not_all_are_alike():
    reports = [
        report_of(num_preemptions=n, lost_tokens=7, requests_per_s=rate)
        for n, rate in ((3, 2.0), (1, 5.0), (1, 3.0))
    ]
    rows = [SweepRow((str(at),), report) for at, report in enumerate(reports)]
    rows.append(SweepRow(("3",), None, "there is no such memory"))
    lines = drawn(SweepTable([Heading("block size", True)], rows), 120).splitlines()
    assert [line.split()[1] for line in lines[3:6]] == ["2.000", "5.000*", "3.000"]
    assert [line.split()[6:8] for line in lines[3:6]] == [["3", "7"], ["1*", "7"], ["1*", "7"]]
    assert lines[6].split(maxsplit=1) == ["3", "impossible: there is no such memory"]
    assert best_rows(METRICS["throughput"], [*reports, None]) == [1]
    assert best_rows(METRICS["preemptions"], reports) == [1, 2]
    assert best_rows(METRICS["ttft"], [None]) == []


def test_every_metric_has_its_column():
    assert [name for _, columns in GROUPS for _, name in columns] == list(METRICS)


def test_times_in_a_column_have_one_unit():
    assert shown(METRICS["ttft"], [0.0123, 0.5]) == ["12.3 ms", "500.0 ms"]
    assert shown(METRICS["ttft"], [0.953, 47.8, None]) == ["0.95 s", "47.80 s", "n/a"]
    assert shown(METRICS["ttft"], [0.0023, 47.8]) == ["0.002 s", "47.800 s"]
    assert shown(METRICS["throughput"], [0.51234, 2.0]) == ["0.512", "2.000"]
    assert shown(METRICS["output"], [1234.5, 2.0]) == ["1,234", "2"]


@pytest.mark.parametrize("columns", ["60", "80", "120"])
def test_the_screen_keeps_to_its_width_and_loses_no_figure(columns, value, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", columns)
    called(*SETTINGS, *SMALL)
    shown = capsys.readouterr()
    assert shown.err == ""
    assert "\x1b" not in shown.out
    *lines, command = shown.out.splitlines()
    assert max(map(len, lines)) <= int(columns)
    assert command.startswith("pagesim run --block-size ")
    cells = [re.findall(r"[\d,.]+", line) for line in lines]
    for row in value["rows"]:
        first, second = (
            str(row["point"]["block_size"]),
            row["point"]["kv_memory"].removesuffix("GiB"),
        )
        found = [c[2:] for c in cells if c[:2] == [first, second]]
        flat = [cell for line in found for cell in line]
        assert len(flat) == len(METRICS)
        assert f"{row['figures']['mean_requests']:.2f}" in flat
        assert f"{row['figures']['lost_tokens']:,}" in flat


ENCODINGS = [
    {"PYTHONIOENCODING": "ascii"},
    {"PYTHONIOENCODING": "cp949"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
]


def test_encodings_without_box_characters():
    words = ["sweep", *IMPOSSIBLE, *ONE]
    numbers = re.findall(r"\d[\d,.]*\*?", pagesim(*words, PYTHONIOENCODING="utf-8").stdout.decode())
    for environ in ENCODINGS:
        done = pagesim(*words, **environ)
        assert done.returncode == 0, done.stderr
        text = done.stdout.decode("cp949" if "cp949" in environ.values() else "ascii")
        assert re.findall(r"\d[\d,.]*\*?", text) == numbers
        assert "\\u" not in text


# -- the plot ----------------------------------------------------------------------------------------


def test_a_plot_is_written_beside_the_table(tmp_path):
    pytest.importorskip("matplotlib")
    target = tmp_path / "x.png"
    words = ["--block-size", "8,16,50000", "--allocator", "max,paged", "--plot", target]
    done = pagesim("sweep", *words, "--metric", "ttft", *SMALL, *ONE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode().endswith(f"{target}: time to first token, median\n")
    data = target.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert data.rstrip().endswith(b"IEND\xaeB`\x82")
    width, height = struct.unpack(">II", data[16:24])
    assert width > 1500
    assert height > 900


def test_a_plot_says_what_runs_along_which_axis_and_lines_differ_without_colour():
    pytest.importorskip("matplotlib")
    from pagesim.views.sweep_plot import PlotAxis, PlotLine, sweep_figure

    axis = PlotAxis("block size (tokens)", ("8", "16", "128"), (8.0, 16.0, 128.0))
    lines = [PlotLine(name, (1.0, None, 3.0)) for name in "abcdefg"]
    figure = sweep_figure(axis, "allocator", lines, METRICS["tpot"])
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_xscale()) == ("block size (tokens)", "log")
    assert axes.get_ylabel() == "time per output token, median (s)"
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["8", "16", "128"]
    assert axes.get_title(loc="left") == "no figure at 7 of 21 points"
    looks = {(line.get_marker(), str(line._unscaled_dash_pattern)) for line in axes.lines}
    assert len(looks) == len(lines)
    (legend,) = figure.legends
    assert legend.get_title().get_text() == "allocator"
    assert [text.get_text() for text in legend.get_texts()] == [line.name for line in lines]


def test_names_along_x_and_names_from_outside(tmp_path):
    pytest.importorskip("matplotlib")
    from pagesim.views.plots import save
    from pagesim.views.sweep_plot import PlotAxis, PlotLine, sweep_figure

    axis = PlotAxis("GPU", ("a100", "$\\frac{", "名前"), None)
    lines = [PlotLine("_\x1b[31m", (1.0, 2.0, 3.0)), PlotLine("", (None, None, None))]
    for suffix in ("png", "svg", "pdf"):
        one, two = tmp_path / f"one.{suffix}", tmp_path / f"two.{suffix}"
        for path in (one, two):
            save(sweep_figure(axis, "$_", lines, METRICS["used"]), path)
        assert one.read_bytes() == two.read_bytes()


# -- in a terminal -----------------------------------------------------------------------------------

LONG = ["--block-size", "1..64", "--requests", "20000", "--jobs", "2"]


class Terminal:
    """``pagesim sweep`` in a pseudo-terminal of its own; standard output may go elsewhere."""

    def __init__(self, *words, stdout=None, **environ):
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.before = termios.tcgetattr(self.slave)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pagesim", "sweep", *map(str, words)],
            stdin=self.slave,
            stdout=self.slave if stdout is None else stdout,
            stderr=self.slave,
            env={**ENVIRON, "TERM": "xterm-256color", **environ},
            preexec_fn=_own_terminal,
        )
        self.output = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)
        self.process.wait()
        for number in (self.master, self.slave):
            os.close(number)

    def read_until(self, pattern, seconds=20):
        deadline = time.monotonic() + seconds
        while not re.search(pattern, self.output):
            assert time.monotonic() < deadline, self.output
            self._read()

    def ended(self, seconds=10):
        """The exit code, all output read."""
        deadline = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < deadline, self.output
            self._read()
        while self._read():
            pass
        return self.process.returncode

    def _read(self):
        if not select.select([self.master], [], [], 0.05)[0]:
            return False
        try:
            self.output += os.read(self.master, 65536).decode("utf-8", "replace")
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return False
        return True

    def processes(self):
        """Those of its session that are alive."""
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                state, _, _, session = stat.read_text().rpartition(")")[2].split()[:4]
            except OSError:
                continue
            if int(session) == self.process.pid and state != "Z":
                found.append(int(stat.parent.name))
        return found


def _own_terminal():
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def check_left_as_found(terminal):
    assert termios.tcgetattr(terminal.slave) == terminal.before
    assert terminal.output.rfind("\x1b[?25h") > terminal.output.rfind("\x1b[?25l") > -1
    assert "Traceback" not in terminal.output
    deadline = time.monotonic() + 5
    while terminal.processes():
        assert time.monotonic() < deadline, "a process was left"
        time.sleep(0.05)


def test_ctrl_c_ends_it_at_once_and_leaves_nothing(tmp_path):
    with (
        (tmp_path / "out.json").open("wb") as out,
        Terminal(*LONG, "--json", stdout=out) as terminal,
    ):
        terminal.read_until(r"0/7, [1-9][\d,]* requests")
        assert len(terminal.processes()) >= 3
        os.write(terminal.master, b"\x03")
        assert terminal.ended() == 130
        assert "pagesim: interrupted; 0 of 7 points were done" in terminal.output
        check_left_as_found(terminal)
    assert (tmp_path / "out.json").read_bytes() == b""


def test_ctrl_c_shows_the_rows_that_were_done():
    words = ["--max-model-len", "1,1024", "--requests", "20000", "--jobs", "2"]
    with Terminal(*words) as terminal:
        terminal.read_until(r"1/2, [1-9][\d,]* requests")
        os.write(terminal.master, b"\x03")
        assert terminal.ended() == 130
        assert "impossible: max model length 1" in terminal.output
        assert "interrupted; 1 of 2 points were done, and are shown" in terminal.output
        check_left_as_found(terminal)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_signals_leave_no_process(number):
    with Terminal(*LONG) as terminal:
        terminal.read_until(r"0/7, [1-9][\d,]* requests")
        terminal.process.send_signal(number)
        assert terminal.ended() == (143 if number == signal.SIGTERM else -number)
        if number == signal.SIGTERM:
            check_left_as_found(terminal)
        deadline = time.monotonic() + 10
        while terminal.processes():
            assert time.monotonic() < deadline, "a process was left"
            time.sleep(0.05)


def test_colours_in_a_terminal_and_none_with_no_color():
    colour = re.compile(r"\x1b\[[\d;]*\b(?:3[0-7]|9[0-7]|38;[25])[;m]")
    words = [*SETTINGS, *SMALL, "--jobs", "1"]
    for environ, expected in (({}, True), ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False)):
        with Terminal(*words, **environ) as terminal:
            assert terminal.ended(30) == 0
            assert bool(colour.search(terminal.output)) == expected
            assert re.search(r"\d\*", terminal.output)
