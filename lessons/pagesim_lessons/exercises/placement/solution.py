"""Placement, solved: a sorted list of holes for first fit, holes by their size for the buddy system."""

from collections import defaultdict


class FirstFit:
    """``_holes`` is in the order of the slots; ``_sizes`` has the slabs by their first slot."""

    def __init__(self, num_slots: int) -> None:
        self.num_slots = num_slots
        self._holes = [(0, num_slots)]
        self._sizes: dict[int, int] = {}

    def place(self, size: int) -> int | None:
        """The first slot of a new slab of ``size`` slots (1 or more); None, changing nothing, if no hole is so long."""
        for at, (start, length) in enumerate(self._holes):
            if length >= size:
                rest = [(start + size, length - size)] if length > size else []
                self._holes[at : at + 1] = rest
                self._sizes[start] = size
                return start
        return None

    def free(self, start: int) -> None:
        """End the slab that begins at slot ``start``. Raises KeyError, and changes nothing, if none begins there."""
        size = self._sizes.pop(start)
        joined: list[tuple[int, int]] = []
        for first, length in sorted([*self._holes, (start, size)]):
            if joined and sum(joined[-1]) == first:  # the one before ends where this one begins
                before, so_far = joined.pop()
                joined.append((before, so_far + length))
            else:
                joined.append((first, length))
        self._holes = joined

    def holes(self) -> list[tuple[int, int]]:
        """All holes, in any order, each as (first slot, number of slots)."""
        return self._holes


class Buddy:
    """``_starts`` has the holes by their size, ``_sizes`` the slabs by their first slot."""

    def __init__(self, num_slots: int) -> None:
        self.num_slots = num_slots
        self._starts: defaultdict[int, set[int]] = defaultdict(set)
        self._starts[num_slots].add(0)
        self._sizes: dict[int, int] = {}

    def place(self, size: int) -> int | None:
        """The first slot of a new slab of ``size`` slots, rounded up; None, changing nothing, if no hole is so long."""
        wanted = 1
        while wanted < size:
            wanted *= 2
        length = min((n for n, starts in self._starts.items() if starts and n >= wanted), default=0)
        if not length:
            return None
        start = min(self._starts[length])
        self._starts[length].remove(start)
        while length > wanted:
            length //= 2
            self._starts[length].add(start + length)  # the upper half stays a hole
        self._sizes[start] = wanted
        return start

    def free(self, start: int) -> None:
        """End the slab that begins at slot ``start``. Raises KeyError, and changes nothing, if none begins there."""
        size = self._sizes.pop(start)
        # A piece begins at a multiple of its size, an even one if it is a lower half, an odd one if an upper: the
        # buddies' first slots differ in this one bit.
        while (buddy := start ^ size) in self._starts[size]:
            self._starts[size].remove(buddy)
            start = min(start, buddy)
            size *= 2
        self._starts[size].add(start)

    def holes(self) -> list[tuple[int, int]]:
        """All holes, in any order, each as (first slot, number of slots)."""
        return [(start, size) for size, starts in self._starts.items() for start in starts]
