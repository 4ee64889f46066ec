"""The player's program and its looks as texts: the modules of ``player/`` put together into one.

There is no build step: the modules are plain ES modules, each imports what it needs, and here their imports and
exports are taken out and they stand one below the other, so their outermost names must differ. The whole is one
module that exports ``mount`` (and, for tests, what lies below it). Knows nothing about runs.
"""

import re
from functools import cache
from importlib.resources import files

MODULES = (
    "words",
    "free_queue",
    "state",
    "blocks",
    "log",
    "cursor",
    "cells",
    "run",
    "journey",
    "keys",
    "dom",
    "views/kit",
    "views/memory",
    "views/bars",
    "views/queues",
    "views/tables",
    "views/free_blocks",
    "views/events",
    "views/inspector",
    "views/timeline",
    "views/strip",
    "views/controls",
    "views/pane",
    "player",
)
"""In the order in which they can be run: each after those that it imports."""

_IMPORT = re.compile(r"^import .*?;\n", re.MULTILINE | re.DOTALL)
_EXPORT = re.compile(r"^export (?=(async )?(function|class|const))", re.MULTILINE)
EXPORTS = (
    "mount",
    "Journey",
    "KEYS",
    "Run",
    "holdersOf",
    "layoutOf",
    "mapCells",
    "meanWords",
    "momentSplit",
    "percent",
)


@cache
def player_script() -> str:
    """One ES module without imports, for a ``<script type="module">`` or as a widget's."""
    parts = [_module(name) for name in MODULES]
    return "\n".join([*parts, f"export {{ {', '.join(EXPORTS)} }};\n"])


@cache
def player_style() -> str:
    """Its looks; every rule is about something inside ``.pagesim``."""
    return _text("player.css")


def _module(name: str) -> str:
    return _EXPORT.sub("", _IMPORT.sub("", _text(f"{name}.js")))


def _text(name: str) -> str:
    return files("pagesim.web").joinpath("player", name).read_text(encoding="utf-8")
