"""A learner's block manager, examined in a process of its own, with limits; whatever it does, a report comes back.

The file is never loaded here. Knows nothing about what is examined.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import cast

from pagesim.practice.exercise import RETURNS
from pagesim.practice.manager_report import ManagerReport, report_from_plain
from pagesim.practice.outcome import Outcome
from pagesim.practice.sandbox import START_S, Child, started

PROGRAM = "pagesim.practice.manager_child"
MEMORY_MIB = 1024
SECONDS, SECONDS_A_ROW = 60.0, 0.2


def check_manager(
    file: Path,
    class_name: str,
    *,
    seed: int = 0,
    examples: int = 200,
    seconds: float | None = None,
    memory_mib: int = MEMORY_MIB,
) -> tuple[ManagerReport, str]:
    """The report, and what the learner's code printed. ``examples`` rows of operations are played, and then runs.

    ``seconds`` are for all of it; ``None``: as many as so many examples are worth.
    """
    most = SECONDS + SECONDS_A_ROW * examples if seconds is None else seconds
    job = {
        "file": str(file.resolve()),
        "class_name": class_name,
        "seed": seed,
        "examples": examples,
        "seconds": most,
        "memory_mib": memory_mib,
    }
    with (
        TemporaryDirectory(prefix="pagesim-", ignore_cleanup_errors=True) as folder,
        started(PROGRAM, job, folder) as child,
    ):
        report = _listen(child, class_name, most)
        child.settle(0.5)
        return report, child.output()


def _listen(child: Child, class_name: str, seconds: float) -> ManagerReport:
    part, deadline, ready = "file", monotonic() + START_S, False
    while True:
        said, in_time = child.next_said(deadline)
        if said is None:
            return _lost(class_name, _why(child, seconds, part, in_time=in_time, ready=ready))
        if "ready" in said:
            ready, deadline = True, monotonic() + seconds
        elif "part" in said:
            part = str(said["part"])
        elif "report" in said:
            try:
                return report_from_plain(cast("dict[str, object]", said["report"]))
            except (KeyError, TypeError, ValueError, AttributeError, IndexError):
                return _lost(class_name, "what the process said about your code cannot be read")


def _why(child: Child, seconds: float, part: str, *, in_time: bool, ready: bool) -> str:
    during = "while the file was loaded" if part == "file" else f"while {part} were played"
    if in_time:
        return f"{child.why_lost()}, {during}"
    if not ready:
        return f"Python did not start within {START_S:g} s"
    return f"the examination did not come to an end within {seconds:g} s, {during}"


def _lost(class_name: str, sentence: str) -> ManagerReport:
    return ManagerReport(class_name, outcome=Outcome(passed=False, law=RETURNS, sentence=sentence))
