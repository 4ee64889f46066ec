"""What a user asks for. Knows nothing about memory, schedulers or time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pagesim.core.beam import BeamSearch

NO_STOP_IDS: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Request:
    """One prompt, to be continued by ``num_samples`` answers of at most ``max_tokens`` tokens each.

    ``prompt`` is a sequence of token ids from 0 to 2**63 - 1; where only a length is known it is a lazy one
    (a ``range`` of otherwise unused ids), so a waiting request stays small. A smaller ``priority`` is more
    urgent. ``salt`` and ``adapter`` are part of every prefix-cache key. With ``read_cache`` off the request
    feeds the prefix cache but does not read it. ``known_output`` is the true number of output tokens of each
    sample; only oracle and power-of-two reservations read it. With ``beam`` the samples are the beams of one
    search, not drawn each for itself.
    """

    id: str
    prompt: Sequence[int]
    max_tokens: int
    num_samples: int = 1
    priority: int = 0
    salt: str = ""
    adapter: str = ""
    read_cache: bool = True
    stop_ids: frozenset[int] = NO_STOP_IDS
    known_output: int | None = None
    beam: BeamSearch | None = None


class Abort(NamedTuple):
    """An arrival that asks to end all samples of a request."""

    request: str


class ResetCache(NamedTuple):
    """An arrival that asks to forget all cached content."""


class Refusal(NamedTuple):
    """A request that was not taken, and why, in one sentence."""

    request: str
    reason: str
