"""How much one client may ask of the server, and how long it may take. Knows nothing about HTTP."""

import math
from dataclasses import dataclass, fields

from pagesim.core.errors import InputError


@dataclass(frozen=True, slots=True)
class Limits:
    """Whatever is above one of these is answered with one sentence that names it.

    ``max_concurrent_requests`` are calls being answered at once, streams among them; ``max_connections`` open ones.
    ``max_prompts`` and ``max_answers`` (``n`` for each prompt) are of one call. ``header_seconds`` and
    ``body_seconds``: a client must have sent its headers, and then its body, by then. ``send_seconds``: it must take
    what it asked for within that time. ``close_seconds``: how long a shutdown waits for answers to be sent.
    """

    max_body_bytes: int = 2**20
    max_concurrent_requests: int = 256
    max_connections: int = 1024
    max_prompts: int = 64
    max_answers: int = 128
    header_seconds: float = 10.0
    body_seconds: float = 30.0
    send_seconds: float = 60.0
    close_seconds: int = 5

    def __post_init__(self) -> None:
        """InputError that names the value and what is allowed."""
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type is int and value < 1:
                raise InputError(f"{field.name} is {value}; it must be 1 or more")
            if not (value > 0 and math.isfinite(value)):
                raise InputError(f"{field.name} is {value}; it must be above 0")
