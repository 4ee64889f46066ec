"""What happened: one fact an event, past tense, ids and integers only.

Knows nothing about who listens. Everything a person sees of a run is a fold over these. ``KINDS`` gives each
event its name in a log; the field order is the log's. Blocks are listed in table order; a contiguous run
is a ``range``. ``seq`` numbers sequences in the order of submission, from 0.
"""

from collections.abc import Callable
from typing import NamedTuple

from pagesim.core.token_ids import ChainedRanges

Blocks = tuple[int, ...] | range
Tokens = tuple[int, ...] | range | ChainedRanges


class RequestArrived(NamedTuple):
    """A request came in at ``time_ns``; what follows says whether it was queued or refused.

    Everything that was asked for is here, so that a log is enough to serve the same requests again.
    ``known_output`` is ``None`` where it is not known. For a beam search ``length_penalty`` is set, in
    millionths, and ``early_stopping`` says when it stops.
    """

    request: str
    time_ns: int
    prompt: Tokens
    max_tokens: int
    num_samples: int
    priority: int
    salt: str
    adapter: str
    read_cache: int
    stop_ids: tuple[int, ...]
    known_output: int | None
    length_penalty: int | None = None
    early_stopping: str = ""


class AbortAsked(NamedTuple):
    """Somebody asked at ``time_ns`` to end all samples of the request, in whatever state."""

    request: str
    time_ns: int


class ResetAsked(NamedTuple):
    """Somebody asked at ``time_ns`` to forget all cached content."""

    time_ns: int


class RequestSubmitted(NamedTuple):
    """Sequence ``seq`` joined the waiting queue. ``sample`` is its number among its request's samples.

    With ``follows`` 1 it is not in the queue itself: it forks from sample 0 of its request, and waits with it.
    """

    seq: int
    request: str
    sample: int
    prompt_tokens: int
    max_tokens: int
    priority: int
    follows: int = 0


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


class AdmissionBlocked(NamedTuple):
    """The head of the queue has to wait for memory; told once, and for slabs again when some came free.

    It asked for room for ``tokens`` tokens, ``cached_tokens`` of them cached, with ``keep_free`` blocks to spare.
    """

    seq: int
    tokens: int
    cached_tokens: int
    keep_free: int


class SequencePreempted(NamedTuple):
    """It gave its memory back; ``lost_tokens`` computed tokens have to be computed again.

    ``by`` wanted to grow to ``to`` tokens and could not (``to`` 0: a failed step could not be made good).
    ``way`` is "swap": its tokens are kept on the host, so none is lost; "recompute"; or "host full": it was to
    be swapped, and the host pool has no room for it, so it recomputes.
    """

    seq: int
    lost_tokens: int
    by: int
    to: int
    way: str


class SequenceReturned(NamedTuple):
    """It was swapped out and runs again, with all ``tokens`` computed tokens it had."""

    seq: int
    tokens: int


class SequenceRequeued(NamedTuple):
    """The step that admitted it failed: it waits again."""

    seq: int


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
    """Free blocks were appended to the table, in this order. ``wanted``: slots the rule asked for."""

    seq: int
    blocks: Blocks
    wanted: int


class BlocksShared(NamedTuple):
    """Blocks with valid content were appended to the table, without copying."""

    seq: int
    blocks: Blocks


class BlockReplaced(NamedTuple):
    """Copy-on-write: in the table, ``new`` (free until now) stands where ``old`` stood."""

    seq: int
    old: int
    new: int


class RunMoved(NamedTuple):
    """A contiguous run was too short: its content was copied to a longer one, and it was released."""

    seq: int
    old: range
    new: range
    wanted: int


class TableSwappedOut(NamedTuple):
    """Its first tokens move to the host: its table now lists these host blocks, and no device block."""

    seq: int
    blocks: Blocks


class TableSwappedIn(NamedTuple):
    """Its tokens move back: its table now lists these device blocks, and no host block."""

    seq: int
    blocks: Blocks


class TableFreed(NamedTuple):
    """The sequence holds nothing now; ``released`` blocks are free, in the order they were given back."""

    seq: int
    released: Blocks


class BlockEvicted(NamedTuple):
    """The block's cached content was forgotten because the block was taken."""

    block: int


class BlocksPublished(NamedTuple):
    """These full blocks can now be found by a prefix lookup."""

    seq: int
    blocks: Blocks


class BlocksWithdrawn(NamedTuple):
    """These blocks cannot be found any more: the step that was to fill them did not happen for them."""

    seq: int
    blocks: Blocks


class BlockCopied(NamedTuple):
    """``slots`` slots were ordered to be copied from block ``source`` to block ``target``."""

    source: int
    target: int
    slots: int


class CacheReset(NamedTuple):
    """All cached content was forgotten."""


class StepPlanned(NamedTuple):
    """The step's batch: ``counts[i]`` tokens of sequence ``seqs[i]``. ``waiting`` sequences are left in the queue or
    on the host, and with ``blocked`` 1 the first of them because memory does not suffice."""

    step: int
    seqs: tuple[int, ...]
    counts: tuple[int, ...]
    waiting: int
    blocked: int


class StepDone(NamedTuple):
    """The executor finished the step at ``time_ns``."""

    step: int
    time_ns: int


class TokensSampled(NamedTuple):
    """Sequence ``seqs[i]`` got token ``tokens[i]``, its next output."""

    seqs: tuple[int, ...]
    tokens: tuple[int, ...]


class BeamsChosen(NamedTuple):
    """Beam ``seqs[i]`` goes on as beam ``parents[i]`` did, and then token ``tokens[i]``, its next output.

    ``logprobs``: of all its outputs so far, in micro-nats. A beam that nobody goes on from is dropped.
    """

    seqs: tuple[int, ...]
    parents: tuple[int, ...]
    tokens: tuple[int, ...]
    logprobs: tuple[int, ...]


class HypothesisEnded(NamedTuple):
    """Beam ``seq``, as it was before this step's choice, and the end token ``token`` are a whole answer, put aside.

    It has ``output_tokens`` tokens with the end token; ``logprob`` in micro-nats. ``kept``: it is among the best.
    """

    seq: int
    token: int
    output_tokens: int
    logprob: int
    kept: int


class AnswersRanked(NamedTuple):
    """The search is over. ``seqs[i]`` stands for the i-th best answer, of so many tokens and log-probability."""

    seqs: tuple[int, ...]
    output_tokens: tuple[int, ...]
    logprobs: tuple[int, ...]


class StepFailed(NamedTuple):
    """The executor did not finish the step; what it planned was undone."""

    step: int


class ClockAdvanced(NamedTuple):
    """Nothing could run before ``time_ns``."""

    time_ns: int


class RunEnded(NamedTuple):
    time_ns: int


Event = (
    RequestArrived
    | AbortAsked
    | ResetAsked
    | RequestSubmitted
    | RequestRefused
    | SequenceAdmitted
    | AdmissionBlocked
    | SequencePreempted
    | SequenceReturned
    | SequenceRequeued
    | SequenceForked
    | SequenceFinished
    | BlocksTaken
    | BlocksShared
    | BlockReplaced
    | RunMoved
    | TableSwappedOut
    | TableSwappedIn
    | TableFreed
    | BlockEvicted
    | BlocksPublished
    | BlocksWithdrawn
    | BlockCopied
    | CacheReset
    | StepPlanned
    | StepDone
    | TokensSampled
    | BeamsChosen
    | HypothesisEnded
    | AnswersRanked
    | StepFailed
    | ClockAdvanced
    | RunEnded
)
Emit = Callable[[Event], None]

KINDS: dict[str, type[Event]] = {
    "arrived": RequestArrived,
    "abort_asked": AbortAsked,
    "reset_asked": ResetAsked,
    "submitted": RequestSubmitted,
    "refused": RequestRefused,
    "admitted": SequenceAdmitted,
    "blocked": AdmissionBlocked,
    "preempted": SequencePreempted,
    "returned": SequenceReturned,
    "requeued": SequenceRequeued,
    "forked": SequenceForked,
    "finished": SequenceFinished,
    "taken": BlocksTaken,
    "shared": BlocksShared,
    "replaced": BlockReplaced,
    "moved": RunMoved,
    "swapped_out": TableSwappedOut,
    "swapped_in": TableSwappedIn,
    "freed": TableFreed,
    "evicted": BlockEvicted,
    "published": BlocksPublished,
    "withdrawn": BlocksWithdrawn,
    "copied": BlockCopied,
    "cache_reset": CacheReset,
    "planned": StepPlanned,
    "done": StepDone,
    "sampled": TokensSampled,
    "beams_chosen": BeamsChosen,
    "hypothesis": HypothesisEnded,
    "ranked": AnswersRanked,
    "failed": StepFailed,
    "clock": ClockAdvanced,
    "ended": RunEnded,
}
