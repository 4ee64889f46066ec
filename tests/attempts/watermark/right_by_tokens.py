"""Blocks are made for one token after another, until something runs out."""


def may_grow(num_tokens, num_free, block_size, watermark):
    table = range(0, num_tokens, block_size)
    room = len(table) * block_size - num_tokens
    return bool(room or num_free)


def admit(waiting, num_running, num_free, block_size, watermark, budget):
    admitted = []
    for tokens, found, found_free in waiting:
        left = num_free - found_free
        count = 0
        for position in range(found * block_size, tokens):
            if budget == count:
                break
            if position % block_size == 0:
                left -= 1
            count += 1
        if not count or left < 0 or (num_running + len(admitted) and left < watermark):
            return admitted
        num_free, budget = left, budget - count
        admitted.append(count)
    return admitted
