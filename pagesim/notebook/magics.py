"""What ``%load_ext pagesim.notebook`` brings: two cell magics, and errors that are one sentence.

After a magic the notebook has the names that its cell defines, and ``checked``, what came of the check. Knows nothing
about what the cells' code is for.
"""

import io
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from types import TracebackType
from typing import Protocol

from pagesim.core.errors import InputError, PagesimError
from pagesim.notebook.learners import Graded, OwnManager, check_exercise, check_manager
from pagesim.practice.exercise import FAIR, FILE

CHECKED = "checked"


class Shell(Protocol):
    """What is used of IPython."""

    def register_magic_function(
        self, func: Callable[[str, str], object], magic_kind: str, magic_name: str
    ) -> None: ...
    def push(self, variables: Mapping[str, object]) -> None: ...
    def set_custom_exc(
        self, exc_tuple: tuple[type[BaseException], ...], handler: Callable[..., object]
    ) -> None: ...
    def _showtraceback(
        self, etype: type[BaseException], evalue: BaseException, stb: list[str]
    ) -> None: ...


def load(shell: Shell) -> None:
    def exercise_cell(line: str, cell: str) -> Graded:
        return _bound(shell, exercise(line, cell), cell)

    def manager_cell(line: str, cell: str) -> Graded:
        return _bound(shell, manager(line, cell), cell)

    shell.register_magic_function(exercise_cell, "cell", "exercise")
    shell.register_magic_function(manager_cell, "cell", "manager")
    shell.set_custom_exc((PagesimError,), _one_sentence)


def exercise(line: str, cell: str) -> Graded:
    """``%%exercise NAME``: check what the cell has, as ``pagesim practice check NAME`` does."""
    if not line.strip():
        raise InputError("%%exercise was given without a name; write %%exercise free-list, say")
    return check_exercise(line.strip(), _under_its_first_line(cell))


def manager(line: str, cell: str) -> OwnManager:
    """``%%manager CLASS``: examine the cell's block manager, as ``pagesim check`` does."""
    return check_manager(_under_its_first_line(cell), line.strip() or "MyManager")


def _bound(shell: Shell, graded: Graded, cell: str) -> Graded:
    """With the check's name, and those of the cell, in the notebook."""
    graded.called = CHECKED
    names = {} if graded.outcome.law in (FILE, FAIR) else _defined(cell)
    shell.push({**names, CHECKED: graded})
    return graded


def _defined(cell: str) -> dict[str, object]:
    """The names that the cell's code defines; none where it fails. What it prints was shown with the check."""
    names: dict[str, object] = {"__name__": "__main__"}
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            exec(compile(_under_its_first_line(cell), "<cell>", "exec"), names)
    except (Exception, SystemExit):  # a learner's code may fail in any way; the check has said how
        return {}
    return {name: value for name, value in names.items() if not name.startswith("__")}


def _under_its_first_line(cell: str) -> str:
    """So that a line's number is the one that stands beside it in the cell."""
    return f"\n{cell}"


def _one_sentence(
    shell: Shell,
    etype: type[BaseException],
    value: BaseException,
    _trace: TracebackType,
    tb_offset: int | None = None,  # noqa: ARG001
) -> None:
    """What a person can mend needs no traceback."""
    shell._showtraceback(etype, value, [f"pagesim: {value}"])
