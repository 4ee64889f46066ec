"""Make the notebooks (.ipynb) from their sources (.py, jupytext's percent format), without outputs.

    python scripts/notebooks.py           write them
    python scripts/notebooks.py --check   say which are not in step; exit code 1 if any

Cells of exercises are first made what the exercises' task files say. The same source is the same file, byte for
byte. Needs jupytext.
"""

import ast
import json
import re
import sys
from pathlib import Path

import jupytext

from pagesim.notebook import template
from pagesim_lessons import exercises

FOLDER = Path(__file__).parent.parent / "notebooks"


def sources() -> list[Path]:
    return sorted(FOLDER.glob("*.py"))


def stub(name: str) -> str:
    """An exercise's task without its description; ``MyManager``: the template of a block manager."""
    if name == "MyManager":
        text = template("simple")
    else:
        text = (exercises.folder_of(name) / "task.py").read_text(encoding="utf-8")
    described = ast.parse(text).body[0].end_lineno
    return "\n".join(text.splitlines()[described:]).strip()


GIVEN = re.compile(r"(?ms)^# %%(?:exercise (\S+)|manager (MyManager))\n.*?(?=\n+# %%|\Z)")
"""A cell whose code is given."""


def renewed(text: str) -> str:
    """A source with the exercises' cells as they are given."""

    def given(found: re.Match[str]) -> str:
        first = found[0].partition("\n")[0]
        return f"{first}\n{stub(found[1] or found[2])}"

    return GIVEN.sub(given, text)


def made(source: Path) -> str:
    """The notebook's text."""
    read = jupytext.reads(source.read_text(encoding="utf-8"), fmt="py:percent")
    cells = []
    for number, cell in enumerate(read.cells):
        plain = {"cell_type": cell.cell_type, "id": f"cell-{number}", "metadata": {}}
        if cell.cell_type == "code":
            plain |= {"execution_count": None, "outputs": []}
        cells.append({**plain, "source": cell.source.splitlines(keepends=True)})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    book = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(book, indent=1, ensure_ascii=False) + "\n"


def out_of_step() -> list[str]:
    """Names of notebooks that are not what their source makes, or have none."""
    wanted = {source.with_suffix(".ipynb"): made(source) for source in sources()}
    there = {path: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.ipynb"))}
    names = sorted(wanted.keys() | there.keys())
    old = [source.name for source in sources() if not is_renewed(source)]
    return [*old, *(path.name for path in names if wanted.get(path) != there.get(path))]


def is_renewed(source: Path) -> bool:
    """Blank lines do not matter: the formatter has its own mind about them."""
    text = source.read_text(encoding="utf-8")
    return _dense(text) == _dense(renewed(text))


def _dense(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def main() -> int:
    if sys.argv[1:] == ["--check"]:
        names = out_of_step()
        for name in names:
            print(f"{name} is not in step with its source; run scripts/notebooks.py")
        return 1 if names else 0
    for source in sources():
        if not is_renewed(source):
            source.write_text(renewed(source.read_text(encoding="utf-8")), encoding="utf-8")
        source.with_suffix(".ipynb").write_text(made(source), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
