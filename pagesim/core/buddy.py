"""Where to put a run of slots, by the buddy system: runs of a power of two, aligned to it.

Knows nothing about sequences, tokens or how much to reserve. An arena of any size is split into
*roots*, one per binary digit 1 of its size, largest first::

    15,728 slots = 8192 + 4096 + 2048 + 1024 + 256 + 64 + 32 + 16

A block is split in halves, *buddies*, until it is as small as the request allows; two free buddies
join at once. Knowlton, A fast storage allocator, CACM 8(10), 1965.
"""

from bisect import bisect_left, insort

from pagesim.core.placers import checked_arena, take_back


def next_power_of_two(number: int) -> int:
    """The smallest power of two that is at least ``number`` (``number`` >= 1)."""
    return 1 << (number - 1).bit_length()


class Buddy:
    """The smallest free block that is large enough, among equals the lowest; the rest is split off.

    ``_free[k]`` holds the first slots of the free blocks of 2**k slots, sorted. A root starts at a
    sum of larger powers of two, so every block is aligned to its size, and ``start ^ size`` is its
    buddy. A root's own "buddy" would begin where only smaller roots follow: it is never found, so
    no block outgrows its root.
    """

    def __init__(self, num_slots: int) -> None:
        self._num_slots = checked_arena(num_slots)
        self._num_free = num_slots
        self._granted: dict[int, range] = {}
        self._free: list[list[int]] = [[] for _ in range(num_slots.bit_length())]
        for root in self.roots():
            self._free[_order(len(root))].append(root.start)

    def roots(self) -> list[range]:
        """The blocks that an empty arena consists of, in address order: largest first."""
        roots: list[range] = []
        start = 0
        for order in reversed(range(self._num_slots.bit_length())):
            size = 1 << order
            if self._num_slots & size:
                roots.append(range(start, start + size))
                start += size
        return roots

    @property
    def num_slots(self) -> int:
        return self._num_slots

    @property
    def num_free(self) -> int:
        return self._num_free

    @property
    def largest_hole(self) -> int:
        for order in reversed(range(len(self._free))):
            if self._free[order]:
                return 1 << order
        return 0

    @property
    def largest_ever(self) -> int:
        return 1 << (self._num_slots.bit_length() - 1)

    def footprint(self, num_slots: int) -> int:
        return next_power_of_two(num_slots)

    def fits_now(self, num_slots: int) -> bool:
        return num_slots <= self.largest_hole

    def could_ever_fit(self, num_slots: int) -> bool:
        return num_slots <= self.largest_ever

    def holes(self) -> list[range]:
        """All free blocks in address order; two that touch, but are not buddies, stay two."""
        blocks = [
            range(start, start + (1 << order))
            for order, starts in enumerate(self._free)
            for start in starts
        ]
        return sorted(blocks, key=lambda block: block.start)

    def place(self, num_slots: int) -> range | None:
        assert num_slots >= 1, f"a run has at least 1 slot, not {num_slots}"
        wanted = _order(next_power_of_two(num_slots))
        order = wanted
        while order < len(self._free) and not self._free[order]:
            order += 1
        if order >= len(self._free):
            return None
        start = self._free[order].pop(0)
        while order > wanted:
            order -= 1
            self._free[order].append(
                start + (1 << order)
            )  # its only one, or a smaller was overlooked
        run = range(start, start + (1 << wanted))
        self._granted[start] = run
        self._num_free -= len(run)
        return run

    def release(self, run: range) -> None:
        run = take_back(self._granted, run)
        self._num_free += len(run)
        start, order = run.start, _order(len(run))
        while self._remove_free(start ^ (1 << order), order):
            start &= ~(1 << order)
            order += 1
        insort(self._free[order], start)

    def _remove_free(self, start: int, order: int) -> bool:
        """Take one block off the free lists; ``False``: it is not free whole, nothing changed."""
        starts = self._free[order]
        index = bisect_left(starts, start)
        if index == len(starts) or starts[index] != start:
            return False
        del starts[index]
        return True


def _order(size: int) -> int:
    """k of a block of 2**k slots."""
    return size.bit_length() - 1
