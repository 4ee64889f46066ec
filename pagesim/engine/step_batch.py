"""One step's batch as tensors: whose tokens, at which positions, into which slots, through which tables.

Knows nothing about models or how attention is computed.
"""

from dataclasses import dataclass, fields, replace

import numpy as np
import torch

from pagesim.core.memory import KVCacheManager
from pagesim.core.plan import StepPlan


@dataclass(frozen=True, slots=True)
class StepBatch:
    """The sequences of a plan, their new tokens one after another.

    ``token_ids``, ``positions``, ``slots``: (tokens,) int64. ``block_tables``: (sequences, most blocks) int32;
    entries past a sequence's own are 0. ``context_lens``: (sequences,) int32, keys with the new tokens.
    ``query_starts``: (sequences + 1,) int32. ``last_rows``: (sequences,) int64, where each one's last token is.
    The longest of queries and contexts are numbers, so that no kernel has to ask the device for them.
    """

    token_ids: torch.Tensor
    positions: torch.Tensor
    slots: torch.Tensor
    block_tables: torch.Tensor
    context_lens: torch.Tensor
    query_starts: torch.Tensor
    last_rows: torch.Tensor
    max_query_len: int
    max_context_len: int

    def to(self, device: torch.device) -> "StepBatch":
        if device.type == "cpu":
            return self
        tensors = {
            field.name: getattr(self, field.name).to(device, non_blocking=True)
            for field in fields(self)
            if field.type is torch.Tensor
        }
        return replace(self, **tensors)


def step_batch(plan: StepPlan, memory: KVCacheManager) -> StepBatch:
    """The tensors of a plan whose memory is taken: slot = table[position // B] * B + position % B."""
    block_size = memory.geometry.block_size
    counts = np.array(plan.counts, dtype=np.int64)
    ends = np.array([seq.num_computed for seq in plan.sequences], dtype=np.int64)
    tables = np.zeros((len(counts), -(-int(ends.max()) // block_size)), dtype=np.int32)
    token_ids: list[int] = []
    for row, (seq, count, end) in enumerate(zip(plan.sequences, plan.counts, ends, strict=True)):
        used = -(-int(end) // block_size)
        tables[row, :used] = memory.table(seq.seq)[:used]
        if seq.outputs and end == seq.num_tokens and count == 1:  # decoding: mostly so
            token_ids.append(seq.outputs[-1])
        else:
            token_ids += seq.content.slice(int(end) - count, int(end))
    starts = np.concatenate(([0], np.cumsum(counts)))
    rows = np.repeat(np.arange(len(counts)), counts)
    positions = np.arange(starts[-1]) - np.repeat(starts[:-1] - (ends - counts), counts)
    slots = tables[rows, positions // block_size].astype(np.int64) * block_size
    slots += positions % block_size
    return StepBatch(
        torch.tensor(token_ids),
        torch.from_numpy(positions),
        torch.from_numpy(slots),
        torch.from_numpy(tables),
        torch.from_numpy(ends.astype(np.int32)),
        torch.from_numpy(starts.astype(np.int32)),
        torch.from_numpy(starts[1:] - 1),
        int(counts.max()),
        int(ends.max()),
    )
