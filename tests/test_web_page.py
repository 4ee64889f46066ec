"""The exported page in a real browser: what a reader does with keys, mouse and address, at both ends of screen sizes.

Sentences and places are compared with Python's. `make test-all` runs this; it needs Chromium and Playwright, and npm
for the accessibility checker.
"""

import json
import re
import time

import pytest
from browser import axe_source, chromium, why_no_browser
from typer.testing import CliRunner
from viewer_logs import HOSTILE, events_of, write, write_contradiction, write_run, write_story

from pagesim.cli.main import app
from pagesim.core import events as ev
from pagesim.replay.cursor import Cursor
from pagesim.replay.explain import explain
from pagesim.replay.log import read_log
from pagesim.web.bundle import MOST_EVENTS, page_payload, run_payload
from pagesim.web.export_html import MOST_BYTES, embedded
from pagesim.web.script import player_script, player_style

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(why_no_browser() is not None, reason=why_no_browser() or ""),
]
NARROW, WIDE = (360, 740), (1440, 900)


@pytest.fixture(name="browser", scope="module")
def _browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium(), args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


def pagesim(*words):
    done = CliRunner().invoke(app, [*map(str, words)])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture(name="logs", scope="module")
def _logs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    write_run(folder / "paged.jsonl")
    write_run(folder / "max.jsonl", "max")
    write_story(folder / "swap.jsonl", "swap")
    write_contradiction(folder / "damaged.jsonl")
    pagesim("run", "preemption", "--log", folder / "queue.jsonl")
    for names in (
        ["paged"],
        ["max"],
        ["swap"],
        ["damaged"],
        ["queue"],
        ["paged", "max"],
        ["swap", "paged", "max"],
    ):
        paths = [folder / f"{name}.jsonl" for name in names]
        pagesim("export", *paths, "-o", folder / f"{'-'.join(names)}.html")
    return folder


class Reader:
    """Somebody who reads a page; whatever goes wrong in it is kept."""

    def __init__(self, browser, size=WIDE, scheme="light"):
        width, height = size
        self.context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            reduced_motion="reduce",
        )
        self.page = self.context.new_page()
        self.errors, self.requests = [], []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda said: self.errors.append(said.text))
        self.page.on("dialog", lambda dialog: self.errors.append(dialog.message))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def open(self, path, place=""):
        self.page.goto(f"{path.as_uri()}{place}")
        self.page.wait_for_selector(".said-now .sentence:not(:empty)")
        return self

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)
            self.settle()

    def settle(self):
        """Until drawing is over."""
        self.page.evaluate(
            "() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 20)))"
        )

    def until(self, condition):
        """Until this holds in the page. Its policy forbids what Playwright's own waiting does."""
        for _ in range(500):
            if self.page.evaluate(condition):
                return
            self.page.wait_for_timeout(20)
        raise AssertionError(f"never: {condition}")

    def texts(self, selector):
        return self.page.locator(selector).all_inner_texts()

    @property
    def sentence(self):
        return self.texts(".said-now .sentence")[0]

    @property
    def place(self):
        """The number of events behind one, in each run shown."""
        found = [re.search(r"event ([\d,]+) of", text) for text in self.texts(".where")]
        return [int(one[1].replace(",", "")) for one in found]

    @property
    def overflow(self):
        """By how many pixels the page is wider than the window."""
        return self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )

    def close(self):
        self.context.close()
        assert not self.errors, self.errors
        assert len(self.requests) == 1, self.requests
        assert self.requests[0].startswith("file:")


@pytest.fixture(name="reader")
def _reader(browser):
    reader = Reader(browser)
    yield reader
    reader.close()


def oracle(path):
    """The cursor in Python, and the sentence of each place."""
    cursor = Cursor.of_log(read_log(path))
    told = []
    for place in range(1, cursor.num_events + 1):
        cursor.seek(place)
        told.append(explain(cursor.event, cursor.state_before()))
    return cursor, told


# -- moving ----------------------------------------------------------------------------------------------


def test_every_key_goes_where_it_says(reader, logs):
    cursor, told = oracle(logs / "paged.jsonl")
    reader.open(logs / "paged.html")
    assert reader.place == [0]
    for key, place in [
        ("ArrowRight", 1),
        ("l", 2),
        ("ArrowLeft", 1),
        ("h", 0),
        ("ArrowDown", cursor.step_places[0]),
        ("j", cursor.step_places[1]),
        ("]", cursor.step_places[11]),
        ("k", cursor.step_places[10]),
        ("[", cursor.step_places[0]),
        ("End", cursor.num_events),
        ("ArrowRight", cursor.num_events),
        ("Home", 0),
    ]:
        reader.press(key)
        assert reader.place == [place], key
        if place:
            assert reader.sentence == told[place - 1]
    for key, kinds in [
        ("p", ("preempted",)),
        ("c", ("replaced", "copied", "moved")),
        ("e", ("evicted",)),
        ("r", ("refused", "blocked")),
        ("f", ("finished",)),
    ]:
        places = cursor.places_of(kinds)
        assert places, f"the run has no {kinds}"
        reader.press("Home", key)
        assert reader.place == places[:1]
        reader.press(key.upper())
        assert reader.place == places[:1]
        reader.press("End", key.upper())
        assert reader.place == places[-1:]


def test_the_buttons_and_the_slider_move(reader, logs):
    cursor, _ = oracle(logs / "paged.jsonl")
    page = reader.open(logs / "paged.html").page

    def press(name):
        page.get_by_role("button", name=name).first.click()
        reader.settle()

    press("one step on")
    press("one event on")
    assert reader.place == [cursor.step_places[0] + 1]
    press("one event back")
    press("one step back")
    assert reader.place == [0]
    slider = page.get_by_role("slider")
    slider.fill("8")
    reader.settle()
    assert reader.place == [cursor.step_places[7]]
    assert "step 7 of" in slider.get_attribute("aria-valuetext")
    page.get_by_label("What to jump to").select_option("eviction")
    press("the next one")
    cursor.seek(cursor.step_places[7])
    assert reader.place == [cursor.find_next(["evicted"])]
    assert re.search(r"eviction \d+ of \d+", reader.texts(".noted")[0])
    press("to the end")
    assert reader.place == [cursor.num_events]
    strip = page.locator("canvas.strip")
    box = strip.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 10)
    reader.settle()
    cursor.seek(reader.place[0])
    assert 0.45 < cursor.step_number / cursor.num_steps < 0.55


def test_it_plays_and_pauses(reader, logs):
    cursor, _ = oracle(logs / "paged.jsonl")
    page = reader.open(logs / "paged.html").page
    page.get_by_label("Speed", exact=True).select_option(label="20 steps/s")
    page.locator("h1").click()
    reader.press("Space")
    assert page.locator("[aria-live=off]").count() == 1
    reader.until("document.querySelector('.scrub').value > 4")
    reader.press("Space")
    place = reader.place
    assert place[0] in cursor.step_places
    page.wait_for_timeout(300)
    assert reader.place == place
    for _ in range(4):
        reader.press("+")
    reader.press("Space")
    reader.until("document.querySelector('.noted').textContent == 'this is the end'")
    assert reader.place == [cursor.num_events]
    assert page.get_by_role("button", name="play").count() == 1


def test_an_address_names_a_place(reader, logs):
    cursor, _ = oracle(logs / "paged.jsonl")
    page = reader.open(logs / "paged.html", "#step=13").page
    assert reader.place == [cursor.step_places[13]]
    reader.press("ArrowDown")
    reader.until("location.hash == '#step=14'")
    reader.press("ArrowRight")
    reader.until(f"location.hash == '#event={cursor.step_places[14] + 1}'")
    page.evaluate("location.hash = '#event=40'")
    reader.until("document.querySelector('.where').textContent.includes('event 40 of')")
    page.evaluate("location.hash = '#step=99999'")
    reader.until("document.querySelector('.noted').textContent.includes('is not here')")
    assert reader.place == [40]


def test_one_can_go_follow_and_inspect_by_typing(reader, logs):
    cursor, _ = oracle(logs / "paged.jsonl")
    page = reader.open(logs / "paged.html").page
    reader.press("s")
    page.keyboard.type("12")
    reader.press("Enter")
    assert reader.place == [cursor.step_places[12]]
    reader.press("/")
    page.keyboard.type("r3")
    reader.press("Enter", "ArrowRight")
    names = re.compile(r"\br3\b")
    assert names.search(reader.sentence) or "r3" in reader.sentence
    assert page.locator(".rows li.focus").count() == 1
    reader.press("b")
    page.keyboard.type("999")
    reader.press("Enter")
    assert "is no block" in reader.texts(".noted")[0]
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type("2")
    reader.press("Enter")
    assert "Block 2" in reader.texts(".inspector")[0]
    reader.press(".")
    assert "Block 3" in reader.texts(".inspector")[0]
    reader.press("Escape")
    assert not page.locator(".inspector").is_visible()
    assert page.locator(".rows li.focus").count() == 1
    reader.press("Escape")
    assert page.locator(".rows li.focus").count() == 0


def test_the_map_is_drawn_and_a_click_inspects_a_block(reader, logs):
    page = reader.open(logs / "paged.html", "#step=10").page
    canvas = page.locator(".memory canvas").first
    picture = "document.querySelector('.memory canvas').toDataURL()"
    before = page.evaluate(picture)
    assert re.search(r"Memory map: \d+ of 18 blocks held\.", canvas.get_attribute("aria-label"))
    reader.press("]")
    assert page.evaluate(picture) != before
    box = canvas.bounding_box()
    page.mouse.click(box["x"] + 30, box["y"] + 20)
    reader.settle()
    assert "Block 0" in reader.texts(".inspector")[0]
    page.wait_for_selector(".inspector .events button")


# -- two runs --------------------------------------------------------------------------------------------


def test_two_runs_stand_side_by_side_at_the_same_time(reader, logs):
    left, _ = oracle(logs / "paged.jsonl")
    right, _ = oracle(logs / "max.jsonl")
    page = reader.open(logs / "paged-max.html", "#step=15").page
    boxes = [run.bounding_box() for run in page.locator("section.run").all()]
    assert len(boxes) == 2
    assert boxes[0]["y"] == boxes[1]["y"]
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
    left.seek(left.step_places[15])
    here = reader.place
    right.seek(here[1])
    assert right.state.time_ns <= left.state.time_ns
    right.seek(here[1] + 1)
    assert right.state.time_ns > left.state.time_ns or here[1] == right.num_events
    reader.press("2", "ArrowRight")
    assert reader.place[1] == here[1] + 1
    assert page.locator("section.run.active").get_attribute("aria-label") == "Run max.jsonl"


def test_of_three_runs_two_are_chosen(reader, logs):
    page = reader.open(logs / "swap-paged-max.html").page
    page.get_by_label("The run on the left").select_option(label="max.jsonl")
    reader.settle()
    labels = [run.get_attribute("aria-label") for run in page.locator("section.run").all()]
    assert labels == ["Run max.jsonl", "Run swap.jsonl"]


# -- everybody -------------------------------------------------------------------------------------------


@pytest.fixture(name="axe", scope="module")
def _axe(request):
    source = axe_source(request.config.cache.mkdir("axe-core"))
    if source is None:
        pytest.skip("axe-core cannot be had here (npm): accessibility was not checked")
    return source


@pytest.mark.parametrize("name", ["paged", "max", "swap-paged-max", "damaged", "queue"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [NARROW, WIDE], ids=["360", "1440"])
def test_everybody_can_use_it(browser, logs, axe, name, scheme, size):
    reader = Reader(browser, size, scheme)
    reader.open(logs / f"{name}.html")
    reader.press("ArrowDown", "ArrowDown", "b")
    reader.page.keyboard.type("2")
    reader.press("Enter")
    reader.settle()
    assert reader.overflow <= 0
    reader.page.evaluate(axe)
    for opened in (False, True):
        if opened:
            reader.press("?")
        found = reader.page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
        bad = [
            (rule["id"], rule["impact"], [node["html"][:200] for node in rule["nodes"]][:3])
            for rule in found["violations"]
        ]
        assert not bad, json.dumps(bad, indent=1)
    reader.close()


def test_the_keyboard_reaches_everything_and_shows_where_it_is(reader, logs):
    page = reader.open(logs / "paged.html", "#step=10").page
    seen = []
    for _ in range(60):
        page.keyboard.press("Tab")
        told = page.evaluate(
            "(() => { const at = document.activeElement; const style = getComputedStyle(at);"
            " return [at.getAttribute('aria-label') || at.labels?.[0]?.textContent || at.textContent,"
            " style.outlineStyle, parseFloat(style.outlineWidth)]; })()"
        )
        if page.evaluate("document.activeElement === document.body"):
            break
        if told[0] in [name for name, *_ in seen]:
            break
        seen.append(told)
        assert told[1] != "none", told
        assert told[2] >= 2, told
    names = " | ".join(name for name, *_ in seen)
    for wanted in (
        "Go to",
        "Follow",
        "Block",
        "play",
        "one step on",
        "Place in the run",
        "Speed",
        "jump",
    ):
        assert wanted in names, names


def test_help_opens_and_closes_and_the_focus_comes_back(reader, logs):
    page = reader.open(logs / "paged.html").page
    page.get_by_role("button", name="all keys").focus()
    reader.press("Enter")
    dialog = page.get_by_role("dialog")
    assert "preemption" in dialog.inner_text()
    reader.press("ArrowRight")
    assert reader.place == [0]
    reader.press("Escape")
    assert not dialog.is_visible()
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "all keys (?)"
    reader.press("Enter")
    dialog.get_by_role("checkbox").uncheck()
    reader.press("Escape", "j", "p")
    assert reader.place == [0], "letters are keys no more"
    reader.press("ArrowRight")
    assert reader.place == [1]


def test_light_and_dark_can_be_chosen(browser, logs):
    for scheme in ("light", "dark"):
        reader = Reader(browser, scheme=scheme)
        page = reader.open(logs / "paged.html").page
        background = "getComputedStyle(document.querySelector('.pagesim')).backgroundColor"
        first = page.evaluate(background)
        page.get_by_role("button", name="colours").click()
        reader.settle()
        assert page.evaluate(background) != first
        page.get_by_role("button", name="colours").click()
        assert page.evaluate(background) == first
        reader.close()


# -- inside another page ---------------------------------------------------------------------------------

HOST = """<!DOCTYPE html><html lang="en"><title>host</title><style>{style}</style><h1>Host</h1>
<div id="one" style="width: 700px"></div><div id="two"></div>
<script type="application/json" id="data">{data}</script><script type="module">{script}
const data = JSON.parse(document.getElementById("data").textContent);
window.told = [];
window.one = mount(document.getElementById("one"), data, {{ step: 3, theme: "dark", onChange: (at) => told.push(at) }});
window.two = mount(document.getElementById("two"), data);
</script></html>
"""


def test_players_live_in_another_page(reader, logs, tmp_path):
    """As in a notebook: each has its own keys, theme and place, tells of its moves, and can be taken away."""
    log = logs / "paged.jsonl"
    cursor, _ = oracle(log)
    places = cursor.step_places
    data = embedded(page_payload([run_payload(read_log(log), "a run")]))
    text = HOST.format(style=player_style(), data=data, script=player_script())
    (tmp_path / "host.html").write_text(text, encoding="utf-8")
    page = reader.open(tmp_path / "host.html").page
    page.evaluate("Promise.all([one.ready, two.ready])")
    assert reader.place == [places[3], 0]
    page.evaluate("one.seek(40).then(() => one.step(2)).then(() => two.goToStep(7))")
    cursor.seek(40)
    cursor.move_steps(2)
    assert reader.place == [cursor.place, places[7]]
    assert page.evaluate("[one.place, two.place]") == reader.place
    reader.press("ArrowRight")
    assert reader.place == [cursor.place, places[7]]
    page.locator("#two .pagesim").focus()
    reader.press("ArrowRight")
    assert reader.place == [cursor.place, places[7] + 1]
    told = page.evaluate("told.at(-1)")
    assert told["place"] == cursor.place
    assert told["step"] == cursor.step_number
    assert page.evaluate("location.hash") == ""
    themes = "[...document.querySelectorAll('.pagesim')].map((each) => each.dataset.theme)"
    assert page.evaluate(themes) == ["dark", "light"]
    page.evaluate("one.destroy()")
    assert page.locator("#one").inner_text() == ""
    page.evaluate("one.step(1)")
    reader.press("ArrowLeft")
    assert reader.place == [places[7]]


def test_a_damaged_page_says_so(browser, logs):
    """In a sentence, whatever it is."""
    text = (logs / "paged.html").read_text(encoding="utf-8")
    path = logs / "torn.html"
    path.write_text(re.sub(r'("contents":").{40}', r"\1", text), encoding="utf-8")
    reader = Reader(browser)
    reader.page.goto(path.as_uri())
    reader.until("document.querySelector('.warning') !== null")
    assert "Export it again" in reader.texts(".warning")[0]
    reader.close()


# -- what may be in a log --------------------------------------------------------------------------------

MARKUP = "<img src=x onerror=alert(1)></script><script>alert(2)</script>\u2028\u202e\x1b[2J"


def test_text_from_a_log_stays_text(browser, tmp_path):
    geometry, events = events_of()
    renamed = [
        event._replace(request=MARKUP) if getattr(event, "request", "") == HOSTILE else event
        for event in events
    ]
    assert any(getattr(event, "request", "") == MARKUP for event in renamed)
    refused = [
        e._replace(reason=MARKUP) if isinstance(e, ev.RequestRefused) else e for e in renamed
    ]
    facts = dict.fromkeys(("title", "look_for", "command", "allocator"), MARKUP)
    path = write(tmp_path / "<b>&quot;.jsonl", geometry, refused, **facts)
    pagesim("export", path, "-o", tmp_path / "out.html")
    text = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "onerror" not in re.sub(r'"[^"]*\\u003cimg[^"]*"', "", text)
    reader = Reader(browser)
    page = reader.open(tmp_path / "out.html").page
    elements = "document.querySelectorAll('img, script, b, iframe, object, style').length"
    count = page.evaluate(elements)
    assert page.evaluate("document.querySelectorAll('img, b').length") == 0
    assert "<img src=x" in page.locator("body").inner_text()
    for _ in range(12):
        reader.press("]")
        assert page.evaluate(elements) == count
    reader.press("Home", "/")
    page.keyboard.type("<img")
    reader.press("Enter", "ArrowRight", "ArrowDown")
    assert "<img src=x" in page.locator(".rows").first.inner_text() + reader.sentence
    assert page.evaluate(elements) == count
    assert page.evaluate("document.title").startswith("<b>&quot;.jsonl")
    reader.close()


def test_a_log_with_a_contradiction_ends_before_it(reader, logs):
    reader.open(logs / "damaged.html")
    said = reader.texts(".warning")[0]
    number = int(re.search(r"event (\d+) does not follow", said)[1])
    reader.press("End")
    assert reader.place == [number - 1]


# -- long runs -------------------------------------------------------------------------------------------


@pytest.fixture(name="long_log", scope="module")
def _long_log(tmp_path_factory):
    path = tmp_path_factory.mktemp("long") / "long.jsonl"
    pagesim("run", "sharegpt", "--requests", 2000, "--log", path)
    return path


def cut(long_log, path, count):
    lines = long_log.read_bytes().splitlines(keepends=True)
    assert len(lines) > count
    path.write_bytes(b"".join(lines[: count + 1]))
    return path


def test_a_hundred_thousand_events_open_at_once(
    browser, long_log, tmp_path, record_property, capsys
):
    log = cut(long_log, tmp_path / "run.jsonl", 100_000)
    said = pagesim("export", log, "-o", tmp_path / "run.html")
    size = (tmp_path / "run.html").stat().st_size
    assert "note" not in said
    assert size < MOST_BYTES
    reader = Reader(browser)
    began = time.perf_counter()
    reader.open(tmp_path / "run.html")
    opened = time.perf_counter() - began
    began = time.perf_counter()
    reader.page.keyboard.press("End")
    reader.until("document.querySelector('.where').textContent.includes('event 100,000 of')")
    to_the_end = time.perf_counter() - began
    cursor = Cursor.of_log(read_log(log))
    cursor.seek(100_000)
    assert reader.sentence == explain(cursor.event, cursor.state_before())
    check_that_no_key_is_lost(reader)
    reader.close()
    figures = f"{size / 1e6:.1f} MB, open in {opened:.2f} s, at the end in {to_the_end:.2f} s"
    record_property("page of 100,000 events", figures)
    with capsys.disabled():
        print(f"\n100,000 events: {figures}")


def check_that_no_key_is_lost(reader):
    """Keys that come while a long way is gone wait for its end; header and events are always of one place."""
    page = reader.page
    page.wait_for_timeout(400)  # until the address has the place
    page.evaluate("history.replaceState(null, '', location.pathname)")
    page.reload()
    page.wait_for_selector(".said-now .sentence:not(:empty)")
    assert reader.place == [0]
    assert reader.requests.pop() == reader.requests[0]
    watch = """() => {
      window.torn = [];
      const look = () => {
        const place = /event ([\\d,]+) of/.exec(document.querySelector('.where').textContent)[1];
        const here = document.querySelector('.events [aria-current] .place')?.textContent ?? '0';
        if (place !== here) window.torn.push([place, here]);
        requestAnimationFrame(look);
      };
      look();
    }"""
    page.evaluate(watch)
    for key in ("End", "ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
    reader.until("document.querySelector('.where').textContent.includes('event 99,998 of')")
    reader.settle()
    assert page.evaluate("window.torn") == []


def test_a_longer_run_is_cut_and_says_so(reader, long_log, tmp_path):
    total = len(long_log.read_bytes().splitlines()) - 1
    assert total > MOST_EVENTS
    said = pagesim("export", long_log, "-o", tmp_path / "run.html")
    words = f"events 1 to {MOST_EVENTS:,} of {total:,}"
    assert words in said
    reader.open(tmp_path / "run.html")
    assert words in reader.texts(".warning")[0]
    reader.press("End")
    reader.until(
        f"document.querySelector('.where').textContent.includes('event {MOST_EVENTS:,} of')"
    )
    pagesim(
        "export", long_log, "-o", tmp_path / "some.html", "--from-step", 3000, "--to-step", 3100
    )
    reader.requests.clear()
    reader.open(tmp_path / "some.html", "#step=3050")
    cursor = Cursor.of_log(read_log(long_log))
    cursor.seek_step(3050)
    assert reader.place == [cursor.place]
    assert reader.sentence == explain(cursor.event, cursor.state_before())
    held = f"{cursor.state.num_free:,} of {cursor.geometry.num_blocks:,} blocks free"
    assert held in reader.texts(".memory .note")[0]


# -- little room, and what a reader comes back to --------------------------------------------------------


@pytest.mark.parametrize("size", [NARROW, (720, 450)])
def test_memory_is_visible_where_there_is_little_room(browser, logs, size):
    reader = Reader(browser, size)
    page = reader.open(logs / "swap.html", "#step=8").page
    bar = page.locator(".bottom").bounding_box()
    assert bar["height"] <= 80
    assert page.locator(".top").bounding_box()["height"] <= 56
    canvas = page.locator(".memory canvas").first.bounding_box()
    assert canvas["y"] + 60 <= bar["y"], "some of the memory is above the bar"
    assert not page.locator(".fields").is_visible()
    reader.press("/")
    assert page.locator(".fields input").nth(1).is_visible()
    page.keyboard.type("B")
    reader.press("Enter")
    assert page.locator(".rows li.focus").count() == 1
    page.get_by_role("button", name="go to, follow, block, jumps").click()
    assert not page.locator(".fields").is_visible()
    assert reader.overflow == 0
    reader.close()


def test_of_two_runs_a_phone_shows_one_at_a_time(browser, logs):
    reader = Reader(browser, NARROW)
    page = reader.open(logs / "paged-max.html", "#step=15").page
    shown = [run.is_visible() for run in page.locator("section.run").all()]
    assert shown == [True, False]
    page.get_by_role("button", name="max.jsonl").click()
    reader.settle()
    assert [run.is_visible() for run in page.locator("section.run").all()] == [False, True]
    canvas = page.locator("section.run.active .memory canvas").first
    blank = (
        "(at) => !at.getContext('2d').getImageData(0, 0, at.width, at.height).data.some(Boolean)"
    )
    assert not canvas.evaluate(blank)
    reader.close()


def test_the_address_tells_whom_one_follows_and_a_reload_keeps_the_theme(browser, logs):
    reader = Reader(browser)
    page = reader.open(logs / "swap.html", "#step=3&follow=B&block=2").page
    assert "Block 2" in reader.texts(".inspector")[0]
    assert page.locator(".fields input").nth(1).input_value() == "B"
    reader.press("ArrowRight", ".")
    reader.until("/^#(step|event)=\\d+&follow=B&block=3$/.test(location.hash)")
    page.get_by_role("button", name="dark colours").click()
    page.reload()
    page.wait_for_selector(".said-now .sentence:not(:empty)")
    assert page.locator(".pagesim").get_attribute("data-theme") == "dark"
    reader.context.close()
    assert not reader.errors, reader.errors


def test_a_step_that_is_not_there_is_told_where_it_is_seen(reader, logs):
    page = reader.open(logs / "swap.html", "#step=999").page
    told = page.locator(".misplaced")
    assert (
        told.inner_text() == "step 999 is not here: this page holds steps 0 to 9; this is the start"
    )
    assert reader.place == [0]
    reader.press("ArrowRight")
    assert not told.is_visible()


def test_paper_is_light(browser, logs):
    reader = Reader(browser, scheme="dark")
    page = reader.open(logs / "swap.html", "#step=8").page
    themes = "window.seen = []; for (const at of ['beforeprint', 'afterprint']) window.addEventListener(at, () =>"
    themes += " window.seen.push(document.querySelector('.pagesim').dataset.theme))"
    page.evaluate(themes)
    page.pdf()
    assert page.evaluate("window.seen") == ["light", "dark"]
    reader.close()


def test_two_runs_begin_together(reader, logs):
    reader.open(logs / "paged-max.html")
    assert reader.place == [0, 0]


@pytest.mark.parametrize("size", [NARROW, WIDE])
def test_free_blocks_stand_in_the_order_that_show_tells(browser, logs, size):
    reader = Reader(browser, size)
    page = reader.open(logs / "queue.html", "#step=12").page
    told = re.search(r"taken next +([\d ]+)", pagesim("show", f"{logs / 'queue.jsonl'}@12"))[
        1
    ].split()
    assert page.locator(".free-blocks dd").first.locator(".block").all_inner_texts() == told
    assert len(told) > 1
    assert reader.overflow == 0
    reader.close()
