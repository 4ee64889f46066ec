"""What came of grading a block manager: a value that goes from one process to another. Knows nothing about either."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, cast

from pagesim.core.laws import LAWS
from pagesim.practice.exercise import FILE, RETURNS, WRITTEN
from pagesim.practice.outcome import Outcome, from_plain, to_plain

GRADED = (
    "contract",
    "conservation",
    "refcount",
    "single-writer",
    "content",
    "none-changes-nothing",
    "watermark",
    "fold",
    "progress",
    "rejects-the-impossible",
    "same-log",
)
"""Those of ``LAWS`` that are a memory's; the others are the scheduler's own."""
_OTHER_NAMES = {FILE: "contract", RETURNS: "contract", WRITTEN: "contract"}


class Verdict(Enum):
    """OPEN: another law broke first, and nothing was looked at after that."""

    KEPT = "kept"
    BROKEN = "broken"
    OPEN = "open"
    NOT_APPLICABLE = "not applicable"


class Tried(NamedTuple):
    """How much was played until the end, or until a law broke."""

    rows: int = 0
    operations: int = 0
    runs: int = 0
    steps: int = 0


NOTHING_TRIED = Tried()
NOTHING_YET = Outcome(passed=False)


@dataclass(frozen=True, slots=True)
class ManagerReport:
    """``refusal``: the class could not be examined at all, and why; then nothing else is of worth.

    ``lacks`` gives, of what a memory may have and this one has not, what that is called.
    """

    name: str
    contract: str = ""
    lacks: tuple[str, ...] = ()
    tried: Tried = NOTHING_TRIED
    outcome: Outcome = NOTHING_YET
    refusal: str = ""

    @property
    def law(self) -> str:
        """The name of the law that broke, as ``LAWS`` has it."""
        return _OTHER_NAMES.get(self.outcome.law, self.outcome.law)

    def verdict(self, law: str) -> Verdict:
        if law == self.law:
            return Verdict.BROKEN
        if self.why_not(law):
            return Verdict.NOT_APPLICABLE
        return Verdict.KEPT if self.outcome.passed else Verdict.OPEN

    def why_not(self, law: str) -> str:
        """Why the law says nothing of this class; empty: it does."""
        if law == "refcount" and "fork" in self.lacks and "prefix cache" in self.lacks:
            return "nothing is ever shared: no fork, no prefix cache"
        if self.contract == "simple" and law in ("watermark", "fold", "rejects-the-impossible"):
            return "the full contract's: here the adapter sees to it"
        return ""


def says(law: str) -> str:
    """The law in a sentence."""
    return LAWS[law]


def report_to_plain(report: ManagerReport) -> dict[str, object]:
    """JSON values."""
    return {
        "name": report.name,
        "contract": report.contract,
        "lacks": list(report.lacks),
        "tried": list(report.tried),
        "outcome": to_plain(report.outcome),
        "refusal": report.refusal,
    }


def report_from_plain(plain: Mapping[str, object]) -> ManagerReport:
    """What ``report_to_plain`` gave. KeyError, TypeError or ValueError if it is something else."""
    return ManagerReport(
        str(plain["name"]),
        str(plain["contract"]),
        tuple(map(str, cast("list[object]", plain["lacks"]))),
        Tried(*map(int, cast("list[int]", plain["tried"]))),
        from_plain(cast("Mapping[str, object]", plain["outcome"])),
        str(plain["refusal"]),
    )
