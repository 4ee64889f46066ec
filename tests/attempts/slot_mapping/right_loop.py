"""Subtraction instead of division."""


def slot_of(table, position, block_size):
    if position < 0:
        raise IndexError("no token is before the first")
    for block in table:
        if position < block_size:
            return block * block_size + position
        position -= block_size
    raise IndexError("the table ends before")


def slots_of(table, start, stop, block_size):
    found = []
    while start < stop:
        found.append(slot_of(table, start, block_size))
        start += 1
    return found
