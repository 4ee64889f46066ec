"""The protocol that every memory meets: paged, contiguous, and a learner's own.

Knows nothing about schedulers, steps or time. Questions (``cached_tokens``, ``admission``, ``table``,
``usage``) change nothing; commands return what they did. ``None`` from a command means: *nothing changed,
and somebody else freeing memory could help*.
"""

from collections.abc import Sequence
from typing import Protocol

from pagesim.core.content import Content
from pagesim.core.types import (
    Admission,
    BlockId,
    ForkGrant,
    Geometry,
    Grant,
    Room,
    SeqId,
    SwapGrant,
    Usage,
)


class KVCacheManager(Protocol):
    """Who owns which slots. The only writer of block tables and reference counts."""

    @property
    def geometry(self) -> Geometry: ...

    @property
    def can_share(self) -> bool:
        """Does ``fork`` share the parent's blocks? If not, each child is allocated first and copied into."""
        ...

    @property
    def can_cache(self) -> bool:
        """Does ``publish`` make blocks findable for later prompts?"""
        ...

    @property
    def can_swap(self) -> bool:
        """Is there a host pool, so that ``swap_out`` may succeed?"""
        ...

    def cached_tokens(self, content: Content) -> int:
        """How many leading tokens an allocate would find cached now: whole blocks, never the last token."""
        ...

    def admission(self, content: Content, room: Room) -> Admission:
        """Would ``allocate`` with these arguments succeed: now, later, or never?"""
        ...

    def never_fits(self, content: Content, room: Room) -> str | None:
        """One clause with needed and present sizes if even an empty memory is too small, else ``None``."""
        ...

    def allocate(self, seq: SeqId, content: Content, room: Room) -> Grant | None:
        """Start a sequence: share what is cached, take the rest. Raises DuplicateSequenceError."""
        ...

    def extend(self, seq: SeqId, to: int) -> Grant | None:
        """Make slots up to ``to`` (absolute) exist and be writable by this sequence alone."""
        ...

    def can_extend(self, targets: Sequence[tuple[SeqId, int]]) -> bool:
        """Would extending all of these, one after another, succeed?"""
        ...

    def publish(self, seq: SeqId, content: Content, num_tokens: int) -> Sequence[BlockId]:
        """Make the full blocks among the first ``num_tokens`` tokens findable; returns the newly keyed blocks."""
        ...

    def withdraw(self, seq: SeqId, num_tokens: int) -> Sequence[BlockId]:
        """Undo ``publish`` for this sequence's own blocks past the first ``num_tokens`` tokens."""
        ...

    def fork(self, parent: SeqId, child: SeqId, num_tokens: int) -> ForkGrant | None:
        """Give ``child`` the parent's first ``num_tokens`` tokens: shared (paged), or copied into the memory
        that ``child`` already holds (contiguous). Both must ask again before they write."""
        ...

    def swap_size(self, unit: Sequence[tuple[SeqId, int]]) -> int:
        """Host blocks that ``swap_out`` with these arguments would take."""
        ...

    def swap_out(self, unit: Sequence[tuple[SeqId, int]]) -> SwapGrant | None:
        """Move sequences to the host pool, all or none: of each its first so many tokens, 1 or more; what it
        holds beyond them is given up. They hold no device block afterwards and may only be swapped in or freed."""
        ...

    def swap_in(self, targets: Sequence[tuple[SeqId, int]], keep_free: int) -> SwapGrant | None:
        """Bring sequences back that were swapped out, all or none, if extending each of them to its target
        would then succeed and leave ``keep_free`` blocks free. They must be extended before they write."""
        ...

    def free(self, seq: SeqId) -> Sequence[BlockId]:
        """Drop the sequence; returns the blocks nobody holds any more. Raises UnknownSequenceError."""
        ...

    def reset_cache(self) -> bool:
        """Forget all cached content; ``False``, and nothing changed, while any block is held."""
        ...

    def table(self, seq: SeqId) -> Sequence[BlockId]:
        """The block table: entry i holds tokens i*B to i*B+B-1. Raises UnknownSequenceError."""
        ...

    def usage(self) -> Usage: ...
