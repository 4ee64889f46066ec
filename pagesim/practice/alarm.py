"""An end to calls that do not come back, where the system has timers (not on Windows).

Knows nothing about what is called.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

HAS_ALARM = hasattr(signal, "setitimer")
AGAIN_S = 0.2


class TookTooLong(BaseException):  # not to be caught by a learner's ``except Exception``
    """Raised in the midst of the call. ``seconds`` is the time it was given."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"longer than {seconds:g} s")
        self.seconds = seconds


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raise TookTooLong in the body after so many seconds, and again and again if it is caught there."""
    if not HAS_ALARM:
        yield
        return

    def ring(_: int, __: FrameType | None) -> None:
        raise TookTooLong(seconds)

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_S)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
