"""What goes to the engine's thread for one call, and what comes back. Values only."""

from collections.abc import Callable
from typing import NamedTuple

from pagesim.core.request import Request
from pagesim.engine.sampling_params import SamplingParams
from pagesim.engine.torch_executor import OutputLogprob


class Asked(NamedTuple):
    """One request of a call. Its sample number s is the call's choice number ``first_choice + s``."""

    request: Request
    params: SamplingParams
    first_choice: int


class Taken(NamedTuple):
    """All requests of the call are queued: always the first message, unless there is trouble."""


class Piece(NamedTuple):
    """What a step brought to choice number ``choice``: new text, and the tokens it may not yet show in full.

    ``logprobs`` has an entry a token where they were asked for. ``finish``: "stop" or "length", with the last piece.
    """

    choice: int
    text: str
    tokens: tuple[int, ...]
    logprobs: tuple[OutputLogprob, ...]
    finish: str | None


class Trouble(NamedTuple):
    """The call cannot be answered, or not to its end, and all of its requests are gone."""

    status: int
    sentence: str


Message = Taken | Piece | Trouble
Deliver = Callable[[list[Message]], None]


class Job(NamedTuple):
    """The requests of one call, all or none of which are taken. ``deliver`` is called in the engine's thread."""

    asked: tuple[Asked, ...]
    deliver: Deliver
