"""Floats, rounded at the end of each step."""

import math

SIZES = {"fp32": 4.0, "fp16": 2.0, "bf16": 2.0, "fp8": 1.0}


def num_bytes(amount, unit):
    match unit:
        case "GB":
            return int(amount * 1e9)
        case "MB":
            return int(amount * 1e6)
        case "GiB":
            return amount * 1024**3
        case "MiB":
            return amount * 1024**2
    raise ValueError(f"what is {unit}?")


def kv_bytes_per_token(num_layers, num_heads, num_kv_heads, head_size, dtype):
    group = num_heads / num_kv_heads
    return round(2 * num_layers * (num_heads / group) * head_size * SIZES[dtype])


def blocks_in_pool(gpu_bytes, percent, weight_bytes, workspace_bytes, block_bytes):
    budget = gpu_bytes * (percent / 100)
    left = budget - (weight_bytes + workspace_bytes)
    return math.floor(left / block_bytes) if left > 0 else 0


def requests_at_once(num_blocks, block_size, prompt_tokens, output_tokens):
    return math.floor(num_blocks / math.ceil((prompt_tokens + output_tokens - 1) / block_size))
