"""The scheduler's settings, checked when made. Two presets: what engines do today, and what the paper did."""

from dataclasses import dataclass

from pagesim.core.errors import InputError
from pagesim.core.order import AGED_PRIORITY, FCFS, PRIORITY, Order
from pagesim.core.preempt_mode import BY_GROUP, RECOMPUTE, PreemptMode
from pagesim.core.victim import LATEST, LOWEST_PRIORITY, Victim


@dataclass(frozen=True, slots=True)
class SchedulerConfig:
    """Limits and switches of one scheduler. Lengths in tokens; ``watermark_blocks`` in the memory's blocks.

    ``long_prefill_chunk`` caps a prefill chunk while more than one sequence is there (0: no cap).
    ``watermark_blocks`` must stay free after an admission, but only while something is running, unless
    ``watermark_always``. ``admit_only_if_whole_prompt_fits`` is a gate, not a reservation. ``fork_samples``:
    n samples are one group that forks (the paper), not n requests (engines today). ``order``, ``victim`` and
    ``preempt`` are policies; ``victim`` ``None`` is the order's usual one; ``preempt`` only matters to a memory
    that can swap.
    """

    max_num_seqs: int = 256
    max_tokens_per_step: int = 8192
    max_model_len: int = 2048
    chunked_prefill: bool = True
    long_prefill_chunk: int = 0
    watermark_blocks: int = 0
    watermark_always: bool = False
    admit_only_if_whole_prompt_fits: bool = True
    order: Order = FCFS
    victim: Victim | None = None
    preempt: PreemptMode = RECOMPUTE
    fork_samples: bool = False

    def __post_init__(self) -> None:
        for name, least in (
            ("max_num_seqs", 1),
            ("max_tokens_per_step", 1),
            ("max_model_len", 2),
            ("long_prefill_chunk", 0),
            ("watermark_blocks", 0),
        ):
            if getattr(self, name) < least:
                raise InputError(f"{name} is {getattr(self, name)}; it must be {least} or more")
        if not self.chunked_prefill and self.max_tokens_per_step < self.max_model_len:
            raise InputError(
                f"max_tokens_per_step is {self.max_tokens_per_step}, below max_model_len {self.max_model_len}: a "
                "long prompt could never be computed in one step; raise it or allow chunked prefill"
            )

    @property
    def chosen_victim(self) -> Victim:
        """The last admitted, or where priorities count, the least urgent, unless another was asked for."""
        if self.victim is not None:
            return self.victim
        return LOWEST_PRIORITY if self.order in (PRIORITY, AGED_PRIORITY) else LATEST


def paper_config(max_model_len: int, num_blocks: int, *, watermark: bool) -> SchedulerConfig:
    """The rules of Kwon et al., SOSP 2023: whole prompts, forking groups, a watermark of 1 % for paged memory.

    Where there is a host pool, groups of several sequences are swapped to it and single ones recompute.
    """
    return SchedulerConfig(
        max_num_seqs=2**31,
        max_tokens_per_step=2**31,
        max_model_len=max_model_len,
        chunked_prefill=False,
        watermark_blocks=num_blocks // 100 if watermark else 0,
        watermark_always=True,
        preempt=BY_GROUP,
        fork_samples=True,
    )
