"""The full text of each lesson, as it is read in a pipe of 80 columns.

PAGESIM_UPDATE_SNAPSHOTS=1 writes the texts anew: then read what changed.
"""

import os
import re
from pathlib import Path

import pytest

from pagesim.views.console import make_console
from pagesim_lessons import course
from pagesim_lessons.reading import read_through

SNAPSHOTS = Path(__file__).parent / "snapshots"
# What differs from machine to machine, by lesson: patterns, and what stands for them in the snapshot.
MASKED: dict[str, dict[str, str]] = {
    "kernel": {
        r"\d+e-\d+": "#e-##",  # rounding errors
        r"(?m)^(  (?:contiguous|paged|gather first)  .*?)\s+[\d.,]+ m?s +[\d.]+$": r"\1 # ms #",
        r"(?m)^  way .*$": "  way ...",
        r"took [\d.]+ times": "took # times",
    }
}
LATE: dict[str, str] = {"kernel": "triton"}
"""Lessons that need more than the base installation, by the module they need."""


@pytest.mark.parametrize("name", course.LESSONS)
def test_a_lesson_reads_as_it_did(name: str, capsys, monkeypatch) -> None:
    if name in LATE:
        pytest.importorskip(LATE[name])
    monkeypatch.setenv("COLUMNS", "80")
    lesson = course._lesson(name)
    read_through(lesson, make_console())
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    text = "\n".join(lines).rstrip() + "\n"
    for pattern, shown in MASKED.get(name, {}).items():
        text = re.sub(pattern, shown, text)
    path = SNAPSHOTS / f"lesson-{lesson.number:02}.txt"
    if os.environ.get("PAGESIM_UPDATE_SNAPSHOTS") == "1":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
