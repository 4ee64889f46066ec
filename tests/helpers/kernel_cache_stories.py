"""Small situations for ``write_kv`` and ``copy_blocks``. Each is given the kernels' module, or a mutant."""

from collections.abc import Callable
from types import ModuleType

import kernel_setup  # noqa: F401
import torch
from kernel_stories import FAR, _spread
from pagesim_kernels.interpreter import checked_run, overflow_checks


def _cache(blocks: int = 6, block_size: int = 3, heads: int = 2, head_dim: int = 5) -> torch.Tensor:
    return torch.arange(2.0 * blocks * block_size * heads * head_dim).view(
        2, blocks, block_size, heads, head_dim
    )


def writes_its_slots_and_no_others(kernels):
    cache = _cache()
    want = cache.clone()
    k, v = torch.randn(2, 4, 2, 5, generator=torch.Generator().manual_seed(0))
    slots = torch.tensor([17, 0, 4, 8])
    for values, part in ((k, want[0]), (v, want[1])):
        part.view(18, 2, 5)[slots] = values
    with checked_run([k, v, cache, slots]):
        kernels.write_kv(k, v, cache[0], cache[1], slots)
    assert torch.equal(cache, want), "other slots changed, or its own did not"


def negative_slots_write_nothing(kernels):
    """Padding of a captured graph."""
    cache = _cache()
    want = cache.clone()
    want[:, 1, 2] = 7.0
    values, slots = torch.full((3, 2, 5), 7.0), torch.tensor([-1, 5, -1])
    with checked_run([values, cache, slots]):
        kernels.write_kv(values, values, cache[0], cache[1], slots)
    assert torch.equal(cache, want), "padding was written"


def values_with_strides_of_their_own(kernels):
    """k and v are parts of one projection's output, K and V lie side by side in the cache."""
    cache, together = torch.zeros(4, 2, 3, 2, 5), torch.randn(3, 6, 5)
    k, v, slots = together[:, 2:4], together[:, 4:], torch.tensor([2, 11, 6])
    with checked_run([together, cache, slots]):
        kernels.write_kv(k, v, cache[:, 0], cache[:, 1], slots)
    for part, values in ((0, k), (1, v)):
        got = cache[:, part].reshape(12, 2, 5)[slots]
        assert torch.equal(got, values), "values went elsewhere"


def slots_beyond_32_bits(kernels):
    cache = _spread(torch.zeros(3, 3, 2, 16, dtype=torch.float16))
    assert cache.stride(0) * 2 > FAR
    values, slots = torch.ones(2, 2, 16, dtype=torch.float16), torch.tensor([8, 1])
    with checked_run([values, cache, slots]), overflow_checks():
        kernels.write_kv(values, values, cache, cache, slots)
    assert cache[2, 2].all(), "slots wrapped"
    assert cache[0, 1].all()
    assert not cache[1].any()


def copies_the_first_slots_of_blocks(kernels):
    cache = _cache()
    want = cache.clone()
    want[:, 5, :2] = cache[:, 1, :2]
    want[:, 0] = cache[:, 3]
    copies = torch.tensor([[1, 5, 2], [3, 0, 3], [1, 4, 0]], dtype=torch.int32)
    with checked_run([cache, copies]):
        kernels.copy_blocks(cache[0], cache[1], copies)
    assert torch.equal(cache, want), "other slots changed, or too few"


def copies_between_far_blocks(kernels):
    cache = _spread(torch.zeros(3, 3, 2, 16, dtype=torch.float16))
    cache[2] = 5.0
    cache[0] = 0.0
    copies = torch.tensor([[2, 0, 1]], dtype=torch.int32)
    with checked_run([cache, copies]), overflow_checks():
        kernels.copy_blocks(cache, cache, copies)
    assert (cache[0, 0] == 5).all(), "blocks wrapped"
    assert not cache[0, 1:].any()


CACHE_STORIES: dict[str, Callable[[ModuleType], None]] = {
    story.__name__: story
    for story in (
        writes_its_slots_and_no_others,
        negative_slots_write_nothing,
        values_with_strides_of_their_own,
        slots_beyond_32_bits,
        copies_the_first_slots_of_blocks,
        copies_between_far_blocks,
    )
}
