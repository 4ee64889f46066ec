"""Ordered copies, cut into batches that may each run all at once. Pure; knows nothing about who copies."""

from collections.abc import Sequence

from pagesim.core.types import BlockId, Copy


def hazard_free_batches(copies: Sequence[Copy]) -> list[list[Copy]]:
    """Consecutive batches, in order, whose copies may run in any order with the same result.

    A copy opens a new batch if it reads what the batch writes, writes what it reads, or writes the same
    block as another. A copy onto itself is left out.
    """
    batches: list[list[Copy]] = []
    read: set[BlockId] = set()
    written: set[BlockId] = set()
    for copy in copies:
        if copy.source == copy.target:
            continue
        clash = copy.source in written or copy.target in written or copy.target in read
        if clash or not batches:
            batches.append([])
            read, written = set(), set()
        batches[-1].append(copy)
        read.add(copy.source)
        written.add(copy.target)
    return batches
