# law: order
# says: the right slots in another order
"""Slots are put in the order of memory."""


def slot_of(table, position, block_size):
    if position < 0:
        raise IndexError
    return table[position // block_size] * block_size + position % block_size


def slots_of(table, start, stop, block_size):
    return sorted(slot_of(table, position, block_size) for position in range(start, stop))
