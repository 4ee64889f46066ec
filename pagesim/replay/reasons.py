"""Questions that an explanation asks of a run's state: who is that, what does it need, which holes are there.

Knows nothing about sentences but how a sequence is called. Everything here works on a state that lacks the
sequence, as that of a log that begins in the middle may.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from pagesim.core import events as ev
from pagesim.core.types import BlockId, SeqId, blocks_for
from pagesim.replay.run_state import RunState, SequenceView


def view_of(state: RunState, seq: SeqId) -> SequenceView | None:
    return state.sequences.get(seq) or state.ended.get(seq)


def name_of(state: RunState, seq: SeqId) -> str:
    view = view_of(state, seq)
    return f"sequence {seq}" if view is None else called(view.name)


def called(name: str) -> str:
    """A name that stands in a sentence: where it has no letter, it needs a noun."""
    return name if any(character.isalpha() for character in name) else f"request {name}"


def is_contiguous(state: RunState) -> bool:
    """Does anybody hold a run of slots, and no blocks?"""
    return state.geometry.block_size == 1 and any(
        isinstance(view.table, range) for view in state.sequences.values()
    )


def unit(state: RunState) -> str:
    return "slot" if is_contiguous(state) else "block"


def holes(state: RunState) -> list[int]:
    """How long the free runs of a contiguous memory are, in order of address."""
    held = sorted(
        (view.table.start, view.table.stop)
        for view in state.sequences.values()
        if isinstance(view.table, range)
    )
    sizes, end = [], 0
    for start, stop in [*held, (state.geometry.num_blocks,) * 2]:
        if start > end:
            sizes.append(start - end)
        end = max(end, stop)
    return sizes


def siblings(state: RunState, view: SequenceView) -> list[SequenceView]:
    """The other samples of its request."""
    return [
        other
        for other in state.sequences.values()
        if other.request == view.request and other.seq != view.seq
    ]


def is_forked_now(view: SequenceView | None) -> bool:
    """Of a sequence that is just getting its first blocks: does it get them from another?"""
    return view is not None and view.status == "running"


def is_last_admitted(state: RunState, view: SequenceView) -> bool:
    """Samples of one request are left out: a fork's place in the order is its leader's."""
    return next(reversed(state.running), None) == view.seq and not siblings(state, view)


def blocks_to_grow(state: RunState, view: SequenceView, to: int) -> int:
    """Free blocks it takes until ``to`` tokens fit, with one for the copy of a shared last block."""
    if to <= view.written:
        return 0
    more = max(blocks_for(to, state.geometry.block_size) - len(view.table), 0)
    return more + shares_tail(state, view)


def shares_tail(state: RunState, view: SequenceView) -> bool:
    """Is its last block filled in part, and listed by others, too?"""
    position, offset = divmod(view.written, state.geometry.block_size)
    if not offset or position >= len(view.table):
        return False
    return state.ref_counts.get(view.table[position], 0) > 1


def positions(view: SequenceView | None, blocks: ev.Blocks) -> range | None:
    """Where in its table the blocks stand, if side by side."""
    if view is None or isinstance(view.table, range) or isinstance(blocks, range):
        return None
    if not blocks or blocks[0] not in view.table:
        return None
    first = view.table.index(blocks[0])
    stop = first + len(blocks)
    return range(first, stop) if view.table[first:stop] == list(blocks) else None


# -- the host pool ---------------------------------------------------------------------------------------


def is_on_host(state: RunState, blocks: Sequence[BlockId]) -> bool:
    """Are these blocks (all of one pool) the host's?"""
    return bool(
        state.geometry.num_host_blocks and blocks and blocks[0] >= state.geometry.num_blocks
    )


def group_now(state: RunState, view: SequenceView) -> list[SequenceView]:
    """The sequence and, of a group that has forked, those that are where it is: running, or on the host."""
    if not view.forked:
        return [view]
    return [view, *(other for other in siblings(state, view) if other.status == view.status)]


def blocks_of_others(state: RunState, view: SequenceView) -> int:
    """Of a group that is to start again: blocks that its other samples need besides what they share."""
    if not view.forked:
        return 0
    size = state.geometry.block_size
    shared = view.prompt_tokens // size
    return sum(blocks_for(other.tokens, size) - shared for other in siblings(state, view))


def blocks_to_move(state: RunState, views: Iterable[SequenceView]) -> int:
    """Blocks that hold what these have computed; one that several list counts once."""
    size = state.geometry.block_size
    return len({block for view in views for block in view.table[: blocks_for(view.written, size)]})


def blocks_for_next(state: RunState, views: Iterable[SequenceView]) -> int:
    """Free blocks it takes until each of these has room for one more token, with copies of shared ones."""
    size, needed = state.geometry.block_size, 0
    writers: Counter[int] = Counter()
    for view in views:
        needed += max(blocks_for(view.written + 1, size) - len(view.table), 0)
        if shares_tail(state, view):
            writers[view.table[view.written // size]] += 1
    # the last owner writes in place
    return needed + sum(min(n, state.ref_counts[block] - 1) for block, n in writers.items())


def swapped(state: RunState) -> list[SequenceView]:
    return [view for view in state.sequences.values() if view.status == "swapped"]


def num_swapped_units(state: RunState) -> int:
    """How many come back on their own: a group counts once."""
    return len({view.request if view.forked else view.seq for view in swapped(state)})
