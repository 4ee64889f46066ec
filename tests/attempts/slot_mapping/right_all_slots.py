"""All slots of the sequence are listed, and the wanted ones cut out."""


def _all(table, block_size):
    return [block * block_size + at for block in table for at in range(block_size)]


def slot_of(table, position, block_size):
    slots = _all(table, block_size)
    if position < 0 or position >= len(slots):
        raise IndexError(position)
    return slots[position]


def slots_of(table, start, stop, block_size):
    return _all(table, block_size)[start:stop]
