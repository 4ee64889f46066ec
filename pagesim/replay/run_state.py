"""The state of a run after some of its events: who holds which blocks, how full they are, who waits.

Knows nothing about managers or schedulers: it is a fold over events, and the law named *fold* says that its
tables equal the manager's after every step. ``copy`` is cheap: what a copy shares is cloned when either of
the two first changes it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from pagesim.core import events as ev
from pagesim.core.types import BlockId, Geometry, SeqId


@dataclass(slots=True)
class SequenceView:
    """What the log says of one sequence.

    ``status`` is waiting, running, swapped, length, stop or abort. ``written`` counts its slots that hold, or
    are planned to hold, K and V. ``wanted`` slots were asked for. ``logprob`` is a beam's, in micro-nats.
    ``forked``: it is of a group, which moves as one.
    ``follows``: it forks from its request's first sample. ``epoch`` says which state may change it.
    """

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
    logprob: int | None = None
    follows: bool = False
    forked: bool = False
    epoch: int = 0

    @property
    def name(self) -> str:
        """As ``r1``, ``r1.2``; the first of several beams is ``r1.0``, from the first choice on."""
        if not self.sample and self.logprob is None:
            return self.request
        return f"{self.request}.{self.sample}"

    @property
    def tokens(self) -> int:
        """Its length: prompt and outputs so far."""
        return self.prompt_tokens + self.outputs


class RunState:
    """Apply events in order. Ended sequences are kept only if ``keep_ended``.

    ``ref_counts`` has an entry for each held block, on the device or the host; of a contiguous run, only its
    first slot stands there. ``num_held`` counts those on the device, ``num_host_held`` those on the host.
    ``cached`` are findable blocks, held or free, in order of publication. ``running`` and ``waiting`` are in
    the scheduler's order as far as the events tell it: running by admission. ``searches`` are the arrivals
    of beam searches by request. ``moving``: beams that have been chosen to go on as another one, and whose
    tables do not say so yet.
    """

    def __init__(self, geometry: Geometry, *, keep_ended: bool = False) -> None:
        self.geometry = geometry
        self.time_ns = 0
        self.step = -1
        self.in_step = False  # between a step's plan and its end
        self.waiting = 0
        self.num_held = 0  # blocks
        self.num_host_held = 0
        self.num_arrived = 0
        self.num_refused = 0
        self.num_finished = 0
        self.num_preemptions = 0
        self.sequences: dict[SeqId, SequenceView] = {}
        self.running: dict[SeqId, None] = {}
        self.ref_counts: dict[BlockId, int] = {}
        self.cached: dict[BlockId, None] = {}
        self.ended: dict[SeqId, SequenceView] = {}
        self.planned: ev.StepPlanned | None = None  # the step that was planned last
        self.searches: dict[str, ev.RequestArrived] = {}
        self.moving: frozenset[SeqId] = frozenset()
        self._keep_ended = keep_ended
        self._epoch = 0

    @property
    def num_free(self) -> int:
        return self.geometry.num_blocks - self.num_held

    @property
    def num_host_free(self) -> int:
        return self.geometry.num_host_blocks - self.num_host_held

    def apply(self, event: ev.Event) -> None:
        handler = _HANDLERS.get(type(event))
        if handler is not None:
            handler(self, event)

    def copy(self) -> "RunState":
        """The same state, free to go on by itself. O(sequences + held blocks + cached blocks), in C."""
        twin = RunState.__new__(RunState)
        twin.__dict__.update(self.__dict__)
        twin.sequences = self.sequences.copy()
        twin.running = self.running.copy()
        twin.ref_counts = self.ref_counts.copy()
        twin.cached = self.cached.copy()
        twin.ended = self.ended.copy()
        twin.searches = self.searches.copy()
        twin._epoch = _next_epoch()
        self._epoch = _next_epoch()
        return twin

    def holders(self, block: BlockId) -> list[SequenceView]:
        """Sequences whose table lists the block, in order of submission."""
        return [view for view in self.sequences.values() if block in view.table]

    def __eq__(self, other: object) -> bool:
        """The same facts; who shares what with whom does not count."""
        return isinstance(other, RunState) and self._facts() == other._facts()

    __hash__ = None  # type: ignore[assignment]

    def _facts(self) -> tuple[object, ...]:
        counts = {name: value for name, value in self.__dict__.items() if isinstance(value, int)}
        counts.pop("_epoch")
        views = {
            seq: replace(view, epoch=0) for seq, view in {**self.sequences, **self.ended}.items()
        }
        return (
            counts,
            views,
            list(self.sequences),
            list(self.running),
            self.ref_counts,
            list(self.cached),
            self.planned,
            self.searches,
            self.moving,
        )

    # -- one small function an event kind ----------------------------------------------------------------

    def _own(self, seq: SeqId) -> SequenceView:
        """The view, cloned first if a copy of this state has it too."""
        view = self.sequences[seq]
        if view.epoch != self._epoch:
            table = view.table if isinstance(view.table, range) else view.table.copy()
            view = replace(view, table=table, epoch=self._epoch)
            self.sequences[seq] = view
        return view

    def _arrived(self, event: ev.RequestArrived) -> None:
        self.num_arrived += 1
        if event.length_penalty is not None:
            self.searches[event.request] = event

    def _refused(self, _: ev.RequestRefused) -> None:
        self.num_refused += 1

    def _submitted(self, event: ev.RequestSubmitted) -> None:
        self.sequences[event.seq] = SequenceView(
            event.seq,
            event.request,
            event.sample,
            event.prompt_tokens,
            event.max_tokens,
            follows=bool(event.follows),
            epoch=self._epoch,
        )

    def _admitted(self, event: ev.SequenceAdmitted) -> None:
        view = self._own(event.seq)
        view.status = "running"
        view.written = event.cached_tokens
        self.running[event.seq] = None

    def _preempted(self, event: ev.SequencePreempted) -> None:
        view = self._own(event.seq)
        view.status = "waiting"
        view.preemptions += 1
        self.num_preemptions += 1
        self.running.pop(event.seq, None)

    def _returned(self, event: ev.SequenceReturned) -> None:
        self._own(event.seq).status = "running"
        self.running[event.seq] = None

    def _requeued(self, event: ev.SequenceRequeued) -> None:
        self._own(event.seq).status = "waiting"
        self.running.pop(event.seq, None)

    def _finished(self, event: ev.SequenceFinished) -> None:
        view = self._own(event.seq)
        del self.sequences[event.seq]
        self.running.pop(event.seq, None)
        view.status = event.reason
        view.outputs = event.output_tokens
        self.num_finished += 1
        if self._keep_ended:
            self.ended[event.seq] = view

    def _forked(self, event: ev.SequenceForked) -> None:
        child = self._own(event.child)
        child.forked = self._own(event.parent).forked = True
        child.status = "running"
        child.written = event.tokens
        self.moving -= {event.child}
        self.running[event.child] = None
        if not child.outputs:  # else it forked before, was preempted, and comes back
            child.outputs = self.sequences[event.parent].outputs

    def _taken(self, event: ev.BlocksTaken) -> None:
        view = self._own(event.seq)
        self._append(view, event.blocks)
        view.wanted += event.wanted

    def _shared(self, event: ev.BlocksShared) -> None:
        self._append(self._own(event.seq), event.blocks)

    def _append(self, view: SequenceView, blocks: ev.Blocks) -> None:
        counts = self.ref_counts
        if isinstance(blocks, range):
            view.table = blocks
            counts[blocks.start] = 1
            self.num_held += len(blocks)
            return
        assert isinstance(view.table, list)
        view.table += blocks
        num_blocks = self.geometry.num_blocks
        for block in blocks:
            count = counts.get(block, 0)
            counts[block] = count + 1
            if not count:
                if block < num_blocks:
                    self.num_held += 1
                else:
                    self.num_host_held += 1

    def _replaced(self, event: ev.BlockReplaced) -> None:
        table = self._own(event.seq).table
        assert isinstance(table, list)
        table[table.index(event.old)] = event.new
        self.ref_counts[event.new] = 1
        self.num_held += 1
        self._drop(event.old, 1)

    def _moved(self, event: ev.RunMoved) -> None:
        view = self._own(event.seq)
        self._drop(event.old.start, len(event.old))
        self._append(view, event.new)
        view.wanted = event.wanted

    def _swapped(self, event: ev.TableSwappedOut | ev.TableSwappedIn) -> None:
        view = self._own(event.seq)
        self._drop_all(view)
        view.table = []
        self._append(view, event.blocks)
        if isinstance(event, ev.TableSwappedOut):
            view.status = "swapped"

    def _freed(self, event: ev.TableFreed) -> None:
        view = self._own(event.seq)
        self._drop_all(view)
        view.table = []
        view.wanted = view.written = 0

    def _drop_all(self, view: SequenceView) -> None:
        if isinstance(view.table, range):
            self._drop(view.table.start, len(view.table))
        else:
            for block in view.table:
                self._drop(block, 1)

    def _drop(self, block: BlockId, size: int) -> None:
        count = self.ref_counts[block] - 1
        if count:
            self.ref_counts[block] = count
        else:
            del self.ref_counts[block]
            if block < self.geometry.num_blocks:
                self.num_held -= size
            else:
                self.num_host_held -= size

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
        self.in_step = True
        self.planned = event
        sequences, epoch = self.sequences, self._epoch
        for seq, count in zip(event.seqs, event.counts, strict=True):
            view = sequences[seq]
            if view.epoch != epoch:
                view = self._own(seq)
            view.written += count

    def _failed(self, _: ev.StepFailed) -> None:
        assert self.planned is not None
        self.in_step = False
        for seq, count in zip(self.planned.seqs, self.planned.counts, strict=True):
            self._own(seq).written -= count

    def _sampled(self, event: ev.TokensSampled) -> None:
        sequences, epoch = self.sequences, self._epoch
        for seq in event.seqs:
            view = sequences[seq]
            if view.epoch != epoch:
                view = self._own(seq)
            view.outputs += 1

    def _beams(self, event: ev.BeamsChosen) -> None:
        for seq, logprob in zip(event.seqs, event.logprobs, strict=True):
            view = self._own(seq)
            view.outputs += 1
            view.logprob = logprob
        parents = zip(event.seqs, event.parents, strict=True)
        self.moving = frozenset([seq for seq, parent in parents if seq != parent])

    def _ranked(self, event: ev.AnswersRanked) -> None:
        ranked = zip(event.seqs, event.output_tokens, event.logprobs, strict=True)
        for seq, output_tokens, logprob in ranked:
            view = self._own(seq)
            view.outputs, view.logprob = output_tokens, logprob

    def _done(self, event: ev.StepDone) -> None:
        self.time_ns = event.time_ns
        self.in_step = False

    def _clock(self, event: ev.ClockAdvanced | ev.RunEnded) -> None:
        self.time_ns = event.time_ns


_epochs = [0]


def _next_epoch() -> int:
    _epochs[0] += 1
    return _epochs[0]


_HANDLERS: dict[type[ev.Event], Callable[..., None]] = {
    ev.RequestArrived: RunState._arrived,
    ev.RequestRefused: RunState._refused,
    ev.RequestSubmitted: RunState._submitted,
    ev.SequenceAdmitted: RunState._admitted,
    ev.SequencePreempted: RunState._preempted,
    ev.SequenceReturned: RunState._returned,
    ev.SequenceRequeued: RunState._requeued,
    ev.SequenceFinished: RunState._finished,
    ev.SequenceForked: RunState._forked,
    ev.BlocksTaken: RunState._taken,
    ev.BlocksShared: RunState._shared,
    ev.BlockReplaced: RunState._replaced,
    ev.RunMoved: RunState._moved,
    ev.TableSwappedOut: RunState._swapped,
    ev.TableSwappedIn: RunState._swapped,
    ev.TableFreed: RunState._freed,
    ev.BlocksPublished: RunState._published,
    ev.BlocksWithdrawn: RunState._withdrawn,
    ev.BlockEvicted: RunState._evicted,
    ev.CacheReset: RunState._cache_reset,
    ev.StepPlanned: RunState._planned,
    ev.StepFailed: RunState._failed,
    ev.TokensSampled: RunState._sampled,
    ev.BeamsChosen: RunState._beams,
    ev.AnswersRanked: RunState._ranked,
    ev.StepDone: RunState._done,
    ev.ClockAdvanced: RunState._clock,
    ev.RunEnded: RunState._clock,
}
