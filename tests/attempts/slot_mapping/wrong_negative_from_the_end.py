# law: no-block
# says: is before the first token
"""A negative position takes a block from the table's end, as Python's lists do."""


def slot_of(table, position, block_size):
    return table[position // block_size] * block_size + position % block_size


def slots_of(table, start, stop, block_size):
    return [slot_of(table, position, block_size) for position in range(start, stop)]
