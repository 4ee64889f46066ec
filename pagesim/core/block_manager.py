"""Paged memory: block tables over a block pool, with prefix reuse, forks and copy-on-write.

Knows nothing about schedulers or time. Blocks are shared two ways: a *prefix hit* shares full blocks, which
are never written again; a *fork* shares every block, the partly filled last one too, and whoever writes to a
block that somebody else still lists gets a copy first.

    parent  [7][1][3.]          extend(child, 11)           parent  [7][1][3.]
    child   [7][1][3.]     ->   takes 5, copies 3 to 5  ->  child   [7][1][5:]
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pagesim.core.block_pool import BlockPool
from pagesim.core.content import Content
from pagesim.core.errors import DuplicateSequenceError, UnknownSequenceError
from pagesim.core.prefix_index import PrefixIndex
from pagesim.core.types import (
    NO_BLOCKS,
    NO_COPIES,
    Admission,
    BlockId,
    Copy,
    ForkGrant,
    Geometry,
    Grant,
    Room,
    SeqId,
    SwapGrant,
    Usage,
    blocks_for,
    blocks_lacking,
)


@dataclass(slots=True, eq=False)
class BlockTable:
    """One sequence's blocks in logical order. ``writable``: how far it may write without asking;
    ``num_published``: how many leading blocks are known to the prefix index or came from it. With ``on_host``
    all of them are host blocks."""

    blocks: list[BlockId]
    writable: int
    num_published: int
    on_host: bool = False


class BlockManager:
    """Meets ``KVCacheManager``; the only writer of its block tables.

    ``keep_unkeyed_first`` decides where freed blocks go. On (engines today): blocks without cached content to
    the front of the free queue, blocks with it to the back. Off (the paper, earlier engines): all to the back.
    ``num_host_blocks`` is the size of the host pool that sequences are swapped to.
    """

    can_share = True

    def __init__(
        self,
        num_blocks: int,
        block_size: int,
        *,
        prefix_caching: bool = False,
        keep_unkeyed_first: bool = True,
        free_order: Sequence[BlockId] | None = None,
        num_host_blocks: int = 0,
    ) -> None:
        if num_blocks < 1 or block_size < 1:
            raise ValueError(f"{num_blocks} blocks of {block_size} slots: both must be 1 or more")
        if num_host_blocks < 0:
            raise ValueError(f"{num_host_blocks} host blocks: there must be 0 or more")
        self.geometry = Geometry(num_blocks, block_size, num_host_blocks)
        self.can_swap = num_host_blocks > 0
        self.host_pool = BlockPool(num_host_blocks)
        self._block_size = block_size
        self.can_cache = prefix_caching
        self.pool = BlockPool(num_blocks, free_order)
        self.index = PrefixIndex(num_blocks)
        self._keep_unkeyed_first = keep_unkeyed_first
        self._tables: dict[SeqId, BlockTable] = {}
        self._num_cached_free = 0
        self._last_hits: tuple[Content | None, int, int, list[BlockId]] = (None, 0, 0, [])

    # -- questions ---------------------------------------------------------------------------------------

    def cached_tokens(self, content: Content) -> int:
        return len(self._hits(content)) * self._block_size

    def admission(self, content: Content, room: Room) -> Admission:
        if self.never_fits(content, room) is not None:
            return Admission.NEVER
        return Admission.NOW if self._fits(self._hits(content), room) else Admission.LATER

    def never_fits(self, content: Content, room: Room) -> str | None:  # noqa: ARG002 - even a full hit takes its blocks
        return blocks_lacking(self.geometry, room)

    def can_extend(self, targets: Sequence[tuple[SeqId, int]]) -> bool:
        return self._blocks_to_extend(targets) <= self.pool.num_free

    def swap_size(self, unit: Sequence[tuple[SeqId, int]]) -> int:
        return len(self._filled(unit))

    def table(self, seq: SeqId) -> Sequence[BlockId]:
        return tuple(self._table(seq).blocks)

    def usage(self) -> Usage:
        free = self.pool.num_free
        num_blocks = self.geometry.num_blocks
        return Usage(num_blocks - free, free, self._num_cached_free, free, self.host_pool.num_free)

    # -- commands ----------------------------------------------------------------------------------------

    def allocate(self, seq: SeqId, content: Content, room: Room) -> Grant | None:
        if seq in self._tables:
            raise DuplicateSequenceError(f"sequence {seq} already holds blocks; free it first")
        hits = self._hits(content)
        if not self._fits(hits, room):
            return None
        block_size = self._block_size
        self._num_cached_free -= self._num_free(hits)
        self.pool.share(hits)
        taken, evicted = self._take(max(blocks_for(room.now, block_size) - len(hits), 0))
        blocks = hits + taken
        writable = len(blocks) * block_size
        self._tables[seq] = BlockTable(blocks, writable, len(hits))
        return Grant(writable, taken, tuple(hits), evicted, cached_tokens=len(hits) * block_size)

    def extend(self, seq: SeqId, to: int) -> Grant | None:
        table = self._table(seq)
        writable = table.writable
        if to <= writable:
            return Grant(writable)
        block_size = self._block_size
        shared = self._shared_tail(table, to) if writable % block_size else None
        needed = max(-(-to // block_size) - len(table.blocks), 0)
        if needed + (shared is not None) > self.pool.num_free:
            return None
        dropped: Sequence[BlockId] = NO_BLOCKS
        copies: Sequence[Copy] = NO_COPIES
        taken, evicted = self._take(needed + (shared is not None))
        fresh = taken
        if shared is not None:
            position = table.writable // block_size
            self.pool.drop((shared,))
            table.blocks[position] = taken[0]
            table.num_published = min(table.num_published, position)
            dropped, copies = (shared,), (Copy(shared, taken[0], table.writable % block_size),)
            fresh = taken[1:]
        table.blocks += fresh
        table.writable = len(table.blocks) * block_size
        return Grant(table.writable, taken, NO_BLOCKS, evicted, dropped, copies)

    def publish(self, seq: SeqId, content: Content, num_tokens: int) -> Sequence[BlockId]:
        if not self.can_cache:
            return NO_BLOCKS
        table = self._table(seq)
        block_size = self._block_size
        first, stop = table.num_published, num_tokens // block_size
        if stop <= first:
            return NO_BLOCKS
        keys = content.keys(stop, block_size)
        table.num_published = stop
        return self.index.register(table.blocks[first:stop], keys[first:stop])

    def withdraw(self, seq: SeqId, num_tokens: int) -> Sequence[BlockId]:
        table = self._table(seq)
        first = num_tokens // self._block_size
        withdrawn = self.index.forget(table.blocks[first : table.num_published])
        table.num_published = min(table.num_published, first)
        return withdrawn

    def fork(self, parent: SeqId, child: SeqId, num_tokens: int) -> ForkGrant:
        """Never ``None``: sharing takes no block. ``num_tokens`` are those the parent has written."""
        source = self._table(parent)
        if child in self._tables:
            raise DuplicateSequenceError(f"sequence {child} already holds blocks; free it first")
        block_size = self._block_size
        shared = source.blocks[: blocks_for(num_tokens, block_size)]
        self.pool.share(shared)
        self._tables[child] = BlockTable(
            shared, num_tokens, min(source.num_published, num_tokens // block_size)
        )
        if num_tokens % block_size:
            source.writable = min(source.writable, num_tokens)
        return ForkGrant(Grant(num_tokens, shared=tuple(shared)), source.writable)

    def free(self, seq: SeqId) -> Sequence[BlockId]:
        table = self._table(seq)
        del self._tables[seq]
        return (self._release_host if table.on_host else self._release)(table.blocks)

    def reset_cache(self) -> bool:
        if self.pool.num_free < self.geometry.num_blocks:
            return False
        self.index.forget(self.pool.free_queue())
        self._num_cached_free = 0
        return True

    # -- swapping ----------------------------------------------------------------------------------------

    def swap_out(self, unit: Sequence[tuple[SeqId, int]]) -> SwapGrant | None:
        filled = self._filled(unit)
        if len(filled) > self.host_pool.num_free:
            return None
        first_host = self.geometry.num_blocks
        taken = [first_host + block for block in self.host_pool.take(len(filled))]
        moved = dict(zip(filled, taken, strict=True))
        listed: set[BlockId] = set()
        tables = []
        for seq, num_tokens in unit:
            table = self._table(seq)
            kept = [
                moved[block] for block in table.blocks[: blocks_for(num_tokens, self._block_size)]
            ]
            self.host_pool.share([block - first_host for block in kept if block in listed])
            listed.update(kept)
            self._release(table.blocks)
            self._tables[seq] = BlockTable(kept, num_tokens, 0, on_host=True)
            tables.append((seq, tuple(kept)))
        copies = [Copy(block, moved[block], num_slots) for block, num_slots in filled.items()]
        return SwapGrant(tuple(tables), tuple(copies))

    def swap_in(self, targets: Sequence[tuple[SeqId, int]], keep_free: int) -> SwapGrant | None:
        filled = self._filled([(seq, self._table(seq).writable) for seq, _ in targets])
        needed = len(filled) + self._blocks_to_extend(targets)
        if needed + keep_free > self.pool.num_free:
            return None
        taken, evicted = self._take(len(filled))
        moved = dict(zip(filled, taken, strict=True))
        listed: set[BlockId] = set()
        tables = []
        for seq, _ in targets:
            table = self._table(seq)
            blocks = [moved[block] for block in table.blocks]
            self.pool.share([block for block in blocks if block in listed])
            listed.update(blocks)
            self._release_host(table.blocks)
            self._tables[seq] = BlockTable(blocks, table.writable, 0)
            tables.append((seq, tuple(blocks)))
        copies = [Copy(block, moved[block], num_slots) for block, num_slots in filled.items()]
        return SwapGrant(tuple(tables), tuple(copies), evicted)

    def _filled(self, unit: Sequence[tuple[SeqId, int]]) -> dict[BlockId, int]:
        """The blocks in which the sequences' first so many tokens lie, and how many slots these fill of each."""
        block_size = self._block_size
        filled: dict[BlockId, int] = {}
        for seq, num_tokens in unit:
            blocks = self._table(seq).blocks
            for position in range(blocks_for(num_tokens, block_size)):
                block = blocks[position]
                slots = min(num_tokens - position * block_size, block_size)
                filled[block] = max(filled.get(block, 0), slots)
        return filled

    # -- parts -------------------------------------------------------------------------------------------

    def _table(self, seq: SeqId) -> BlockTable:
        table = self._tables.get(seq)
        if table is None:
            raise UnknownSequenceError(
                f"sequence {seq} holds no blocks: it was never allocated, or is freed"
            )
        return table

    def _hits(self, content: Content) -> list[BlockId]:
        """Blocks that hold this content's start: full ones only, and never the block of its last token."""
        if not (self.can_cache and content.reads_cache):
            return []
        length, version = len(content), self.index.version
        last = self._last_hits
        if last[0] is content and last[1] == length and last[2] == version:
            return last[3].copy()
        block_size = self._block_size
        max_blocks = (length - 1) // block_size
        hits = self.index.longest_match(content.keys(max_blocks, block_size), max_blocks)
        self._last_hits = (content, length, version, hits)
        return hits.copy()

    def _fits(self, hits: Sequence[BlockId], room: Room) -> bool:
        longest = max(room.now, room.present)
        needed = max(blocks_for(longest, self._block_size) - len(hits), 0)
        needed += self._num_free(hits)  # sharing a block that is free now takes it, too
        return needed + room.keep_free <= self.pool.num_free

    def _num_free(self, blocks: Sequence[BlockId]) -> int:
        ref_counts = self.pool.ref_counts
        return sum(not ref_counts[block] for block in blocks)

    def _release(self, blocks: Sequence[BlockId]) -> list[BlockId]:
        """One table fewer lists these device blocks; returns those that are free now, deep end first."""
        unheld = self.pool.drop(reversed(blocks))  # the deep end is evicted first
        keys = self.index.keys
        keyed = [block for block in unheld if keys[block] is not None] if self.can_cache else []
        self._num_cached_free += len(keyed)
        if not self._keep_unkeyed_first:
            self.pool.put_back(unheld)
        elif not keyed:
            self.pool.put_front(unheld)
        else:
            self.pool.put_front([block for block in unheld if keys[block] is None])
            self.pool.put_back(keyed)
        return unheld

    def _release_host(self, blocks: Sequence[BlockId]) -> list[BlockId]:
        first_host = self.geometry.num_blocks
        unheld = self.host_pool.drop([block - first_host for block in reversed(blocks)])
        self.host_pool.put_back(unheld)
        return [first_host + block for block in unheld]

    def _blocks_to_extend(self, targets: Sequence[tuple[SeqId, int]]) -> int:
        """How many blocks extending all of these takes, one after another; of sequences on the host, once back."""
        needed = 0
        # Shared last blocks, and how many of the targets will write them.
        writers: dict[BlockId, int] = {}
        for seq, to in targets:
            table = self._table(seq)
            needed += max(blocks_for(to, self._block_size) - len(table.blocks), 0)
            shared = self._shared_tail(table, to)
            if shared is not None:
                writers[shared] = writers.get(shared, 0) + 1
        for block, count in writers.items():  # the last owner writes in place
            needed += min(count, self._count(block) - 1)
        return needed

    def _count(self, block: BlockId) -> int:
        """How many tables list the block."""
        beyond = block - self.geometry.num_blocks
        return self.pool.ref_counts[block] if beyond < 0 else self.host_pool.ref_counts[beyond]

    def _take(self, count: int) -> tuple[list[BlockId], Sequence[BlockId]]:
        """Take free blocks; those that held cached content forget it (the second result)."""
        taken = self.pool.take(count)
        if not (self.can_cache and self.index.num_keyed):
            return taken, NO_BLOCKS
        evicted = self.index.forget(taken)
        self._num_cached_free -= len(evicted)
        return taken, evicted

    def _shared_tail(self, table: BlockTable, to: int) -> BlockId | None:
        """The partly filled block that writing on from ``writable`` would write to, if others list it too."""
        position, offset = divmod(table.writable, self._block_size)
        if to <= table.writable or not offset:
            return None
        block = table.blocks[position]
        return block if self._count(block) > 1 else None
