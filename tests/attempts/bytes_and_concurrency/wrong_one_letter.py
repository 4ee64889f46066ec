# law: other-units
# says: is no unit of these
"""Only the first letter and the i are looked at."""

BYTES_OF = {"fp32": 4, "fp16": 2, "bf16": 2, "fp8": 1}
UNITS = {"MB": 10**6, "GB": 10**9, "MiB": 2**20, "GiB": 2**30}


def num_bytes(amount, unit):
    power = {"M": 2, "G": 3}[unit[0]]
    return amount * (1024 if "i" in unit else 1000) ** power


def kv_bytes_per_token(num_layers, num_heads, num_kv_heads, head_size, dtype):
    return 2 * num_layers * num_kv_heads * head_size * BYTES_OF[dtype]


def blocks_in_pool(gpu_bytes, percent, weight_bytes, workspace_bytes, block_bytes):
    left = gpu_bytes * percent // 100 - weight_bytes - workspace_bytes
    return max(left, 0) // block_bytes


def requests_at_once(num_blocks, block_size, prompt_tokens, output_tokens):
    written = prompt_tokens + output_tokens - 1
    blocks_each = (written + block_size - 1) // block_size
    return num_blocks // blocks_each
