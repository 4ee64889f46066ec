"""Admission with a watermark, solved: what would be free afterwards decides."""

from collections.abc import Sequence


def may_grow(num_tokens: int, num_free: int, block_size: int, watermark: int) -> bool:
    """May a running sequence, whose blocks hold ``num_tokens`` tokens (at least 1), write one more token?"""
    # The watermark is not asked: its blocks are kept for exactly this.
    return num_tokens % block_size != 0 or num_free > 0


def admit(
    waiting: Sequence[tuple[int, int, int]],
    num_running: int,
    num_free: int,
    block_size: int,
    watermark: int,
    budget: int,
) -> list[int]:
    """Admit waiting requests, the first that cannot start ends it; how many tokens each of them computes."""
    admitted: list[int] = []
    for tokens, found, found_free in waiting:
        count = min(tokens - found * block_size, budget)
        stop = found * block_size + count
        new = -(-stop // block_size) - found
        needed = new + found_free
        kept = watermark if num_running else 0
        if count == 0 or num_free - needed < kept:
            break
        admitted.append(count)
        num_running += 1
        num_free -= needed
        budget -= count
    return admitted
