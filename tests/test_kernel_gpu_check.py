"""``kernels/gpu_check.py``: its dry run, and its GPU half on the CPU, so that no GPU second is spent on a slip.

On the CPU a call runs once instead of being timed in a CUDA graph, and the sizes are small; everything else (sets of
tensors, scattered pools, launches, the table, the JSON) is what a GPU machine runs.
"""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import kernel_setup  # noqa: F401
import pytest
import torch

SCRIPT = Path(__file__).parents[1] / "kernels" / "gpu_check.py"


def test_the_dry_run_checks_in_the_interpreter():
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    command = [sys.executable, str(SCRIPT), "--dry", "--cases", "2", "--shards", "1"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "correctness: 2 of 2 cases" in done.stdout
    assert "2 passed, 0 failed; not measured on a GPU" in done.stdout


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_says_so():
    done = subprocess.run(
        [sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == "there is no GPU here; --dry runs the correctness part without one\n"


@pytest.fixture(name="script")
def _script(tmp_path, monkeypatch):
    """The script with the CPU for a device, smaller sizes, and calls that are run instead of timed."""
    text = SCRIPT.read_text(encoding="utf-8")
    for old, new in (
        ('"cuda"', '"cpu"'),
        ("32_768", "8"),
        ("16_384", "4"),
        ("8192", "2"),
        ("65_536", "5"),
        ("150_000", "2000"),
        ("1 << 30", "1 << 10"),
    ):
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "gpu_check.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("gpu_check", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "SETTINGS", ((1, 32), (2, 16)))
    monkeypatch.setattr(module, "BLOCK_SIZES", (1, 16))
    monkeypatch.setattr(module, "HEADS", 4)
    monkeypatch.setattr(module, "KV_HEADS", 2)
    monkeypatch.setattr(module, "HEAD_DIM", 16)
    monkeypatch.setattr(module, "ROTATED_BYTES", 1)

    def run(calls):
        results = [call() for call in calls]
        attention = [result for result in results if isinstance(result, torch.Tensor)]
        assert all(torch.isfinite(result).all() for result in attention)
        return 1e-3

    monkeypatch.setattr(module, "timed", run)
    return module


def test_the_speed_part_runs_what_it_says(script, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("OUT", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["gpu_check.py"])
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "a CPU that plays a GPU")
    monkeypatch.setattr(script, "correctness", lambda *_, **__: ({"cases": 120}, 0))
    monkeypatch.setattr(script, "pipelining_and_far_blocks", list)
    assert script.main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("122 passed, 0 failed")
    rows = [line for line in lines if " x " in line and "seqs" not in line]
    assert len(rows) == 2
    heading = next(line for line in lines if "seqs x keys" in line)
    assert len({len(line) for line in rows}) == 1
    assert [at for at, char in enumerate(heading) if char == "|"] == [
        at for at, char in enumerate(rows[0]) if char == "|"
    ]
    document = json.loads((tmp_path / "gpu_check.json").read_text(encoding="utf-8"))
    assert [row["context"] for row in document["rows"]] == [32, 16]
    assert {"machine", "correctness", "wrong", "ceilings", "cache", "seconds"} < set(document)


def test_scattered_keys_are_the_same_keys(script):
    k, v = torch.randn(2, 2, 3, 32, 2, 16)
    tables, k_pool, v_pool = script.scattered(k, v, 16)
    for pool, whole in ((k_pool, k), (v_pool, v)):
        assert torch.equal(pool[tables.long()].flatten(2, 3), whole)


def test_pipelines_and_far_blocks(script, monkeypatch):
    """In the interpreter, with shorter sequences: it finds nothing wrong."""
    from pagesim_kernels import cases

    whole = cases.Case
    monkeypatch.setattr(
        cases, "Case", lambda lens, *_: whole((40, 17), (1, 1), 4, 2, 16, 16, "fp16")
    )
    assert script.pipelining_and_far_blocks() == []
