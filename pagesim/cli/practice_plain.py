"""What ``pagesim practice`` gives to programs, as JSON values. Knows nothing about how it came about."""

from pagesim.practice.checking import Checked
from pagesim.practice.folder import Standing


def plain_standing(standing: Standing) -> dict[str, object]:
    exercise, record = standing.task.exercise, standing.record
    return {
        "number": standing.task.number,
        "name": exercise.name,
        "title": exercise.title,
        "lesson": exercise.lesson,
        "state": standing.state.name.lower(),
        "older": standing.older,
        "passed": record.passed,
        "hints": record.hints,
        "checks": record.checks,
        "gave_up": record.gave_up,
        "lacks": standing.task.lacks(),
    }


def plain_check(checked: Checked) -> dict[str, object]:
    outcome = checked.outcome
    law = outcome.law or None
    return {
        "name": checked.task.name,
        "file": str(checked.file),
        "passed": None if outcome.skipped else outcome.passed,
        "law": law,
        "says": None if law is None else checked.task.exercise.says(law),
        "sentence": outcome.sentence or None,
        "operations": list(outcome.operations),
        "log": None if checked.log is None else str(checked.log),
        "printed": outcome.output,
        "seconds": round(outcome.seconds, 2),
        "warnings": checked.warnings,
    }
