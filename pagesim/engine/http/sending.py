"""Sends replies, but waits only so long for a client to take them. Knows nothing about what they say."""

import asyncio
import json
from collections.abc import Mapping

from starlette.responses import Response
from starlette.types import Message, Send

from pagesim.engine.http.api_error import ApiError

HURRIED = (408, 413)
"""After these the rest of what the client sends is not waited for."""


class Patient:
    """One reply: ``whole``; or ``begin``, ``more`` and ``end``. TimeoutError if the client does not take it."""

    def __init__(self, send: Send, seconds: float) -> None:
        self.has_begun = False
        self._send = send
        self._seconds = seconds

    async def whole(self, reply: Response) -> None:
        await self._begin(reply.status_code, reply.raw_headers)
        await self._body(bytes(reply.body), more=False)

    async def begin(self, status: int, headers: Mapping[str, str]) -> None:
        raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        await self._begin(status, raw)

    async def more(self, body: bytes) -> None:
        if body:
            await self._body(body, more=True)

    async def end(self) -> None:
        await self._body(b"", more=False)

    async def _begin(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        self.has_begun = True
        await self._pass({"type": "http.response.start", "status": status, "headers": headers})

    async def _body(self, body: bytes, *, more: bool) -> None:
        await self._pass({"type": "http.response.body", "body": body, "more_body": more})

    async def _pass(self, message: Message) -> None:
        async with asyncio.timeout(self._seconds):
            await self._send(message)


def json_reply(body: Mapping[str, object], status: int = 200) -> Response:
    """In ASCII, so that half a surrogate pair that a client sent can be told back to it."""
    return Response(json.dumps(body).encode(), status, media_type="application/json")


def error_reply(error: ApiError) -> Response:
    reply = json_reply(error.as_dict(), error.status)
    if error.retry_seconds is not None:
        reply.headers["Retry-After"] = str(error.retry_seconds)
    if error.status in HURRIED:
        reply.headers["Connection"] = "close"
    return reply
