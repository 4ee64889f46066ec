"""A generator of admissions, with math.ceil, and a tuple as the answer."""

from math import ceil


def may_grow(num_tokens, num_free, block_size, watermark):
    return ceil((num_tokens + 1) / block_size) - ceil(num_tokens / block_size) <= num_free


def admissions(waiting, num_running, num_free, size, watermark, budget):
    for tokens, found, found_free in waiting:
        chunk = min(budget, tokens - found * size)
        # Found blocks are full, so new ones begin right after them.
        afterwards = num_free - found_free - ceil(chunk / size)
        if chunk < 1 or afterwards < (watermark if num_running > 0 else 0):
            return
        yield chunk
        num_running, num_free, budget = num_running + 1, afterwards, budget - chunk


def admit(waiting, num_running, num_free, block_size, watermark, budget):
    return tuple(admissions(waiting, num_running, num_free, block_size, watermark, budget))
