"""The routes: what is asked at which address, and how answers go out. The engine's thread does the rest.

Knows nothing about ports or signals.
"""

import asyncio
import json
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from itertools import count

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from pagesim.core.errors import InputError
from pagesim.engine.http.api_error import ApiError
from pagesim.engine.http.body import read_body
from pagesim.engine.http.call import Call, Model, read_chat, read_completion, unknown_model
from pagesim.engine.http.exposition import CONTENT_TYPE, exposition
from pagesim.engine.http.fields import Fields, parsed
from pagesim.engine.http.inbox import Inbox, served
from pagesim.engine.http.limits import Limits
from pagesim.engine.http.metrics import EngineMetrics
from pagesim.engine.http.replies import Heading, Json, Style, style_of
from pagesim.engine.http.sending import Patient, error_reply, json_reply
from pagesim.engine.http.worker import CLOSING, EngineWorker, described

Read = Callable[[Fields, Model, Limits, Callable[[], int]], Call]
DONE = b"data: [DONE]\n\n"
STREAM_HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-cache",
    "X-Accel-Buffering": "no",
}


class Service:
    """All that the routes share. Only the event loop's thread is in here.

    ``draw_seed`` gives each call without a seed one of its own.
    """

    def __init__(
        self,
        model: Model,
        worker: EngineWorker,
        metrics: EngineMetrics,
        limits: Limits,
        draw_seed: Callable[[], int],
        tell: Callable[[str], None],
    ) -> None:
        self.model = model
        self.worker = worker
        self.metrics = metrics
        self.limits = limits
        self.draw_seed = draw_seed
        self.tell = tell
        self.created = int(time.time())
        self._num_seated = 0
        self._numbers = count(1)

    @contextmanager
    def seat(self) -> Iterator[None]:
        """ApiError 429 if all are taken."""
        if self._num_seated >= self.limits.max_concurrent_requests:
            raise ApiError(
                429,
                f"{self._num_seated:,} requests are being answered, as many as this server takes at once; try again "
                "later",
                code="too_many_requests",
                retry_seconds=1,
            )
        self._num_seated += 1
        try:
            yield
        finally:
            self._num_seated -= 1

    def heading(self, call: Call) -> Heading:
        kind = "chatcmpl" if call.is_chat else "cmpl"
        return Heading(f"{kind}-{next(self._numbers)}", int(time.time()), self.model.name)

    def about(self) -> Json:
        return {
            "id": self.model.name,
            "object": "model",
            "created": self.created,
            "owned_by": "pagesim",
            "max_model_len": self.model.max_model_len,
        }


class Answering:
    """The ASGI app of one kind of call: reads it, has it served, and ends it in the engine however it is left."""

    def __init__(self, service: Service, read: Read) -> None:
        self._service = service
        self._read = read

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        patient = Patient(send, self._service.limits.send_seconds)
        try:
            await self._serve(Request(scope, receive), receive, patient)
        except ApiError as error:
            await patient.whole(error_reply(error))
        except (ClientDisconnect, TimeoutError):
            pass  # nobody is there, or nobody takes what is sent: uvicorn closes the connection
        except asyncio.CancelledError:  # a shutdown that did not want to wait for a long step
            if not patient.has_begun:
                await patient.whole(error_reply(ApiError(503, CLOSING)))
        except Exception as error:
            self._service.tell(f"a request failed, which should not happen ({described(error)})")
            if not patient.has_begun:
                await patient.whole(
                    error_reply(ApiError(500, f"the server failed ({described(error)})"))
                )

    async def _serve(self, request: Request, receive: Receive, send: Patient) -> None:
        service = self._service
        with service.seat():
            body = await read_body(request, service.limits)
            call = await asyncio.to_thread(self._read_call, body)
            heading = service.heading(call)
            style = style_of(heading, call, service.model.tokenizer)
            answer = _streamed if call.streams else _whole
            with served(service.worker, call, heading.id, forks=service.model.forks) as inbox:
                await _while_there(receive, answer(call, style, inbox, send))

    def _read_call(self, body: bytes) -> Call:
        """In another thread: a long prompt takes a while to become tokens."""
        service = self._service
        try:
            return self._read(parsed(body), service.model, service.limits, service.draw_seed)
        except InputError as error:
            raise ApiError(400, str(error)) from None


async def _whole(_: Call, style: Style, inbox: Inbox, send: Patient) -> None:
    await inbox.taken()
    while inbox.num_open:
        for piece in await inbox.pieces():
            style.add(piece)
    await send.whole(json_reply(style.whole()))


async def _streamed(call: Call, style: Style, inbox: Inbox, send: Patient) -> None:
    """Server-sent events. Trouble before the first one is an ordinary error."""
    await inbox.taken()
    await send.begin(200, STREAM_HEADERS)
    await send.more(b"".join(map(_event, style.opening())))
    try:
        while inbox.num_open:
            chunks = [style.add(piece) for piece in await inbox.pieces()]
            await send.more(b"".join([_event(chunk) for chunk in chunks if chunk is not None]))
        if call.streams_usage:
            await send.more(_event(style.usage_chunk()))
    except ApiError as error:
        await send.more(_event(error.as_dict()))
    await send.more(DONE)
    await send.end()


async def _while_there(receive: Receive, work: Coroutine[None, None, None]) -> None:
    """Do the work, or leave it when the client goes away."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_gone(receive))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _event(body: Json) -> bytes:
    return b"data: " + json.dumps(body, separators=(",", ":")).encode() + b"\n\n"


def make_app(service: Service) -> Starlette:
    async def root(_: Request) -> Response:
        name = service.model.name
        return PlainTextResponse(
            f"pagesim serves {name} here: POST /v1/completions and /v1/chat/completions as in OpenAI's API, GET "
            "/v1/models, /health and /metrics.\n"
        )

    async def health(_: Request) -> Response:
        worker = service.worker
        if worker.is_running and worker.why_broken is None:
            return json_reply({"status": "ok"})
        return error_reply(ApiError(503, worker.why_broken or CLOSING))

    async def models(_: Request) -> Response:
        return json_reply({"object": "list", "data": [service.about()]})

    async def one_model(request: Request) -> Response:
        name = request.path_params["name"]
        if name != service.model.name:
            return error_reply(unknown_model(name, service.model))
        return json_reply(service.about())

    async def metrics(_: Request) -> Response:
        text = exposition(service.metrics.figures(), service.model.name)
        return Response(text, media_type=CONTENT_TYPE)

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        reply = error_reply(
            ApiError(error.status_code, f"{request.method} {request.url.path[:60]}: {error.detail}")
        )
        reply.headers.update(error.headers or {})
        return reply

    return Starlette(
        routes=[
            Route("/", root),
            Route("/health", health),
            Route("/metrics", metrics),
            Route("/v1/models", models),
            Route("/v1/models/{name:path}", one_model),
            Route("/v1/completions", Answering(service, read_completion), methods=["POST"]),
            Route("/v1/chat/completions", Answering(service, read_chat), methods=["POST"]),
        ],
        exception_handlers={HTTPException: refused},
    )
