"""An exercise with its place and its files: what a learner's folder is made from, and what is graded.

Knows nothing about folders and terminals.
"""

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from pagesim.core.errors import InputError
from pagesim.practice.exercise import Exercise

HOW_TO_INSTALL = "pip install 'pagesim[engine]'"


@dataclass(frozen=True, slots=True)
class Task:
    """``number`` counts from 1. ``checks`` is the module that has the exercise, and ``folder`` where its files lie."""

    exercise: Exercise
    number: int
    checks: str
    folder: Path

    @property
    def name(self) -> str:
        return self.exercise.name

    @property
    def file_name(self) -> str:
        """The learner's file."""
        return f"{self.exercise.module}.py"

    def text(self) -> str:
        """The file as it is given."""
        return (self.folder / "task.py").read_text("utf-8")

    def solution(self) -> str:
        return (self.folder / "solution.py").read_text("utf-8")

    def lacks(self) -> list[str]:
        """Modules that the exercise needs and that are not installed."""
        return [module for module in self.exercise.needs if find_spec(module) is None]


def name_meant(typed: str, names: Sequence[str]) -> str:
    """The name that was meant: whole, as a file, by its number, or its only beginning. Raises InputError."""
    name = typed.strip().lower().removesuffix(".py").replace("_", "-")
    if name in names:
        return name
    if name.isascii() and name.isdigit() and 1 <= int(name) <= len(names):
        return names[int(name) - 1]
    meant = [other for other in names if name and other.startswith(name)]
    if len(meant) == 1:
        return meant[0]
    if meant:
        raise InputError(f"{typed!r} may be {', '.join(meant)}; write more of the name")
    raise InputError(f"there is no exercise {typed!r}; they are {', '.join(names)}")


def still_to_write(text: str) -> list[str]:
    """Functions and methods (``Memory.fork``) of a file that raise NotImplementedError; none, if it is no Python."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    names: list[str] = []
    for node in tree.body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        owner = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        names += [
            f"{owner}{item.name}"
            for item in inner
            if isinstance(item, ast.FunctionDef) and _is_stub(item)
        ]
    return names


def _is_stub(function: ast.FunctionDef) -> bool:
    raised = [node.exc for node in function.body if isinstance(node, ast.Raise)]
    return any("NotImplementedError" in ast.unparse(error) for error in raised if error)
