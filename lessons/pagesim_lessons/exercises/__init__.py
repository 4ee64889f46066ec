"""The exercises, in the order in which they are taught: each is a folder with a task, a solution and checks.

CONTRIBUTING.md beside this file says how one is written. Exercises are loaded when they are asked for.
"""

from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import cast

from pagesim.practice.exercise import Exercise
from pagesim.practice.task import name_meant

NAMES = (
    "slot-mapping",
    "free-list",
    "allocate-and-free",
    "append",
    "fork",
    "copy-on-write",
    "placement",
    "prefix-hashing",
    "eviction",
    "watermark",
    "preemption",
    "online-softmax",
    "paged-attention",
    "triton-decode",
    "bytes-and-concurrency",
)
"""One a line. The place in this list is the exercise's number, from 1."""


def checks_module(name: str) -> str:
    """The module that has the exercise as ``EXERCISE``: what ``sandbox`` is told."""
    return f"{__name__}.{name.replace('-', '_')}.checks"


def load(name: str) -> Exercise:
    """The exercise. Raises InputError if there is none of that name."""
    return cast(Exercise, import_module(checks_module(known(name))).EXERCISE)


def known(text: str) -> str:
    """The name that was meant. Raises InputError if none was."""
    return name_meant(text, NAMES)


def number_of(name: str) -> int:
    return NAMES.index(name) + 1


def folder_of(name: str) -> Path:
    """Where the exercise's ``task.py`` and ``solution.py`` lie."""
    return Path(str(files(__name__))) / name.replace("-", "_")
