"""All slots of the sequence are listed, and the wanted ones cut out."""


def _all(table, block_size):
    return [block * block_size + at for block in table for at in range(block_size)]


def slot_of(table, position, block_size):
    slots = _all(table, block_size)
    if position < 0 or position >= len(slots):
        raise IndexError(position)
    return slots[position]


def slots_of(table, start, stop, block_size):
    slots = _all(table, block_size)
    if start < stop and not (start >= 0 and stop <= len(slots)):
        raise IndexError(f"{len(slots)} slots")
    return slots[start:stop] if start < stop else []
