"""A learner's code in a cell: exercises checked as ``pagesim practice`` does, block managers as ``pagesim check`` does.

The code goes to a file and is examined in a process of its own, with limits. Knows nothing about cells.
"""

import inspect
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from pagesim.core.errors import InputError
from pagesim.notebook.prose import Sheet, parts_of
from pagesim.notebook.recordings import Recording
from pagesim.notebook.shown import Bundle, Shown
from pagesim.practice.film_log import write_film
from pagesim.practice.outcome import Outcome
from pagesim.replay.log import read_log

if TYPE_CHECKING:
    from pagesim.notebook.players import StillPlayer
    from pagesim.notebook.widget import PlayerWidget
    from pagesim.practice.manager_report import ManagerReport
    from pagesim.practice.task import Task

Code = str | Path | type | Callable[..., object]


class Graded:
    """What came of a check, displayed as in a terminal. ``outcome`` has all of it, ``called`` is what the reader calls
    it: ``_`` is what a cell gave last."""

    def __init__(self, name: str, outcome: Outcome, parts: list[RenderableType]) -> None:
        self.name = name
        self.outcome = outcome
        self.called = "_"
        self._parts = parts

    @property
    def passed(self) -> bool:
        return self.outcome.passed

    @property
    def _has_film(self) -> bool:
        return self.outcome.film is not None and bool(self.outcome.film.shots)

    def player(self) -> "PlayerWidget | StillPlayer":
        """The memory on the way to what is broken, at its end. Raises InputError if there is nothing to see."""
        from pagesim.notebook.players import player

        film = self.outcome.film
        if film is None or not film.shots:
            raise InputError(f"of this check of {self.name} there is nothing to step through")
        path = _folder() / "film.jsonl"
        outcome, title = self.outcome, f"{self.outcome.law} is broken"
        opens_at = write_film(path, film, title=title, law=outcome.law, sentence=outcome.sentence)
        return player(Recording(self.name, read_log(path), opens_at))

    def _shown(self) -> Shown:
        see = [Text(f"see it?    {self.called}.player()", style="dim")] if self._has_film else []
        return Shown(*self._parts, *see, title=f"check of {self.name}")

    def __repr__(self) -> str:
        return repr(self._shown())

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Bundle:
        return self._shown()._repr_mimebundle_(include, exclude)


class OwnManager(Graded):
    """A block manager of one's own, examined; it can play stories."""

    def __init__(self, place: str, report: "ManagerReport", parts: list[RenderableType]) -> None:
        super().__init__(report.name, report.outcome, parts)
        self.place = place
        self.report = report

    def play(self, story: str) -> Recording:
        """A scenario, with the blocks handed out by this class. Raises InputError where it cannot be told so."""
        from pagesim.cli.own_memory import OwnStory
        from pagesim.core.types import Geometry
        from pagesim.replay.keeper import Keeper
        from pagesim.replay.kept_log import kept_log
        from pagesim.sim.scenario import load_scenario
        from pagesim.sim.story_log import story_facts

        told = load_scenario(story)
        own = OwnStory(self.place, told)
        keeper, sizes = Keeper(), list[Geometry]()

        def listeners(geometry: Geometry) -> list[Keeper]:
            sizes.append(geometry)
            return [keeper]

        own.drive(told.loop(listeners, own.memory))
        facts = {**story_facts(told, f"pagesim run {story}"), "allocator": own.name}
        return Recording(
            f"{story} by {self.name}", kept_log(story, sizes[0], keeper.events, **facts)
        )


# -- exercises ---------------------------------------------------------------------------------------------


def check_exercise(name: str, code: Code) -> Graded:
    """Check an exercise as ``pagesim practice check`` does. ``code``: a text, a file's path, or what was written.

    Raises InputError for an exercise that there is not, or one that cannot be checked here.
    """
    from pagesim.cli.practice_output import lacking
    from pagesim.practice.sandbox import check_file

    task = _task(name)
    if task.lacks():
        raise InputError(lacking(task))
    file = _written(task.exercise.module, code)
    outcome = check_file(task.exercise, task.checks, file)
    return Graded(task.name, outcome, _outcome_parts(task, file, outcome))


def hint(name: str, number: int = 1) -> Shown:
    """A hint to an exercise: 1 is the weakest, 3 the strongest. Raises InputError."""
    task = _task(name)
    hints = task.exercise.hints
    if not 1 <= number <= len(hints):
        raise InputError(f"hint {number} was asked for; there are 1 to {len(hints)}")
    said = Text(f"Hint {number} of {len(hints)}: {hints[number - 1]}")
    more = len(hints) - number
    after = f'{more} more: hint("{task.name}", {number + 1})' if more else "That was the last."
    return Shown(said, Text(after, style="dim"), title="hint")


def task(name: str) -> Sheet:
    """What an exercise asks for. Raises InputError."""
    import ast

    found = _task(name)
    text = ast.get_docstring(ast.parse(found.text())) or ""
    return Sheet(f"Exercise {found.name}", (), list(parts_of(text)))


def _task(name: str) -> "Task":
    from pagesim.cli.practice_tasks import all_tasks, task_called

    return task_called(name, all_tasks())


def _outcome_parts(task: "Task", file: Path, outcome: Outcome) -> list[RenderableType]:
    from pagesim.cli.practice_output import checked_parts
    from pagesim.practice.checking import Checked

    checked = Checked(task, file, outcome, None, [])
    source = f"from {task.exercise.module} import "
    return [
        _for_cells(part, task)
        for part in checked_parts(checked, "utf-8")
        if not (isinstance(part, Text) and part.plain.startswith(source))
    ]


def _for_cells(part: RenderableType, task: "Task") -> RenderableType:
    """Where the terminal names its own command for hints, a cell has another. What calls need is in the notebook."""
    from rich.table import Table

    if isinstance(part, Table) and part.columns and "stuck" in map(str, part.columns[0].cells):
        return Text(f'stuck?     hint("{task.name}")', style="dim")
    return part


# -- block managers ----------------------------------------------------------------------------------------


def check_manager(
    code: Code, class_name: str = "MyManager", *, examples: int = 100, seed: int = 0
) -> OwnManager:
    """Examine a block manager as ``pagesim check`` does, law by law. ``examples`` rows of operations are played.

    Raises InputError where the class meets no contract.
    """
    from pagesim.cli.check_output import report_parts
    from pagesim.practice import manager_sandbox

    if examples < 1:
        raise InputError(f"{examples} examples were asked for; it must be 1 or more")
    file = _written("my_manager", code)
    report, printed = manager_sandbox.check_manager(file, class_name, seed=seed, examples=examples)
    if report.refusal:
        raise InputError(report.refusal)
    parts = list(report_parts(report, class_name, seed, None, printed, "utf-8"))
    return OwnManager(f"{file}:{class_name}", report, parts)


def template(contract: str = "simple") -> str:
    """The text of a file to start a block manager from: ``simple`` or ``full``. Raises InputError."""
    from pagesim.practice import manager_contracts

    return manager_contracts.template(contract)


# -- files -------------------------------------------------------------------------------------------------


@cache
def _kept_folder() -> "TemporaryDirectory[str]":
    return TemporaryDirectory(prefix="pagesim-cells-", ignore_cleanup_errors=True)


def _folder() -> Path:
    """Gone when the kernel ends."""
    return Path(_kept_folder().name)


def _written(module: str, code: Code) -> Path:
    """A file with the code, or the file that was named. Raises InputError."""
    if isinstance(code, Path):
        if not code.is_file():
            raise InputError(f"{code} is not a file")
        return code
    text = code if isinstance(code, str) else _source_of(code)
    path = _folder() / f"{module}.py"
    path.write_text(text, encoding="utf-8")
    return path


def _source_of(code: "type | Callable[..., object]") -> str:
    try:
        return inspect.getsource(code)
    except (OSError, TypeError):
        raise InputError(
            f"the text of {getattr(code, '__name__', 'it')} cannot be found; begin its cell with %%exercise NAME, or "
            "give the text"
        ) from None
