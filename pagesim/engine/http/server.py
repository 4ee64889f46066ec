"""The server: a port, the engine's thread and the event loop, started together and ended together.

Knows nothing about commands. The web libraries are imported when a server is made, not before.
"""

import os
import random
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING

from pagesim.core.errors import InputError, PagesimError
from pagesim.core.order import AGED_PRIORITY, PRIORITY
from pagesim.engine.http.limits import Limits
from pagesim.engine.http.metrics import EngineMetrics
from pagesim.engine.needs import need_modules

if TYPE_CHECKING:
    import uvicorn

    from pagesim.engine.http.call import Model
    from pagesim.engine.models import OpenedModel
    from pagesim.engine.session import Session

MOST_STEP_SECONDS = 30.0
"""A step in progress cannot be broken off; so long a shutdown waits for it."""
SHORT_SECONDS = 0.1
SAY = partial(print, flush=True)
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class EngineFailedError(PagesimError):
    """The engine could not go on, and the server ended."""


def serve_http(
    session: "Session",
    opened: "OpenedModel",
    metrics: EngineMetrics,
    *,
    model_name: str,
    host: str = "127.0.0.1",
    port: int = 8000,
    limits: Limits | None = None,
    tell: Callable[[str], None] = SAY,
) -> None:
    """Serve until SIGINT or SIGTERM, then end what runs and return; a second signal does not wait for clients.

    ``metrics.apply`` must be the session's listener, or among them. The session belongs to the server until this
    returns, all requests gone; its last event is left to the caller. ``tell`` gets sentences, the first of them where
    it listens. InputError if a library is missing or the port cannot be had, EngineFailedError if the engine broke.
    """
    server = HttpServer(
        session,
        opened,
        metrics,
        model_name=model_name,
        host=host,
        port=port,
        limits=limits or Limits(),
        tell=tell,
    )
    with _on_signals(server):
        server.run()


class HttpServer:
    """``run`` serves until somebody calls ``stop``, from any thread or a signal handler."""

    def __init__(
        self,
        session: "Session",
        opened: "OpenedModel",
        metrics: EngineMetrics,
        *,
        model_name: str,
        host: str,
        port: int,
        limits: Limits,
        tell: Callable[[str], None],
        draw_seed: Callable[[], int] | None = None,
    ) -> None:
        """Takes the port; 0 takes a free one. ``draw_seed`` gives seeds to calls without one; ``None``: by chance."""
        need_modules("starlette", "uvicorn", "prometheus_client")
        from pagesim.engine.http.app import Service, make_app
        from pagesim.engine.http.worker import EngineWorker

        self._tell = tell
        self._model_name = model_name
        self._socket = _listening(host, port)
        self.url = _url(self._socket)
        self._is_loopback = ip_address(self._socket.getsockname()[0]).is_loopback
        self.worker = EngineWorker(session, opened.tokenizer, metrics, tell=tell, on_end=self.stop)
        chance = random.SystemRandom()
        service = Service(
            _model(session, opened, model_name),
            self.worker,
            metrics,
            limits,
            draw_seed or (lambda: chance.randrange(2**63)),
            tell,
        )
        self._uvicorn = _make_uvicorn(make_app(service), limits, self.worker.close)

    def run(self) -> None:
        """Once. EngineFailedError if it ended because the engine broke."""
        self.worker.start()
        open_to_all = "" if self._is_loopback else "; whoever can reach this address can use it"
        try:
            self._tell(f"serving {self._model_name} on {self.url}/v1{open_to_all}; Ctrl-C ends it")
            self._uvicorn.run(sockets=[self._socket])
        finally:
            self._socket.close()
            self.worker.close()
            self._wait_for_engine()
        if self.worker.why_broken is not None:
            raise EngineFailedError(self.worker.why_broken)

    def _wait_for_engine(self) -> None:
        until = time.monotonic() + MOST_STEP_SECONDS
        while not self.worker.join(SHORT_SECONDS):
            if self._uvicorn.force_exit or time.monotonic() > until:
                self._tell("a step of the engine has not ended; it is left unfinished")
                return

    def stop(self) -> None:
        """Begin to end; returns at once."""
        self._uvicorn.should_exit = True

    def hurry(self) -> None:
        """Having been stopped, do not wait for clients to take their answers, nor for a step to end."""
        self._uvicorn.force_exit = True


def _model(session: "Session", opened: "OpenedModel", name: str) -> "Model":
    from pagesim.engine.http.call import Model

    config = session.settings.scheduler
    return Model(
        name,
        opened.tokenizer,
        opened.config.vocab_size,
        config.max_model_len,
        has_priorities=config.order in (PRIORITY, AGED_PRIORITY),
        forks=config.fork_samples,
    )


def _make_uvicorn(
    app: Callable[..., object], limits: Limits, on_shutdown: Callable[[], None]
) -> "uvicorn.Server":
    """``on_shutdown`` is called before it waits for answers to be sent, so that they end."""
    import uvicorn

    from pagesim.engine.http.connection import patient_connection

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            on_shutdown()
            await super().shutdown(sockets)

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            """Signals are the caller's."""
            yield

    return Server(
        uvicorn.Config(
            app,
            loop="asyncio",
            http=patient_connection(limits.header_seconds),
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",  # what may go wrong is told by us, in sentences
            access_log=False,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=limits.max_connections + 1,  # it counts the one that asks
            timeout_graceful_shutdown=limits.close_seconds,
        )
    )


def _listening(host: str, port: int) -> socket.socket:
    """InputError if the port cannot be had."""
    if not 0 <= port < 2**16:
        raise InputError(f"the port is {port}; it must be from 0 (any that is free) to {2**16 - 1}")
    if not host:
        raise InputError(
            "the host is empty; give 127.0.0.1, or 0.0.0.0 for all of this machine's addresses"
        )
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listening = socket.socket(family, kind, protocol)
    except (OSError, OverflowError, UnicodeError) as error:
        raise InputError(f"cannot listen on {host[:100]!r}, port {port}: {error}") from None
    try:
        if os.name == "posix":  # elsewhere it would let two servers share a port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(128)
    except (OSError, OverflowError) as error:
        listening.close()
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(
            f"cannot listen on {host[:100]!r}, port {port} ({why}); give another port, or 0 for any that is free"
        ) from None
    listening.settimeout(0)
    return listening


def _url(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@contextmanager
def _on_signals(server: HttpServer) -> Iterator[None]:
    """Signals stop the server while this lasts. Only the main thread may hear them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    heard: list[int] = []

    def handler(number: int, frame: object) -> None:  # noqa: ARG001
        if heard:
            server.hurry()
        heard.append(number)
        server.stop()

    former = {number: signal.signal(number, handler) for number in SIGNALS}
    try:
        yield
    finally:
        for number, old in former.items():
            signal.signal(number, old)
