"""The tensors behind the block tables: K and V of every layer, on the device and on the host.

    device  (layers, 2, blocks, block_size, kv_heads, head_dim)      block ids 0 to blocks - 1
    host    the same, of host blocks                                 block ids from ``blocks`` on

Knows nothing about sequences. A contiguous memory is the same with blocks of one slot, whose copies are runs.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby

import torch
from pagesim_kernels.huge_pages import empty_pool

from pagesim.core.copies import hazard_free_batches
from pagesim.core.types import Copy, Geometry


class KVCache:
    """The only writer of its tensors. ``device_kv`` and ``host_kv`` are as drawn above."""

    def __init__(
        self,
        geometry: Geometry,
        num_layers: int,
        num_kv_heads: int,
        head_dim: int,
        dtype: torch.dtype = torch.float32,
        device: str | torch.device = "cpu",
    ) -> None:
        self.geometry = geometry
        shape = (geometry.block_size, num_kv_heads, head_dim)
        num_blocks, on_host = geometry.num_blocks, geometry.num_host_blocks
        whole = (num_layers, 2, num_blocks, *shape)
        self.device_kv = (
            torch.zeros(whole, dtype=dtype, device=device)
            if torch.device(device).type != "cpu"
            else empty_pool(whole, dtype)  # in huge pages: blocks lie scattered
        )
        pin = self.device_kv.is_cuda and on_host > 0  # else the copies could not run beside the GPU
        self.host_kv = torch.zeros(num_layers, 2, on_host, *shape, dtype=dtype, pin_memory=pin)

    def layer(self, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
        """One layer's K and V: (blocks, block_size, kv_heads, head_dim) each."""
        return self.device_kv[layer, 0], self.device_kv[layer, 1]

    def copy(self, copies: Sequence[Copy]) -> None:
        """Run ordered copies, in batches whose copies do not touch each other."""
        if any(copy.num_slots > self.geometry.block_size for copy in copies):
            for source, target, num_slots in copies:  # runs of slots: few, and long
                run = self.device_kv[:, :, source : source + num_slots].clone()
                self.device_kv[:, :, target : target + num_slots] = run
            return
        for batch in hazard_free_batches(copies):
            for (from_host, to_host, num_slots), group in groupby(
                sorted(batch, key=self._kind), key=self._kind
            ):
                self._copy_alike(list(group), from_host, to_host, num_slots)

    def _kind(self, copy: Copy) -> tuple[bool, bool, int]:
        """Copies of one kind run at once: between the same pools, of as many slots."""
        num_blocks = self.geometry.num_blocks
        return copy.source >= num_blocks, copy.target >= num_blocks, copy.num_slots

    def _copy_alike(
        self, copies: Sequence[Copy], from_host: int, to_host: int, num_slots: int
    ) -> None:
        read = self.host_kv if from_host else self.device_kv
        written = self.host_kv if to_host else self.device_kv
        sources = self._places([copy.source for copy in copies], read)
        targets = self._places([copy.target for copy in copies], written)
        moved = read[:, :, sources, :num_slots]  # (layers, 2, copies, slots, kv_heads, head_dim)
        written[:, :, targets, :num_slots] = moved.to(written.device)

    def _places(self, blocks: Iterable[int], pool: torch.Tensor) -> torch.Tensor:
        """Where blocks lie in their pool."""
        first = self.geometry.num_blocks if pool is self.host_kv else 0
        return torch.tensor([block - first for block in blocks], device=pool.device)
