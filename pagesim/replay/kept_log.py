"""A run in memory as a log, as if it had been written and read again.

Knows nothing about files.
"""

import json
from collections.abc import Iterable

from pagesim.core import events as ev
from pagesim.core.types import Geometry
from pagesim.replay.log import LoggedEvents, RunLog, UnknownEvent, encode, log_header


def kept_log(
    name: str, geometry: Geometry, events: "Iterable[ev.Event | UnknownEvent]", **facts: object
) -> RunLog:
    """``facts`` are for the header, JSON values; ``name`` is for messages."""
    header = json.loads(json.dumps(log_header(geometry, **facts)))
    lines = [encode(event).encode() for event in events]
    return RunLog(header, geometry, LoggedEvents(name, lines))
