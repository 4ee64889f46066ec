"""What happened: one fact an event, past tense, ids and integers only.

Knows nothing about who listens. Everything a person sees of a run is a fold over these. ``KINDS`` gives each
event its name in a log; the field order is the log's. Runs of consecutive blocks are one event
(``first``, ``count``). ``seq`` numbers sequences in the order of submission, from 0.
"""

from collections.abc import Callable
from typing import NamedTuple


class RequestSubmitted(NamedTuple):
    """Sequence ``seq`` joined the waiting queue. ``sample`` is its number among its request's samples."""

    seq: int
    request: str
    sample: int
    prompt_tokens: int
    max_tokens: int
    priority: int


class RequestRefused(NamedTuple):
    """It can never be served; ``reason`` has the arithmetic."""

    request: str
    reason: str


class SequenceAdmitted(NamedTuple):
    """It started, or with ``resumed`` came back; ``tokens`` long, ``cached_tokens`` of them found in the cache."""

    seq: int
    tokens: int
    cached_tokens: int
    resumed: int


class SequencePreempted(NamedTuple):
    """It gave its memory back; ``lost_tokens`` computed tokens have to be computed again."""

    seq: int
    lost_tokens: int


class SequenceForked(NamedTuple):
    """``child`` started with the parent's first ``tokens`` tokens."""

    parent: int
    child: int
    tokens: int


class SequenceFinished(NamedTuple):
    seq: int
    output_tokens: int
    reason: str


class BlocksTaken(NamedTuple):
    """``count`` free blocks from ``first`` on were appended to the table. ``wanted``: slots the rule asked for."""

    seq: int
    first: int
    count: int
    wanted: int


class BlocksShared(NamedTuple):
    """Blocks with valid content were appended to the table, without copying."""

    seq: int
    first: int
    count: int


class BlocksReplaced(NamedTuple):
    """Copy-on-write: in the table, ``new`` stands where ``old`` stood."""

    seq: int
    old: int
    new: int


class BlocksReleased(NamedTuple):
    """Nobody holds these blocks any more; they are free."""

    seq: int
    first: int
    count: int


class TableFreed(NamedTuple):
    """The sequence's whole block table is gone (what nobody else lists was released just before)."""

    seq: int


class BlockEvicted(NamedTuple):
    """The block's cached content was forgotten because the block was taken."""

    block: int


class BlocksPublished(NamedTuple):
    """These full blocks can now be found by a prefix lookup."""

    seq: int
    first: int
    count: int


class BlocksWithdrawn(NamedTuple):
    """These blocks can no longer be found: the step that was to fill them did not happen."""

    seq: int
    first: int
    count: int


class BlockCopied(NamedTuple):
    """``slots`` slots were ordered to be copied from block ``source`` to block ``target``."""

    source: int
    target: int
    slots: int


class CacheReset(NamedTuple):
    """All cached content was forgotten."""


class StepPlanned(NamedTuple):
    """The step's batch: ``counts[i]`` tokens of sequence ``seqs[i]``; ``waiting`` are left in the queue."""

    step: int
    seqs: tuple[int, ...]
    counts: tuple[int, ...]
    waiting: int


class StepDone(NamedTuple):
    """The step ended at ``time_ns``; sequence ``seqs[i]`` got token ``tokens[i]``."""

    step: int
    time_ns: int
    seqs: tuple[int, ...]
    tokens: tuple[int, ...]


class StepFailed(NamedTuple):
    """The executor did not finish the step; what it planned was undone."""

    step: int


class ClockAdvanced(NamedTuple):
    """Nothing could run before ``time_ns``."""

    time_ns: int


class RunEnded(NamedTuple):
    time_ns: int


Event = (
    RequestSubmitted
    | RequestRefused
    | SequenceAdmitted
    | SequencePreempted
    | SequenceForked
    | SequenceFinished
    | BlocksTaken
    | BlocksShared
    | BlocksReplaced
    | BlocksReleased
    | TableFreed
    | BlockEvicted
    | BlocksPublished
    | BlocksWithdrawn
    | BlockCopied
    | CacheReset
    | StepPlanned
    | StepDone
    | StepFailed
    | ClockAdvanced
    | RunEnded
)
Emit = Callable[[Event], None]

KINDS: dict[str, type[Event]] = {
    "submitted": RequestSubmitted,
    "refused": RequestRefused,
    "admitted": SequenceAdmitted,
    "preempted": SequencePreempted,
    "forked": SequenceForked,
    "finished": SequenceFinished,
    "taken": BlocksTaken,
    "shared": BlocksShared,
    "replaced": BlocksReplaced,
    "released": BlocksReleased,
    "table_freed": TableFreed,
    "evicted": BlockEvicted,
    "published": BlocksPublished,
    "withdrawn": BlocksWithdrawn,
    "copied": BlockCopied,
    "cache_reset": CacheReset,
    "planned": StepPlanned,
    "done": StepDone,
    "failed": StepFailed,
    "clock": ClockAdvanced,
    "ended": RunEnded,
}
