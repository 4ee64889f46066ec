# law: returns
# says: what slots_of gave is of type generator, and the task wants a list of whole numbers
"""slots_of yields its slots, so that it compares with no list."""


def slot_of(table, position, block_size):
    if position < 0:
        raise IndexError(position)
    return table[position // block_size] * block_size + position % block_size


def slots_of(table, start, stop, block_size):
    for position in range(start, stop):
        yield slot_of(table, position, block_size)
