"""Reads a call's body, as long as it is not too large and not too slow. Knows nothing about what is in it."""

import asyncio

from starlette.requests import Request

from pagesim.engine.http.api_error import ApiError
from pagesim.engine.http.limits import Limits

MOST_THROWN_AWAY = 16
"""Of a body that is too large so many times the limit are read all the same, and thrown away: a client that is still
sending when its connection is closed does not get to see the answer."""


async def read_body(request: Request, limits: Limits) -> bytes:
    """ApiError 408, 413 or 415; ClientDisconnect if the client went away."""
    try:
        async with asyncio.timeout(limits.body_seconds):
            body = await _read_body(request, limits.max_body_bytes)
    except TimeoutError:
        raise ApiError(
            408, f"the body did not come within {limits.body_seconds:g} seconds", code="too_slow"
        ) from None
    if request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
        # Also what keeps web pages of others from having a browser send calls here.
        raise ApiError(415, "the body must be JSON, sent with Content-Type: application/json")
    return body


async def _read_body(request: Request, most: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size <= most:
            parts.append(part)
        elif size > most * MOST_THROWN_AWAY:
            break
    if size > most:
        raise ApiError(
            413, f"the body is larger than {most:,} bytes, the most taken here", code="too_large"
        )
    return b"".join(parts)
