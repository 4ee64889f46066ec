"""The head, then the rest of the queue in what is left."""


def may_grow(num_tokens, num_free, block_size, watermark):
    if num_tokens % block_size:
        return True
    return num_free >= 1


def admit(waiting, num_running, num_free, block_size, watermark, budget):
    if not waiting or budget <= 0:
        return []
    (tokens, found, found_free), *others = waiting
    cached = found * block_size
    count = tokens - cached if tokens - cached < budget else budget
    blocks = (cached + count + block_size - 1) // block_size
    wanted = blocks - (found - found_free) + (watermark if num_running else 0)
    if wanted > num_free:
        return []
    free = num_free - blocks + found - found_free
    rest = admit(others, num_running + 1, free, block_size, watermark, budget - count)
    return [count, *rest]
