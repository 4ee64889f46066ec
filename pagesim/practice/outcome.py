"""What came of checking one file: passed, or the law that is broken, with all that is told of it.

A value that goes from the process that runs a learner's code to the one that asked. Knows nothing about either.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from pagesim.practice.film import Film

MOST_CHARACTERS = 2_000
MOST_OPERATIONS = 200


@dataclass(frozen=True, slots=True)
class Outcome:
    """``law`` and ``sentence`` are empty if it passed. ``skipped``: it could not be judged here, and ``sentence``
    says why. ``operations`` are Python lines; ``output`` is what the learner's code printed."""

    passed: bool
    law: str = ""
    sentence: str = ""
    operations: tuple[str, ...] = ()
    film: Film | None = None
    skipped: bool = False
    output: str = ""
    seconds: float = 0.0


def to_plain(outcome: Outcome) -> dict[str, object]:
    """JSON values; without output and time, which others measure."""
    operations = [line[:MOST_CHARACTERS] for line in outcome.operations[:MOST_OPERATIONS]]
    return {
        "passed": outcome.passed,
        "law": outcome.law,
        "sentence": outcome.sentence[:MOST_CHARACTERS],
        "operations": operations,
        "film": None if outcome.film is None else outcome.film.to_plain(),
        "skipped": outcome.skipped,
    }


def from_plain(plain: Mapping[str, object]) -> Outcome:
    """What ``to_plain`` gave. KeyError, TypeError or ValueError if it is something else."""
    film = plain["film"]
    return Outcome(
        plain["passed"] is True,
        str(plain["law"]),
        str(plain["sentence"]),
        tuple(map(str, cast("list[object]", plain["operations"]))),
        None if film is None else Film.from_plain(cast("Mapping[str, object]", film)),
        skipped=plain["skipped"] is True,
    )
