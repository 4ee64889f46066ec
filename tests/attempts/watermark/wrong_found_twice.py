# law: hits
# says: counted twice
"""Found free blocks are counted, and once more as new ones."""


def may_grow(num_tokens, num_free, block_size, watermark):
    return num_tokens % block_size != 0 or num_free > 0


def admit(waiting, num_running, num_free, block_size, watermark, budget):
    admitted = []
    for tokens, found, found_free in waiting:
        count = min(tokens - found * block_size, budget)
        stop = found * block_size + count
        needed = -(-stop // block_size) + found_free
        kept = watermark if num_running else 0
        if count == 0 or num_free - needed < kept:
            break
        admitted.append(count)
        num_running += 1
        num_free -= needed
        budget -= count
    return admitted
