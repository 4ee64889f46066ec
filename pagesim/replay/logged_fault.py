"""The broken law that a log was written to show: of a check, in its header; of a run, its last event.

The tables in such a log may look right where the code is wrong. Knows nothing about who judged.
"""

from collections.abc import Mapping
from typing import NamedTuple

from pagesim.replay.log import LAW_BROKEN, RunLog, UnknownEvent, kind_prefix


class LoggedFault(NamedTuple):
    """``law`` is broken from ``place`` on (events are counted); ``notes`` say what the pictures there do not show."""

    law: str
    sentence: str
    place: int
    notes: tuple[str, ...] = ()

    def line(self) -> str:
        """What there is to say where it is broken, without a sign."""
        return "; ".join([f"broken here: {self.law}", *self.notes])


def logged_fault(log: RunLog) -> LoggedFault | None:
    """``None``: the log does not say of a broken law."""
    return _of_check(log.header) or _of_run(log)


def _of_check(header: Mapping[str, object]) -> LoggedFault | None:
    law, sentence = header.get("law"), header.get("sentence")
    place, notes = header.get("broken_at", header.get("opens_at")), header.get("notes")
    if not isinstance(law, str) or not isinstance(sentence, str) or not isinstance(place, int):
        return None
    told = notes if isinstance(notes, list) else []
    return LoggedFault(
        law, sentence, place, tuple([note for note in told if isinstance(note, str)])
    )


def _of_run(log: RunLog) -> LoggedFault | None:
    events = log.events
    if not len(events) or not events.starts_with(len(events) - 1, kind_prefix(LAW_BROKEN)):
        return None
    last = events[-1]
    if not isinstance(last, UnknownEvent) or len(last.fields) != 2:
        return None
    return LoggedFault(str(last.fields[0]), str(last.fields[1]), len(events))
