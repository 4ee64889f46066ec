"""A pool of K and V in huge pages of the operating system, on Linux; elsewhere an ordinary tensor.

The operating system pages memory too, 4 KiB at a time. Blocks in random order then miss the processor's own table
cache (the TLB) at nearly every page, and each miss walks the system's page table: on two cores of a virtual machine
paged attention took 1.5 to 2 times as long as torch's over contiguous K and V, and 0.96 to 1.33 times with pages of
2 MiB (without ``prefetch.py``, in both).
"""

import math
import mmap

import torch


def empty_pool(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """A tensor on the CPU, all zeros, contiguous; in huge pages where the system gives them."""
    size = math.prod(shape) * dtype.itemsize
    if not size or not hasattr(mmap, "MADV_HUGEPAGE"):
        return torch.zeros(shape, dtype=dtype)
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)  # shared has none
    memory.madvise(mmap.MADV_HUGEPAGE)
    return torch.frombuffer(memory, dtype=dtype).view(shape)
