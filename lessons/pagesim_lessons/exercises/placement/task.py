"""Placement: where does a slab go? First fit, and the buddy system.

Before there was paging, each request got a slab: slots in one piece (Lesson 2). A hole is a piece that nobody holds,
written (first slot, number of slots). First fit takes the lowest hole that is long enough, from its low end. A slab
that is freed becomes a hole; holes that touch are one. With 12 slots:

    FirstFit(12)          . . . . . . . . . . . .       holes (0, 12)
    place(3) == 0         a a a . . . . . . . . .             (3, 9)
    place(4) == 3         a a a b b b b . . . . .             (7, 5)
    place(2) == 7         a a a b b b b c c . . .             (9, 3)
    free(3)               a a a . . . . c c . . .             (3, 4) (9, 3)
    place(5) is None      7 slots are free, and no hole has 5: external fragmentation
    free(7)               a a a . . . . . . . . .             (3, 9)

A buddy system only has pieces whose size is a power of two. A hole can be split in halves, and the halves are each
other's buddies. What is asked for is rounded up to a power of two, and comes from the smallest hole that is large
enough, the lowest of them if several are. If that hole is too large, it is split, and its lower half is split again,
until it fits; the upper halves stay as holes. A slab that is freed becomes a hole. If its buddy is a hole of the same
size, both become the hole that they once were; then the same is asked of that one.

    Buddy(16)             . . . . . . . . . . . . . . . .     holes (0, 16)
    place(3) == 0         a a a a . . . . . . . . . . . .           (4, 4) (8, 8)
    place(4) == 4         a a a a b b b b . . . . . . . .           (8, 8)
    place(2) == 8         a a a a b b b b c c . . . . . .           (10, 2) (12, 4)
    free(4)               a a a a . . . . c c . . . . . .           (4, 4) (10, 2) (12, 4)
    free(8)               a a a a . . . . . . . . . . . .           (4, 4) (8, 8)

In the last line 2 + 2 have become 4, and 4 + 4 have become 8. (4, 4) and (8, 8) touch, and stay two: the buddy of
(4, 4) is (0, 4), with which it was (0, 8) once.
"""


class FirstFit:
    """The slots 0 to ``num_slots - 1``. How you keep them is your own affair: only the methods are looked at."""

    def __init__(self, num_slots: int) -> None:
        self.num_slots = num_slots

    def place(self, size: int) -> int | None:
        """The first slot of a new slab of ``size`` slots (1 or more); None, changing nothing, if no hole is so long."""
        raise NotImplementedError

    def free(self, start: int) -> None:
        """End the slab that begins at slot ``start``. Raises KeyError, and changes nothing, if none begins there."""
        raise NotImplementedError

    def holes(self) -> list[tuple[int, int]]:
        """All holes, in any order, each as (first slot, number of slots)."""
        raise NotImplementedError


class Buddy:
    """The same, as a buddy system; ``num_slots`` is a power of two."""

    def __init__(self, num_slots: int) -> None:
        self.num_slots = num_slots

    def place(self, size: int) -> int | None:
        """The first slot of a new slab of ``size`` slots, rounded up; None, changing nothing, if no hole is so long."""
        raise NotImplementedError

    def free(self, start: int) -> None:
        """End the slab that begins at slot ``start``. Raises KeyError, and changes nothing, if none begins there."""
        raise NotImplementedError

    def holes(self) -> list[tuple[int, int]]:
        """All holes, in any order, each as (first slot, number of slots)."""
        raise NotImplementedError
