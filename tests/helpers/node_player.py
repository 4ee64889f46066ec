"""The page's player in Node: one process for all tests, asked over its standard input."""

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path

from pagesim.web.script import player_script

HERE = Path(__file__).parent
LEAST_VERSION = 18


@cache
def why_no_node() -> str | None:
    """Why the player cannot be run here; ``None``: it can."""
    node = shutil.which("node")
    if node is None:
        return "Node is not installed: the player's own tests did not run"
    told = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    version = told.strip().lstrip("v").partition(".")[0]
    if not version.isdigit() or int(version) < LEAST_VERSION:
        return f"Node {told.strip()} is too old: the player's tests need {LEAST_VERSION} or newer"
    return None


class NodePlayer:
    """Holds one run at a time."""

    def __init__(self, folder: Path, mutant: tuple[str, str] | None = None) -> None:
        """``mutant``: what stands once in the player's text, and what is put there instead."""
        module, text = folder / "player.mjs", player_script()
        if mutant is not None:
            assert text.count(mutant[0]) == 1, f"{mutant[0]!r} stands {text.count(mutant[0])} times"
            text = text.replace(*mutant)
        module.write_text(text, encoding="utf-8")
        self._process = subprocess.Popen(
            ["node", str(HERE / "node_player.mjs"), str(module)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def ask(self, op: str, **asked: object):
        stdin, stdout = self._process.stdin, self._process.stdout
        stdin.write(json.dumps({"op": op, **asked}) + "\n")
        stdin.flush()
        told = json.loads(stdout.readline())
        assert "error" not in told, told["error"]
        return told["answer"]

    @staticmethod
    def text(facts: object) -> str:
        """As JavaScript writes JSON."""
        return json.dumps(facts, separators=(",", ":"), ensure_ascii=False)

    def close(self) -> None:
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(10)
