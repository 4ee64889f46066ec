# law: one-each
# says: from start 1 to stop 0 there is no position, so [] is to come
"""A range is taken the other way round where it is empty."""


def slot_of(table, position, block_size):
    if position < 0:
        raise IndexError(position)
    return table[position // block_size] * block_size + position % block_size


def slots_of(table, start, stop, block_size):
    return [slot_of(table, start + at, block_size) for at in range(abs(stop - start))]
