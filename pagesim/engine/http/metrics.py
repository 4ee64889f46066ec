"""What a server tells about its engine, as a fold over the engine's events.

Names, meanings and bucket bounds are those of vLLM's metrics (V1), so that dashboards made for it can read them. Knows
nothing about how they are written down.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

from pagesim.core import events as ev
from pagesim.core.types import SeqId, Usage
from pagesim.engine.http.histogram import Counted, Histogram

_FIRST_TOKEN = (
    *(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0),
    *(7.5, 10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0),
)
_BETWEEN_TOKENS = (
    *(0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0),
    *(7.5, 10.0, 20.0, 40.0, 80.0),
)
_REQUEST = (
    *(0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0),
    *(120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0),
)
_TOKENS = tuple(float(m * 10**e) for e in range(6) for m in (1, 2, 5))
_STEP = tuple(float(2**e) for e in (0, *range(3, 15)))
BOUNDS = {
    "time_to_first_token_seconds": _FIRST_TOKEN,
    "inter_token_latency_seconds": _BETWEEN_TOKENS,
    "request_time_per_output_token_seconds": _BETWEEN_TOKENS,
    "e2e_request_latency_seconds": _REQUEST,
    "request_prompt_tokens": _TOKENS,
    "request_generation_tokens": _TOKENS,
    "iteration_tokens_total": _STEP,
}
FINISHED = ("stop", "length", "abort")
ABORT, STOP = "abort", "stop"


class Figures(NamedTuple):
    """All of one moment. ``finished`` counts answers by reason; ``histograms`` are by name, without a prefix."""

    num_running: int
    num_waiting: int
    usage: float
    prefix_queries: int
    prefix_hits: int
    prompt_tokens: int
    generation_tokens: int
    num_preemptions: int
    finished: dict[str, int]
    histograms: dict[str, Counted]


@dataclass(slots=True)
class _Watched:
    """A sequence that has not ended. ``looked_up``: its prompt was looked for in the prefix cache."""

    prompt_tokens: int
    arrived_ns: int
    reads_cache: bool
    is_running: bool = False
    looked_up: bool = False
    first_ns: int | None = None
    last_ns: int = 0


class EngineMetrics:
    """Give ``apply`` to the session as its listener. Only the engine's thread feeds it; any thread may ask.

    A request of n samples counts as n, as in vLLM. ``num_failed_steps``: steps that were undone.
    """

    def __init__(self) -> None:
        self.num_failed_steps = 0
        self._lock = Lock()
        self._time_ns = 0
        self._arrived: ev.RequestArrived | None = None
        self._watched: dict[SeqId, _Watched] = {}
        self._num_running = 0
        self._usage = 0.0
        self._caching = True
        self._prefix_queries = self._prefix_hits = 0
        self._prompt_tokens = self._generation_tokens = 0
        self._num_preemptions = 0
        self._abort_means = ABORT
        self._step_tokens = 0
        self._finished = dict.fromkeys(FINISHED, 0)
        self._histograms = {name: Histogram(bounds) for name, bounds in BOUNDS.items()}
        self._handlers: dict[type[ev.Event], Callable[..., None]] = {
            ev.RequestArrived: self._on_arrived,
            ev.RequestSubmitted: self._on_submitted,
            ev.SequenceAdmitted: self._on_admitted,
            ev.SequenceForked: self._on_forked,
            ev.SequencePreempted: self._on_preempted,
            ev.SequenceReturned: self._on_returned,
            ev.SequenceRequeued: self._on_requeued,
            ev.StepPlanned: self._on_planned,
            ev.StepDone: self._on_done,
            ev.StepFailed: self._on_failed,
            ev.TokensSampled: self._on_tokens,
            ev.BeamsChosen: self._on_tokens,
            ev.SequenceFinished: self._on_finished,
        }

    def apply(self, event: ev.Event) -> None:
        handler = self._handlers.get(type(event))
        if handler is not None:
            with self._lock:
                handler(event)

    def see_memory(self, usage: Usage, *, caching: bool) -> None:
        """How full the memory is now, and whether prompts are looked for in it at all."""
        self._usage = usage.granted / (usage.granted + usage.free)
        self._caching = caching

    @contextmanager
    def abort_is_stop(self) -> Iterator[None]:
        """What is aborted meanwhile has ended at a stop string, of which the engine knows nothing."""
        self._abort_means = STOP
        try:
            yield
        finally:
            self._abort_means = ABORT

    def figures(self) -> Figures:
        with self._lock:
            return Figures(
                self._num_running,
                len(self._watched) - self._num_running,
                self._usage,
                self._prefix_queries,
                self._prefix_hits,
                self._prompt_tokens,
                self._generation_tokens,
                self._num_preemptions,
                dict(self._finished),
                {name: histogram.counted() for name, histogram in self._histograms.items()},
            )

    # -- requests come and go ----------------------------------------------------------------------------

    def _on_arrived(self, event: ev.RequestArrived) -> None:
        self._arrived = event

    def _on_submitted(self, event: ev.RequestSubmitted) -> None:
        arrived = self._arrived
        assert arrived is not None, "a request arrives before its samples are queued"
        self._watched[event.seq] = _Watched(
            event.prompt_tokens, arrived.time_ns, bool(arrived.read_cache)
        )

    def _on_finished(self, event: ev.SequenceFinished) -> None:
        self._run(event.seq, running=False)
        watched = self._watched.pop(event.seq)
        reason = self._abort_means if event.reason == ABORT else event.reason
        self._finished[reason] += 1
        if reason == ABORT:
            return
        self._add("e2e_request_latency_seconds", (self._time_ns - watched.arrived_ns) / 1e9)
        self._add("request_prompt_tokens", watched.prompt_tokens)
        self._add("request_generation_tokens", event.output_tokens)
        if watched.first_ns is not None and event.output_tokens > 1:
            mean_ns = (watched.last_ns - watched.first_ns) / (event.output_tokens - 1)
            self._add("request_time_per_output_token_seconds", mean_ns / 1e9)

    # -- who runs ----------------------------------------------------------------------------------------

    def _on_admitted(self, event: ev.SequenceAdmitted) -> None:
        self._run(event.seq, running=True)
        watched = self._watched[event.seq]
        if not watched.looked_up and not event.resumed:
            watched.looked_up = True
            if self._caching and watched.reads_cache:
                self._prefix_queries += event.tokens
                self._prefix_hits += event.cached_tokens

    def _on_forked(self, event: ev.SequenceForked) -> None:
        self._run(event.child, running=True)

    def _on_preempted(self, event: ev.SequencePreempted) -> None:
        self._num_preemptions += 1
        self._run(event.seq, running=False)

    def _on_returned(self, event: ev.SequenceReturned) -> None:
        self._run(event.seq, running=True)

    def _on_requeued(self, event: ev.SequenceRequeued) -> None:
        self._run(event.seq, running=False)

    def _run(self, seq: SeqId, *, running: bool) -> None:
        watched = self._watched[seq]
        self._num_running += running - watched.is_running
        watched.is_running = running

    # -- steps -------------------------------------------------------------------------------------------

    def _on_planned(self, event: ev.StepPlanned) -> None:
        self._step_tokens = sum(event.counts)

    def _on_done(self, event: ev.StepDone) -> None:
        self._time_ns = event.time_ns
        self._add("iteration_tokens_total", self._step_tokens)

    def _on_failed(self, _: ev.StepFailed) -> None:
        self.num_failed_steps += 1

    def _on_tokens(self, event: ev.TokensSampled | ev.BeamsChosen) -> None:
        now_ns = self._time_ns
        self._generation_tokens += len(event.tokens)
        for seq in event.seqs:
            watched = self._watched[seq]
            if watched.first_ns is None:
                watched.first_ns = now_ns
                self._add("time_to_first_token_seconds", (now_ns - watched.arrived_ns) / 1e9)
                self._prompt_tokens += watched.prompt_tokens
            else:
                self._add("inter_token_latency_seconds", (now_ns - watched.last_ns) / 1e9)
            watched.last_ns = now_ns

    def _add(self, name: str, value: float) -> None:
        self._histograms[name].add(value)
