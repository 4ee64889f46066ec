"""The terminal views: what a screen says is the run's own figures, at any width and in any
characters; and the laws of bars and maps."""

import io
import os
import re
import subprocess
import sys
from dataclasses import replace
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from pagesim.core.memories import MemorySettings
from pagesim.core.request import Request
from pagesim.core.types import Geometry
from pagesim.planner.facts import gpu, model
from pagesim.planner.units import format_gib
from pagesim.replay.memory_map import Holder, MemoryMap
from pagesim.replay.waste import WasteSplit
from pagesim.sim.allocators import ALLOCATORS, TITLES
from pagesim.sim.cost import cost_model
from pagesim.sim.simulate import Comparison, Contender, RunSettings, compare
from pagesim.sim.workload import Arrival, Workload
from pagesim.sim.workloads import build_workload
from pagesim.views.closing import closing
from pagesim.views.compare import CompareScreen, Header, RunScreen
from pagesim.views.console import ASCII, UNICODE, clean, glyphs_for, make_console
from pagesim.views.figures import format_duration, format_durations
from pagesim.views.glyphs import glyphs_of
from pagesim.views.host_map import host_map
from pagesim.views.map_cells import map_cells, slots_per_cell
from pagesim.views.map_grid import MapGrid, NamedMap
from pagesim.views.memory_map import MemoryMapView, map_scale
from pagesim.views.waste_bar import WasteBar, apportion

WIDTHS = (60, 80, 120, 200)
SETTINGS = RunSettings(
    MemorySettings(15728), cost_model(model("opt-13b"), gpu("a100-40gb")), rules="paper"
)
BYTES_PER_SLOT = 819_200
HEADER = Header(
    "pagesim compare",
    (("workload", "60 requests"), ("memory", "12.00 GiB, 15,728 slots"), ("seed", "0")),
    BYTES_PER_SLOT,
    TITLES,
)


class Stream(io.StringIO):
    """A stream with an encoding; a terminal or none."""

    def __init__(self, encoding="utf-8", *, terminal=False):
        super().__init__()
        self._encoding = encoding
        self._terminal = terminal

    @property
    def encoding(self):
        return self._encoding

    def isatty(self):
        return self._terminal


def draw(view, width=80, encoding="utf-8", environ=None, *, terminal=False):
    stream = Stream(encoding, terminal=terminal)
    known = {"COLUMNS": str(width), "TERM": "xterm-256color", **(environ or {})}
    make_console(stream=stream, environ=known).print(view)
    return stream.getvalue()


def without_escapes(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def digits(text):
    """All figures in order. Where lines break does not matter."""
    return re.findall(r"\d[\d,.]*", text)


@pytest.fixture(name="sixty", scope="module")
def _sixty():
    workload = build_workload("sharegpt", requests=60, rate=None, seed=0, max_model_len=2048)
    return compare(workload, [Contender(name, name, SETTINGS) for name in ALLOCATORS])


def run_few(requests, allocators=ALLOCATORS, settings=SETTINGS):
    workload = Workload("few", "few", tuple(Arrival(0, r) for r in requests), saturated=True)
    return compare(workload, [Contender(name, name, settings) for name in allocators])


def with_report(run, **changes):
    return replace(run, report=replace(run.report, **changes))


def over_like_steps(results):
    """The same runs, as if all means had been taken over the same kind of steps."""
    return [with_report(run, window=results[0].report.window) for run in results]


# -- screens ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [20, 40, *WIDTHS])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize("terminal", [False, True])
def test_a_screen_stays_within_its_width(sixty, width, encoding, terminal):
    shown = draw(CompareScreen(sixty, HEADER), width, encoding, terminal=terminal)
    assert ("\x1b" in shown) == terminal
    lines = without_escapes(shown).splitlines()
    assert max(map(cell_len, lines)) <= width
    assert all(cell_len(line) == len(line) for line in lines)


@pytest.mark.parametrize("width", WIDTHS)
def test_ascii_has_the_same_figures_and_nothing_else(sixty, width):
    unicode = draw(CompareScreen(sixty, HEADER), width)
    plain = draw(CompareScreen(sixty, HEADER), width, "ascii")
    assert plain.isascii()
    assert not unicode.isascii()
    assert digits(plain) == digits(unicode)
    assert "?" not in plain


@pytest.mark.parametrize("width", WIDTHS)
def test_every_figure_of_the_reports_is_there(sixty, width):
    shown = draw(CompareScreen(sixty, HEADER), width)
    for run in sixty.results:
        report = run.report
        assert f"{report.mean_requests:.2f}" in shown
        assert f"{report.num_steps:,}" in shown
        assert f"{report.output_tokens_per_s:,.1f}" in shown
        assert TITLES[run.allocator] in shown
        for part, percent in zip(report.waste[:5], report.waste.percent().values(), strict=True):
            assert f"{percent:.1f} %" in shown
            assert format_gib(round(part * BYTES_PER_SLOT)) in shown
    for holders in {len(shown_map.holders) for shown_map in sixty.maps}:
        assert f"{holders} requests" in shown
    assert format_duration(sixty.moment_ns / 1e9) in shown


def test_drawing_twice_gives_the_same(sixty):
    assert draw(CompareScreen(sixty, HEADER)) == draw(CompareScreen(sixty, HEADER))


def test_a_run_alone(sixty):
    shown = draw(RunScreen(sixty.results[3], HEADER, sixty.maps[3]))
    assert "In short" in shown
    assert "blocks of 16 slots" in shown
    assert "same moment" not in shown
    assert "reserve the maximum" not in shown
    assert draw(RunScreen(sixty.results[3], HEADER)).count("slots") < shown.count("slots")


def test_views_are_values_for_notebooks_and_export(sixty):
    view = CompareScreen(sixty, HEADER)
    assert "text/html" in view._repr_mimebundle_([], [])
    console = Console(record=True, width=80, file=io.StringIO())
    console.print(view)
    assert "In short" in console.export_text(clear=False)
    assert "<svg" in console.export_svg()


def test_one_output_token_has_no_time_per_output_token():
    """H22: n/a where no request has two output tokens."""
    few = run_few([Request("a", range(10), 1), Request("b", range(100, 105), 1)])
    shown = draw(CompareScreen(few, HEADER))
    assert shown.count("n/a") == 2 * len(ALLOCATORS)
    assert draw(CompareScreen(run_few([Request("a", range(10), 2)]), HEADER)).count("n/a") == 0


def test_all_refused():
    long = [Request(f"r{number}", range(3000), 10) for number in range(5)]
    shown = draw(CompareScreen(run_few(long), HEADER))
    assert "5 of 5 requests" in shown
    assert "and 2 more" in shown
    assert "r2: " in shown
    assert "r3: " not in shown
    assert "every one was refused" in shown
    assert "no step ran" in shown


@pytest.mark.parametrize("width", WIDTHS)
def test_an_empty_comparison_and_an_empty_run(width):
    assert "Nothing was run." in draw(CompareScreen(Comparison((), None, ()), HEADER), width)
    empty = run_few([])
    shown = draw(CompareScreen(empty, HEADER), width)
    assert "no request to serve" in " ".join(shown.split())
    assert "n/a" in shown


def test_outside_text_is_shown_as_it_is(sixty):
    nasty = "[red]x[/red] :smile: \x1b[31m\x07\n\u202e é 😀 \udc80"
    runs = [with_report(sixty.results[0], num_refused=1, refusals=((nasty, "too [bold]long"),))]
    header = replace(HEADER, title=nasty, lines=((nasty, nasty),), titles={"max": "[i]most[/i]"})
    for encoding in ("utf-8", "ascii", "cp1252", "cp949"):
        shown = draw(CompareScreen(Comparison(tuple(runs), None, ()), header), 120, encoding)
        assert "[red]x[/red] :smile: \\x1b[31m\\x07\\n" in shown
        assert "too [bold]long" in shown
        assert "[i]most[/i]" in shown
        assert "\x1b" not in shown
        assert "\u202e" not in shown
        assert "\\u" not in shown
        assert ("😀" in shown) == (encoding == "utf-8")
        shown.encode(encoding)


# -- the closing sentences -------------------------------------------------------------------------


def test_closing_names_the_ratio_and_the_shares(sixty):
    text = " ".join(closing(over_like_steps(sixty.results)))
    maximum, paged = sixty.results[0].report, sixty.results[3].report
    assert f"{paged.mean_requests / maximum.mean_requests:.1f} times as many requests" in text
    assert "45 % of the memory held tokens, against 19 %" in text
    assert "54 % with paged memory" in text
    assert "The same 60 requests took 39.9 s instead of 97.9 s" in text


def test_closing_when_paged_is_not_the_best(sixty):
    maximum, _, oracle, paged = over_like_steps(sixty.results)
    worse = with_report(paged, mean_requests=5.0)
    text = " ".join(closing([maximum, oracle, worse]))
    assert "Paged memory held fewer requests at once than reserving the maximum (5.00" in text
    assert "The most requests at once were held by reserving the true length: 13.28" in text
    equal = with_report(paged, mean_requests=7.05)
    assert "about as many" in closing([maximum, equal])[0]
    more = with_report(paged, mean_requests=7.3)
    assert "slightly more" in closing([maximum, more])[0]


def test_closing_does_not_compare_means_over_different_steps(sixty):
    """Paged memory takes all 60 at once; its mean is over the whole run, the others' while requests wait."""
    text = closing(sixty.results)[0]
    assert "held up to 60 requests at once, more than reserving the maximum (7)" in text
    assert "times as many" not in " ".join(closing(sixty.results))


def test_closing_claims_no_time_where_others_were_served(sixty):
    fewer = with_report(sixty.results[0], num_finished=50, num_refused=10)
    text = " ".join(closing([fewer, sixty.results[3]]))
    assert "took" not in text
    assert "10 of 60 with reserving the maximum" in text


def test_closing_of_one_of_none_and_without_paged(sixty):
    assert closing([sixty.results[0]])[0].startswith("Reserving the maximum held 7.00 requests")
    assert closing([with_report(sixty.results[0], waste=None)]) == [
        "Requests were served, but no step was measured."
    ]
    first = closing(sixty.results[:3])[0]
    assert first.startswith("Reserving the true length held 1.9 times as many")


# -- figures and bars ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (None, "n/a"),
        (0.0, "0 s"),
        (0.0247, "24.7 ms"),
        (0.00051, "0.51 ms"),
        (36.26, "36.3 s"),
        (1208.0, "20.1 min"),
        (18072.0, "5.02 h"),
        (7.2e6, "2,000 h"),
    ],
)
def test_durations(seconds, shown):
    assert format_duration(seconds) == shown


def test_durations_in_a_column_share_a_unit():
    assert format_durations([1.12, None, 73.2]) == ["1.1 s", "n/a", "73.2 s"]
    assert format_durations([0.001, 7200.0]) == ["1.00 ms", "2.00 h"]


@given(st.lists(st.floats(0, 1e9, allow_nan=False), min_size=1, max_size=8), st.integers(0, 300))
def test_apportioned_cells_add_up(parts, total):
    cells = apportion(parts, total)
    if sum(parts) > 0:
        assert sum(cells) == total
        for part, count in zip(parts, cells, strict=True):
            assert abs(count - part * total / sum(parts)) < 1 + 1e-6
    else:
        assert not any(cells)


@given(st.lists(st.integers(0, 1000), min_size=5, max_size=5).filter(any), st.integers(1, 120))
def test_a_bar_is_as_wide_as_asked(parts, width):
    split = WasteSplit(*map(float, parts), sum(parts))
    for glyphs in (UNICODE, ASCII):
        assert WasteBar(split).line(glyphs, width).cell_len == width


# -- maps ------------------------------------------------------------------------------------------


def memory(geometry, holders, cached=()):
    return MemoryMap(0, 0, geometry, tuple(holders), frozenset(cached), 0)


class Drawn(NamedTuple):
    shown: MemoryMap
    cell_slots: int


@st.composite
def paged_maps(draw):
    size = draw(st.sampled_from([1, 2, 4, 16]))
    blocks = draw(st.integers(1, 60))
    holders = []
    for seq in range(draw(st.integers(0, 6))):
        order = draw(st.permutations(range(blocks)))
        table = tuple(order[: draw(st.integers(0, blocks))])
        holders.append(Holder(seq, f"r{seq}", table, draw(st.integers(0, len(table) * size)), 0))
    cached = draw(st.sets(st.integers(0, blocks - 1)))
    shown = memory(Geometry(blocks, size), [h for h in holders if h.table], cached)
    return Drawn(shown, size * draw(st.integers(1, blocks + 1)))


@given(paged_maps())
def test_every_block_is_in_one_cell_and_shares_add_up(drawn):
    """Against a plain oracle that asks each slot what it holds."""
    shown, cell_slots = drawn
    size = shown.geometry.block_size
    written = [0] * shown.geometry.num_slots
    listed = [[] for _ in range(shown.geometry.num_blocks)]
    for number, holder in enumerate(shown.holders):
        for position, block in enumerate(holder.table):
            listed[block].append(number)
            for offset in range(size):
                if position * size + offset < holder.written:
                    written[block * size + offset] = 1
    cells = map_cells(shown, cell_slots)
    assert sum(cell.slots for cell in cells) == shown.geometry.num_slots
    for index, cell in enumerate(cells):
        slots = range(index * cell_slots, index * cell_slots + cell.slots)
        owners = [listed[slot // size] for slot in slots]
        assert cell.written == sum(written[slot] for slot in slots)
        assert cell.held == sum(1 for names in owners if names)
        assert cell.free == cell.slots - cell.held >= cell.cached
        assert cell.shared == sum(1 for names in owners if len(names) > 1)
        assert cell.cached == sum(
            1 for slot in slots if not listed[slot // size] and slot // size in shown.cached
        )
        firsts = [names[0] for names in owners if names]
        most = max(map(firsts.count, firsts), default=0)
        best = min((name for name in firsts if firsts.count(name) == most), default=None)
        assert cell.owner == best


@given(
    st.lists(st.tuples(st.integers(1, 40), st.integers(0, 40), st.integers(0, 40)), max_size=6),
    st.integers(1, 64),
)
def test_runs_are_cut_at_cells_and_add_up(runs, cell_slots):
    holders, start = [], 0
    for seq, (length, wanted, filled) in enumerate(runs):
        wanted = max(1, min(wanted, length))
        table = range(start, start + length)
        holders.append(Holder(seq, f"r{seq}", table, min(filled, wanted), wanted))
        start += length + 3
    cells = map_cells(memory(Geometry(start + 5, 1), holders), cell_slots)
    assert sum(cell.slots for cell in cells) == start + 5
    assert sum(cell.written for cell in cells) == sum(holder.written for holder in holders)
    assert sum(cell.empty for cell in cells) == sum(h.wanted - h.written for h in holders)
    assert sum(cell.held for cell in cells) == sum(len(holder.table) for holder in holders)
    assert all(0 <= cell.held <= cell.slots for cell in cells)


def test_a_small_map_in_full():
    """Two sequences share block 2; a is full in 0, half full in 5; b holds an empty block 7."""
    shown = memory(
        Geometry(10, 4),
        [Holder(0, "a", (2, 0, 5), 10, 12), Holder(1, "b", (2, 7), 4, 8)],
        cached=(2, 9),
    )
    assert draw(MemoryMapView(shown), 60).splitlines() == [
        " 0 A█··A&····A▄··B▒··==",
        "1 cell = 4 slots (1 block)",
    ]
    assert draw(MemoryMapView(shown), 60, "ascii").splitlines()[0] == " 0 A#..A&....A-..B:..=="


SWAPPED = MemoryMap(
    0,
    0,
    Geometry(10, 4, 6),
    (Holder(0, "a", (2, 0, 5), 10, 12),),
    frozenset((9,)),
    1,
    (Holder(1, "b", (11, 10), 7, 8), Holder(2, "c", (11, 15), 8, 8)),
)


def test_a_small_map_with_a_host_pool_in_full():
    """b and c are on the host and share h1 there; b's second block, h0, is nearly full."""
    assert draw(MemoryMapView(SWAPPED), 80).splitlines() == [
        " 0 A█··A█····A▄······==",
        "host pool: 3 of 6 blocks held by 2 sequences, h0 to h5 (in the log 10 to 15)",
        "h0 B▆&&······C█",
        "1 cell = 4 slots (1 block)",
    ]
    assert draw(MemoryMapView(SWAPPED), 60, "ascii").splitlines()[2] == "h0 B+&&......C#"


@given(paged_maps(), st.integers(1, 40), st.sampled_from([20, 40, 80, 120]), st.booleans())
def test_a_host_pool_is_drawn_as_the_device_is(drawn, num_host, width, ascii_only):
    """What is on the host looks as it would in a device of that size, and the device as without a host."""
    alone = drawn.shown
    geometry = Geometry(num_host, alone.geometry.block_size, alone.geometry.num_blocks)
    moved = tuple(
        holder._replace(table=tuple(block + num_host for block in holder.table))
        for holder in alone.holders
    )
    both = MemoryMap(0, 0, geometry, (), frozenset(), 0, moved)
    host = host_map(both)
    assert host.holders == alone.holders
    numbers = {holder.name: holder.seq for holder in alone.holders}
    encoding = "ascii" if ascii_only else "utf-8"
    lines = draw(MemoryMapView(both, numbers=numbers), width, encoding).splitlines()
    assert max(map(cell_len, lines)) <= width
    at = next(number for number, line in enumerate(lines) if line.startswith("host pool"))
    held = len({block for holder in alone.holders for block in holder.table})
    assert f"{held} of {alone.geometry.num_blocks}" in lines[at] or width < 40
    scale = map_scale([both], width)
    expected = MemoryMapView(host, scale=scale, numbers=numbers)
    plain = draw(_Lines(expected, scale), width, encoding).splitlines()
    cells = [line.split()[1] for line in plain]
    shown = [line.split()[1] for line in lines[at + 1 :] if re.match(r" *h\d", line)]
    assert shown == cells[: len(shown)]
    assert all(set(line) <= {"·", "."} for line in cells[len(shown) :])


class _Lines:
    """A map's lines at a given scale, as something that can be printed."""

    def __init__(self, view, scale):
        self.view, self.scale = view, scale

    def __rich_console__(self, console, options):
        yield from self.view.lines(glyphs_of(options), self.scale, options.max_width)


def test_a_run_with_swaps_says_how_many(sixty):
    paged = sixty.results[3]
    assert "swapped" not in draw(RunScreen(paged, HEADER))
    swaps = with_report(paged, num_preemptions=17, num_swaps=13)
    for width in WIDTHS:
        assert "swapped" in draw(RunScreen(swaps, HEADER), width)
    assert "swapped" in draw(CompareScreen(Comparison((sixty.results[0], swaps), None, ()), HEADER))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_a_screen_with_a_host_pool_stays_within_its_width(sixty, width, encoding):
    shown = draw(RunScreen(sixty.results[3], HEADER, SWAPPED), width, encoding)
    assert max(map(cell_len, shown.splitlines())) <= width
    assert "host pool: 3 of 6 blocks held" in shown
    assert "host pool: 3 of 6 blocks held by 2 sequences" in shown
    assert "?" not in shown


def test_no_caption_or_line_of_the_host_reaches_into_the_map_beside_it():
    shown = [NamedMap(name, "", SWAPPED._replace(waiting=99)) for name in ("recompute", "swap")]
    for width in (80, 100, 120):
        column = (width - 2) // 2
        for line in draw(MapGrid(shown), width).splitlines()[:5]:
            assert line[column : column + 2].strip() == ""


def test_maps_that_are_compared_have_one_scale(sixty):
    cell_slots = slots_per_cell(sixty.maps, 256)
    assert cell_slots == 64
    assert {len(map_cells(shown, cell_slots)) for shown in sixty.maps} == {246}


@pytest.mark.parametrize("shared", [0, 100])
def test_a_million_blocks_are_still_a_picture(shared):
    step = 1000
    holders = [
        Holder(seq, f"r{seq}", (*range(shared), *range(shared + seq, 1_000_000, step)), 15_000, 0)
        for seq in range(step)
    ]
    shown = memory(Geometry(1_000_000, 16), holders)
    text = draw(MemoryMapView(shown), 80)
    assert "1 cell = 32,768 slots (2,048 blocks)" in text
    assert len(text.splitlines()) <= 17


# -- consoles: colour, width, characters -----------------------------------------------------------


def test_no_color_beats_force_color(sixty):
    """H27. An empty NO_COLOR counts as not set."""
    view = CompareScreen(sixty, HEADER)
    for terminal in (False, True):
        off = draw(view, environ={"NO_COLOR": "1", "FORCE_COLOR": "1"}, terminal=terminal)
        assert "\x1b" not in off
    assert "\x1b" in draw(view, environ={"NO_COLOR": ""}, terminal=True)
    assert "\x1b" not in draw(view, environ={"NO_COLOR": ""})


def test_the_width_without_a_terminal():
    def width(environ):
        return make_console(stream=Stream(), environ=environ).width

    assert width({}) == 100
    assert width({"COLUMNS": "133"}) == 133
    for wrong in ("", "0", "-5", "wide", "²"):
        assert width({"COLUMNS": wrong}) == 100


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "cp949", "cp437", "gbk", "no-such"])
def test_encodings_that_lack_a_glyph_get_ascii(encoding):
    assert glyphs_for(encoding) is ASCII
    assert glyphs_for("utf-8") is UNICODE


def test_what_cannot_be_shown():
    assert clean("a\u200bb\u2028c\xa0d\x85", "utf-8") == "a?b?c d\\x85"
    assert clean("Zoë 😀 \u6f22", "ascii") == "Zo? ? ?"
    assert clean("Zoë", "no-such") == "Zo?"


SCRIPT = """
from pagesim.planner.facts import gpu, model
from pagesim.core.memories import MemorySettings
from pagesim.sim.allocators import ALLOCATORS, TITLES
from pagesim.sim.cost import cost_model
from pagesim.sim.simulate import Contender, RunSettings, compare
from pagesim.sim.workloads import build_workload
from pagesim.views.compare import CompareScreen, Header
from pagesim.views.console import make_console
workload = build_workload("sharegpt", requests=60, rate=None, seed=0, max_model_len=2048)
cost = cost_model(model("opt-13b"), gpu("a100-40gb"))
settings = RunSettings(MemorySettings(15728), cost, rules="paper")
runs = compare(workload, [Contender(name, name, settings) for name in ALLOCATORS])
header = Header("caf\\u00e9 \\U0001f600", (("workload", "\\u4e16"),), 819200, TITLES)
make_console().print(CompareScreen(runs, header))
make_console(stderr=True).print(header.title)
"""


def run_script(**environ):
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "PYTHONIOENCODING", "PYTHONUTF8")
        and not name.startswith("LC_")
    }
    return subprocess.run(
        [sys.executable, "-c", SCRIPT], env={**kept, **environ}, capture_output=True, check=False
    )


@pytest.fixture(name="utf8", scope="module")
def _utf8():
    done = run_script(PYTHONIOENCODING="utf-8")
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode("utf-8")


@pytest.mark.parametrize(
    "environ",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "cp1252"},
        {"PYTHONIOENCODING": "cp949"},
        {"LC_ALL": "C"},
        {"LC_ALL": "POSIX"},
    ],
)
def test_a_process_whose_encoding_lacks_the_characters(utf8, environ):
    """H28; and H27, for all of these write to a pipe."""
    done = run_script(**environ)
    assert done.returncode == 0
    encoding = environ.get("PYTHONIOENCODING", "ascii")
    shown = done.stdout.decode(encoding)
    for text in (shown, done.stderr.decode(encoding)):
        assert "\\u" not in text
        assert "\\U" not in text
        assert "Traceback" not in text
        assert "\x1b" not in text
    assert digits(shown) == digits(utf8)
    first, *others = shown.splitlines()
    assert first == {"ascii": "caf? ?", "cp1252": "café ?", "cp949": "caf? ?"}[encoding]
    assert all(line.isascii() or "\u4e16" in line for line in others)
    assert "\x1b" not in utf8
    assert max(map(len, utf8.splitlines())) <= 100


def test_an_explicit_encoding_beats_the_locale(utf8):
    assert run_script(LC_ALL="C", PYTHONIOENCODING="utf-8").stdout.decode("utf-8") == utf8
