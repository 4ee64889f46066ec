"""Turns what a memory does into events, for any memory: the manager itself holds no event code.

Knows nothing about how the wrapped manager works, only what its grants say.
"""

from collections.abc import Sequence

from pagesim.core import events as ev
from pagesim.core.content import Content
from pagesim.core.memory import KVCacheManager
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


class Recorded:
    """Meets ``KVCacheManager`` by passing every call on; commands that succeed are also emitted."""

    def __init__(self, memory: KVCacheManager, emit: ev.Emit) -> None:
        self.memory = memory
        self._emit = emit
        self.can_share = memory.can_share
        self.can_cache = memory.can_cache
        self.can_swap: bool = getattr(memory, "can_swap", False)  # a learner's may leave it out

    @property
    def geometry(self) -> Geometry:
        return self.memory.geometry

    def cached_tokens(self, content: Content) -> int:
        return self.memory.cached_tokens(content)

    def admission(self, content: Content, room: Room) -> Admission:
        return self.memory.admission(content, room)

    def never_fits(self, content: Content, room: Room) -> str | None:
        return self.memory.never_fits(content, room)

    def can_extend(self, targets: Sequence[tuple[SeqId, int]]) -> bool:
        return self.memory.can_extend(targets)

    def table(self, seq: SeqId) -> Sequence[BlockId]:
        return self.memory.table(seq)

    def usage(self) -> Usage:
        return self.memory.usage()

    def allocate(self, seq: SeqId, content: Content, room: Room) -> Grant | None:
        grant = self.memory.allocate(seq, content, room)
        if grant is not None:
            self._granted(seq, grant)
        return grant

    def extend(self, seq: SeqId, to: int) -> Grant | None:
        grant = self.memory.extend(seq, to)
        if grant is not None:
            self._granted(seq, grant)
        return grant

    def fork(self, parent: SeqId, child: SeqId, num_tokens: int) -> ForkGrant | None:
        fork = self.memory.fork(parent, child, num_tokens)
        if fork is not None:
            self._emit(ev.SequenceForked(parent, child, num_tokens))
            self._granted(child, fork.child)
        return fork

    def publish(self, seq: SeqId, content: Content, num_tokens: int) -> Sequence[BlockId]:
        published = self.memory.publish(seq, content, num_tokens)
        if published:
            self._emit(ev.BlocksPublished(seq, listed(published)))
        return published

    def withdraw(self, seq: SeqId, num_tokens: int) -> Sequence[BlockId]:
        withdrawn = self.memory.withdraw(seq, num_tokens)
        if withdrawn:
            self._emit(ev.BlocksWithdrawn(seq, listed(withdrawn)))
        return withdrawn

    def swap_size(self, unit: Sequence[tuple[SeqId, int]]) -> int:
        return self.memory.swap_size(unit)

    def swap_out(self, unit: Sequence[tuple[SeqId, int]]) -> SwapGrant | None:
        grant = self.memory.swap_out(unit)
        if grant is not None:
            self._swapped(grant, ev.TableSwappedOut)
        return grant

    def swap_in(self, targets: Sequence[tuple[SeqId, int]], keep_free: int) -> SwapGrant | None:
        grant = self.memory.swap_in(targets, keep_free)
        if grant is not None:
            self._swapped(grant, ev.TableSwappedIn)
        return grant

    def free(self, seq: SeqId) -> Sequence[BlockId]:
        released = self.memory.free(seq)
        self._emit(ev.TableFreed(seq, listed(released)))
        return released

    def reset_cache(self) -> bool:
        done = self.memory.reset_cache()
        if done:
            self._emit(ev.CacheReset())
        return done

    def _swapped(
        self, grant: SwapGrant, kind: type[ev.TableSwappedOut | ev.TableSwappedIn]
    ) -> None:
        for block in grant.evicted:
            self._emit(ev.BlockEvicted(block))
        for seq, blocks in grant.tables:
            self._emit(kind(seq, listed(blocks)))
        for copy in grant.copies:
            self._emit(ev.BlockCopied(*copy))

    def _granted(self, seq: SeqId, grant: Grant) -> None:
        emit = self._emit
        for block in grant.evicted:
            emit(ev.BlockEvicted(block))
        if grant.shared:
            emit(ev.BlocksShared(seq, listed(grant.shared)))
        taken = grant.taken
        if isinstance(grant.dropped, range) and isinstance(taken, range):
            wanted = len(taken) if grant.wanted is None else grant.wanted
            emit(ev.RunMoved(seq, grant.dropped, taken, wanted))
            return
        if grant.dropped:  # copy-on-write
            emit(ev.BlockReplaced(seq, grant.dropped[0], taken[0]))
            taken = taken[1:]
        if taken:
            wanted = len(taken) * self.geometry.block_size if grant.wanted is None else grant.wanted
            emit(ev.BlocksTaken(seq, listed(taken), wanted))
        for copy in grant.copies:
            emit(ev.BlockCopied(*copy))


def listed(blocks: Sequence[BlockId]) -> ev.Blocks:
    return blocks if isinstance(blocks, range) else tuple(blocks)
