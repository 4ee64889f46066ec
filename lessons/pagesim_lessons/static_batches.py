"""Static batching, for lesson 9: a memory that lets a whole batch in, and then nobody until all of it has gone.

Serving programs did this before continuous batching; no engine in pagesim does. Here it is a rule about memory, so
that the scheduler stays the one it is.
"""

from pagesim.core.block_manager import BlockManager
from pagesim.core.content import Content
from pagesim.core.types import Admission, BlockId, Grant, Room, SeqId


class StaticBatches(BlockManager):
    """Paged memory for ``seats`` sequences at a time. It extends the paged one, as all but the door is the same."""

    def __init__(self, num_blocks: int, block_size: int, seats: int) -> None:
        super().__init__(num_blocks, block_size)
        self._seats = seats
        self._inside: set[SeqId] = set()
        self._let_in = 0

    def admission(self, content: Content, room: Room) -> Admission:
        found = super().admission(content, room)
        return Admission.LATER if found is Admission.NOW and self._is_full else found

    def allocate(self, seq: SeqId, content: Content, room: Room) -> Grant | None:
        grant = None if self._is_full else super().allocate(seq, content, room)
        if grant is not None:
            self._inside.add(seq)
            self._let_in += 1
        return grant

    def free(self, seq: SeqId) -> tuple[BlockId, ...]:
        freed = tuple(super().free(seq))
        self._inside.discard(seq)
        if not self._inside:
            self._let_in = 0
        return freed

    @property
    def _is_full(self) -> bool:
        return self._let_in == self._seats
