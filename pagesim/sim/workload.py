"""A workload: requests and when they arrive. Knows nothing about memory or how it is served."""

from dataclasses import dataclass
from typing import NamedTuple

from pagesim.core.request import Request


class Arrival(NamedTuple):
    """One request and when it arrives, in nanoseconds since the first arrival."""

    time_ns: int
    request: Request


@dataclass(frozen=True, slots=True)
class Workload:
    """Requests in order of arrival.

    ``about`` is one sentence that says what this is and where the figures come from. ``saturated`` says that
    every request waits from the start: a queue that never empties until the last request is admitted.
    ``notes`` are what a reader of the result should know (rows skipped, say). ``token_ids_known`` is false
    where only lengths are known, so that a prefix cache has nothing to find.
    """

    name: str
    about: str
    arrivals: tuple[Arrival, ...]
    saturated: bool = False
    token_ids_known: bool = False
    notes: tuple[str, ...] = ()
