"""Slot mapping, solved: the block from the table, the place in it from the remainder."""

from collections.abc import Sequence


def slot_of(table: Sequence[int], position: int, block_size: int) -> int:
    """The slot of the token at ``position``, counted from 0."""
    if position < 0:
        raise IndexError(f"position {position} is before the first token")
    logical_block, offset = divmod(position, block_size)
    return table[logical_block] * block_size + offset


def slots_of(table: Sequence[int], start: int, stop: int, block_size: int) -> list[int]:
    """The slots of the tokens at positions ``start`` to ``stop - 1``, in that order."""
    return [slot_of(table, position, block_size) for position in range(start, stop)]
