"""What an exercise is: what is to be written, the laws it must keep, and how a broken one is told.

Values only; knows nothing about processes, files or terminals.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pagesim.practice.film import Film
    from pagesim.practice.learner import Learner

FILE = "file"
"""The law that comes first in every exercise: the file can be loaded, and has what the task asks for."""
WRITTEN = "written"
"""Nothing is left as it was given: no call raises NotImplementedError."""
RETURNS = "returns"
"""Every call that the task allows comes back in time, without an error, with an answer of the right kind."""
FAIR = "fair"
"""The learner's code is the learner's own, and leaves the checks as they are."""

GENERAL = {
    FILE: "the file can be loaded, and has what the task asks for",
    WRITTEN: "everything that the task asks for is written",
    RETURNS: "every call that the task allows comes back, without an error, with an answer of the right kind",
    FAIR: "the code is your own, and leaves the checks as they are",
}


class Fault(Exception):  # noqa: N818  # no error of ours: what a check finds
    """A check's finding: one sentence that names what is wrong.

    ``operations`` are Python lines that lead there, and ``film`` what the memory was after each; both may be
    left out where the learner's calls were recorded. ``law`` is only given where it is not the check's own.
    ``endless``: a call did not come back.
    """

    def __init__(
        self,
        sentence: str,
        operations: tuple[str, ...] = (),
        film: "Film | None" = None,
        *,
        law: str = "",
        endless: bool = False,
    ) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.operations = operations
        self.film = film
        self.law = law
        self.endless = endless


@dataclass(frozen=True, slots=True)
class Check:
    """A law and how it is examined: ``run`` raises Fault where it is broken. ``says`` is the law in a sentence."""

    law: str
    says: str
    run: "Callable[[Learner], None]"


@dataclass(frozen=True, slots=True)
class Exercise:
    """``names`` are the functions and classes the learner writes; their signatures are those in the task file.

    ``hints`` grow stronger. ``checks`` run in order, special ones before general ones, so that the first that fails
    names the real fault. ``seconds`` and ``memory_mib`` bound one whole check, ``call_seconds`` a single call.
    ``needs`` are modules that must be installed ("torch"), and that the learner may import.
    """

    name: str
    title: str
    lesson: int
    names: tuple[str, ...]
    hints: tuple[str, str, str]
    checks: tuple[Check, ...]
    seconds: float = 20.0
    memory_mib: int = 1024
    call_seconds: float = 2.0
    needs: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        """The name of its folder, and of the learner's file without ``.py``."""
        return self.name.replace("-", "_")

    def says(self, law: str) -> str:
        """The sentence of a law: one of this exercise's, or a general one."""
        for check in self.checks:
            if check.law == law:
                return check.says
        return GENERAL.get(law, law)
