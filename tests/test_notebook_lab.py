"""The player in a real JupyterLab page in Chromium: it follows Python, Python follows it, and its keys stay its own.

Sentences and places are compared with Python's. `make test-all` runs this; it needs JupyterLab, Chromium and
Playwright.
"""

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from importlib.util import find_spec

import pytest
from browser import chromium, why_no_browser

from pagesim.notebook.recordings import recorded
from pagesim.replay.explain import explain


def _why_not():
    for module in ("jupyterlab", "anywidget", "ipykernel"):
        if find_spec(module) is None:
            return f"{module} is not installed: no notebook was opened in JupyterLab"
    return why_no_browser()


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(_why_not() is not None, reason=_why_not() or ""),
]
STORY = "preemption"
CELLS = (
    "%load_ext pagesim.notebook\nfrom pagesim.notebook import player",
    f'shown = player("{STORY}", step=2)\nshown',
    "print('place', shown.event, 'step', shown.step)",
    "shown.step = 7",
    "player('no-such-run')",
)
READY_S, CELL_S, ASK_AGAIN_S = 60, 60, 4
IDLE = ".jp-Notebook-ExecutionIndicator[data-status=idle]"
ACROSS = "(() => { const at = document.querySelector('.pagesim-widget'); return at.scrollWidth - at.clientWidth; })()"


def notebook():
    cells = [
        {"cell_type": "code", "id": f"c{number}", "metadata": {}, "source": source}
        | {"execution_count": None, "outputs": []}
        for number, source in enumerate(CELLS)
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


@pytest.fixture(name="lab", scope="module", params=["light", "dark"])
def _lab(request, tmp_path_factory):
    """A server of its own; the address of the notebook, and the theme."""
    root = tmp_path_factory.mktemp("lab")
    settings = root / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    theme = f"JupyterLab {request.param.title()}"
    (settings / "themes.jupyterlab-settings").write_text(json.dumps({"theme": theme}))
    quiet = {"fetchNews": "false", "checkForUpdates": False}
    (settings / "notification.jupyterlab-settings").write_text(json.dumps(quiet))
    (root / "book").mkdir()
    (root / "book" / "one.ipynb").write_text(json.dumps(notebook()))
    folders = {
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTER_CONFIG_DIR": "config",
        "IPYTHONDIR": "ipython",
        "HOME": "home",
    }
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}"),
        *("--ServerApp.port_retries=0", "--IdentityProvider.token=", "--ServerApp.password="),
        f"--ServerApp.root_dir={root / 'book'}",
    ]
    environ = {**os.environ, **{name: str(root / folder) for name, folder in folders.items()}}
    with (root / "said.txt").open("w") as said:
        server = subprocess.Popen(words, env=environ, cwd=root, stdout=said, stderr=said)
    try:
        _wait_for(f"http://127.0.0.1:{port}/api", server)
        yield f"http://127.0.0.1:{port}/lab/tree/one.ipynb", request.param
    finally:
        server.terminate()
        server.wait(20)


def _wait_for(address, server):
    until = time.monotonic() + READY_S
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(address, timeout=2):
                return
        except (urllib.error.URLError, OSError):
            assert server.poll() is None, "JupyterLab ended"
            time.sleep(0.2)
    raise AssertionError("JupyterLab did not start")


@pytest.fixture(name="page")
def _page(lab):
    from playwright.sync_api import sync_playwright

    address, _ = lab
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium(), args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        page = browser.new_page(viewport={"width": 1300, "height": 1000})
        page.errors = []
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.goto(address)
        page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=1000 * READY_S)
        page.wait_for_selector(IDLE, timeout=1000 * READY_S)
        yield page
        browser.close()


def run_cell(page, number):
    """Run one cell, and wait for its number to come back."""
    cell = page.locator(".jp-CodeCell").nth(number)
    prompt = cell.locator(".jp-InputPrompt").first
    before = prompt.inner_text()
    until, asked = time.monotonic() + CELL_S, 0.0
    while time.monotonic() < until:
        now = prompt.inner_text()
        if re.search(r"\d", now) and now != before:
            return cell
        if "*" not in now and time.monotonic() > asked + ASK_AGAIN_S:
            cell.locator(".cm-content").click()
            page.keyboard.press("Control+Enter")
            asked = time.monotonic()
        page.wait_for_timeout(50)
    raise AssertionError(f"cell {number} did not end")


def place(page):
    found = re.search(r"event ([\d,]+) of", page.locator(".pagesim-widget .where").inner_text())
    return int(found[1].replace(",", ""))


def until(page, wanted):
    for _ in range(200):
        if place(page) == wanted:
            return
        page.wait_for_timeout(25)
    raise AssertionError(f"the player is at {place(page)}, not at {wanted}")


def told(page):
    """What Python says of the place: events behind, and the step."""
    cell = run_cell(page, 2)
    said = cell.locator(".jp-OutputArea-output").inner_text()
    return tuple(int(word) for word in re.findall(r"\d+", said))


def test_python_and_the_browser_are_at_the_same_place(page, lab):
    cursor = recorded(STORY).cursor(step=2)
    run_cell(page, 0)
    run_cell(page, 1)
    widget = page.locator(".pagesim-widget")
    widget.locator(".said-now .sentence:not(:empty)").wait_for(timeout=1000 * CELL_S)
    assert place(page) == cursor.place
    assert widget.locator(".pagesim").get_attribute("data-theme") == lab[1]
    assert told(page) == (cursor.place, 2)

    # the reader moves: keys are the player's, and the notebook's cells stay
    widget.scroll_into_view_if_needed()
    widget.locator(".pagesim").focus()
    for key, go in [
        ("ArrowDown", lambda: cursor.move_steps(1)),
        ("j", lambda: cursor.move_steps(1)),
        ("ArrowRight", lambda: cursor.seek(cursor.place + 1)),
        ("p", lambda: cursor.seek(cursor.find_next(("preempted",)))),
        ("ArrowLeft", lambda: cursor.seek(cursor.place - 1)),
        ("x", lambda: None),
        ("d", lambda: None),
        ("d", lambda: None),
    ]:
        page.keyboard.press(key)
        go()
        until(page, cursor.place)
        focused = "document.activeElement.closest('.pagesim') !== null"
        assert page.evaluate(focused), key
    sentence = widget.locator(".said-now .sentence").inner_text()
    assert sentence == explain(cursor.event, cursor.state_before())
    assert page.locator(".jp-CodeCell").count() == len(CELLS)
    assert told(page) == (cursor.place, cursor.step_number)

    # Python moves
    run_cell(page, 3)
    cursor.seek_step(7)
    until(page, cursor.place)
    assert told(page) == (cursor.place, 7)
    assert not page.errors, page.errors


def test_the_widget_fits_and_is_seen_once(page):
    run_cell(page, 0)
    cell = run_cell(page, 1)
    page.locator(".pagesim-widget .said-now .sentence:not(:empty)").wait_for(timeout=1000 * CELL_S)
    assert cell.locator(".jp-OutputArea-child").count() == 1
    assert cell.locator(".pagesim-picture").count() == 0
    box = page.locator(".pagesim-widget").bounding_box()
    assert abs(box["height"] - 640) < 2
    assert page.evaluate(ACROSS) <= 0
    play = page.locator(".pagesim-widget button.play").bounding_box()
    assert play["y"] + play["height"] <= box["y"] + box["height"]


def test_an_error_of_ours_is_one_line(page):
    run_cell(page, 0)
    cell = run_cell(page, 4)
    said = cell.locator(".jp-OutputArea-output").inner_text().strip()
    assert said.startswith("pagesim: 'no-such-run' is neither a log's path nor a scenario")
    assert "Traceback" not in said
    assert len(said.splitlines()) == 1
