# law: no-block
# says: so IndexError is to be raised, and slot_of raised ValueError: no block (line 8)
"""It refuses what has no block, with another error than the task says."""


def slot_of(table, position, block_size):
    if not 0 <= position < len(table) * block_size:
        raise ValueError("no block")
    return table[position // block_size] * block_size + position % block_size


def slots_of(table, start, stop, block_size):
    return [slot_of(table, position, block_size) for position in range(start, stop)]
