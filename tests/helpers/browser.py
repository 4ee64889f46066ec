"""A real browser for tests of pages: Chromium from the system's package manager, driven by Playwright."""

import shutil
import subprocess
from functools import cache
from pathlib import Path

AXE = "axe-core@4.14.1"
NAMES = ("chromium", "chromium-browser", "google-chrome")


@cache
def chromium() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


@cache
def why_no_browser() -> str | None:
    """Why no page can be opened here; ``None``: one can."""
    if chromium() is None:
        return "Chromium is not installed (`apt-get install chromium`): pages were not opened"
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "Playwright is not installed (`pip install playwright`): pages were not opened"
    return None


def axe_source(folder: Path) -> str | None:
    """The accessibility checker, fetched with npm into ``folder`` once; ``None``: it cannot be had here."""
    script = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        if shutil.which("npm") is None:
            return None
        words = [
            "npm",
            "install",
            "--no-save",
            "--no-audit",
            "--no-fund",
            "--prefix",
            str(folder),
            AXE,
        ]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            return None
    return script.read_text(encoding="utf-8")
