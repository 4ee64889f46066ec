"""Where the memory went, step by step, split in hindsight as the PagedAttention paper splits it.

Knows nothing about managers. A slot that is granted is, at any step, one of three: *used* (it holds a token's
K and V), *reserved* (its sequence fills it later) or *internal* waste (nobody ever writes it). Which of the
last two it was is known when it is given back. A slot that is not granted is *external* waste while the head
of the queue waits for memory, and *free* otherwise; what a buddy allocator hands out beyond the slots asked
for is external, too (Kwon et al., SOSP 2023, Figure 2; there no queue ever empties, so nothing is free).
"""

from array import array
from collections.abc import Callable
from itertools import accumulate
from typing import NamedTuple

from pagesim.core import events as ev
from pagesim.core.types import BlockId, Geometry, SeqId

KINDS = ("used", "reserved", "internal", "external", "free")


class WasteSplit(NamedTuple):
    """Mean slots of each kind over some steps; they add up to ``num_slots``."""

    used: float
    reserved: float
    internal: float
    external: float
    free: float
    num_slots: int

    def percent(self) -> dict[str, float]:
        """Each kind's share of the memory by its name; they add up to 100."""
        return {
            name: 100 * part / self.num_slots for name, part in zip(KINDS, self[:5], strict=True)
        }


class _Holding:
    """What one sequence holds. ``since`` is the step a contiguous run was taken in."""

    __slots__ = ("blocks", "since", "wanted", "written")

    def __init__(self) -> None:
        self.blocks: list[BlockId] | range = []
        self.written = 0
        self.wanted = 0
        self.since = 0


class WasteMeter:
    """Feed it every event of a run; then ask for the split over any steps. O(changes) an event."""

    def __init__(self, geometry: Geometry) -> None:
        self._num_slots = geometry.num_slots
        self._num_blocks = geometry.num_blocks
        self._block_size = geometry.block_size
        self._holdings: dict[SeqId, _Holding] = {}
        self._ref_counts: dict[BlockId, int] = {}
        self._since: dict[BlockId, int] = {}  # the step in which a held block was taken
        self._used = self._granted = self._rounding = 0
        self.used_series = array("q")
        self.granted_series = array("q")
        self.rounding_series = array("q")
        self.blocked_series = array("b")
        # By how much internal slots change at each step, known in hindsight.
        self._internal_changes = array("q", [0])
        self._last_planned: ev.StepPlanned | None = None
        self._handlers: dict[type[ev.Event], Callable[..., None]] = {
            ev.StepPlanned: self._planned,
            ev.BlocksTaken: self._taken,
            ev.BlocksShared: self._shared,
            ev.BlockReplaced: self._replaced,
            ev.BlockCopied: self._copied,
            ev.RunMoved: self._moved,
            ev.TableSwappedOut: self._swapped_out,
            ev.TableSwappedIn: self._swapped_in,
            ev.SequenceReturned: self._returned,
            ev.TableFreed: self._freed,
            ev.SequenceAdmitted: self._admitted,
            ev.SequenceForked: self._forked,
            ev.StepFailed: self._failed,
        }

    def apply(self, event: ev.Event) -> None:
        handler = self._handlers.get(type(event))
        if handler is not None:
            handler(event)

    @property
    def num_steps(self) -> int:
        return len(self.used_series)

    def internal_series(self) -> list[int]:
        """Internal slots at each step so far; what is still held counts as reserved."""
        return list(accumulate(self._internal_changes))[: self.num_steps]

    def split(self, first: int, stop: int) -> WasteSplit:
        """The mean over steps ``first`` up to, not including, ``stop``. ValueError if there is none."""
        if not 0 <= first < stop <= self.num_steps:
            raise ValueError(f"steps {first} to {stop} of {self.num_steps} are none")
        count = stop - first
        used = sum(self.used_series[first:stop])
        granted = sum(self.granted_series[first:stop])
        rounding = sum(self.rounding_series[first:stop])
        internal = sum(self.internal_series()[first:stop])
        external = sum(
            self._num_slots - held
            for held, blocked in zip(
                self.granted_series[first:stop], self.blocked_series[first:stop], strict=True
            )
            if blocked
        )
        free = count * self._num_slots - granted - external
        reserved = granted - rounding - used - internal
        return WasteSplit(
            used / count,
            reserved / count,
            internal / count,
            (external + rounding) / count,
            free / count,
            self._num_slots,
        )

    # -- one small function an event kind ----------------------------------------------------------------

    def _holding(self, seq: SeqId) -> _Holding:
        holding = self._holdings.get(seq)
        if holding is None:
            holding = self._holdings[seq] = _Holding()
        return holding

    def _planned(self, event: ev.StepPlanned) -> None:
        self._last_planned = event
        holdings = self._holdings
        for seq, count in zip(event.seqs, event.counts, strict=True):
            holdings[seq].written += count
        self._used += sum(event.counts)
        self.used_series.append(self._used)
        self.granted_series.append(self._granted)
        self.rounding_series.append(self._rounding)
        self.blocked_series.append(event.blocked)
        self._internal_changes.append(0)

    def _failed(self, _: ev.StepFailed) -> None:
        """The step stands in the series; the slots it was to fill do not count from here on."""
        assert self._last_planned is not None
        for seq, count in zip(self._last_planned.seqs, self._last_planned.counts, strict=True):
            self._holdings[seq].written -= count
            self._used -= count

    def _taken(self, event: ev.BlocksTaken) -> None:
        holding = self._holding(event.seq)
        slots = len(event.blocks) * self._block_size
        self._granted += slots
        now = self.num_steps
        if isinstance(event.blocks, range):
            holding.blocks, holding.since, holding.wanted = event.blocks, now, event.wanted
            self._rounding += slots - event.wanted
            return
        holding.blocks += event.blocks  # type: ignore[operator]
        since, ref_counts = self._since, self._ref_counts
        for block in event.blocks:
            since[block] = now
            ref_counts[block] = 1

    def _shared(self, event: ev.BlocksShared) -> None:
        holding = self._holding(event.seq)
        holding.blocks += event.blocks  # type: ignore[operator]
        for block in event.blocks:
            count = self._ref_counts.get(block, 0)
            self._ref_counts[block] = count + 1
            if not count:  # it was free, and its content is valid again: a full block
                self._since[block] = self.num_steps
                self._granted += self._block_size
                self._used += self._block_size

    def _replaced(self, event: ev.BlockReplaced) -> None:
        blocks = self._holding(event.seq).blocks
        assert isinstance(blocks, list)
        blocks[blocks.index(event.old)] = event.new
        self._ref_counts[event.old] -= 1
        self._ref_counts[event.new] = 1
        self._since[event.new] = self.num_steps
        self._granted += self._block_size

    def _copied(self, event: ev.BlockCopied) -> None:
        if event.target < self._num_blocks:
            self._used += event.slots

    def _admitted(self, event: ev.SequenceAdmitted) -> None:
        self._holding(event.seq).written = event.cached_tokens

    def _forked(self, event: ev.SequenceForked) -> None:
        holding = self._holding(event.child)
        if isinstance(
            holding.blocks, range
        ):  # a beam's slab is copied over: the copies tell all of it anew
            self._used -= holding.written
        holding.written = event.tokens

    def _swapped_out(self, event: ev.TableSwappedOut) -> None:
        """It holds nothing on the device; the host's memory is not what is split here."""
        self._give_back(self._holdings.pop(event.seq))

    def _swapped_in(self, event: ev.TableSwappedIn) -> None:
        """What its blocks hold is told by the copies that follow."""
        holding = self._holding(event.seq)
        holding.blocks = list(event.blocks)
        for block in event.blocks:
            count = self._ref_counts.get(block, 0)
            self._ref_counts[block] = count + 1
            if not count:
                self._since[block] = self.num_steps
                self._granted += self._block_size

    def _returned(self, event: ev.SequenceReturned) -> None:
        self._holding(event.seq).written = event.tokens

    def _freed(self, event: ev.TableFreed) -> None:
        holding = self._holdings.pop(event.seq, None)
        if holding is not None:  # else its blocks were the host's
            self._give_back(holding)

    def _give_back(self, holding: _Holding) -> None:
        blocks, written, size = holding.blocks, holding.written, self._block_size
        if isinstance(blocks, range):
            self._free_run(holding, blocks)
            return
        for block in blocks:
            self._ref_counts[block] -= 1
        for position in range(len(blocks) - 1, -1, -1):
            block = blocks[position]
            if self._ref_counts[block]:
                continue
            del self._ref_counts[block]
            filled = min(max(written - position * size, 0), size)
            since = self._since.pop(block)
            self._used -= filled
            self._granted -= size
            if filled < size:
                self._mark_internal(since, size - filled)

    def _moved(self, event: ev.RunMoved) -> None:
        """The tokens move with it: what is used stays the same."""
        holding = self._holdings[event.seq]
        self._free_run(holding, event.old)
        self._used += holding.written
        self._taken(ev.BlocksTaken(event.seq, event.new, event.wanted))

    def _free_run(self, holding: _Holding, run: range) -> None:
        self._used -= holding.written
        self._granted -= len(run)
        self._rounding -= len(run) - holding.wanted
        if holding.written < holding.wanted:
            self._mark_internal(holding.since, holding.wanted - holding.written)

    def _mark_internal(self, since: int, slots: int) -> None:
        self._internal_changes[since] += slots
        self._internal_changes[self.num_steps] -= slots
