"""A learner's file, loaded as a module; everything that can be wrong with it is a Fault of the law *file*.

Meant for a process that can be lost. Knows nothing about what the file should do.
"""

import ast
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from pagesim.practice.alarm import TookTooLong, alarm
from pagesim.practice.exercise import FAIR, FILE, Fault
from pagesim.practice.reading import line_of, shown, why_stopped

OURS = ("pagesim", "pagesim_kernels", "pagesim_lessons")
MOST_BYTES = 1_000_000


def load_module(path: Path, name: str, seconds: float, allowed: Sequence[str] = ()) -> ModuleType:
    """Run the file as module ``name``. ``allowed`` are packages of pagesim's own that it may import."""
    source = _source(path)
    tree = _parse(source, path)
    _refuse_ours(tree, allowed)
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module  # dataclasses and pickles look there
    try:
        with alarm(seconds):
            exec(compile(source, str(path), "exec"), vars(module))
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        raise Fault(_why_not(error, path, seconds), law=FILE) from None
    return module


def _source(path: Path) -> bytes:
    try:
        if not path.is_file():
            what = "no file" if path.exists() else "not there"
            raise Fault(f"{path.name} is {what}", law=FILE)
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise Fault(f"{path.name} has {size:,} bytes, and no task needs so many", law=FILE)
        with path.open("rb") as file:
            source = file.read(MOST_BYTES)
    except OSError as error:
        raise Fault(f"{path.name} cannot be read: {error.strerror}", law=FILE) from None
    if not source.strip():
        raise Fault(f"{path.name} is empty", law=FILE)
    return source


def _parse(source: bytes, path: Path) -> ast.Module:
    try:
        return ast.parse(source, str(path))
    except SyntaxError as error:
        place = f", line {error.lineno}," if error.lineno else ""
        line = f" in {shown(error.text.strip())}" if error.text and error.text.strip() else ""
        raise Fault(f"{path.name}{place} is no Python: {error.msg}{line}", law=FILE) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise Fault(f"{path.name} is no Python: {error}", law=FILE) from None


def _refuse_ours(tree: ast.Module, allowed: Sequence[str]) -> None:
    """What is to be written is not to be imported."""
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        for name in names:
            package = name.partition(".")[0]
            if package in OURS and name not in allowed and package not in allowed:
                raise Fault(
                    f"line {node.lineno} imports {name}, and this is to be written without it",  # type: ignore[attr-defined]
                    law=FAIR,
                )


def _why_not(error: BaseException, path: Path, seconds: float) -> str:
    line = line_of(error, str(path))
    place = "" if line is None else f", line {line},"
    what = " ".join(str(error).split())[:200]
    if isinstance(error, TookTooLong):
        return f"{path.name}{place} does not come to its end within {seconds:g} s when it is loaded"
    if isinstance(error, SystemExit):
        return f"{path.name}{place} ends the program (SystemExit) when it is loaded"
    if stopped := why_stopped(error):
        return f"{path.name}{place} {stopped}"
    if isinstance(error, ModuleNotFoundError):
        return f"{path.name}{place} imports {error.name}, which is not installed"
    if isinstance(error, MemoryError):
        return f"{path.name}{place} wants more memory than there is when it is loaded"
    colon = ": " if what else ""
    return f"{path.name}{place} raises {type(error).__name__}{colon}{what} when it is loaded"
