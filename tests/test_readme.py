"""What the README says is so: its Python runs, its commands exist."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
FILES = {block.split()[1]: block for block in BLOCKS if block.startswith("# ")}
PYTHON = [block for block in BLOCKS if not block.startswith("# ")]
COMMANDS = sorted(set(re.findall(r"(?:\.venv/bin/|`)pagesim ([a-z]+)", TEXT)))


@pytest.mark.parametrize("number", range(len(PYTHON)))
def test_the_python_runs_and_prints_what_its_comments_say(number: int) -> None:
    code = PYTHON[number]
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert result.returncode == 0, result.stderr
    told = re.findall(r"print\(.*\)  # (?:.*: )?(\(.*)$", code, flags=re.MULTILINE)
    assert result.stdout
    for line in told:
        assert line in result.stdout.splitlines()


def test_the_policies_of_ones_own_run_as_it_says(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(FILES["mine.py"], encoding="utf-8")
    (line,) = re.findall(r"pagesim (run .*mine\.py.*)", TEXT)
    result = subprocess.run(
        [sys.executable, "-m", "pagesim", *line.split()],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr
    assert "order mine.py:small_first" in result.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_it_names_exists(command: str) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "pagesim", command, "--help"],
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert result.returncode == 0


def test_the_files_it_links_to_exist() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", TEXT):
        if not target.startswith("http"):
            assert (ROOT / target).exists(), target


def test_nothing_is_left_to_fill_in() -> None:
    for name in ("README.md", "ARCHITECTURE.md", "CHANGELOG.md", "benchmarks/README.md"):
        assert not re.search(r"@[A-Z]+@|TODO|TBD", (ROOT / name).read_text(encoding="utf-8")), name
