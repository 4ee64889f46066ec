"""The content law on tensors: recognisable K and V, read back through the tables after every copy, swap and fork."""

import pytest

torch = pytest.importorskip("torch")

torch.set_num_threads(1)

from checked_run import CheckedRun  # noqa: E402
from examples import examples  # noqa: E402
from hypothesis import given  # noqa: E402
from run_scripts import contiguous_memories, paged_memories, scripts  # noqa: E402

from pagesim.core.block_manager import BlockManager  # noqa: E402
from pagesim.core.types import Copy, Geometry  # noqa: E402
from pagesim.engine.kv_cache import KVCache  # noqa: E402
from pagesim.practice.driver import Driver  # noqa: E402
from pagesim.practice.rows import operations, paged_sizes  # noqa: E402


class TensorShadow:
    """Meets what the checks ask of a ``ShadowMemory``; a prefix's number stands in every layer's K and V."""

    def __init__(self, geometry):
        self.geometry = geometry
        self.cache = KVCache(
            geometry, num_layers=2, num_kv_heads=1, head_dim=2, dtype=torch.float64
        )

    def _pool(self, block):
        num_blocks = self.geometry.num_blocks
        if block < num_blocks:
            return self.cache.device_kv, block
        return self.cache.host_kv, block - num_blocks

    def slot(self, table, position):
        block, offset = divmod(position, self.geometry.block_size)
        return table[block] * self.geometry.block_size + offset

    def write(self, table, position, prefix):
        block, offset = divmod(position, self.geometry.block_size)
        pool, place = self._pool(table[block])
        pool[:, :, place, offset] = prefix + 1  # 0: nothing was ever written

    def read(self, table, position):
        block, offset = divmod(position, self.geometry.block_size)
        pool, place = self._pool(table[block])
        values = set(pool[:, :, place, offset].flatten().tolist())
        assert len(values) == 1, "layers, or K and V, were copied apart"
        value = values.pop()
        return None if not value else int(value) - 1

    def copy(self, copies):
        self.cache.copy(copies)


@examples(40, 1000)
@given(size=paged_sizes, drawn=operations())
def test_tensors_follow_the_tables_of_any_manager(size, drawn):
    driver = Driver(BlockManager(*size, prefix_caching=True, num_host_blocks=5))
    driver.shadow = TensorShadow(driver.manager.geometry)
    driver.play(drawn)


@pytest.mark.parametrize(
    "memories",
    [paged_memories(True), paged_memories(False), contiguous_memories("first-fit", "oracle")],
    ids=["caching", "plain", "contiguous"],
)
def test_tensors_follow_the_scheduler_through_forks_swaps_beams_and_failing_steps(memories):
    @examples(40, 1000)
    @given(script=scripts(memories))
    def check(script):
        run = CheckedRun(script)
        run.shadow = TensorShadow(run.manager.geometry)
        run.run()

    check()


def test_a_copy_waits_for_the_one_whose_block_it_reads():
    cache = KVCache(Geometry(4, 2), num_layers=1, num_kv_heads=1, head_dim=1)
    cache.device_kv[:, :, 0] = 7
    cache.copy([Copy(0, 1, 2), Copy(1, 2, 2), Copy(3, 0, 2)])
    assert cache.device_kv[0, 0, :, 0, 0, 0].tolist() == [0, 7, 7, 0]


def test_only_the_slots_asked_for_are_copied():
    cache = KVCache(Geometry(2, 4, 1), num_layers=1, num_kv_heads=1, head_dim=1)
    cache.device_kv[:, :, 0] = 7
    cache.copy([Copy(0, 1, 3), Copy(0, 2, 2)])
    assert cache.device_kv[0, 1, 1, :, 0, 0].tolist() == [7, 7, 7, 0]
    assert cache.host_kv[0, 1, 0, :, 0, 0].tolist() == [7, 7, 0, 0]
