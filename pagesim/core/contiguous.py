"""The memory before PagedAttention: each sequence reserves one run of slots for all it may become.

Knows nothing about steps, or how a run is chosen (placers.py, buddy.py) and how long it must be
(reservations.py). Its blocks are single slots (``block_size == 1``), a block table is a ``range``,
and one ``Copy`` copies a run: ``num_slots`` slots from ``source`` on go to ``target`` and on.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass

from pagesim.core.content import Content
from pagesim.core.errors import DuplicateSequenceError, PagesimError, UnknownSequenceError
from pagesim.core.placers import Placer
from pagesim.core.reservations import Reservation
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
    Usage,
)


class BeyondReservationError(PagesimError):
    """More tokens were to be stored than a reservation may hold. No state was changed."""


@dataclass(slots=True)
class Slab:
    """What one sequence holds: ``run`` as placed; its first ``reserved`` slots were asked for."""

    run: range
    reserved: int


class ContiguousManager:
    """Meets ``KVCacheManager`` with one run of slots a sequence; the only writer of its slabs.

    Placer and reservation rule are handed in; ``name`` is for people. A run may be longer than its
    reservation (a buddy rounds up): ``Grant.wanted`` then is the reservation.
    """

    can_share = False
    can_cache = False
    can_swap = False

    def __init__(self, placer: Placer, reservation: Reservation, name: str) -> None:
        self.name = name
        self.geometry = Geometry(num_blocks=placer.num_slots, block_size=1)
        self._placer = placer
        self._reservation = reservation
        self._slabs: dict[SeqId, Slab] = {}

    # -- questions ---------------------------------------------------------------------------------

    def cached_tokens(self, content: Content) -> int:  # noqa: ARG002 - nothing is ever cached
        return 0

    def admission(self, content: Content, room: Room) -> Admission:
        if self.never_fits(content, room) is not None:
            return Admission.NEVER
        slots = self._reservation.slots(content, room)
        return Admission.NOW if self._fits_now(slots, room.keep_free) else Admission.LATER

    def never_fits(self, content: Content, room: Room) -> str | None:
        placer, longest = self._placer, self._reservation.max_model_len
        slots = self._reservation.slots(content, room)
        if slots > longest:
            return f"is {slots:,} tokens long and the longest reservation is {longest:,} slots"
        if not placer.could_ever_fit(slots):
            return (
                f"needs {slots:,} slots in one piece and "
                f"the largest piece this memory can ever offer is {placer.largest_ever:,}"
            )
        footprint = placer.footprint(slots)
        if footprint + room.keep_free > placer.num_slots:
            return (
                f"needs {footprint:,} slots and {room.keep_free:,} kept free, "
                f"and {placer.num_slots:,} are present"
            )
        return None

    def can_extend(self, targets: Sequence[tuple[SeqId, int]]) -> bool:
        """As in the protocol; ``False`` too where ``extend`` would raise BeyondReservationError."""
        longest_in_place = [len(self._slab(seq).run) for seq, _ in targets]
        if any(to > self._reservation.max_model_len for _, to in targets):
            return False
        if all(to <= run for (_, to), run in zip(targets, longest_in_place, strict=True)):
            return True
        trial = deepcopy(self)  # somebody would move, which is rare: try it out
        return all(trial.extend(seq, to) is not None for seq, to in targets)

    def table(self, seq: SeqId) -> Sequence[BlockId]:
        return self._slab(seq).run

    def usage(self) -> Usage:
        placer = self._placer
        granted = placer.num_slots - placer.num_free
        return Usage(granted, placer.num_free, cached=0, largest_hole=placer.largest_hole)

    # -- commands ----------------------------------------------------------------------------------

    def allocate(self, seq: SeqId, content: Content, room: Room) -> Grant | None:
        """Reserve all that the sequence will ever use; ``writable`` is the whole reservation."""
        held = self._slabs.get(seq)
        if held is not None:
            raise DuplicateSequenceError(
                f"sequence {seq} already holds slots {held.run.start:,} to {held.run.stop - 1:,}; "
                "free it first"
            )
        slots = self._reservation.slots(content, room)
        if slots > self._reservation.max_model_len or not self._fits_now(slots, room.keep_free):
            return None
        run = self._placer.place(slots)
        assert run is not None, f"the placer said that {slots} slots fit, then refused them"
        self._slabs[seq] = Slab(run, slots)
        return Grant(writable=slots, taken=run, wanted=_wanted(slots, run))

    def extend(self, seq: SeqId, to: int) -> Grant | None:
        """Within the reservation nothing happens. Past it (a ``Room.final`` that was too small) the
        sequence first uses up its run, then moves to a longer one.

        Raises UnknownSequenceError, and BeyondReservationError where ``to`` exceeds the rule's
        ``max_model_len``.
        """
        slab = self._slab(seq)
        if to <= slab.reserved:
            return Grant(slab.reserved)
        longest = self._reservation.max_model_len
        if to > longest:
            raise BeyondReservationError(
                f"sequence {seq} asks for {to:,} slots and the longest reservation is {longest:,}; "
                "end it there, or reserve more for every sequence"
            )
        if to <= len(slab.run):
            slab.reserved = to
            return Grant(to, wanted=to)
        return self._move(slab, to)

    def publish(
        self,
        seq: SeqId,  # noqa: ARG002
        content: Content,  # noqa: ARG002
        num_tokens: int,  # noqa: ARG002
    ) -> Sequence[BlockId]:
        """Nothing: there is no prefix cache here."""
        return NO_BLOCKS

    def withdraw(self, seq: SeqId, num_tokens: int) -> Sequence[BlockId]:  # noqa: ARG002
        """Nothing: there is no prefix cache here."""
        return NO_BLOCKS

    def fork(self, parent: SeqId, child: SeqId, num_tokens: int) -> ForkGrant:
        """Copy into the reservation that ``child`` holds already; never ``None``.

        Raises UnknownSequenceError, DuplicateSequenceError where both are one, and
        BeyondReservationError where either has reserved fewer than ``num_tokens`` slots.
        """
        source, target = self._slab(parent), self._slab(child)
        if parent == child:
            raise DuplicateSequenceError(f"sequence {parent} cannot be forked into itself")
        shorter = min(source.reserved, target.reserved)
        if num_tokens > shorter:
            raise BeyondReservationError(
                f"{num_tokens:,} tokens of sequence {parent} were to be copied into {child}, and "
                f"the shorter of their reservations is {shorter:,} slots; extend it first"
            )
        copies = (Copy(source.run[0], target.run[0], num_tokens),) if num_tokens else NO_COPIES
        return ForkGrant(Grant(target.reserved, copies=copies), source.reserved)

    def swap_size(self, unit: Sequence[tuple[SeqId, int]]) -> int:  # noqa: ARG002
        """Nothing: there is no host pool here."""
        return 0

    def swap_out(self, unit: Sequence[tuple[SeqId, int]]) -> None:
        """Never: there is no host pool here."""

    def swap_in(self, targets: Sequence[tuple[SeqId, int]], keep_free: int) -> None:
        """Never: there is no host pool here."""

    def free(self, seq: SeqId) -> Sequence[BlockId]:
        run = self._slab(seq).run
        self._placer.release(run)
        del self._slabs[seq]
        return run

    def reset_cache(self) -> bool:
        return not self._slabs

    # -- parts -------------------------------------------------------------------------------------

    def _slab(self, seq: SeqId) -> Slab:
        slab = self._slabs.get(seq)
        if slab is None:
            raise UnknownSequenceError(
                f"sequence {seq} holds no slots: it was never allocated, or is freed"
            )
        return slab

    def _fits_now(self, slots: int, keep_free: int) -> bool:
        left = self._placer.num_free - self._placer.footprint(slots)
        return left >= keep_free and self._placer.fits_now(slots)

    def _move(self, slab: Slab, to: int) -> Grant | None:
        """Put what outgrew its run in a new one: twice as long if that fits, else just long enough.

        Room for both runs is needed, as one is copied to the other. All that was reserved is
        copied: how much of it was written is not known here.
        """
        slots = min(max(to, 2 * slab.reserved), self._reservation.max_model_len)
        run = self._placer.place(slots)
        if run is None:
            slots = to
            run = self._placer.place(slots)
        if run is None:
            return None
        old = slab.run
        copy = Copy(old[0], run[0], slab.reserved)
        self._placer.release(old)
        slab.run, slab.reserved = run, slots
        return Grant(slots, run, dropped=old, copies=(copy,), wanted=_wanted(slots, run))


def _wanted(slots: int, run: range) -> int | None:
    return None if len(run) == slots else slots
