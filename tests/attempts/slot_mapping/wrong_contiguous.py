# law: order
# says: the slots are [0, 2], and slots_of gave [0, 1]
"""From the slot of the first token on, as if blocks lay side by side."""


def slot_of(table, position, block_size):
    if position < 0:
        raise IndexError(position)
    return table[position // block_size] * block_size + position % block_size


def slots_of(table, start, stop, block_size):
    if stop <= start:
        return []
    slot_of(table, stop - 1, block_size)
    first = slot_of(table, start, block_size)
    return list(range(first, first + stop - start))
