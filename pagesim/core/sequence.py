"""One answer being made: the scheduler's record of a sequence, and the group it may belong to.

Knows nothing about blocks: only how far it may write before the memory has to be asked again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from pagesim.core.beam import Hypothesis
from pagesim.core.content import Content
from pagesim.core.request import Request
from pagesim.core.types import SeqId


class Status(Enum):
    """FOLLOWING: a sample that is not in the queue itself: it waits with, or is yet to fork from, its leader.

    SWAPPED: its tokens, and those of its group, are on the host.
    """

    WAITING = "waiting"
    FOLLOWING = "following"
    SWAPPED = "swapped"
    RUNNING = "running"
    FINISHED = "finished"
    ABORTED = "aborted"


class FinishReason(Enum):
    LENGTH = "length"
    STOP = "stop"
    ABORT = "abort"


@dataclass(slots=True, eq=False)
class SequenceState:
    """State of one sequence. Written only by the scheduler.

    ``num_tokens`` counts prompt and outputs; ``num_computed`` those whose K and V are, or are planned to be,
    in memory. ``writable`` is the memory's limit, 0 while it holds none. While ``num_computed < checkpoint``
    a decode step needs nothing from the memory: that is the one comparison a step costs. ``stop_at`` is the
    length at which it ends; from length ``look_at`` on, every token is looked at for a reason to end; ``final``
    is the length it truly ends at, where known. ``order`` numbers submissions and breaks every tie. ``outputs``
    is the list in ``content``. ``group`` is set only where samples fork. ``logprob`` is that of all outputs, in
    micro-nats, where beams are searched.
    """

    seq: SeqId
    name: str
    request: Request
    content: Content
    num_tokens: int
    outputs: list[int]
    stop_at: int
    look_at: int
    final: int | None
    order: int
    num_computed: int = 0
    writable: int = 0
    checkpoint: int = 0
    num_preemptions: int = 0
    status: Status = Status.WAITING
    finish_reason: FinishReason | None = None
    sample: int = 0
    group: "SampleGroup | None" = None
    logprob: int = 0

    @property
    def num_outputs(self) -> int:
        return len(self.outputs)

    @property
    def unit(self) -> "Sequence[SequenceState]":
        """The sequences that are admitted and preempted together with this one, itself among them."""
        return (self,) if self.group is None else self.group.members

    @property
    def active(self) -> "Sequence[SequenceState]":
        """Those of the unit that compute by themselves: all once it has forked, before that the leader alone."""
        group = self.group
        return (self,) if group is None or not group.forked else group.members

    @property
    def is_beam(self) -> bool:
        return self.request.beam is not None

    def __repr__(self) -> str:
        return f"<{self.name} {self.status.value} {self.num_computed}/{self.num_tokens} tokens computed>"


@dataclass(slots=True, eq=False)
class SampleGroup:
    """n samples of one prompt that start as one sequence, the leader, and fork when the prompt is computed.

    ``members`` are those that live, in sample order. The group is admitted and preempted as one. Where they are
    the beams of a search, ``ended`` are the best answers that have ended so far.
    """

    members: list[SequenceState] = field(default_factory=list)
    forked: bool = False
    ended: tuple[Hypothesis, ...] = ()
