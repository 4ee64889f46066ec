# law: whole-blocks
# says: the block's number: a block has several slots
"""The block is found, and its place inside forgotten."""


def slot_of(table, position, block_size):
    if position < 0:
        raise IndexError
    return table[position // block_size]


def slots_of(table, start, stop, block_size):
    return [slot_of(table, position, block_size) for position in range(start, stop)]
