"""The simplest listener: keeps every event in memory."""

from pagesim.core import events as ev


class Keeper:
    def __init__(self) -> None:
        self.events: list[ev.Event] = []

    def apply(self, event: ev.Event) -> None:
        self.events.append(event)
