"""One-line mutants: a function of the package with a piece of its text replaced, put in the old one's place."""

import inspect
import sys
import textwrap
from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple


class Mutant(NamedTuple):
    """``owner.function`` with ``old`` replaced by ``new``; ``law`` is the one that ``provoke`` must break.

    ``importers``: modules that imported the function by name.
    """

    name: str
    law: str
    owner: type | ModuleType
    function: str
    old: str
    new: str
    provoke: Callable[[], object]
    importers: tuple[ModuleType, ...] = ()


def mutated(mutant: Mutant) -> Callable[..., object]:
    """The changed function. AssertionError if the text to be replaced is not there exactly once."""
    original = getattr(mutant.owner, mutant.function)
    source = textwrap.dedent(inspect.getsource(original))
    found = source.count(mutant.old)
    assert found == 1, f"{mutant.old!r} is {found} times in {original.__qualname__}"
    changed = source.replace(mutant.old, mutant.new)
    made: dict[str, Callable[..., object]] = {}
    module = sys.modules[original.__module__]
    exec(compile(changed, f"<{mutant.name}>", "exec"), vars(module), made)
    return made[mutant.function]


def install(mutant: Mutant, put: Callable[[object, str, object], None]) -> None:
    """``put`` sets an attribute: ``setattr``, or a monkeypatch's, which takes it back."""
    function = mutated(mutant)
    for place in (mutant.owner, *mutant.importers):
        put(place, mutant.function, function)
