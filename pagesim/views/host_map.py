"""The host pool as a memory of its own, so that it is drawn as the device is.

Its blocks are called h0, h1, ..., and cells, letters and glyphs are the device's. Draws nothing.
"""

from collections.abc import Collection
from itertools import chain

from pagesim.core.types import BlockId, Geometry
from pagesim.replay.memory_map import MemoryMap
from pagesim.views.figures import counted


def host_geometry(geometry: Geometry) -> Geometry | None:
    """``None``: there is no host pool."""
    if not geometry.num_host_blocks:
        return None
    return Geometry(geometry.num_host_blocks, geometry.block_size)


def host_map(shown: MemoryMap) -> MemoryMap | None:
    """Who holds which of the host's blocks, counted from 0; ``None``: there is no host pool."""
    geometry, first = host_geometry(shown.geometry), shown.geometry.num_blocks
    if geometry is None:
        return None
    holders = tuple(
        [
            holder._replace(table=tuple([block - first for block in holder.table]))
            for holder in shown.swapped
        ]
    )
    return shown._replace(geometry=geometry, holders=holders, cached=frozenset(), swapped=())


def empty_pools(geometry: Geometry) -> list[MemoryMap]:
    """The device's map and, where there is one, the host's, with nobody in them."""
    pools = [geometry._replace(num_host_blocks=0), host_geometry(geometry)]
    return [MemoryMap(0, -1, pool, (), frozenset(), 0) for pool in pools if pool is not None]


def on_device(blocks: Collection[BlockId], geometry: Geometry) -> Collection[BlockId]:
    """Those of the blocks that are the device's."""
    if isinstance(blocks, range) or not geometry.num_host_blocks:
        return blocks
    return [block for block in blocks if block < geometry.num_blocks]


def on_host(blocks: Collection[BlockId], geometry: Geometry) -> Collection[BlockId]:
    """Those of the blocks that are the host's, counted from 0."""
    if isinstance(blocks, range) or not geometry.num_host_blocks:
        return ()
    first = geometry.num_blocks
    return [block - first for block in blocks if block >= first]


def label_width(geometry: Geometry) -> int:
    """Columns for what stands before a row: its first slot, or of the host, the name of its first block."""
    device = len(f"{geometry.num_slots:,}")
    host = len(f"h{geometry.num_host_blocks:,}") if geometry.num_host_blocks else 0
    return max(device, host) + 1


def host_words(shown: MemoryMap, width: int) -> str:
    """ "host pool: 4 of 6 blocks held", and as far as there is room, by how many, and the blocks' names."""
    geometry = shown.geometry
    held = len(set(chain.from_iterable(holder.table for holder in shown.swapped)))
    number, last = geometry.num_host_blocks, geometry.num_host_blocks - 1
    text = f"host pool: {held:,} of {counted(number, 'block')} held"
    by = f" by {counted(len(shown.swapped), 'sequence')}" if shown.swapped else ""
    names = ", h0" if not last else f", h0 to h{last}"
    in_log = f" (in the log {geometry.num_blocks} to {geometry.num_blocks_in_all - 1})"
    for more in (by, names, in_log):
        if len(text) + len(more) <= width:
            text += more
    return text
