"""Slot mapping: where in the KV cache are a token's K and V?

A block table says which physical block holds each logical block of a sequence. Blocks have ``block_size`` slots,
and one slot holds the K and V of one token. Slots are numbered through the whole memory: block 0 has the first
``block_size`` of them, block 1 the next ones, and so on.

Here ``block_size`` is 4 and the table is [7, 1, 3]. Position 5 is the second token of logical block 1:

    position       0  1  2  3 | 4  5  6  7 | 8  9 10 11
    logical block      0      |     1      |     2
                       |            |            |
    block table        7            1            3
                       |            |            |
    slot          28 29 30 31 | 4  5  6  7 |12 13 14 15

    slot_of([7, 1, 3], 5, 4) == 5                  slots_of([7, 1, 3], 3, 6, 4) == [31, 4, 5]

Write both functions. Nothing but whole numbers is needed.
"""

from collections.abc import Sequence


def slot_of(table: Sequence[int], position: int, block_size: int) -> int:
    """The slot of the token at ``position``, counted from 0.

    Raises IndexError if the table has no block for that position (a negative position has none).
    """
    raise NotImplementedError


def slots_of(table: Sequence[int], start: int, stop: int, block_size: int) -> list[int]:
    """The slots of the tokens at positions ``start`` to ``stop - 1``, in that order; none if ``stop <= start``.

    Raises IndexError, as slot_of does, if the table has no block for one of these positions.
    This is what a step needs to write the K and V of the tokens it computes.
    """
    raise NotImplementedError
