# law: slot
# says: and slot_of gave
"""Blocks have 4 slots in the example, and so here."""


def slot_of(table, position, block_size):
    if not 0 <= position < len(table) * block_size:
        raise IndexError
    return table[min(position // 4, len(table) - 1)] * 4 + position % 4


def slots_of(table, start, stop, block_size):
    return [slot_of(table, position, block_size) for position in range(start, stop)]
