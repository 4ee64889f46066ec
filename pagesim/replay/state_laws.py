"""Laws that can be checked on the state of a run alone, wherever in its events one stands.

Each function looks and returns the sentence that says how the law is broken, or ``None``: it is kept. Names
and meanings are those of ``pagesim.core.laws``; a state shows less than a manager does, and so what is kept
here may still be broken there. Knows nothing about who asks.
"""

from collections import Counter
from itertools import chain, pairwise
from typing import NamedTuple

from pagesim.core.types import BlockId
from pagesim.replay.phrases import named
from pagesim.replay.run_state import RunState, SequenceView


class Verdict(NamedTuple):
    """``broken`` is a sentence; ``None``: the law is kept."""

    law: str
    broken: str | None


def state_verdicts(state: RunState, before: RunState | None = None) -> tuple[Verdict, ...]:
    """All laws, in a fixed order; ``before`` is the state an event earlier, for those about time."""
    return (
        Verdict("conservation", conservation(state)),
        Verdict("refcount", refcount(state)),
        Verdict("single-writer", single_writer(state)),
        Verdict("budget", budget(state)),
        Verdict("clock", clock(state, before)),
    )


def conservation(state: RunState) -> str | None:
    """Blocks in tables and free blocks add up to each pool; nobody lists a block twice, or blocks of both pools."""
    num_blocks, num_host = state.geometry.num_blocks, state.geometry.num_host_blocks
    if not 0 <= state.num_held <= num_blocks:
        return f"{state.num_held} blocks are held of {num_blocks} present"
    if not 0 <= state.num_host_held <= num_host:
        return f"{state.num_host_held} host blocks are held of {num_host} present"
    held: set[BlockId] = set()
    runs: list[tuple[range, SequenceView]] = []
    for view in state.sequences.values():
        table = view.table
        if not len(table):
            continue
        if isinstance(table, range):
            runs.append((table, view))
        else:
            blocks = set(table)
            if len(blocks) < len(table):
                return f"sequence {view.seq} lists a block twice"
            held |= blocks
        least, most = min(table), max(table)
        if least < 0 or most >= num_blocks + num_host:
            return f"sequence {view.seq} lists block {most} of {num_blocks + num_host}"
        if least < num_blocks <= most:
            return f"sequence {view.seq} lists blocks of the device and of the host"
        if most >= num_blocks and view.status == "running":
            return f"sequence {view.seq} is running and lists host blocks"
    runs.sort(key=lambda entry: entry[0].start)
    for (left, one), (right, other) in pairwise(runs):
        if right.start < left.stop:
            return f"sequences {one.seq} and {other.seq} both hold slot {right.start}"
    on_host = sum(block >= num_blocks for block in held) if num_host else 0
    if on_host != state.num_host_held:
        return f"{state.num_host_held} host blocks are counted as held and tables list {on_host}"
    listed = len(held) - on_host + sum(len(run) for run, _ in runs)
    if listed != state.num_held:
        return f"{state.num_held} blocks are counted as held and tables list {listed}"
    return None


def refcount(state: RunState) -> str | None:
    """Each block's count equals the number of live tables that list it; a free block has none."""
    tables = [view.table for view in state.sequences.values() if len(view.table)]
    counts = Counter(
        chain.from_iterable(table[:1] if isinstance(table, range) else table for table in tables)
    )
    if counts == state.ref_counts:
        return None
    for block in sorted(counts.keys() | state.ref_counts.keys()):
        told, true = state.ref_counts.get(block, 0), counts[block]
        if told != true:
            name = named(block, state.geometry)
            return f"{name} counts {told} and {true} tables list it"
    return None


def single_writer(state: RunState) -> str | None:
    """Nobody has written beyond what it holds, and of those who share a block that is not full, no one has
    written more of it than another: the copy comes before the write."""
    size = state.geometry.block_size
    writers: dict[BlockId, tuple[SequenceView, int]] = {}
    for view in state.sequences.values():
        table = view.table
        if not len(table):
            continue
        if view.written > len(table) * size:
            return f"sequence {view.seq} wrote {view.written} slots and holds {len(table) * size}"
        if isinstance(table, range):
            continue
        full = view.written // size
        not_told = view.status == "waiting"  # how much it found in the cache, its admission says
        for at in range(full, len(table)):
            if state.ref_counts.get(table[at], 0) < 2 or (not_told and table[at] in state.cached):
                continue
            filled = max(view.written - at * size, 0)
            other = writers.setdefault(table[at], (view, filled))
            if other[1] != filled:
                return (
                    f"sequences {other[0].seq} and {view.seq} share {named(table[at], state.geometry)}, which is "
                    f"not full, and wrote {other[1]} and {filled} slots of it"
                )
    return None


def budget(state: RunState) -> str | None:
    """The step planned last computes at least one token for each of its sequences."""
    step = state.planned
    if step is not None and any(count < 1 for count in step.counts):
        return f"step {step.step} computes nothing for one of its {len(step.seqs)} sequences"
    return None


def clock(state: RunState, before: RunState | None) -> str | None:
    """Time has not gone back, and the step number has risen by one at most."""
    if before is None:
        return None
    if state.time_ns < before.time_ns:
        return f"{state.time_ns} ns follows {before.time_ns} ns"
    if state.step not in (before.step, before.step + 1):
        return f"step {state.step} follows step {before.step}"
    return None
