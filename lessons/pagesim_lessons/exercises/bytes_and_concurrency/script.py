"""What is asked: one case of each function, what is right for it, and how a wrong answer is told."""

from typing import NamedTuple

from pagesim.practice.exercise import Fault
from pagesim.replay.phrases import be, counted

GB, GIB = 10**9, 2**30
UNITS = {"GB": GB, "GiB": GIB, "MB": 10**6, "MiB": 2**20}
BYTES_OF = {"fp32": 4, "fp16": 2, "bf16": 2, "fp8": 1}


def rounded_up(number: int, by: int) -> int:
    return -(-number // by)


class Amount(NamedTuple):
    amount: int
    unit: str

    @property
    def right(self) -> int:
        return self.amount * UNITS[self.unit]

    def told(self, found: int, why: str) -> Fault:
        return Fault(
            f"{self.amount} {self.unit} are {self.right:,} bytes, and num_bytes gave {found:,}{why}"
        )


class Token(NamedTuple):
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_size: int
    dtype: str

    @property
    def right(self) -> int:
        return 2 * self.num_layers * self.num_kv_heads * self.head_size * BYTES_OF[self.dtype]

    def told(self, found: int, why: str) -> Fault:
        return Fault(
            f"with {counted(self.num_layers, 'layer')}, {counted(self.num_kv_heads, 'KV head')} of size "
            f"{self.head_size} and {self.dtype} a token takes {self.right:,} bytes, and kv_bytes_per_token gave "
            f"{found:,}{why}"
        )


class Pool(NamedTuple):
    gpu_bytes: int
    percent: int
    weight_bytes: int
    workspace_bytes: int
    block_bytes: int

    @property
    def left(self) -> int:
        return self.gpu_bytes * self.percent // 100 - self.weight_bytes - self.workspace_bytes

    @property
    def right(self) -> int:
        return max(self.left, 0) // self.block_bytes

    @property
    def is_clear(self) -> bool:
        """A byte more or less, as floats may make it, changes nothing."""
        near = [(self.left + more) // self.block_bytes for more in (-2, 2)]
        return near[0] == near[1]

    def told(self, found: int, why: str) -> Fault:
        if self.left < 0:
            over = f"weights and workspace need {-self.left:,} bytes more than the engine may use"
            return Fault(f"{over}, so there is no block, and blocks_in_pool gave {found:,}{why}")
        return Fault(
            f"{self.left:,} bytes are left for K and V, which makes {counted(self.right, 'whole block')} of "
            f"{self.block_bytes:,} bytes, and blocks_in_pool gave {found:,}{why}"
        )


class Load(NamedTuple):
    num_blocks: int
    block_size: int
    prompt_tokens: int
    output_tokens: int

    @property
    def written(self) -> int:
        return self.prompt_tokens + self.output_tokens - 1

    @property
    def each(self) -> int:
        return rounded_up(self.written, self.block_size)

    @property
    def right(self) -> int:
        return self.num_blocks // self.each

    def told(self, found: int, why: str) -> Fault:
        return Fault(
            f"a request writes {counted(self.written, 'token')}, which takes {counted(self.each, 'block')} of "
            f"{self.block_size}; {counted(self.num_blocks, 'block')} {be(self.num_blocks)} enough for {self.right}, "
            f"and requests_at_once gave {found}{why}"
        )
