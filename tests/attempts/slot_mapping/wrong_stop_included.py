# law: one-each
# says: for position 0 1 slot is to come, and slots_of gave 2: [0, 2], not [0]
"""One slot too many: the position stop is counted in."""


def slot_of(table, position, block_size):
    if position < 0:
        raise IndexError
    return table[position // block_size] * block_size + position % block_size


def slots_of(table, start, stop, block_size):
    last = min(stop, len(table) * block_size - 1)
    return [slot_of(table, position, block_size) for position in range(start, last + 1)]
