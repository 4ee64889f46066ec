"""Slots a block at a time, given as a tuple."""


def slot_of(table, position, block_size):
    logical, offset = position // block_size, position - position // block_size * block_size
    if logical not in range(len(table)):
        raise IndexError(f"{position=} has no block")
    return offset + block_size * table[logical]


def slots_of(table, start, stop, block_size):
    return tuple(slot_of(table, at, block_size) for at in range(start, stop))
