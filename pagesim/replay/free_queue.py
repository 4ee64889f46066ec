"""The order in which free blocks are handed out, and so the order in which cached content is evicted.

Knows nothing about managers: it is a fold over events, told how the pool was made. Blocks are taken from the
front. Freed ones go to the back, those that come last first; or, as engines do today, those without cached
content go to the front.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence

from pagesim.core import events as ev
from pagesim.core.types import BlockId, Geometry


def queue_of_header(header: Mapping[str, object], geometry: Geometry) -> "FreeQueue | None":
    """The queue as a log's header says that it was made; ``None`` if it does not, or the memory is not paged."""
    settings, order = header.get("memory_settings"), header.get("free_order")
    if header.get("allocator") != "paged" or not isinstance(settings, dict):
        return None
    first = settings.get("keep_unkeyed_first")
    if not isinstance(first, bool) or not isinstance(order, list | None):
        return None
    if order is not None and not _is_order(order, geometry.num_blocks):
        return None
    return FreeQueue(geometry, keep_unkeyed_first=first, free_order=order)


def _is_order(order: Sequence[object], num_blocks: int) -> bool:
    """Does it name each block once?"""
    if len(order) != num_blocks or any(type(block) is not int for block in order):
        return False
    return set(order) == set(range(num_blocks))


class FreeQueue:
    """Feed it every event of a run of paged memory from the start. O(1) a block.

    ``blocks`` are the free blocks, the next to be taken first; ``cached`` those, held or free, that a lookup can
    find.
    """

    def __init__(
        self,
        geometry: Geometry,
        *,
        keep_unkeyed_first: bool,
        free_order: Sequence[BlockId] | None = None,
    ) -> None:
        self.keep_unkeyed_first = keep_unkeyed_first
        order = range(geometry.num_blocks) if free_order is None else free_order
        self._queue: OrderedDict[BlockId, None] = OrderedDict.fromkeys(order)
        self._counts: dict[BlockId, int] = {}
        self._tables: dict[int, list[BlockId]] = {}
        self.cached: dict[BlockId, None] = {}
        self._handlers: dict[type[ev.Event], Callable[..., None]] = {
            ev.BlocksTaken: self._appended,
            ev.BlocksShared: self._appended,
            ev.BlockReplaced: self._replaced,
            ev.TableSwappedOut: self._swapped_out,
            ev.TableSwappedIn: self._appended,
            ev.TableFreed: self._freed,
            ev.BlocksPublished: self._published,
            ev.BlocksWithdrawn: self._withdrawn,
            ev.BlockEvicted: self._evicted,
            ev.CacheReset: self._cache_reset,
        }

    def apply(self, event: ev.Event) -> None:
        handler = self._handlers.get(type(event))
        if handler is not None:
            handler(event)

    @property
    def blocks(self) -> list[BlockId]:
        return list(self._queue)

    def eviction_order(self) -> list[BlockId]:
        """The free blocks that hold cached content, the next to be evicted first."""
        return [block for block in self._queue if block in self.cached]

    # -- one small function an event kind ----------------------------------------------------------------

    def _appended(self, event: ev.BlocksTaken | ev.BlocksShared | ev.TableSwappedIn) -> None:
        table = self._tables.setdefault(event.seq, [])
        for block in event.blocks:
            count = self._counts.get(block, 0)
            self._counts[block] = count + 1
            if not count:
                del self._queue[block]
            table.append(block)

    def _replaced(self, event: ev.BlockReplaced) -> None:
        table = self._tables[event.seq]
        table[table.index(event.old)] = event.new
        self._counts[event.new] = 1
        del self._queue[event.new]
        self._give_back([event.old])

    def _swapped_out(self, event: ev.TableSwappedOut) -> None:
        self._give_back(reversed(self._tables.pop(event.seq)))

    def _freed(self, event: ev.TableFreed) -> None:
        self._give_back(reversed(self._tables.pop(event.seq, [])))

    def _give_back(self, blocks: Iterable[BlockId]) -> None:
        unheld = []
        for block in blocks:
            self._counts[block] -= 1
            if not self._counts[block]:
                del self._counts[block]
                unheld.append(block)
        front = []
        for block in unheld:
            self._queue[block] = None  # at the back
            if self.keep_unkeyed_first and block not in self.cached:
                front.append(block)
        for block in reversed(front):
            self._queue.move_to_end(block, last=False)

    def _published(self, event: ev.BlocksPublished) -> None:
        for block in event.blocks:
            self.cached[block] = None

    def _withdrawn(self, event: ev.BlocksWithdrawn) -> None:
        for block in event.blocks:
            del self.cached[block]

    def _evicted(self, event: ev.BlockEvicted) -> None:
        del self.cached[event.block]

    def _cache_reset(self, _: ev.CacheReset) -> None:
        self.cached.clear()
