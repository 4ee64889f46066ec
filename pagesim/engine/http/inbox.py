"""What the engine says to one call, waited for in the event loop. Knows nothing about HTTP."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pagesim.engine.http.api_error import ApiError
from pagesim.engine.http.call import Call
from pagesim.engine.http.job import Job, Message, Piece, Trouble
from pagesim.engine.http.worker import EngineWorker


class Inbox:
    """``num_open``: choices that have not ended. Trouble is raised as ApiError, and then none is open."""

    def __init__(self, num_choices: int) -> None:
        self.num_open = num_choices
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[list[Message]] = asyncio.Queue()

    def deliver(self, messages: list[Message]) -> None:
        """Called by the engine's thread."""
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._queue.put_nowait, messages)

    async def taken(self) -> None:
        """The engine has queued the call."""
        await self.pieces()

    async def pieces(self) -> list[Piece]:
        """What the next step brought."""
        pieces: list[Piece] = []
        for message in await self._queue.get():
            if isinstance(message, Trouble):
                self.num_open = 0
                raise ApiError(message.status, message.sentence)
            if isinstance(message, Piece):
                self.num_open -= message.finish is not None
                pieces.append(message)
        return pieces


@contextmanager
def served(worker: EngineWorker, call: Call, name: str, *, forks: bool) -> Iterator[Inbox]:
    """Hand the call to the engine; whatever is left of it when this is left is aborted there."""
    inbox = Inbox(call.num_choices)
    job = Job(call.asked(name, forks=forks), inbox.deliver)
    worker.submit(job)
    try:
        yield inbox
    finally:
        if inbox.num_open:
            worker.withdraw(job)
