"""The requests that live, where each is queued, and how they end: what the parts of the scheduler share.

Knows nothing about how a step is decided.
"""

from dataclasses import dataclass, field

from pagesim.core import events as ev
from pagesim.core.memory import KVCacheManager
from pagesim.core.order import WaitingQueue
from pagesim.core.preempt_mode import Prices
from pagesim.core.request import Refusal, Request
from pagesim.core.scheduler_config import SchedulerConfig
from pagesim.core.sequence import FinishReason, SampleGroup, SequenceState, Status
from pagesim.core.types import Copy


@dataclass(slots=True, eq=False)
class Live:
    """One scheduler's sequences. Written by the scheduler and its parts only.

    ``requests`` are the live samples of each request. ``waiting`` and ``swapped`` hold leaders; ``running``
    everybody who runs, in order of admission, groups side by side. ``num_unforked`` sequences will be forked
    by running leaders: they have seats already. ``has_groups``: there were groups once. ``context_tokens`` is the
    sum of ``num_computed`` over running. ``pending_copies`` run before the next step's writes. ``blocked_head``:
    whose waiting was told last, and how much was free then.
    """

    config: SchedulerConfig
    memory: KVCacheManager
    waiting: WaitingQueue
    swapped: WaitingQueue
    emit: ev.Emit | None = None
    prices: Prices | None = None
    running: list[SequenceState] = field(default_factory=list)
    requests: dict[str, list[SequenceState]] = field(default_factory=dict)
    num_submitted: int = 0
    has_groups: bool = False
    num_unforked: int = 0
    context_tokens: int = 0
    pending_copies: list[Copy] = field(default_factory=list)
    blocked_head: tuple[SequenceState, int] | None = None
    block_size: int = field(init=False)
    caching: bool = field(init=False)
    can_swap: bool = field(init=False)

    def __post_init__(self) -> None:
        self.block_size = self.memory.geometry.block_size
        self.caching = self.memory.can_cache
        self.can_swap = getattr(self.memory, "can_swap", False)  # a learner's may leave it out

    @property
    def num_waiting(self) -> int:
        """Sequences that wait, in the queue or on the host."""
        if not self.has_groups:
            return len(self.waiting) + len(self.swapped)
        return sum([len(s.unit) for queue in (self.waiting, self.swapped) for s in queue])

    def has_seats(self, unit_size: int) -> bool:
        seated = len(self.running) + self.num_unforked
        return seated + unit_size <= self.config.max_num_seqs

    def keep_free(self) -> int:
        """The watermark, as it holds for whoever starts now."""
        if self.running or self.config.watermark_always:
            return self.config.watermark_blocks
        return 0

    def refuse(self, request: Request, reason: str) -> Refusal:
        if self.emit is not None:
            self.emit(ev.RequestRefused(request.id, reason))
        return Refusal(request.id, reason)

    def vacate(self, seq: SequenceState) -> None:
        """Free what the sequence holds, if anything."""
        if seq.writable:
            self.memory.free(seq.seq)
        if seq.status is Status.RUNNING:
            self.context_tokens -= seq.num_computed
        seq.num_computed = seq.writable = seq.checkpoint = 0

    def end(self, seq: SequenceState, reason: FinishReason) -> None:
        """The sequence is over, in whatever state."""
        group = seq.group
        if group is not None:
            self._leave_group(seq, group)
        self.vacate(seq)
        if seq.status is Status.RUNNING:
            self.running.remove(seq)
        elif seq.status is Status.WAITING:
            self.waiting.remove(seq)
        elif seq.status is Status.SWAPPED:
            self.swapped.remove(seq)
        seq.status = Status.ABORTED if reason is FinishReason.ABORT else Status.FINISHED
        seq.finish_reason = reason
        samples = self.requests[seq.request.id]
        samples.remove(seq)
        if not samples:
            del self.requests[seq.request.id]
        if self.emit is not None:
            self.emit(ev.SequenceFinished(seq.seq, seq.num_outputs, reason.value))

    def _leave_group(self, seq: SequenceState, group: SampleGroup) -> None:
        if seq.status is Status.RUNNING and not group.forked:
            self.num_unforked -= len(group.members) - 1
        group.members.remove(seq)
        seq.group = None
        if group.forked and len(group.members) == 1 and not seq.is_beam:
            group.members[0].group = None  # the last one goes on alone
