"""The simplest listener, and the cheapest: it keeps every event in memory."""

from collections.abc import Callable

from pagesim.core import events as ev


class Keeper:
    """``apply`` is the list's own ``append``: nothing is called in between."""

    def __init__(self) -> None:
        self.events: list[ev.Event] = []
        self.apply: Callable[[ev.Event], None] = self.events.append
