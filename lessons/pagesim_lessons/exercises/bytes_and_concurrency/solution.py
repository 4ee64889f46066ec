"""Bytes and concurrency, solved: whole numbers throughout, so that nothing is rounded but where it is meant."""

BYTES_OF = {"fp32": 4, "fp16": 2, "bf16": 2, "fp8": 1}
"""Bytes of one number."""
UNITS = {"MB": 10**6, "GB": 10**9, "MiB": 2**20, "GiB": 2**30}


def num_bytes(amount: int, unit: str) -> int:
    """So many units in bytes. "GB" and "MB" are powers of ten, "GiB" and "MiB" are powers of two (of 1024).

    Raises ValueError for any other unit: "G" could be either.
    """
    if unit not in UNITS:
        raise ValueError(f"{unit!r} is none of {', '.join(UNITS)}")
    return amount * UNITS[unit]


def kv_bytes_per_token(
    num_layers: int, num_heads: int, num_kv_heads: int, head_size: int, dtype: str
) -> int:
    """Bytes of one token's K and V in all layers.

    ``num_heads`` are the query heads; in each layer, groups of them share one of ``num_kv_heads`` heads of K and V.
    ``head_size`` is how many numbers one head has for a token, and ``dtype`` a key of ``BYTES_OF``.
    """
    del num_heads  # queries are not kept: no later step needs them
    one_row = head_size * BYTES_OF[dtype]
    return 2 * num_layers * num_kv_heads * one_row  # 2: K and V


def blocks_in_pool(
    gpu_bytes: int, percent: int, weight_bytes: int, workspace_bytes: int, block_bytes: int
) -> int:
    """Whole blocks of ``block_bytes`` for K and V. 0 if the weights and the workspace leave nothing.

    The engine may use so many percent of the GPU's memory in all, and weights and workspace are part of that.
    """
    left = gpu_bytes * percent // 100 - weight_bytes - workspace_bytes
    return max(left, 0) // block_bytes


def requests_at_once(
    num_blocks: int, block_size: int, prompt_tokens: int, output_tokens: int
) -> int:
    """How many requests of this kind fit at once, each with all the blocks that it has at its end.

    There is at least one output token, and the last of them is never written.
    """
    written = prompt_tokens + output_tokens - 1
    blocks_each = -(-written // block_size)  # the last one may be partly filled, and is held whole
    return num_blocks // blocks_each
