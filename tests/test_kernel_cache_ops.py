"""``write_kv`` and ``copy_blocks``: Triton's in the interpreter, and torch's, in the same stories."""

import kernel_setup  # noqa: F401
import pytest
import torch
from kernel_cache_stories import CACHE_STORIES
from pagesim_kernels import backends, cache_ops

from pagesim.core.copies import hazard_free_batches
from pagesim.core.types import Copy


@pytest.mark.parametrize("module", [cache_ops, backends], ids=["triton", "torch"])
@pytest.mark.parametrize("story", CACHE_STORIES)
def test_cache_story(story, module):
    CACHE_STORIES[story](module)


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
@pytest.mark.parametrize("module", [cache_ops, backends], ids=["triton", "torch"])
def test_fp8_values_are_cut_and_rounded_by_torch_before_they_are_written(module, dtype):
    values = torch.tensor([0.3, -1.0, 1e9, -1e9, 0.0, 1.9999, 448.0, 3e-3]).repeat(2).view(1, 1, 16)
    stored = backends.to_fp8(values, 0.5, dtype)
    cache = torch.zeros(2, 2, 1, 16).to(dtype)
    module.write_kv(stored, stored, cache, cache.clone(), torch.tensor([3]))
    most = torch.finfo(dtype).max
    assert torch.equal(cache[1, 1].float(), (values[0] / 0.5).clamp(-most, most).to(dtype).float())
    assert not cache[0].float().any()


@pytest.mark.parametrize("module", [cache_ops, backends], ids=["triton", "torch"])
def test_ordered_copies_run_in_the_batches_that_core_cuts(module):
    """a -> b, b -> c, c -> a in this order, which is not what one batch would do."""
    cache = torch.arange(4.0).view(4, 1, 1, 1).expand(4, 2, 1, 16).contiguous()
    ordered = [Copy(0, 1, 2), Copy(1, 2, 2), Copy(3, 0, 1)]
    for batch in hazard_free_batches(ordered):
        module.copy_blocks(cache, cache, torch.tensor(batch, dtype=torch.int32))
    assert cache[:, :, 0, 0].tolist() == [[3, 0], [0, 0], [0, 0], [3, 3]]
