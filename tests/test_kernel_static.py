"""The static gate: what the compiler makes of the kernel for sm80 and sm90, without a GPU, in a process of its own.

No correctness test can see a lost 16-byte load or a spilled register; the machine code can. Ceilings are for each
minor version of Triton; a version that is not here is held to the loosest of them.
"""

import json
import os
import subprocess
import sys
from typing import NamedTuple

import kernel_setup  # noqa: F401
import triton


class Ceiling(NamedTuple):
    """``over_twin``: instructions for each KiB of K and V, paged over twin. ``per_kib``: by head size."""

    over_twin: float
    per_kib: dict[int, float]


CEILINGS = {
    (3, 6): Ceiling(1.35, {64: 66, 128: 48}),
    (3, 9): Ceiling(1.15, {64: 64, 128: 44}),
}
"""A tenth or so above what was counted: 60.6 and 44.1 with 3.6, 58.2 and 40.5 with 3.9."""
LOOSEST = Ceiling(1.35, {64: 80, 128: 60})


def compiler():
    """The environment of a process that is no interpreter."""
    return {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}


def compiled_rows():
    command = [sys.executable, "-m", "pagesim_kernels.report", "--targets", "sm80", "sm90"]
    command += ["--head-dims", "64", "128", "--block-sizes", "16", "128"]
    done = subprocess.run(command, capture_output=True, text=True, env=compiler(), check=True)
    rows = json.loads(done.stdout)["rows"]
    assert not [row["failed"] for row in rows if row["failed"]]
    assert len(rows) == 2 * 2 * 3
    return rows


def ceiling():
    major, minor = triton.__version__.split(".")[:2]
    return CEILINGS.get((int(major), int(minor)), LOOSEST)


def no_register_is_spilled(rows):
    assert {row["spills"] for row in rows} == {0}


def k_and_v_are_copied_16_bytes_at_a_time_and_asynchronously(rows):
    """All of a tile's bytes are; so narrower reads can only be the block table's."""
    for row in rows:
        assert row["wide"] == row["asynchronous"], row
        assert row["wide_share"] == 1, row


def tensor_cores_are_used(rows):
    assert min(row["matrix"] for row in rows) > 0


def paging_costs_little_beside_the_twin(rows):
    for row in rows:
        if row["block_size"] is not None:
            assert 1 + row["over_twin"] <= ceiling().over_twin, row


def the_main_loop_stays_short(rows):
    for row in rows:
        assert row["per_kib"] <= ceiling().per_kib[row["head_dim"]], row


def two_programs_fit_beside_each_other_on_every_target(rows):
    """163 KiB of shared memory on sm80, 227 on sm90."""
    assert max(row["shared"] for row in rows) <= 81 * 1024


def test_the_machine_code():
    """One test, since each test process would compile anew."""
    rows = compiled_rows()
    no_register_is_spilled(rows)
    k_and_v_are_copied_16_bytes_at_a_time_and_asynchronously(rows)
    tensor_cores_are_used(rows)
    paging_costs_little_beside_the_twin(rows)
    the_main_loop_stays_short(rows)
    two_programs_fit_beside_each_other_on_every_target(rows)


def test_the_other_kernels_compile():
    """Combining splits, writing and copying: the interpreter takes more than the compiler does."""
    program = (
        "from pagesim_kernels.aot import Target, compile_others\n"
        "print(*[compile_others(Target(name)) for name in ('sm80', 'sm90')])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=compiler(), check=True
    )
    assert done.stdout.count("combine_kernel") == 2
