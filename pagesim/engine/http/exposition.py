"""The engine's figures in Prometheus' text form, under vLLM's names. Knows nothing about where they come from."""

from collections.abc import Iterable, Iterator
from math import inf

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from pagesim.engine.http.metrics import Figures

CONTENT_TYPE = CONTENT_TYPE_LATEST
PREFIX = "vllm:"
HISTOGRAMS = {
    "time_to_first_token_seconds": "Seconds from a request's arrival at the engine to its first token.",
    "inter_token_latency_seconds": "Seconds between two tokens of an answer.",
    "request_time_per_output_token_seconds": "Mean seconds between two tokens, of each answer.",
    "e2e_request_latency_seconds": "Seconds from a request's arrival at the engine to its last token.",
    "request_prompt_tokens": "Prompt tokens of each answer.",
    "request_generation_tokens": "Output tokens of each answer.",
    "iteration_tokens_total": "Tokens computed in one step of the engine.",
}
FORMER_NAMES = {"time_per_output_token_seconds": "inter_token_latency_seconds"}
"""What older dashboards ask for."""


def exposition(figures: Figures, model_name: str) -> bytes:
    registry = CollectorRegistry()
    registry.register(_Collected(figures, model_name))
    return generate_latest(registry)


class _Collected(Collector):
    def __init__(self, figures: Figures, model_name: str) -> None:
        self._figures = figures
        self._labels = {"model_name": model_name}

    def collect(self) -> Iterable[Metric]:
        yield from self._gauges()
        yield from self._counters()
        yield from self._histograms()

    def _gauges(self) -> Iterator[Metric]:
        f = self._figures
        for name, about, value in (
            ("num_requests_running", "Requests in the engine's batch.", f.num_running),
            ("num_requests_waiting", "Requests waiting to be processed.", f.num_waiting),
            ("kv_cache_usage_perc", "Share of KV blocks in use; 1 is all of them.", f.usage),
        ):
            gauge = GaugeMetricFamily(PREFIX + name, about, labels=list(self._labels))
            gauge.add_metric(list(self._labels.values()), value)
            yield gauge

    def _counters(self) -> Iterator[Metric]:
        f = self._figures
        for name, about, value in (
            ("prefix_cache_queries", "Tokens looked for in the prefix cache.", f.prefix_queries),
            ("prefix_cache_hits", "Tokens found in the prefix cache.", f.prefix_hits),
            ("prompt_tokens", "Prompt tokens processed.", f.prompt_tokens),
            ("generation_tokens", "Output tokens made.", f.generation_tokens),
            ("num_preemptions", "Times a request had to give way.", f.num_preemptions),
        ):
            counter = CounterMetricFamily(PREFIX + name, about, labels=list(self._labels))
            counter.add_metric(list(self._labels.values()), value)
            yield counter
        success = CounterMetricFamily(
            f"{PREFIX}request_success",
            "Requests that have ended, by reason.",
            labels=[*self._labels, "finished_reason"],
        )
        for reason, count in f.finished.items():
            success.add_metric([*self._labels.values(), reason], count)
        yield success

    def _histograms(self) -> Iterator[Metric]:
        found = self._figures.histograms
        former = [(old, HISTOGRAMS[new], found[new]) for old, new in FORMER_NAMES.items()]
        for name, about, counted in [
            *((name, about, found[name]) for name, about in HISTOGRAMS.items()),
            *former,
        ]:
            histogram = HistogramMetricFamily(PREFIX + name, about, labels=list(self._labels))
            buckets = [(_written(bound), count) for bound, count in counted.buckets]
            histogram.add_metric(list(self._labels.values()), buckets, counted.total)
            yield histogram


def _written(bound: float) -> str:
    return "+Inf" if bound == inf else repr(bound)
