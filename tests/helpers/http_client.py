"""A server of the tiny model in this process, what its engine did, and clients for it: a real one and a bare socket."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from openai import OpenAI
from prometheus_client.parser import text_string_to_metric_families

from pagesim.core import events as ev
from pagesim.core.plan import StepPlan, StepResult
from pagesim.core.scheduler_config import SchedulerConfig
from pagesim.engine.http.limits import Limits
from pagesim.engine.http.metrics import EngineMetrics
from pagesim.engine.http.server import HttpServer
from pagesim.engine.models import OpenedModel, open_model
from pagesim.engine.session import Session, SessionSettings
from pagesim.engine.tokenizer import ByteTokenizer

PATIENCE = 60.0
"""Seconds after which a test gives up. None of them waits so long unless something is broken."""


class ChattyTokenizer(ByteTokenizer):
    """Bytes, with a chat template."""

    def chat(self, messages):
        return "".join(f"<{m['role']}>{m['content']}" for m in messages) + "<assistant>"


class Ear:
    """A listener that one can wait at."""

    def __init__(self) -> None:
        self.events: list[ev.Event] = []
        self._changed = threading.Condition()

    def apply(self, event: ev.Event) -> None:
        with self._changed:
            self.events.append(event)
            self._changed.notify_all()

    def of(self, kind: type) -> list[ev.Event]:
        with self._changed:
            return [event for event in self.events if isinstance(event, kind)]

    def wait_for(self, kind: type, count: int, which: Callable[..., bool] = lambda _: True) -> None:
        def heard() -> bool:
            found = [event for event in self.events if isinstance(event, kind)]
            return sum(map(which, found)) >= count

        with self._changed:
            assert self._changed.wait_for(heard, PATIENCE), f"{count} {kind.__name__} never came"

    def wait_for_aborts(self, count: int) -> None:
        self.wait_for(ev.SequenceFinished, count, lambda event: event.reason == "abort")


class Flawed:
    """An executor whose executions of these numbers, from 0, fail, and that waits for an event before each."""

    def __init__(self, inner, failing: range, waits_for: threading.Event) -> None:
        self._inner = inner
        self._failing = failing
        self._waits_for = waits_for
        self._number = -1

    @property
    def now_ns(self) -> int:
        return self._inner.now_ns

    def execute(self, plan: StepPlan) -> StepResult:
        self._number += 1
        assert self._waits_for.wait(PATIENCE)
        if self._number in self._failing:
            raise RuntimeError("the device is\non fire")
        return self._inner.execute(plan)

    def wait_until(self, time_ns: int) -> None:
        self._inner.wait_until(time_ns)


class Running:
    """A server in a thread. ``raised`` is what ended it, once ``stop`` returned."""

    def __init__(
        self,
        *,
        opened: OpenedModel | None = None,
        limits: Limits | None = None,
        failing: range = range(0),
        waits_for: threading.Event | None = None,
        num_slots: int = 40_000,
        **config,
    ) -> None:
        self.ear = Ear()
        self.said: list[str] = []
        self.raised: BaseException | None = None
        metrics = EngineMetrics()

        def emit(event: ev.Event) -> None:
            metrics.apply(event)
            self.ear.apply(event)

        opened = opened or open_model("tiny")
        scheduler = SchedulerConfig(max_model_len=4096, **config)
        self.session = Session(opened, SessionSettings(num_slots, scheduler), emit)
        event = waits_for or threading.Event()
        if waits_for is None:
            event.set()
        if failing or waits_for is not None:
            self.session.loop.executor = Flawed(self.session.executor, failing, event)
        seeds = iter(range(10**9))
        self.server = HttpServer(
            self.session,
            opened,
            metrics,
            model_name="tiny",
            host="127.0.0.1",
            port=0,
            limits=limits or Limits(),
            tell=self.said.append,
            draw_seed=lambda: next(seeds),
        )
        self.url = self.server.url
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.server.run()
        except Exception as error:
            self.raised = error

    def stop(self) -> None:
        self.server.stop()
        self.wait()

    def wait(self) -> None:
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the server did not end"

    @property
    def blocks_in_use(self) -> int:
        return self.session.memory.usage().granted

    def metrics(self) -> dict[tuple[str, str], float]:
        """Samples by name and by the label that is not the model's, if any."""
        status, _, body = self.ask("GET", "/metrics")
        assert status == 200
        found = {}
        for family in text_string_to_metric_families(body.decode()):
            for sample in family.samples:
                labels = dict(sample.labels)
                assert labels.pop("model_name") == "tiny"
                found[sample.name.removeprefix("vllm:"), "".join(labels.values())] = sample.value
        return found

    # -- clients -----------------------------------------------------------------------------------------

    def client(self, *, strict: bool = False) -> OpenAI:
        """``strict``: it checks every field of what it is told. Not for streams of completions: the client's types
        leave no room there for the ``null`` that OpenAI itself sends as the reason while an answer goes on."""
        return OpenAI(
            base_url=f"{self.url}/v1",
            api_key="none",
            max_retries=0,
            timeout=PATIENCE,
            _strict_response_validation=strict,
        )

    def ask(self, method: str, path: str, body: object = None, **headers: str):
        """Status, headers and body, over a connection of its own."""
        content = body if isinstance(body, bytes) else b"" if body is None else encoded(body)
        lines = {"Content-Type": "application/json", "Content-Length": str(len(content))}
        lines |= {name.replace("_", "-"): value for name, value in headers.items()}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        with self.connect() as raw:
            raw.sendall(
                f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{head}\r\n".encode()
            )
            raw.sendall(content)
            return reply(raw)

    def post(self, path: str, body: object, **headers: str):
        """Status and JSON."""
        status, _, answer = self.ask("POST", path, body, **headers)
        return status, json.loads(answer)

    @contextmanager
    def connect(self) -> Iterator[socket.socket]:
        address = urlsplit(self.url)
        with socket.create_connection((address.hostname, address.port), PATIENCE) as raw:
            yield raw


def encoded(body: object) -> bytes:
    return json.dumps(body).encode()


def reply(raw: socket.socket):
    """Read to the end: status, headers and body."""
    received = b""
    while part := raw.recv(65536):
        received += part
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return int(first.split()[1]), headers, body


@contextmanager
def running(**settings) -> Iterator[Running]:
    server = Running(**settings)
    try:
        yield server
    finally:
        server.stop()
    assert server.blocks_in_use == 0
