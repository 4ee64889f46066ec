"""The first of many drawn examples that has a fault, with Hypothesis drawing and nothing of its shrinking.

Knows nothing about what an example is.
"""

from collections.abc import Callable
from contextlib import suppress

from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import seed as seeded
from hypothesis.errors import Flaky
from hypothesis.strategies import SearchStrategy

from pagesim.practice.drawing import Drawn
from pagesim.practice.exercise import Fault


def first_failing(
    drawn: SearchStrategy[Drawn],
    fault_of: Callable[[Drawn], Fault | None],
    examples: int,
    seed: int,
) -> tuple[Drawn, Fault] | None:
    """The first of so many drawn examples that has a fault. The same ones for the same seed."""
    found: list[tuple[Drawn, Fault]] = []

    @seeded(seed)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
    )
    @given(drawn)
    def look(example: Drawn) -> None:
        if found:  # what comes after the first failing one is not looked at
            return
        fault = fault_of(example)
        if fault is not None:
            found.append((example, fault))
            raise _FoundError

    with suppress(_FoundError, Flaky):
        look()
    return found[0] if found else None


class _FoundError(Exception):
    """Ends the drawing."""
