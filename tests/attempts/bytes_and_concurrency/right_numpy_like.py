"""Enums and fractions; whole numbers through divmod."""

from enum import IntEnum
from fractions import Fraction


class Unit(IntEnum):
    MB = 1_000_000
    GB = 1_000_000_000
    MiB = 1 << 20
    GiB = 1 << 30


class Width(IntEnum):
    fp8 = 1
    fp16 = 2
    fp32 = 4
    bf16 = 2


def num_bytes(amount, unit):
    try:
        return int(Unit[unit] * amount)
    except KeyError:
        raise ValueError("MB, GB, MiB or GiB") from None


def kv_bytes_per_token(num_layers, num_heads, num_kv_heads, head_size, dtype):
    key = value = num_kv_heads * head_size
    return num_layers * (key + value) * int(Width[dtype])


def blocks_in_pool(gpu_bytes, percent, weight_bytes, workspace_bytes, block_bytes):
    kept = Fraction(gpu_bytes) * Fraction(percent, 100) - weight_bytes - workspace_bytes
    return max(0, int(kept / block_bytes))


def requests_at_once(num_blocks, block_size, prompt_tokens, output_tokens):
    full, rest = divmod(prompt_tokens + output_tokens - 1, block_size)
    return num_blocks // (full + (rest > 0))
