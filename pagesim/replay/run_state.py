"""The state of a run after some of its events: who holds which blocks, how full they are, who waits.

Knows nothing about managers or schedulers: it is a fold over events, and the law named *fold* says that its
tables equal the manager's after every step.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from pagesim.core import events as ev
from pagesim.core.types import BlockId, Geometry, SeqId


@dataclass(slots=True)
class SequenceView:
    """What the log says of one sequence. ``written`` counts its slots that hold (or are planned to hold) K and V."""

    seq: SeqId
    request: str
    sample: int
    prompt_tokens: int
    max_tokens: int
    status: str = "waiting"
    written: int = 0
    outputs: int = 0
    preemptions: int = 0
    wanted: int = 0
    table: list[BlockId] | range = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.request if not self.sample else f"{self.request}.{self.sample}"


class RunState:
    """Apply events in order. Ended sequences are kept only if ``keep_ended``."""

    def __init__(self, geometry: Geometry, *, keep_ended: bool = False) -> None:
        self.geometry = geometry
        self.time_ns = 0
        self.step = -1
        self.waiting = 0
        self.sequences: dict[SeqId, SequenceView] = {}
        self.ref_counts: dict[
            BlockId, int
        ] = {}  # of a contiguous run, only the first slot stands here
        self.cached: dict[
            BlockId, None
        ] = {}  # findable blocks, held or free, in order of publication
        self.ended: dict[SeqId, SequenceView] = {}
        self._keep_ended = keep_ended
        self._last_planned: ev.StepPlanned | None = None

    def apply(self, event: ev.Event) -> None:
        handler = _HANDLERS.get(type(event))
        if handler is not None:
            handler(self, event)

    def holders(self, block: BlockId) -> list[SequenceView]:
        """Sequences whose table lists the block, in order of submission."""
        return [view for view in self.sequences.values() if block in view.table]

    # -- one small function an event kind ----------------------------------------------------------------

    def _submitted(self, event: ev.RequestSubmitted) -> None:
        self.sequences[event.seq] = SequenceView(
            event.seq, event.request, event.sample, event.prompt_tokens, event.max_tokens
        )

    def _admitted(self, event: ev.SequenceAdmitted) -> None:
        view = self.sequences[event.seq]
        view.status = "running"
        view.written = event.cached_tokens

    def _preempted(self, event: ev.SequencePreempted) -> None:
        view = self.sequences[event.seq]
        view.status = "waiting"
        view.preemptions += 1

    def _requeued(self, event: ev.SequenceRequeued) -> None:
        self.sequences[event.seq].status = "waiting"

    def _finished(self, event: ev.SequenceFinished) -> None:
        view = self.sequences.pop(event.seq)
        view.status = event.reason
        view.outputs = event.output_tokens
        if self._keep_ended:
            self.ended[event.seq] = view

    def _forked(self, event: ev.SequenceForked) -> None:
        child = self.sequences[event.child]
        child.status = "running"
        child.written = event.tokens
        if not child.outputs:  # else it forked before, was preempted, and comes back
            child.outputs = self.sequences[event.parent].outputs

    def _taken(self, event: ev.BlocksTaken) -> None:
        view = self.sequences[event.seq]
        self._append(view, event.blocks)
        view.wanted += event.wanted

    def _shared(self, event: ev.BlocksShared) -> None:
        self._append(self.sequences[event.seq], event.blocks)

    def _append(self, view: SequenceView, blocks: ev.Blocks) -> None:
        if isinstance(blocks, range):
            view.table = blocks
            self.ref_counts[blocks.start] = 1
            return
        assert isinstance(view.table, list)
        view.table += blocks
        counts = self.ref_counts
        for block in blocks:
            counts[block] = counts.get(block, 0) + 1

    def _replaced(self, event: ev.BlockReplaced) -> None:
        table = self.sequences[event.seq].table
        assert isinstance(table, list)
        table[table.index(event.old)] = event.new
        self.ref_counts[event.new] = 1
        self._drop(event.old)

    def _moved(self, event: ev.RunMoved) -> None:
        view = self.sequences[event.seq]
        self._drop(event.old.start)
        self._append(view, event.new)
        view.wanted = event.wanted

    def _freed(self, event: ev.TableFreed) -> None:
        view = self.sequences[event.seq]
        if isinstance(view.table, range):
            self._drop(view.table.start)
        else:
            for block in view.table:
                self._drop(block)
        view.table = []
        view.wanted = view.written = 0

    def _drop(self, block: BlockId) -> None:
        count = self.ref_counts[block] - 1
        if count:
            self.ref_counts[block] = count
        else:
            del self.ref_counts[block]

    def _published(self, event: ev.BlocksPublished) -> None:
        for block in event.blocks:
            self.cached[block] = None

    def _withdrawn(self, event: ev.BlocksWithdrawn) -> None:
        for block in event.blocks:
            del self.cached[block]

    def _evicted(self, event: ev.BlockEvicted) -> None:
        del self.cached[event.block]

    def _cache_reset(self, _: ev.CacheReset) -> None:
        self.cached.clear()

    def _planned(self, event: ev.StepPlanned) -> None:
        self.step, self.waiting = event.step, event.waiting
        self._last_planned = event
        for seq, count in zip(event.seqs, event.counts, strict=True):
            self.sequences[seq].written += count

    def _failed(self, _: ev.StepFailed) -> None:
        assert self._last_planned is not None
        for seq, count in zip(self._last_planned.seqs, self._last_planned.counts, strict=True):
            self.sequences[seq].written -= count

    def _sampled(self, event: ev.TokensSampled) -> None:
        for seq in event.seqs:
            self.sequences[seq].outputs += 1

    def _clock(self, event: ev.StepDone | ev.ClockAdvanced | ev.RunEnded) -> None:
        self.time_ns = event.time_ns


_HANDLERS: dict[type[ev.Event], Callable[..., None]] = {
    ev.RequestSubmitted: RunState._submitted,
    ev.SequenceAdmitted: RunState._admitted,
    ev.SequencePreempted: RunState._preempted,
    ev.SequenceRequeued: RunState._requeued,
    ev.SequenceFinished: RunState._finished,
    ev.SequenceForked: RunState._forked,
    ev.BlocksTaken: RunState._taken,
    ev.BlocksShared: RunState._shared,
    ev.BlockReplaced: RunState._replaced,
    ev.RunMoved: RunState._moved,
    ev.TableFreed: RunState._freed,
    ev.BlocksPublished: RunState._published,
    ev.BlocksWithdrawn: RunState._withdrawn,
    ev.BlockEvicted: RunState._evicted,
    ev.CacheReset: RunState._cache_reset,
    ev.StepPlanned: RunState._planned,
    ev.StepFailed: RunState._failed,
    ev.TokensSampled: RunState._sampled,
    ev.StepDone: RunState._clock,
    ev.ClockAdvanced: RunState._clock,
    ev.RunEnded: RunState._clock,
}
