"""`pagesim export LOG -o run.html` without a browser: what is in the file, which part of a long run, what is said."""

import base64
import hashlib
import json
import re
import zlib
from itertools import accumulate
from pathlib import Path

import pytest
from small_runs import run
from typer.testing import CliRunner
from viewer_logs import events_of, story_of, write, write_contradiction, write_run

from pagesim.cli import player_file
from pagesim.cli.main import app
from pagesim.core import events as ev
from pagesim.core.errors import InputError
from pagesim.core.types import Geometry
from pagesim.replay.cursor import Cursor
from pagesim.replay.explain import KIND_GROUPS, explain
from pagesim.replay.log import read_log
from pagesim.replay.run_state import RunState
from pagesim.replay.timeline import Phase, TimelineFold
from pagesim.replay.waste import WasteMeter
from pagesim.web import bundle, export_html, script
from pagesim.web.bundle import (
    Window,
    log_in_memory,
    page_payload,
    run_payload,
    usual_window,
    window_of_steps,
)
from pagesim.web.export_html import embedded, player_page
from pagesim.web.plain import plain_event, plain_state

PLAYER = Path(script.__file__).parent / "player"


def pagesim(*words):
    return CliRunner().invoke(app, [*map(str, words)])


def unpacked(text):
    return json.loads(zlib.decompress(base64.b64decode(text)))


def data_of(page):
    return json.loads(re.search(r'id="pagesim-data">(.*?)</script>', page, re.DOTALL)[1])


@pytest.fixture(name="log")
def _log(tmp_path):
    return write_run(tmp_path / "paged.jsonl")


# -- the file --------------------------------------------------------------------------------------------


def test_the_page_holds_the_run_and_its_sentences(log, tmp_path):
    done = pagesim("export", log, "-o", tmp_path / "run.html")
    assert done.exit_code == 0, done.output
    geometry, events = events_of()
    assert re.search(rf"run.html: 1 run, {len(events)} events, 0\.\d MB; open it", done.output)
    (told,) = data_of((tmp_path / "run.html").read_text(encoding="utf-8"))["runs"]
    assert told["geometry"] == list(geometry)
    assert (told["first"], told["stop"], told["total"]) == (0, len(events), len(events))
    assert [e for chunk in told["events"] for e in unpacked(chunk)] == [
        json.loads(json.dumps(plain_event(event))) for event in events
    ]
    state, sentences = RunState(geometry), []
    for event in events:
        sentences.append(explain(event, state))
        state.apply(event)
    assert [s for chunk in told["sentences"] for s in unpacked(chunk)] == sentences


def test_nothing_is_asked_for_from_anywhere(log, tmp_path):
    """The policy names one script and one style sheet, by what is in them, and nothing else may be had."""
    pagesim("export", log, "-o", tmp_path / "run.html")
    page = (tmp_path / "run.html").read_text(encoding="utf-8")
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    (code,) = re.findall(r'<script type="module">(.*?)</script>', page, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    assert rules == {
        "default-src": "'none'",
        "script-src": f"'sha256-{digest(code)}'",
        "style-src": f"'sha256-{digest(style)}'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert page.count("<script") == 2
    assert set(re.findall(r"https?://[^\s\"')]+", page)) == {"http://www.w3.org/2000/svg"}  # a name
    assert "url(" not in style
    assert "@import" not in style


def digest(text):
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_the_player_reads_no_markup_and_fetches_nothing():
    for path in PLAYER.rglob("*.js"):
        text = path.read_text(encoding="utf-8")
        for word in (
            "innerHTML",
            "outerHTML",
            "insertAdjacent",
            "document.write",
            "eval(",
            "Function(",
        ):
            assert word not in text, (path.name, word)
        for word in (
            "fetch(",
            "XMLHttp",
            "import(",
            "WebSocket",
            "sendBeacon",
            "sessionStorage",
            "indexedDB",
            "cookie",
        ):
            assert word not in text, (path.name, word)
        kept = re.findall(r"localStorage\.(\w+)\((\w+)", text)
        assert set(kept) <= {("getItem", "THEME_KEY"), ("setItem", "THEME_KEY")}, path.name
        assert text.count("localStorage") == len(kept)
        assert not re.search(r"setTimeout\(\s*[\"'`]", text), path.name


def test_hostile_text_cannot_leave_its_place():
    hostile = "</script><script>alert(1)</script><!-- \u2028 \ud800 & > ' \" \\"
    text = embedded({"name": hostile})
    assert not set("<>&") & set(text)
    assert text.isascii()
    assert json.loads(text) == {"name": hostile}
    page = player_page(page_payload([]), "<b>{data} & {policy}</title><script>")
    assert page.count("<script") == 2
    assert "<title>&lt;b&gt;{data} &amp; {policy}&lt;/title&gt;&lt;script&gt;</title>" in page


def test_every_module_is_there_and_after_what_it_imports():
    names = sorted(str(path.relative_to(PLAYER).with_suffix("")) for path in PLAYER.rglob("*.js"))
    assert names == sorted(script.MODULES)
    outermost = []
    for at, name in enumerate(script.MODULES):
        text = (PLAYER / f"{name}.js").read_text(encoding="utf-8")
        for imported in re.findall(r'from "([^"]+)\.js";', text):
            target = (PLAYER / name).parent.joinpath(imported).resolve()
            assert str(target.relative_to(PLAYER)) in script.MODULES[:at], (name, imported)
        outermost += re.findall(
            r"^(?:export )?(?:async )?(?:function|class|const|let) (\w+)", text, re.MULTILINE
        )
    assert len(outermost) == len(set(outermost)), "two modules have a name in common"
    whole = script.player_script()
    assert "import " not in re.sub(r"//.*", "", whole)
    assert whole.count("export {") == 1
    assert set(script.EXPORTS) <= set(outermost)


def test_every_rule_of_the_looks_is_about_the_player():
    text = re.sub(r"/\*.*?\*/", "", script.player_style(), flags=re.DOTALL)
    selectors = re.findall(r"([^{};]+)\{", re.sub(r"@(container|media)[^{]*\{", "", text))
    assert len(selectors) > 100
    for selector in selectors:
        assert all(part.strip().startswith(".pagesim") for part in selector.split(",")), selector


# -- what is known of a run beforehand -------------------------------------------------------------------


@pytest.mark.parametrize("window", [None, Window(60, 170)])
@pytest.mark.parametrize("allocator", ["paged", "pow2"])
def test_contents_are_what_the_folds_say(allocator, window):
    geometry, events = events_of(allocator)
    log = log_in_memory(geometry, events)
    window = window or Window(0, len(events))
    told = unpacked(run_payload(log, "a run", window=window)["contents"])
    cursor = Cursor.of_log(log)
    steps = [place for place in cursor.step_places if window.first < place <= window.stop]
    assert list(accumulate(told["steps"])) == steps
    for group, kinds in KIND_GROUPS.items():
        places = [place for place in cursor.places_of(kinds) if window.first < place <= window.stop]
        assert list(accumulate(told["jumps"][group])) == places
    meter, fold = WasteMeter(geometry), TimelineFold()
    for event in events:
        meter.apply(event)
        fold.apply(event)
    first = sum(place <= window.first for place in cursor.step_places)
    series = {name: list(accumulate(values)) for name, values in told["waste"].items()}
    for at in range(len(steps)):
        split = meter.split(first + at, first + at + 1)
        for name, values in series.items():
            assert values[at] == getattr(split, name)
    for seq, name, flat in told["lanes"]:
        assert name == fold.names[seq]
        for step in range(first, first + len(steps)):
            phases = [p for s, p in zip(flat[::2], flat[1::2], strict=True) if s <= step]
            phase = fold.phase(seq, step)
            shown = phases[-1] if phases else None
            assert shown in (phase, None if phase is None else phase.value) or (
                phase is Phase.ENDED and shown == Phase.ENDED.value
            )


def test_a_window_begins_with_the_state_before_it():
    geometry, events = story_of("swap")
    state = RunState(geometry)
    for event in events[:40]:
        state.apply(event)
    told = run_payload(log_in_memory(geometry, events), "swap", window=Window(40, 60))
    assert told["start"] == plain_state(state)
    (note,) = told["notes"]
    assert note.startswith("this page holds a part of swap: steps ")
    assert f"events 41 to 60 of {len(events)}; `pagesim export --from-step`" in note


# -- long runs -------------------------------------------------------------------------------------------


def ticking(number: int, preempted: int | None = None) -> Cursor:
    """Steps of nobody, one an event; at one place somebody is said to be preempted."""
    events: list[ev.Event] = [ev.StepPlanned(at, (), (), 0, 0) for at in range(number)]
    if preempted is not None:
        events[preempted - 1] = ev.SequencePreempted(0, 0, 0, 0, "recompute")
    return Cursor(Geometry(4, 4), events)


def test_the_usual_window_is_the_start_or_where_the_first_preemption_is():
    assert usual_window(ticking(100), 100) == (0, 100)
    assert usual_window(ticking(1000), 100) == (0, 100)
    assert usual_window(ticking(1000, preempted=75), 100) == (0, 100)
    first, stop = usual_window(ticking(1000, preempted=500), 100)
    assert stop - first == 100
    assert first < 500 - 20 < 500 < stop - 20
    first, stop = usual_window(ticking(1000, preempted=999), 100)
    assert first < 999 <= stop == 1000


def test_steps_that_are_asked_for_are_those_of_the_page():
    geometry, events = run("paged", [(10, 12)] * 5)
    cursor = Cursor(geometry, events)
    places = cursor.step_places
    window = window_of_steps(cursor, 3, 5, 10_000)
    assert window.first == places[3] - 1
    assert window.stop == places[6] - 1
    assert window_of_steps(cursor, 0, None, 10_000) == (0, len(events))
    assert window_of_steps(cursor, 3, 5, 4) == (window.first, window.first + 4)
    for first, last in ((-1, None), (cursor.num_steps, None), (3, 2), (3, cursor.num_steps)):
        with pytest.raises(InputError, match="the log has steps 0 to"):
            window_of_steps(cursor, first, last, 100)
    with pytest.raises(InputError, match="the log has no steps"):
        window_of_steps(Cursor(geometry, []), 0, None, 100)


def test_a_page_that_would_be_too_large_holds_less(log, tmp_path, monkeypatch):
    smallest = len(player_page(page_payload([]), ""))
    monkeypatch.setattr(player_file, "LEAST_EVENTS", 20)
    monkeypatch.setattr(export_html, "MOST_BYTES", smallest + 8_000)
    done = pagesim("export", log, "-o", tmp_path / "run.html")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "run.html").stat().st_size <= smallest + 8_000
    assert "this page holds a part of paged.jsonl" in done.output
    monkeypatch.setattr(export_html, "MOST_BYTES", smallest)
    done = pagesim("export", log, "-o", tmp_path / "run.html")
    assert isinstance(done.exception, InputError)
    assert "its names are too long for a page" in str(done.exception)


def test_a_contradiction_ends_the_page_before_it(tmp_path):
    path = write_contradiction(tmp_path / "damaged.jsonl")
    done = pagesim("export", path, "-o", tmp_path / "run.html")
    assert done.exit_code == 0
    number = int(re.search(r"event (\d+) does not follow", done.output)[1])
    (told,) = data_of((tmp_path / "run.html").read_text(encoding="utf-8"))["runs"]
    assert told["stop"] == number - 1
    assert sum(len(unpacked(chunk)) for chunk in told["events"]) == number - 1
    assert len(unpacked(told["contents"])["between"]) == number - 1
    behind = pagesim("export", path, "-o", tmp_path / "run.html", "--from-step", 30)
    assert "does not follow from those before it" in str(behind.exception)


# -- the command -----------------------------------------------------------------------------------------


def test_a_place_or_static_still_makes_a_picture(log, tmp_path):
    for number, words in enumerate(
        [[f"{log}@8"], [log, "--static"], [log, "--frames", 2], [log, "--steps", "1,2"]]
    ):
        out = tmp_path / f"{number}.html"
        assert pagesim("export", *words, "-o", out).exit_code == 0
        text = out.read_text(encoding="utf-8")
        assert "<script" not in text
        assert "step" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--width", "80"], "--width is for pictures"),
        (["--no-color"], "--no-color is for pictures"),
        (["--focus", "r1"], "--focus is for pictures"),
        (["--from-step", "99999"], "the log has steps 0 to"),
        (["--from-step", "-1"], "the log has steps 0 to"),
        (["--from-step", "5", "--to-step", "4"], "the log has steps 0 to"),
        (["--static", "--from-step", "1"], "are for a page"),
        (
            ["{log}", "{log}", "{log}", "{log}", "{log}", "{log}", "{log}", "{log}"],
            "a page holds 8",
        ),
        (["{log}@3"], "only a page"),
        (["nothing.jsonl"], "cannot be read"),
    ],
)
def test_bad_input_is_one_sentence(log, tmp_path, words, said):
    out = tmp_path / "x.html"
    done = pagesim("export", log, *(word.format(log=log) for word in words), "-o", out)
    assert isinstance(done.exception, InputError)
    assert said in str(done.exception)
    assert len(str(done.exception).splitlines()) == 1
    assert not out.exists()


def test_a_comparison_is_a_page_too(tmp_path):
    out = tmp_path / "both.html"
    words = ["compare", "fixed", "--requests", "6", "--html", out, "--json"]
    done = CliRunner().invoke(app, [*map(str, words)])
    assert done.exit_code == 0, done.output
    figures = json.loads(done.stdout)["runs"]
    assert "4 runs" in done.stderr
    runs = data_of(out.read_text(encoding="utf-8"))["runs"]
    assert [told["name"] for told in runs] == list(figures)
    for told in runs:
        last = unpacked(told["events"][-1])[-1]
        assert last[0] == "ended"
        assert last[1] == pytest.approx(figures[told["name"]]["duration_s"] * 1e9, rel=1e-6)
    for bad in ("x.svg", "no/such/folder.html"):
        done = pagesim("compare", "fixed", "--html", tmp_path / bad)
        assert isinstance(done.exception, InputError)


def test_a_memory_that_no_browser_can_count_is_refused(tmp_path):
    path = write(tmp_path / "vast.jsonl", Geometry(10**400, 4), [])
    done = pagesim("export", path, "-o", tmp_path / "run.html")
    assert "a browser cannot count so far" in str(done.exception)


def test_names_of_odd_kinds_are_kept(tmp_path):
    """A file's name and a header's texts are whatever they are; what is no text is left out."""
    geometry, events = events_of()
    path = write(
        tmp_path / "a & b <c>.jsonl", geometry, events, title=["no text"], look_for=7, command=None
    )
    assert pagesim("export", path, "-o", tmp_path / "run.html").exit_code == 0
    page = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert "<title>a &amp; b &lt;c&gt;.jsonl - pagesim</title>" in page
    (told,) = data_of(page)["runs"]
    assert told["name"] == "a & b <c>.jsonl"
    assert (told["title"], told["look_for"], told["command"]) == ("", "", "")


def test_a_scenario_is_no_log(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words in (("export", "preemption", "-o", "y.html"), ("show", "preemption@3")):
        done = pagesim(*words)
        assert isinstance(done.exception, InputError)
        told = (
            "preemption is a scenario and no log; `pagesim run preemption --log preemption.jsonl`"
        )
        assert told in str(done.exception)


def test_packing_a_long_log_tells_how_far_it_is(log, monkeypatch):
    told = []
    read = read_log(log)
    monkeypatch.setattr(bundle, "CHUNK", 50)
    run_payload(read, "a run", progress=told.append)
    assert told == list(range(50, len(read.events) + 1, 50))
