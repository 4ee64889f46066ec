# law: all-have-blocks
# says: position 1 is beyond the table's 1 block, so IndexError is to be raised, and slots_of gave [2]
"""Tokens beyond the table are silently left out."""


def slot_of(table, position, block_size):
    if position < 0:
        raise IndexError(position)
    return table[position // block_size] * block_size + position % block_size


def slots_of(table, start, stop, block_size):
    stop = min(stop, len(table) * block_size)
    return [slot_of(table, position, block_size) for position in range(start, stop)]
