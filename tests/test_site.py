"""pagesim site: every page is there, links lead somewhere and never out, and the same runs are the same files.

Oracles: an HTML parser, the log's own facts.
"""

import re
from collections import Counter
from html.parser import HTMLParser

import pytest
from typer.testing import CliRunner

from pagesim.cli.main import app
from pagesim.cli.site import fullest
from pagesim.core.errors import InputError
from pagesim.replay.cursor import Cursor
from pagesim.sim.scenario import load_scenario, scenario_names
from pagesim.sim.story_log import story_log
from pagesim.web.bundle import page_payload, run_payload
from pagesim.web.export_html import player_page
from pagesim.web.gallery import Exhibit, Room, gallery_files, write_gallery
from pagesim.web.thumbnail import thumbnail
from pagesim_lessons.key_runs import chapters

MARKUP = "<img src=x onerror=alert(1)></script>&quot;\"'"


class Page(HTMLParser):
    """What a page has: elements with their attributes, links, and texts of elements."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.links, self.text = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.elements.append((tag, found))
        if tag == "a":
            self.links.append(found["href"])

    def handle_data(self, data):
        self.text.append(data)


def exhibit(name, title="A story", about="Look."):
    payload = page_payload([run_payload(story_log(load_scenario("figure-6"), "x"), "figure-6")])
    picture = thumbnail(fullest(story_log(load_scenario("figure-6"), "x")))
    return Exhibit(name, title, about, "3 steps", picture, payload)


ROOMS = [
    Room("First", "lesson 1", [exhibit("one"), exhibit("two")]),
    Room("Second", "", [exhibit("three")]),
]


@pytest.fixture(name="site", scope="module")
def _site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("web") / "site"
    done = CliRunner().invoke(app, ["site", "-o", str(folder)])
    assert done.exit_code == 0, done.output
    assert f"open {folder}/index.html" in done.output
    return folder


def pages(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_every_story_and_every_key_run_has_a_page(site):
    names = [run.name for chapter in chapters() for run in chapter.runs]
    assert len(names) == len(set(names))
    assert set(scenario_names()) <= set(names)
    assert set(pages(site)) == {"index.html", *(f"runs/{name}.html" for name in names)}
    index = Page((site / "index.html").read_text(encoding="utf-8"))
    assert index.links == [f"runs/{name}.html" for name in names]
    said = " ".join(" ".join(index.text).split())
    for chapter in chapters():
        assert chapter.title in said
        for run in chapter.runs:
            assert " ".join(run.title.split()) in said
            assert " ".join(run.about.split()) in said


def test_every_link_leads_to_a_page_and_none_leads_out(site):
    for name, text in pages(site).items():
        page = Page(text)
        here = (site / name).parent
        assert page.links
        for link in page.links:
            assert not re.match(r"[a-z]+:|/", link), link
            assert (here / link).resolve().is_file(), (name, link)
        for tag, attributes in page.elements:
            for attribute in ("src", "href", "action", "srcset", "data"):
                value = attributes.get(attribute) or "data:,"
                assert tag == "a" or value == "data:,", (name, tag, value)
        assert "default-src 'none'" in text
        beside = re.sub(r"http://www\.w3\.org/2000/svg", "", text)
        assert not re.search(r"https?://|//cdn|@import|url\(", beside), name


def test_one_can_go_through_all_of_them(site):
    """From the first on, "next" leads once to each, and "prev" back."""
    order = Page((site / "index.html").read_text(encoding="utf-8")).links
    here, seen = order[0], []
    while here is not None:
        seen.append(here)
        page = Page((site / here).read_text(encoding="utf-8"))
        ways = {found.get("rel"): found["href"] for tag, found in page.elements if tag == "a"}
        assert ways.get("prev") == (seen[-2].partition("/")[2] if len(seen) > 1 else None)
        assert "../index.html" in page.links
        here = f"runs/{ways['next']}" if "next" in ways else None
    assert seen == order


def test_a_page_of_the_gallery_is_an_exported_page_with_links_above(site):
    """Less what is above, it is what ``player_page`` makes of the same runs."""
    run = next(run for chapter in chapters() for run in chapter.runs if run.name == "figure-8")
    runs = [run_payload(log, name, title=run.title) for name, log in run.play()]
    plain = player_page(page_payload(runs), f"{run.title} - pagesim")
    text = (site / "runs/figure-8.html").read_text(encoding="utf-8")
    data = re.compile(r'id="pagesim-data">(.*?)</script>', re.DOTALL)
    assert data.search(text)[1] == data.search(plain)[1]
    less = re.sub(r"\n<nav aria-label.*?</nav>|\n<meta name=\"generator\"[^>]*>", "", text)
    assert re.sub(r"<style>.*?</style>|style-src '[^']*'", "", less, flags=re.DOTALL) == re.sub(
        r"<style>.*?</style>|style-src '[^']*'", "", plain, flags=re.DOTALL
    )


def test_the_same_runs_are_the_same_files(site):
    again = gallery_files(ROOMS)
    assert gallery_files(ROOMS) == again
    done = CliRunner().invoke(app, ["site", "-o", str(site)])
    assert done.exit_code == 0, done.output


def test_two_programs_write_the_same_site(site, tmp_path):
    import os
    import subprocess
    import sys

    words = [sys.executable, "-m", "pagesim", "site", "-o", str(tmp_path / "site")]
    environ = {**os.environ, "PYTHONHASHSEED": "7", "COLUMNS": "50"}
    subprocess.run(words, check=True, capture_output=True, env=environ)
    assert pages(tmp_path / "site") == pages(site)


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    write_gallery(tmp_path / "new" / "site", gallery_files(ROOMS))
    mine = tmp_path / "new" / "site" / "mine.txt"
    mine.write_text("mine")
    before = pages(tmp_path)
    with pytest.raises(InputError, match=r"^[^\n]*mine\.txt[^\n]*--force$"):
        write_gallery(tmp_path / "new" / "site", gallery_files(ROOMS[1:]))
    assert pages(tmp_path) == before
    write_gallery(tmp_path / "new" / "site", gallery_files(ROOMS[1:]), force=True)
    assert mine.read_text() == "mine"
    left = {path.name for path in (tmp_path / "new" / "site").rglob("*.html")}
    assert left == {"index.html", "three.html"}
    for wrong in (mine, mine / "deeper"):
        with pytest.raises(InputError, match=r"^[^\n]+$"):
            write_gallery(wrong, gallery_files(ROOMS))


def test_somebody_elses_page_is_another_file(tmp_path):
    (tmp_path / "index.html").write_text("<p>my own</p>")
    done = CliRunner().invoke(app, ["site", "-o", str(tmp_path)])
    assert done.exit_code != 0
    assert (tmp_path / "index.html").read_text() == "<p>my own</p>"


def test_no_text_becomes_markup():
    files = gallery_files([Room(MARKUP, MARKUP, [exhibit("one", MARKUP, MARKUP), exhibit("two")])])
    for text in files.values():
        page = Page(text)
        assert "img" not in [tag for tag, _ in page.elements]
        assert not any("onerror" in attributes for _, attributes in page.elements)
    assert "".join(Page(files["index.html"]).text).count(MARKUP) == 4


@pytest.mark.parametrize("name", scenario_names())
def test_a_small_picture_shows_the_fullest_moment(name):
    log = story_log(load_scenario(name), "x")
    shown, cursor = fullest(log), Cursor.of_log(log)
    held = []
    for step in range(cursor.num_steps):
        cursor.seek_step(step)
        held.append(cursor.state.num_held)
    count = len({block for holder in shown.holders for block in holder.table})
    assert count == max(held)
    svg = thumbnail(shown)
    assert f"{count:,} of {log.geometry.num_blocks:,}" in svg
    assert "color" not in re.sub(r"currentColor", "", svg)
    assert svg.count("<rect") >= min(log.geometry.num_blocks, 240) // 2
    frame = r'<rect x="\d+" y="(\d+)" [^>]*(?:fill="none"|fill-opacity)'
    rows = Counter(re.findall(frame, svg))
    across = max(rows.values())
    slabs = {len(holder.table) for holder in shown.holders if isinstance(holder.table, range)}
    assert len(rows) == 1 or across % 4 == 0 or slabs == {across}
    if slabs == {16}:
        assert across == 16
