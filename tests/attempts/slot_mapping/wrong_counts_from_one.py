# law: boundary
# says: it is the last slot of logical block 0
"""Off by one: positions are counted from 1 when the block is looked up."""


def slot_of(table, position, block_size):
    if not 0 <= position < len(table) * block_size:
        raise IndexError
    logical = min((position + 1) // block_size, len(table) - 1)
    return table[logical] * block_size + position % block_size


def slots_of(table, start, stop, block_size):
    return [slot_of(table, position, block_size) for position in range(start, stop)]
