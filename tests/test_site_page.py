"""The gallery in a real browser: it can be opened as files, used by everybody, and read at both ends of sizes.

`make test-all` runs this; it needs Chromium and Playwright, and npm for the accessibility checker.
"""

import json

import pytest
from browser import axe_source, chromium, why_no_browser
from typer.testing import CliRunner

from pagesim.cli.main import app

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(why_no_browser() is not None, reason=why_no_browser() or ""),
]
NARROW, WIDE = (360, 740), (1440, 900)


@pytest.fixture(name="site", scope="module")
def _site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("web") / "site"
    assert CliRunner().invoke(app, ["site", "-o", str(folder)]).exit_code == 0
    return folder


@pytest.fixture(name="browser", scope="module")
def _browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium(), args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


@pytest.fixture(name="axe", scope="module")
def _axe(request):
    source = axe_source(request.config.cache.mkdir("axe-core"))
    if source is None:
        pytest.skip("axe-core cannot be had here (npm): accessibility was not checked")
    return source


def opened(browser, path, size=WIDE, scheme="light"):
    """A page, and a list of whatever goes wrong in it."""
    width, height = size
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
    )
    page, wrong = context.new_page(), []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text))
    page.on("requestfailed", lambda request: wrong.append(request.url))
    page.on("request", lambda r: None if r.url.startswith("file:") else wrong.append(r.url))
    page.goto(path.as_uri())
    return page, wrong


@pytest.mark.parametrize("name", ["index.html", "runs/figure-8.html", "runs/slabs-and-blocks.html"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [NARROW, WIDE], ids=["360", "1440"])
def test_everybody_can_use_it(browser, site, axe, name, scheme, size):
    page, wrong = opened(browser, site / name, size, scheme)
    if name != "index.html":
        page.wait_for_selector(".said-now .sentence:not(:empty)")
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(wide) <= 0
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    bad = [
        (rule["id"], rule["impact"], [node["html"][:200] for node in rule["nodes"]][:3])
        for rule in found["violations"]
    ]
    assert not bad, json.dumps(bad, indent=1)
    assert not wrong, wrong
    page.context.close()


def test_a_reader_goes_in_steps_and_comes_back(browser, site):
    page, wrong = opened(browser, site / "index.html")
    page.get_by_role("link", name="Two samples of one prompt").click()
    page.wait_for_selector(".said-now .sentence:not(:empty)")
    page.keyboard.press("ArrowDown")
    page.wait_for_timeout(200)
    assert "step 0 of" in page.locator(".where").inner_text()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "All runs"
    page.get_by_role("link", name="→").click()
    page.wait_for_selector(".said-now .sentence:not(:empty)")
    assert "eight-samples" in page.locator("h1").inner_text()
    page.get_by_role("link", name="All runs").click()
    assert page.get_by_role("heading", level=1).inner_text() == "pagesim: runs to step through"
    assert not wrong, wrong
    page.context.close()


def test_every_page_opens(browser, site):
    for path in sorted((site / "runs").glob("*.html")):
        page, wrong = opened(browser, path)
        page.wait_for_selector(".said-now .sentence:not(:empty)")
        page.keyboard.press("End")
        page.wait_for_timeout(50)
        assert not "".join(page.locator("[role=alert]").all_inner_texts())
        assert not wrong, (path.name, wrong)
        page.context.close()
