"""What ``%load_ext pagesim.notebook`` brings: two cell magics, and errors that are one sentence.

Knows nothing about what the cells' code is for.
"""

from collections.abc import Callable
from types import TracebackType
from typing import Protocol

from pagesim.core.errors import InputError, PagesimError
from pagesim.notebook.learners import Graded, OwnManager, check_exercise, check_manager


class Shell(Protocol):
    """What is used of IPython."""

    def register_magic_function(
        self, func: Callable[[str, str], object], magic_kind: str, magic_name: str
    ) -> None: ...
    def set_custom_exc(
        self, exc_tuple: tuple[type[BaseException], ...], handler: Callable[..., object]
    ) -> None: ...
    def _showtraceback(
        self, etype: type[BaseException], evalue: BaseException, stb: list[str]
    ) -> None: ...


def load(shell: Shell) -> None:
    shell.register_magic_function(exercise, "cell", "exercise")
    shell.register_magic_function(manager, "cell", "manager")
    shell.set_custom_exc((PagesimError,), _one_sentence)


def exercise(line: str, cell: str) -> Graded:
    """``%%exercise NAME``: check what the cell has, as ``pagesim practice check NAME`` does."""
    if not line.strip():
        raise InputError("%%exercise was given without a name; write %%exercise free-list, say")
    return check_exercise(line.strip(), _under_its_first_line(cell))


def manager(line: str, cell: str) -> OwnManager:
    """``%%manager CLASS``: examine the cell's block manager, as ``pagesim check`` does."""
    return check_manager(_under_its_first_line(cell), line.strip() or "MyManager")


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
