"""When things happened to whom: time to first token, time per output token, preemptions, cache hits.

Knows nothing about memory. All times in integer nanoseconds since the run began.
"""

from array import array
from collections.abc import Callable
from dataclasses import dataclass

from pagesim.core import events as ev
from pagesim.core.types import SeqId


@dataclass(slots=True)
class _Progress:
    arrived_ns: int
    request: str
    first_token_ns: int | None = None
    counted: bool = False


class LatencyMeter:
    """Feed it every event of a run. O(changes) an event, but O(batch) where somebody's first token is due."""

    def __init__(self) -> None:
        self.time_ns = 0
        self.num_finished = 0  # requests of which every sample came to its end
        self.num_finished_sequences = 0
        self.num_aborted = 0  # requests
        self.num_preemptions = 0
        self.num_swaps = 0  # of the preemptions, those that moved the tokens to the host
        self.lost_tokens = 0
        self.output_tokens = 0
        self.prompt_tokens = 0  # of admitted requests, each counted once
        self.cached_tokens = 0  # of those, found cached at their first admission
        self.refusals: list[ev.RequestRefused] = []
        self.first_token_ns = array("q")  # since arrival, in order of first tokens
        self.per_token_ns = array("d")  # mean gap of each finished sequence with 2 outputs or more
        self.running_series = array("q")  # admitted sequences, at each step
        self.requests_series = array("q")
        self.waiting_series = array("q")
        self.end_series = array("q")
        self._last_arrival: ev.RequestArrived | None = None
        self._progress: dict[SeqId, _Progress] = {}
        self._awaited: dict[SeqId, None] = {}  # admitted, and without a first token
        self._running: dict[SeqId, None] = {}
        self._requests: dict[str, int] = {}  # running sequences of each request
        self._unfinished: dict[str, int] = {}  # sequences of each request that have not ended
        self._handlers: dict[type[ev.Event], Callable[..., None]] = {
            ev.RequestArrived: self._arrived,
            ev.RequestSubmitted: self._submitted,
            ev.RequestRefused: self._refused,
            ev.SequenceAdmitted: self._admitted,
            ev.SequencePreempted: self._preempted,
            ev.SequenceReturned: self._returned,
            ev.SequenceRequeued: self._requeued,
            ev.SequenceForked: self._forked,
            ev.SequenceFinished: self._finished,
            ev.TokensSampled: self._sampled,
            ev.BeamsChosen: self._beams,
            ev.StepPlanned: self._planned,
            ev.StepDone: self._done,
            ev.StepFailed: self._failed,
            ev.ClockAdvanced: self._clock,
            ev.RunEnded: self._clock,
        }

    def apply(self, event: ev.Event) -> None:
        handler = self._handlers.get(type(event))
        if handler is not None:
            handler(event)

    def _arrived(self, event: ev.RequestArrived) -> None:
        self._last_arrival = event

    def _refused(self, event: ev.RequestRefused) -> None:
        self.refusals.append(event)

    def _submitted(self, event: ev.RequestSubmitted) -> None:
        last = self._last_arrival
        arrived = self.time_ns if last is None or last.request != event.request else last.time_ns
        self._progress[event.seq] = _Progress(arrived, event.request)
        self._unfinished[event.request] = self._unfinished.get(event.request, 0) + 1

    def _admitted(self, event: ev.SequenceAdmitted) -> None:
        progress = self._progress[event.seq]
        self._enter(event.seq, progress)
        if not progress.counted and not event.resumed:
            progress.counted = True
            self.prompt_tokens += event.tokens
            self.cached_tokens += event.cached_tokens

    def _forked(self, event: ev.SequenceForked) -> None:
        self._enter(event.child, self._progress[event.child])

    def _enter(self, seq: SeqId, progress: _Progress) -> None:
        if progress.first_token_ns is None:
            self._awaited[seq] = None
        if seq not in self._running:
            request = progress.request
            self._running[seq] = None
            self._requests[request] = self._requests.get(request, 0) + 1

    def _leave(self, seq: SeqId) -> None:
        self._awaited.pop(seq, None)
        if self._running.pop(seq, 0) is None:
            request = self._progress[seq].request
            count = self._requests[request] - 1
            if count:
                self._requests[request] = count
            else:
                del self._requests[request]

    def _preempted(self, event: ev.SequencePreempted) -> None:
        self.num_preemptions += 1
        self.num_swaps += event.way == "swap"
        self.lost_tokens += event.lost_tokens
        self._leave(event.seq)

    def _returned(self, event: ev.SequenceReturned) -> None:
        self._enter(event.seq, self._progress[event.seq])

    def _requeued(self, event: ev.SequenceRequeued) -> None:
        self._leave(event.seq)

    def _planned(self, event: ev.StepPlanned) -> None:
        self.running_series.append(len(self._running))
        self.requests_series.append(len(self._requests))
        self.waiting_series.append(event.waiting)

    def _done(self, event: ev.StepDone) -> None:
        self.time_ns = event.time_ns
        self.end_series.append(event.time_ns)

    def _failed(self, _: ev.StepFailed) -> None:
        self.end_series.append(self.time_ns)

    def _clock(self, event: ev.ClockAdvanced | ev.RunEnded) -> None:
        self.time_ns = event.time_ns

    def _beams(self, event: ev.BeamsChosen) -> None:
        for seq in event.seqs:
            self._enter(seq, self._progress[seq])
        self._sampled(event)

    def _sampled(self, event: ev.TokensSampled | ev.BeamsChosen) -> None:
        self.output_tokens += len(event.tokens)
        if self._awaited:
            got = set(event.seqs)
            for seq in [seq for seq in self._awaited if seq in got]:
                del self._awaited[seq]
                progress = self._progress[seq]
                progress.first_token_ns = self.time_ns
                self.first_token_ns.append(self.time_ns - progress.arrived_ns)

    def _finished(self, event: ev.SequenceFinished) -> None:
        self._leave(event.seq)
        progress = self._progress.pop(event.seq)
        aborted = event.reason == "abort"
        left = self._unfinished.pop(progress.request) - 1
        if left:
            self._unfinished[progress.request] = left
        elif aborted:
            self.num_aborted += 1
        else:
            self.num_finished += 1
        if aborted:
            return
        self.num_finished_sequences += 1
        if event.output_tokens > 1 and progress.first_token_ns is not None:
            gap = (self.time_ns - progress.first_token_ns) / (event.output_tokens - 1)
            self.per_token_ns.append(gap)
