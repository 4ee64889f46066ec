"""Feeds events to a fold, and says in one sentence when an event does not fit those before it."""

from collections.abc import Iterable
from typing import Protocol

from pagesim.core import events as ev
from pagesim.core.errors import InputError

CONTRADICTIONS = (KeyError, ValueError, IndexError, AssertionError, AttributeError, TypeError)


class Fold(Protocol):
    def apply(self, event: ev.Event) -> None: ...


def feed(fold: Fold, events: Iterable[ev.Event]) -> None:
    """Apply every event. Raises InputError at the first that does not follow from those before it."""
    applied = 0
    try:
        for event in events:
            fold.apply(event)
            applied += 1
    except CONTRADICTIONS:
        raise contradiction(applied + 1) from None


def contradiction(number: int) -> InputError:
    return InputError(
        f"event {number:,} does not follow from those before it: the log was changed, or lines are missing; record "
        "the run again"
    )
