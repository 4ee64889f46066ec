"""One moment of one memory, as a value that can be drawn; and a collector of such moments.

Knows nothing about drawing.
"""

from collections.abc import Sequence
from typing import NamedTuple

from pagesim.core import events as ev
from pagesim.core.types import BlockId, Geometry, SeqId
from pagesim.replay.run_state import RunState, SequenceView


class Holder(NamedTuple):
    """A sequence and what it holds. ``written`` of its slots hold K and V; it asked for ``wanted`` slots."""

    seq: SeqId
    name: str
    table: tuple[BlockId, ...] | range
    written: int
    wanted: int


class MemoryMap(NamedTuple):
    """Who holds which blocks at ``time_ns``; ``cached`` are findable blocks, held or free. ``swapped`` are those
    whose tokens are on the host; their tables list host blocks."""

    time_ns: int
    step: int
    geometry: Geometry
    holders: tuple[Holder, ...]
    cached: frozenset[BlockId]
    waiting: int
    swapped: tuple[Holder, ...] = ()


def memory_map(state: RunState) -> MemoryMap:
    holding = [view for view in state.sequences.values() if len(view.table)]
    first_host = state.geometry.num_blocks
    return MemoryMap(
        state.time_ns,
        state.step,
        state.geometry,
        tuple([_holder(view) for view in holding if view.table[0] < first_host]),
        frozenset(state.cached),
        state.waiting,
        tuple([_holder(view) for view in holding if view.table[0] >= first_host]),
    )


def _holder(view: SequenceView) -> Holder:
    table = view.table if isinstance(view.table, range) else tuple(view.table)
    return Holder(view.seq, view.name, table, view.written, view.wanted)


def changed_blocks(event: object, before: RunState) -> frozenset[BlockId]:
    """The blocks that an event took, gave back, marked, or (a step) writes to; ``before`` is the state before it."""
    match event:
        case ev.StepPlanned() | ev.StepFailed():
            return _written_blocks(event, before)
        case ev.TableFreed():
            return frozenset(before.sequences[event.seq].table)
        case ev.TableSwappedOut() | ev.TableSwappedIn():
            return frozenset(before.sequences[event.seq].table) | frozenset(event.blocks)
        case ev.BlockReplaced():
            return frozenset((event.old, event.new))
        case ev.RunMoved():
            return frozenset(event.old) | frozenset(event.new)
        case ev.BlockCopied():
            return frozenset((event.source, event.target))
        case ev.BlockEvicted():
            return frozenset((event.block,))
        case ev.CacheReset():
            return frozenset(before.cached)
        case ev.BlocksTaken() | ev.BlocksShared() | ev.BlocksPublished() | ev.BlocksWithdrawn():
            return frozenset(event.blocks)
        case _:
            return frozenset()


def _written_blocks(event: ev.StepPlanned | ev.StepFailed, before: RunState) -> frozenset[BlockId]:
    """Where a step's tokens go; of a failed one, where they would have gone."""
    failed = isinstance(event, ev.StepFailed)
    step = before.planned if isinstance(event, ev.StepFailed) else event
    size = before.geometry.block_size
    written: list[BlockId] = []
    if step is None:
        return frozenset()
    for seq, count in zip(step.seqs, step.counts, strict=True):
        view = before.sequences[seq]
        start = view.written - count * failed
        written += view.table[start // size : -(-(start + count) // size)]
    return frozenset(written)


class MomentCollector:
    """Keeps maps at evenly spaced times without knowing how long the run will be.

    Marks stand at multiples of an interval; when there are too many, every other one is dropped and the
    interval doubles. So two runs of any lengths share marks: the multiples of the larger interval.
    """

    MOST_MARKS = 128

    def __init__(self, geometry: Geometry, first_interval_ns: int = 20_000_000) -> None:
        self.state = RunState(geometry)
        self.interval_ns = first_interval_ns
        self.maps: dict[int, MemoryMap] = {}
        self._next_ns = 0

    def nearest(self, target_ns: int) -> MemoryMap | None:
        """The map whose mark is nearest to ``target_ns``; ``None`` before any step is done."""
        mark = common_moment([self], target_ns)
        return None if mark is None else self.maps[mark]

    def apply(self, event: ev.Event) -> None:
        if type(event) is ev.StepDone and event.time_ns > self._next_ns:
            # The memory was taken when the step was planned, so it looked like this while the step ran.
            self.maps[self._next_ns] = memory_map(self.state)
            self._next_ns = -(-event.time_ns // self.interval_ns) * self.interval_ns
            if len(self.maps) > self.MOST_MARKS:
                self.interval_ns *= 2
                kept = {t: m for t, m in self.maps.items() if not t % self.interval_ns}
                self.maps = kept
                self._next_ns = -(-event.time_ns // self.interval_ns) * self.interval_ns
        self.state.apply(event)


def common_moment(collectors: Sequence["MomentCollector"], target_ns: int) -> int | None:
    """The time nearest to ``target_ns`` at which every collector holds a map; ``None`` if there is none."""
    shared = set(collectors[0].maps)
    for collector in collectors[1:]:
        shared &= set(collector.maps)
    return min(shared, key=lambda time: (abs(time - target_ns), time), default=None)
