"""The course notebooks: in step with their sources, stored without outputs, and run from a clean kernel.

Oracles: jupytext, the exercises' own solutions, the lessons' own questions.
"""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pagesim.notebook import check_exercise, question
from pagesim_lessons import course, exercises
from pagesim_lessons.lesson import Ask

FOLDER = Path(__file__).parent.parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
NAMES = [path.stem for path in NOTEBOOKS]
SECONDS = 120
GIVEN = re.compile(r"%%exercise (\S+)\n(.*)", re.DOTALL)
ASKED = {
    # lesson and question: how it begins; who changes a lesson's questions sees here whether a notebook means another
    (1, 2): "opt-13b has 40 layers",
    (1, 3): "llama-3.1-8b has 32 query heads",
    (2, 1): "Each slab takes 16 slots",
    (2, 4): "d needs 12 slots",
    (2, 7): "Over the whole run",
    (2, 8): "With the oracle",
    (3, 6): "And paged, on average?",
    (4, 1): "The step has made the first output token",
    (4, 2): "Step 2 writes the token at position 8",
    (4, 3): "A and B hold 5 blocks",
    (5, 1): "A has 7 tokens in 2 blocks",
    (5, 2): "A is to write first",
    (5, 3): "Now A.1 is to write",
    (5, 7): "8 samples run, and 12 blocks are held",
    (6, 2): "A.0 and A.3 are dropped",
    (6, 3): "How many blocks were copied",
    (7, 1): "Then Bob comes",
    (7, 4): "All 4 of its blocks are cached",
    (7, 5): "The first request ends, its table is",
    (8, 1): "The next token of r1 has position 8",
    (8, 2): "r3 had a prompt of 7 tokens",
    (8, 4): "Blocks have 16 slots. Is it faster to swap",
    (8, 5): "The whole group is swapped out",
    (9, 1): "The same 8 requests, 4 seats",
    (9, 2): "Reserving the maximum, 7 requests at once",
    (9, 3): "The batch is 4.6 times as large",
    (10, 1): "A's table is [2, 5, 3]",
    (10, 2): "So far the largest score is 2",
    (11, 3): "Which server needs more memory",
    (11, 7): "Usage is at 99 %",
    (12, 1): "A request holds its prompt",
    (12, 2): "So, at the trace's own rate",
    (12, 4): "Your guess: with which of them",
}


def cells(path, kind="code"):
    book = json.loads(path.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == kind]


def test_there_are_eight_each_with_its_source():
    assert len(NOTEBOOKS) == 8
    assert sorted(path.stem for path in FOLDER.glob("*.py")) == NAMES


@pytest.mark.parametrize("path", NOTEBOOKS, ids=NAMES)
def test_no_output_is_stored(path):
    book = json.loads(path.read_text(encoding="utf-8"))
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None
    assert set(book["metadata"]) == {"kernelspec", "language_info"}
    assert path.stat().st_size < 20_000


def test_they_are_in_step_with_their_sources(monkeypatch):
    pytest.importorskip("jupytext", reason="jupytext is not installed: sources were not compared")
    monkeypatch.syspath_prepend(str(FOLDER.parent / "scripts"))
    import notebooks

    assert notebooks.out_of_step() == []
    sys.modules.pop("notebooks", None)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=NAMES)
def test_they_are_thin(path):
    """Import, run, picture, question: no cell of ours that is not given is long, and no prose is."""
    for cell in cells(path):
        if not cell.startswith("%%"):
            assert len(cell.splitlines()) <= 25, cell
    for cell in cells(path, "markdown"):
        assert len(cell.split()) <= 90, cell
    first = cells(path)[0]
    assert first.startswith("%load_ext pagesim.notebook\nfrom pagesim.notebook import ")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=NAMES)
def test_exercises_are_given_as_they_are_and_solutions_pass(path):
    for cell in cells(path):
        found = GIVEN.match(cell)
        if found is None:
            continue
        name, code = found.groups()
        folder = exercises.folder_of(name)
        task = ast.parse((folder / "task.py").read_text())
        task.body.pop(0)
        assert ast.dump(ast.parse(code)) == ast.dump(task)
        assert not check_exercise(name, code).passed
        assert check_exercise(name, (folder / "solution.py").read_text()).passed


def test_questions_are_the_ones_that_are_meant():
    named = {
        (int(lesson), int(number))
        for path in NOTEBOOKS
        for cell in cells(path)
        for lesson, number in re.findall(r"\bquestion\((\d+), (\d+)", cell)
    }
    assert named == set(ASKED)
    for lesson in sorted({lesson for lesson, _ in named}):
        last = max(number for one, number in named if one == lesson)
        parts = course.find(str(lesson)).script()
        asks = [next(part for part in parts if isinstance(part, Ask)) for _ in range(last)]
        for (one, number), beginning in ASKED.items():
            if one == lesson:
                asked = " ".join(asks[number - 1].question.split())
                assert asked.startswith(beginning), f"lesson {lesson}, question {number}: {asked}"


def test_questions_can_be_answered_from_what_stands_above_them():
    """Each has its lesson's scene; those that say everything themselves, or ask of the cell above, are named."""
    alone = {(11, 7)}
    bare = {
        (int(lesson), int(number))
        for path in NOTEBOOKS
        for cell in cells(path)
        for lesson, number in re.findall(r"\bquestion\((\d+), (\d+).*scene=False", cell)
    }
    assert bare == {(9, 3)}
    assert {asked for asked in ASKED if not question(*asked).story} == alone


@pytest.mark.filterwarnings("default")  # those of Jupyter's own parts are not ours
@pytest.mark.parametrize("path", NOTEBOOKS, ids=NAMES)
def test_they_run_from_a_clean_kernel(path, tmp_path, monkeypatch):
    for module in ("nbclient", "nbformat", "ipykernel"):
        pytest.importorskip(module, reason=f"{module} is not installed: no notebook was run")
    import nbformat
    from nbclient import NotebookClient

    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "PAGESIM_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    book = nbformat.read(path, 4)
    place = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(book, timeout=SECONDS, kernel_name="python3", resources=place).execute()
    for cell in book.cells:
        for output in cell.get("outputs", []):
            assert output["output_type"] != "error"
            assert output.get("name") != "stderr", output
    shown = [o for cell in book.cells for o in cell.get("outputs", []) if "data" in o]
    assert len(shown) >= 6
    assert all(
        "text/html" in o["data"] or "image/png" in o["data"] for o in shown if len(o["data"]) > 1
    )
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == []


def test_a_notebook_as_html_has_pictures_of_its_players(tmp_path):
    """The command in notebooks/README.md."""
    for module in ("nbconvert", "ipykernel"):
        pytest.importorskip(module, reason=f"{module} is not installed: no notebook was converted")
    book = json.loads((FOLDER / "02_blocks_and_tables.ipynb").read_text(encoding="utf-8"))
    load = {**book["cells"][1], "source": "from pagesim.notebook import player\n"}
    assert load["cell_type"] == "code"
    shows = {**load, "id": "shows", "source": "player('figure-7', step=2)"}
    path = tmp_path / "one.ipynb"
    path.write_text(json.dumps({**book, "cells": [load, shows]}), encoding="utf-8")
    folders = (
        "IPYTHONDIR",
        "JUPYTER_RUNTIME_DIR",
        "JUPYTER_CONFIG_DIR",
        "JUPYTER_DATA_DIR",
        "HOME",
    )
    own = {name: str(tmp_path / name.lower()) for name in folders}
    words = [sys.executable, "-m", "nbconvert", "--to", "html", "--execute", "one.ipynb"]
    done = subprocess.run(
        words,
        cwd=tmp_path,
        env={**os.environ, **own, "PAGESIM_STILL": "1"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "one.html").read_text(encoding="utf-8")
    assert 'class="pagesim-picture"' in page
    assert "step 2 of" in page
    assert "widget-view+json" not in page
