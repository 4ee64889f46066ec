"""Bytes and concurrency: how many requests fit into a GPU at once?

Four small questions, each with a trap or two. A model with 32 layers, 32 query heads, 8 KV heads of size 128, and K and
V in bf16, on a GPU with 80 GB, of which an engine may use 90 %; the weights are 16 GB, and 1 GiB is for workspace:

    80 GB x 90 %                                     72,000,000,000 bytes
    less the weights                               - 16,000,000,000
    less the workspace                             -  1,073,741,824
                                                     --------------
    left for K and V                                 54,926,258,176
    one token: K and V in all layers                        131,072
    one block of 16 tokens                                2,097,152
    whole blocks                                             26,190

    num_bytes(80, "GB") == 80_000_000_000              num_bytes(1, "GiB") == 1_073_741_824
    kv_bytes_per_token(32, 32, 8, 128, "bf16") == 131_072
    blocks_in_pool(80_000_000_000, 90, 16_000_000_000, 1_073_741_824, 2_097_152) == 26_190
    requests_at_once(26_190, 16, 1_000, 25) == 409

Each of these requests writes 1,024 tokens: its prompt and its output, but for the last output token, which is handed
out and read by no later step. That is 64 blocks, and 26,190 blocks have room for 409 of them.
"""

BYTES_OF = {"fp32": 4, "fp16": 2, "bf16": 2, "fp8": 1}
"""Bytes of one number."""


def num_bytes(amount: int, unit: str) -> int:
    """So many units in bytes. "GB" and "MB" are powers of ten, "GiB" and "MiB" are powers of two (of 1024).

    Raises ValueError for any other unit: "G" could be either.
    """
    raise NotImplementedError


def kv_bytes_per_token(
    num_layers: int, num_heads: int, num_kv_heads: int, head_size: int, dtype: str
) -> int:
    """Bytes of one token's K and V in all layers.

    ``num_heads`` are the query heads; in each layer, groups of them share one of ``num_kv_heads`` heads of K and V.
    ``head_size`` is how many numbers one head has for a token, and ``dtype`` a key of ``BYTES_OF``.
    """
    raise NotImplementedError


def blocks_in_pool(
    gpu_bytes: int, percent: int, weight_bytes: int, workspace_bytes: int, block_bytes: int
) -> int:
    """Whole blocks of ``block_bytes`` for K and V. 0 if the weights and the workspace leave nothing.

    The engine may use so many percent of the GPU's memory in all, and weights and workspace are part of that.
    """
    raise NotImplementedError


def requests_at_once(
    num_blocks: int, block_size: int, prompt_tokens: int, output_tokens: int
) -> int:
    """How many requests of this kind fit at once, each with all the blocks that it has at its end.

    There is at least one output token, and the last of them is never written.
    """
    raise NotImplementedError
