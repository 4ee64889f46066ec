"""The attention kernel, compiled for GPUs that are not here: no GPU and no driver is needed, about a second each.

One process is either Triton's interpreter or its compiler: TRITON_INTERPRET must not be set here. Knows nothing about
what is looked for in the machine code.
"""

import os
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")  # the default until Triton 3.9

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from pagesim_kernels.cache_ops import copy_kernel, write_kernel
from pagesim_kernels.machine_code import AMD, NVIDIA, Code, Counts, amd_code, counts, nvidia_code
from pagesim_kernels.paged_attention import attention_kernel, combine_kernel
from pagesim_kernels.tiling import Tiling

BYTES = {"fp32": 4, "fp16": 2, "bf16": 2, "fp8e4nv": 1}


@dataclass(frozen=True, slots=True)
class Target:
    name: str  # sm90, gfx942

    def gpu(self) -> GPUTarget:
        if self.name.startswith("sm"):
            return GPUTarget("cuda", int(self.name.removeprefix("sm")), 32)
        return GPUTarget("hip", self.name, 64)

    @property
    def is_nvidia(self) -> bool:
        return self.name.startswith("sm")


@dataclass(frozen=True, slots=True)
class Variant:
    """One specialisation of the kernel. ``block_size`` None: the contiguous twin. Types as Triton names them."""

    head_dim: int = 128
    block_size: int | None = 16
    q_type: str = "fp16"
    kv_type: str = "fp16"
    group: int = 4
    window: int = 0
    soft_cap: bool = False
    alibi: bool = False


@dataclass(frozen=True, slots=True)
class Compiled:
    """The machine code of a variant. ``shared``: bytes of shared memory of one program."""

    variant: Variant
    tiling: Tiling
    target: Target
    code: Code
    counts: Counts
    shared: int

    @property
    def tile_bytes(self) -> int:
        """K and V that one turn of the main loop reads."""
        return 2 * self.tiling.keys * self.variant.head_dim * BYTES[self.variant.kv_type]

    @property
    def per_kib(self) -> float:
        """Instructions of all warps for each KiB of K and V."""
        return self.counts.instructions * self.tiling.warps / (self.tile_bytes / 1024)

    @property
    def wide_share(self) -> float:
        """How much of K and V is read 16 bytes at a time; above 1 where lanes past the head size are masked."""
        threads = self.tiling.warps * (32 if self.target.is_nvidia else 64)
        return self.counts.wide * 16 * threads / self.tile_bytes


def compile_variant(variant: Variant, tiling: Tiling, target: Target) -> Compiled:
    """Compile, and read the machine code. What the compiler raises is let through."""
    constants = {
        "GROUP": variant.group, "HEAD_DIM": variant.head_dim, "BLOCK_SIZE": variant.block_size or 1,
        "ROWS": tiling.rows, "KEYS": tiling.keys, "DIMS": Tiling.dims(variant.head_dim),
        "WINDOW": variant.window, "SOFT_CAP": variant.soft_cap, "ALIBI": variant.alibi,
        "SPLIT": tiling.split_len > 0, "STAGES": tiling.stages,
        "F32_DOT": tiling.float32_dot if target.is_nvidia else "ieee",  # AMD has no tf32x3
        "LAYOUT": tiling.layout(variant.block_size) if variant.block_size else "contiguous",
    }  # fmt: skip
    types = {
        "q_ptr": variant.q_type,
        "out_ptr": variant.q_type,
        "k_ptr": variant.kv_type,
        "v_ptr": variant.kv_type,
    }
    types |= dict.fromkeys(("part_ptr", "lse_ptr", "slopes_ptr"), "fp32")
    floats = ("scale", "soft_cap", "v_scale")
    signature, attributes = {}, {}
    for at, name in enumerate(attention_kernel.arg_names):
        if name in constants:
            signature[name] = "constexpr"
        elif name.endswith("_ptr"):
            signature[name] = "*" + types.get(name, "i32")
        else:
            signature[name] = "fp32" if name in floats else "i32"
        if name.endswith("_ptr") or (name.endswith("_stride") and name != "table_stride"):
            attributes[(at,)] = [
                ["tt.divisibility", 16]
            ]  # what a launch finds out about such arguments
    source = ASTSource(
        fn=attention_kernel, signature=signature, constexprs=constants, attrs=attributes
    )
    options = {"num_warps": tiling.warps, "num_stages": tiling.stages}
    kernel = triton.compile(source, target=target.gpu(), options=options)
    if target.is_nvidia:
        tools = Path(triton.__file__).parent / "backends" / "nvidia" / "bin"
        code = nvidia_code(kernel.asm["cubin"], tools)
    else:
        code = amd_code(kernel.asm["amdgcn"])
    found = counts(code.loop, NVIDIA if target.is_nvidia else AMD)
    return Compiled(variant, tiling, target, code, found, kernel.metadata.shared)


def compile_others(target: Target) -> list[str]:
    """Compile the kernels that have no main loop worth counting; the names of those that were."""
    widths = {"HEADS": 8, "HEAD_DIM": 80, "ELEMENTS": 1024}
    combine = {"HEAD_DIM": 80, "DIMS": 128, "WINDOW": 100, "STAGES": 4}
    todo = [
        (combine_kernel, combine, {"out_ptr": "fp16", "part_ptr": "fp32", "lse_ptr": "fp32"}),
        (write_kernel, widths | {"BLOCK_SIZE": 16}, {"slots_ptr": "i64"}),
        (copy_kernel, widths, {"copies_ptr": "i32"}),
    ]
    for kernel, constants, types in todo:
        of_cache = "fp16" if kernel is not combine_kernel else "i32"
        signature = {
            name: "constexpr"
            if name in constants
            else ("*" + types.get(name, of_cache) if name.endswith("_ptr") else "i32")
            for name in kernel.arg_names
        }
        source = ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs={})
        triton.compile(source, target=target.gpu())
    return [kernel.__name__ for kernel, _, _ in todo]
