"""How long a step takes: a roofline in whole nanoseconds, affine in what the step does.

Knows nothing about requests, blocks or schedulers: it is given counts and gives a time. A step
either waits for memory (weights and cached K and V are read once) or for arithmetic, whichever is
longer. Left out, so simulated times are a little optimistic: communication between GPUs, reading
activations, and kernels that do worse at odd shapes. Every layer counts as full attention, sliding
windows too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from pagesim.planner.facts import GpuFacts, ModelFacts
from pagesim.planner.kv_cache import kv_bytes_per_token

BANDWIDTH_SHARE = Fraction(8, 10)
"""Sustained share of peak memory bandwidth. Assumption: the low end of the usual 0.80 to 0.92."""

COMPUTE_SHARE = Fraction(55, 100)
"""Sustained share of peak dense 16-bit FLOPS. Assumption: prefill in serving engines reaches 0.5 to
0.6."""

HOST_LINK_SHARE = Fraction(8, 10)
"""Sustained share of the host link from pinned memory. Assumption: the middle of the usual 0.75 to
0.85."""

STEP_OVERHEAD_NS = 2_000_000
"""Fixed time of a step: scheduling, kernel launches, sampling. Assumption: 2 ms, a round figure for
an engine driven from Python; it weighs only where the weights are read in less."""

COPY_LAUNCH_NS = 10_000
"""Fixed time of one batch of device copies. Assumption: copies that do not wait for each other
share one launch, as the PagedAttention paper's fused block copy does (section 5.1)."""

HOST_PIECE_NS = 10_000
"""Fixed time of one contiguous copy between host and device; a block is many pieces, one for K and
one for V of each layer. Assumption, fitted: 5 to 10 us are plausible, and 10 makes swapping and
recomputing OPT-13B cross where the paper's figure 19 does (5 would: below blocks of 16)."""

FS_PER_S = 10**15


@dataclass(frozen=True, slots=True)
class CostModel:
    """Times of one model on one kind of GPU (on each of the ranks, which work in step).

    Names ending in ``_fs`` are femtoseconds per unit: fine enough that rounding a coefficient to a
    whole number stays below one part in ten thousand, and a step's sum is exact integer arithmetic.
    """

    overhead_ns: int
    weights_fs: int
    """Reading all weights once."""
    token_weights_fs: int
    """Reading the weights one token needs: less than all in a mixture of experts."""
    kv_token_fs: int
    """Reading one cached token's K and V."""
    token_fs: int
    """Arithmetic of one token outside attention."""
    pair_fs: int
    """Arithmetic of one (query, key) pair in all layers."""
    copy_launch_ns: int
    copied_slot_fs: int
    """Reading and writing one slot on the device."""
    host_block_ns: int
    """Fixed time of moving one block, or one extent, between host and device."""
    host_slot_fs: int
    """Moving one slot over the host link."""

    def step_ns(
        self,
        tokens: int,
        kv_tokens: int,
        pairs: int,
        copied_slots: int = 0,
        copies: int = 0,
        host_slots: int = 0,
        host_blocks: int = 0,
    ) -> int:
        """Nanoseconds of a step that computes ``tokens`` tokens, reads ``kv_tokens`` cached tokens
        and attends over ``pairs`` (query, key) pairs; everything counted over the whole batch.

        First it moves ``host_slots`` slots in ``host_blocks`` blocks over the host link, and
        ``copied_slots`` slots on the device in ``copies`` launches (batches of independent copies).
        """
        memory_fs = tokens * self.token_weights_fs
        if memory_fs > self.weights_fs:
            memory_fs = self.weights_fs
        memory_fs += kv_tokens * self.kv_token_fs
        compute_fs = tokens * self.token_fs + pairs * self.pair_fs
        longer_fs = memory_fs if memory_fs > compute_fs else compute_fs
        longer_fs += copied_slots * self.copied_slot_fs + host_slots * self.host_slot_fs
        fixed_ns = copies * self.copy_launch_ns + host_blocks * self.host_block_ns
        return self.overhead_ns + fixed_ns + (longer_fs + 500_000) // 1_000_000

    def recompute_ns(self, lengths: Sequence[int]) -> int:
        """Nanoseconds to compute sequences of these lengths again: what a step of their own takes
        over its overhead."""
        tokens = sum(lengths)
        pairs = sum([length * (length + 1) // 2 for length in lengths])
        return self.step_ns(tokens, tokens, pairs) - self.overhead_ns

    def host_copy_ns(self, slots: int, blocks: int) -> int:
        """Nanoseconds to move ``slots`` slots in ``blocks`` blocks one way between host and
        device."""
        return blocks * self.host_block_ns + (slots * self.host_slot_fs + 500_000) // 1_000_000


def cost_model(
    model: ModelFacts, gpu: GpuFacts, *, tensor_parallel: int = 1, dtype_bytes: int = 2
) -> CostModel:
    """Make the cost model of ``model`` on ``tensor_parallel`` GPUs; ``dtype_bytes`` is one K or V
    element's.

    Weights are read as they ship. Raises ``InputError`` if the ranks cannot share the heads
    equally.
    """
    kv_bytes = kv_bytes_per_token(model, dtype_bytes=dtype_bytes, tensor_parallel=tensor_parallel)
    bandwidth = gpu.bandwidth_bytes_s * BANDWIDTH_SHARE
    flops = gpu.dense_flops * COMPUTE_SHARE * tensor_parallel
    host_link = gpu.host_link_bytes_s * HOST_LINK_SHARE
    rank_weights = Fraction(model.weight_bytes, tensor_parallel)
    active_share = Fraction(model.active_params, model.params)
    pieces = model.num_layers * (1 if model.latent is not None else 2)
    return CostModel(
        overhead_ns=STEP_OVERHEAD_NS,
        weights_fs=round(FS_PER_S * rank_weights / bandwidth),
        token_weights_fs=round(FS_PER_S * rank_weights * active_share / bandwidth),
        kv_token_fs=round(FS_PER_S * kv_bytes / bandwidth),
        token_fs=round(FS_PER_S * 2 * model.active_params / flops),
        pair_fs=round(FS_PER_S * pair_flops(model) / flops),
        copy_launch_ns=COPY_LAUNCH_NS,
        copied_slot_fs=round(FS_PER_S * 2 * kv_bytes / bandwidth),
        host_block_ns=pieces * HOST_PIECE_NS,
        host_slot_fs=round(FS_PER_S * kv_bytes / host_link),
    )


def pair_flops(model: ModelFacts) -> int:
    """FLOPs of one (query, key) pair in all layers: 4 x layers x heads x head size.

    Two for each element of the score and two for each of the weighted value; with a latent (MLA)
    the two sizes differ: queries carry a rotary part that values do not.
    """
    if model.latent is not None:
        latent = model.latent
        elements = latent.query_dim + latent.rope_dim + latent.value_dim
    else:
        assert model.head_dim is not None, f"{model.key} has neither a head size nor a latent"
        elements = 2 * model.head_dim
    return 2 * model.num_layers * model.num_heads * elements
