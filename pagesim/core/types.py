"""The words both memories share: geometry, grant, admission, usage, copy.

Knows nothing about blocks being paged or contiguous. One unit is used throughout: a *block* of
``block_size`` slots, where one slot holds one token's K and V in every layer. A contiguous arena has
``block_size == 1``: its block tables are runs of consecutive slot numbers, so the field's one formula,
``slot = table[pos // B] * B + pos % B``, addresses both memories.
"""

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

SeqId = int
BlockId = int


class Geometry(NamedTuple):
    """The size of a memory: ``num_blocks`` blocks of ``block_size`` slots each, on the device.

    ``num_host_blocks`` more of them lie in host memory, where preempted sequences are swapped to. All blocks
    have one address space: host blocks are numbered from ``num_blocks`` on.
    """

    num_blocks: int
    block_size: int
    num_host_blocks: int = 0

    @property
    def num_slots(self) -> int:
        """Slots on the device."""
        return self.num_blocks * self.block_size

    @property
    def num_blocks_in_all(self) -> int:
        return self.num_blocks + self.num_host_blocks


class Admission(Enum):
    """May a sequence start? NOW: yes. LATER: not before somebody frees memory. NEVER: it cannot fit at all."""

    NOW = "now"
    LATER = "later"
    NEVER = "never"


class Room(NamedTuple):
    """How much memory a sequence that wants to start asks for. All lengths in tokens (= slots).

    ``now`` slots must be writable after the grant. ``present`` is the sequence's whole present length:
    memory for it must be there, though only ``now`` is taken. ``limit`` is the longest it may become and
    ``final`` the length it truly will have, where known; only contiguous reservations read those two.
    ``keep_free`` blocks must stay free after the grant (the watermark).
    """

    now: int
    present: int
    limit: int
    final: int | None = None
    keep_free: int = 0


class Copy(NamedTuple):
    """Copy the first ``num_slots`` slots of block ``source`` to block ``target``, before this step's writes.

    Either may be a host block: a swap is made of such copies.
    """

    source: BlockId
    target: BlockId
    num_slots: int


NO_BLOCKS: tuple[BlockId, ...] = ()
NO_COPIES: tuple[Copy, ...] = ()


class Grant(NamedTuple):
    """What one successful allocate, extend or fork did.

    ``writable`` is how far (absolute, in tokens) the sequence may write without asking again. ``taken`` are
    blocks appended to its table that nobody held; ``shared`` are blocks put into its table that hold valid
    content already (prefix hits and forks; they come before ``taken``). ``evicted`` are the blocks among
    ``taken`` whose cached content was forgotten. ``dropped`` are blocks this sequence no longer lists (a
    copy-on-write put the first of ``taken`` in the place of the one dropped). ``cached_tokens`` prompt
    tokens need no computing. ``wanted`` is how many slots the rule asked for where more were granted (a
    buddy allocator rounds up); ``None``: as many as were granted.
    """

    writable: int
    taken: Sequence[BlockId] = NO_BLOCKS
    shared: Sequence[BlockId] = NO_BLOCKS
    evicted: Sequence[BlockId] = NO_BLOCKS
    dropped: Sequence[BlockId] = NO_BLOCKS
    copies: Sequence[Copy] = NO_COPIES
    cached_tokens: int = 0
    wanted: int | None = None


class ForkGrant(NamedTuple):
    """What a fork did: the child's grant, and how far the *parent* may now write without asking again."""

    child: Grant
    parent_writable: int


class SwapGrant(NamedTuple):
    """What moving sequences to the host pool, or back, did: their new tables, and the copies that fill them.

    A block that several of them share moves once and stays shared. ``evicted``: as in ``Grant``.
    """

    tables: Sequence[tuple[SeqId, Sequence[BlockId]]]
    copies: Sequence[Copy]
    evicted: Sequence[BlockId] = NO_BLOCKS


class Usage(NamedTuple):
    """What a manager can know of itself, in blocks: ``granted + free == num_blocks``; ``cached`` of the free
    ones hold content that a prefix lookup can find; ``largest_hole`` is the longest run it could hand out
    to one request (for paged memory, all that is free). ``host_free`` of the host's blocks are free."""

    granted: int
    free: int
    cached: int
    largest_hole: int
    host_free: int = 0


def blocks_for(num_tokens: int, block_size: int) -> int:
    """Blocks that hold ``num_tokens`` tokens: ceil(num_tokens / block_size)."""
    return -(-num_tokens // block_size)


def blocks_lacking(geometry: Geometry, room: Room) -> str | None:
    """What an empty paged memory lacks for ``room``, in one clause with both sizes; ``None``: nothing."""
    needed = blocks_for(max(room.present, room.limit - 1), geometry.block_size)
    if needed + room.keep_free <= geometry.num_blocks:
        return None
    kept = f" and {room.keep_free:,} kept free" if room.keep_free else ""
    return f"needs {needed:,} blocks of {geometry.block_size} tokens{kept}, and {geometry.num_blocks:,} are present"
