# law: table-decides
# says: the table was not asked
"""The position itself is taken for the slot."""


def slot_of(table, position, block_size):
    if not 0 <= position < len(table) * block_size:
        raise IndexError
    return position


def slots_of(table, start, stop, block_size):
    return [slot_of(table, position, block_size) for position in range(start, stop)]
