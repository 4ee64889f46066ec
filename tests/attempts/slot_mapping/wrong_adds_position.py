# law: offset
# says: the whole position was added
"""The whole position is added, not what is left of it inside the block."""


def slot_of(table, position, block_size):
    if position < 0:
        raise IndexError
    return table[position // block_size] * block_size + position


def slots_of(table, start, stop, block_size):
    return [slot_of(table, position, block_size) for position in range(start, stop)]
