"""Adding up: layer by layer, block by block."""

BYTES_OF = {"fp32": 4, "fp16": 2, "bf16": 2, "fp8": 1}


def num_bytes(amount, unit):
    if unit not in ("MB", "GB", "MiB", "GiB"):
        raise ValueError(unit)
    base = 1024 if unit[1] == "i" else 1000
    for _ in range("KMG".index(unit[0]) + 1):
        amount *= base
    return amount


def kv_bytes_per_token(num_layers, num_heads, num_kv_heads, head_size, dtype):
    total = 0
    for _ in range(num_layers):
        for _ in ("K", "V"):
            total += num_kv_heads * head_size * BYTES_OF[dtype]
    return total


def blocks_in_pool(gpu_bytes, percent, weight_bytes, workspace_bytes, block_bytes):
    budget, _ = divmod(gpu_bytes * percent, 100)
    taken = weight_bytes + workspace_bytes
    if taken >= budget:
        return 0
    return (budget - taken) // block_bytes


def requests_at_once(num_blocks, block_size, prompt_tokens, output_tokens):
    blocks, slots = 0, 0
    while slots < prompt_tokens + output_tokens - 1:
        blocks, slots = blocks + 1, slots + block_size
    requests = 0
    while num_blocks >= blocks:
        num_blocks -= blocks
        requests += 1
    return requests
