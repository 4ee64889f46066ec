"""A log is enough: the same run again, byte for byte, and what-ifs on the same requests and tokens."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagesim.core.errors import InputError
from pagesim.core.memories import MemorySettings
from pagesim.core.request import Abort, Request, ResetCache
from pagesim.core.types import Geometry
from pagesim.planner.facts import gpu, model
from pagesim.replay.feeding import feed
from pagesim.replay.keeper import Keeper
from pagesim.replay.log import LogWriter, encode, log_header, read_log, replayed
from pagesim.replay.report import Meters
from pagesim.replay.run_state import RunState
from pagesim.replay.timeline import TimelineFold
from pagesim.sim.allocators import ALLOCATORS
from pagesim.sim.cost import cost_model
from pagesim.sim.rerun import Rerun, how_to_repeat
from pagesim.sim.simulate import RunSettings, build_loop
from pagesim.sim.workload import Arrival, Workload

COST = cost_model(model("opt-13b"), gpu("a100-40gb"))


def record(
    path: Path, allocator: str, arrivals: list[tuple[int, object]], rules: str, caching: bool
) -> list[str]:
    settings = RunSettings(MemorySettings(72, 4, 24, prefix_caching=caching), COST, rules=rules)
    keeper = Keeper()
    writers = []

    def listeners(geometry: Geometry) -> list[object]:
        config = settings.scheduler_config(allocator, geometry)
        header = log_header(geometry, **how_to_repeat(allocator, settings.memory, config, COST))
        writers.append(LogWriter(path, header))
        return [keeper, writers[0]]

    workload = Workload("w", "", tuple(Arrival(*arrival) for arrival in arrivals))
    build_loop(workload, allocator, settings, listeners).run()
    writers[0].close()
    return [encode(event) for event in keeper.events]


@st.composite
def arrivals(draw: st.DrawFn) -> list[tuple[int, object]]:
    result: list[tuple[int, object]] = []
    for number in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, 5)) * 40_000_000
        prompt = draw(
            st.lists(st.integers(0, 2), min_size=1, max_size=14) | st.integers(1, 14).map(range)
        )
        samples = draw(st.integers(1, 3))
        request = Request(
            f"r{number}",
            prompt,
            draw(st.integers(1, 9)),
            samples,
            draw(st.integers(0, 2)),
            draw(st.sampled_from(["", "s"])),
            read_cache=draw(st.booleans()),
            known_output=draw(st.none() | st.integers(1, 9)),
        )
        result.append((at, request))
        if draw(st.integers(0, 4)) == 0:
            result.append((at + 60_000_000, Abort(f"r{number}")))
        if draw(st.integers(0, 4)) == 0:
            result.append((at + 60_000_000, ResetCache()))
    return sorted(result, key=lambda entry: entry[0])


@given(arrivals(), st.sampled_from(ALLOCATORS), st.sampled_from(["paper", "engine"]), st.booleans())
def test_the_rerun_of_a_log_is_the_log(
    tmp_path_factory: pytest.TempPathFactory,
    script: list[tuple[int, object]],
    allocator: str,
    rules: str,
    caching: bool,
) -> None:
    path = tmp_path_factory.mktemp("rerun") / "log.jsonl"
    recorded = record(path, allocator, script, rules, caching)
    keeper = Keeper()
    Rerun(read_log(path)).exactly(lambda _: [keeper]).run()
    assert [encode(event) for event in keeper.events] == recorded


def outputs(lines: list[str]) -> dict[str, list[int]]:
    """Every sequence's output tokens, in order."""
    names: dict[int, str] = {}
    tokens: dict[str, list[int]] = {}
    for line in lines:
        kind, *values = json.loads(line)
        if kind == "submitted":
            names[values[0]] = f"{values[1]}/{values[2]}"
        if kind == "sampled":
            for seq, token in zip(*values, strict=True):
                tokens.setdefault(names[seq], []).append(token)
    return tokens


@pytest.mark.parametrize(
    "changes", [{"block_size": 1}, {"block_size": 8}, {"allocator": "oracle"}, {"allocator": "max"}]
)
def test_a_what_if_gives_everybody_the_same_tokens(
    tmp_path: Path, changes: dict[str, object]
) -> None:
    path = tmp_path / "log.jsonl"
    script: list[tuple[int, object]] = [
        (0, Request(f"r{i}", [i % 2] * 9, 6, 1 + i % 2, known_output=6)) for i in range(8)
    ]
    recorded = record(path, "paged", script, "paper", caching=True)
    keeper = Keeper()
    loop = Rerun(read_log(path)).changed(lambda _: [keeper], **changes)
    loop.run()
    lines = [encode(event) for event in keeper.events]
    assert outputs(lines) == outputs(recorded)
    assert lines != recorded
    assert loop.scheduler.memory.usage().granted == 0


MANAGER = '''
from pagesim.core.block_manager import BlockManager

class Mine(BlockManager):
    """Forgets to put blocks anywhere but at the back."""
    def __init__(self, num_blocks, block_size):
        super().__init__(num_blocks, block_size, keep_unkeyed_first=False)

class Empty:
    def __init__(self, num_blocks, block_size): pass

class Wrong:
    def __init__(self): pass
'''


def pagesim(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pagesim", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_command_says_whether_it_is_the_same_run(tmp_path: Path) -> None:
    log, again = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    assert pagesim("run", "--requests", "20", "--log", str(log)).returncode == 0
    result = pagesim("rerun", str(log), "--log", str(again))
    assert result.returncode == 0, result.stderr
    assert "byte for byte" in result.stdout
    assert log.read_bytes() == again.read_bytes()
    lines = log.read_text().splitlines()
    other = [line.replace('["done",3,', '["done",4,') for line in lines]
    log.write_text("\n".join(other) + "\n")
    result = pagesim("rerun", str(log))
    assert result.returncode == 1
    assert "NOT the same" in result.stdout
    log.write_text("\n".join(line for line in lines if not line.startswith('["submitted"')) + "\n")
    result = pagesim("rerun", str(log))
    assert result.returncode == 2
    assert "does not follow from those before it" in result.stderr


def test_what_if_commands(tmp_path: Path) -> None:
    log, mine = tmp_path / "a.jsonl.gz", tmp_path / "mine.py"
    mine.write_text(MANAGER)
    assert pagesim("run", "--requests", "20", "--log", str(log)).returncode == 0
    result = pagesim("rerun", str(log), "--block-size", "64", "--json")
    assert result.returncode == 0, result.stderr
    value = json.loads(result.stdout)
    assert value["same"] is None
    assert value["rerun"]["num_finished"] == value["logged"]["num_finished"] == 20
    assert value["rerun"]["waste"]["used"] > 0
    result = pagesim("rerun", str(log), "--manager", f"{mine}:Mine")
    assert result.returncode == 0, result.stderr
    for words, named in (
        (["--manager", f"{mine}:Absent"], "no class Absent"),
        (["--manager", f"{mine}:Empty"], "lacks geometry"),
        (["--manager", f"{mine}:Wrong"], "could not be made"),
        (["--manager", "mine.py"], "FILE:Class"),
        (["--manager", "/nowhere/mine.py:Mine"], "not a file"),
        (["--block-size", "0"], "block size 0"),
        (["--allocator", "slab"], "slab"),
        (["--manager", f"{mine}:Mine", "--block-size", "4"], "replaces all three"),
        (["--preempt", "hope"], "no preempt mode"),
        (["--host-blocks", "-1"], "host blocks"),
        (["--watermark", "99999"], "keep fewer free"),
    ):
        result = pagesim("rerun", str(log), *words)
        assert result.returncode == 2, words
        assert named in result.stderr
        assert result.stderr.count("\n") == 1


def test_a_log_that_does_not_say_how_it_was_made_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with LogWriter(path, log_header(Geometry(4, 4))):
        pass
    result = pagesim("rerun", str(path))
    assert result.returncode == 2
    assert "does not say how to repeat it" in result.stderr


def test_a_cut_off_log_says_where_it_ends(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    assert pagesim("run", "--requests", "20", "--log", str(log)).returncode == 0
    lines = log.read_text().splitlines()
    log.write_text("\n".join(lines[: len(lines) // 2]))
    result = pagesim("rerun", str(log))
    assert result.returncode == 2
    assert "cut off" in result.stderr
    assert "Traceback" not in result.stderr


BROKEN = '''
from pagesim.core.block_manager import BlockManager

class Leaky(BlockManager):
    """Keeps the blocks of everybody it frees."""
    def free(self, seq):
        del self._tables[seq]
        return ()

class Failing(BlockManager):
    def extend(self, seq, to):
        return self.nothing_of_the_kind
'''


def test_a_broken_manager_is_told_the_law_or_its_own_line(tmp_path: Path) -> None:
    log, mine = tmp_path / "a.jsonl", tmp_path / "mine.py"
    mine.write_text(BROKEN)
    assert pagesim("run", "--requests", "20", "--log", str(log)).returncode == 0
    result = pagesim("rerun", str(log), "--manager", f"{mine}:Leaky")
    assert result.returncode == 2
    assert re.search(
        r"mine.py:Leaky broke a law in step \d+: (refcount|conservation)", result.stderr
    )
    result = pagesim("rerun", str(log), "--manager", f"{mine}:Failing")
    assert result.returncode == 2
    assert "mine.py:Failing, line 12, failed after step" in result.stderr
    assert "nothing_of_the_kind" in result.stderr
    for text in (result.stderr, result.stdout):
        assert "Traceback" not in text


def test_a_log_is_not_written_over_itself(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    assert pagesim("run", "figure-8", "--log", str(log)).returncode == 0
    before = log.read_bytes()
    result = pagesim("rerun", str(log), "--block-size", "8", "--log", str(log))
    assert result.returncode == 2
    assert "is the log that is read" in result.stderr
    assert log.read_bytes() == before


def test_a_log_with_a_line_less_or_twice_is_folded_or_refused(tmp_path: Path) -> None:
    """Whatever is missing: a fold goes through, or says in one sentence which event does not fit."""
    log = tmp_path / "a.jsonl"
    assert pagesim("run", "preemption", "--log", str(log)).returncode == 0
    lines = log.read_text().splitlines()
    edited = tmp_path / "edited.jsonl"
    refused = 0
    for number in range(1, len(lines)):
        for changed in (lines[:number] + lines[number + 1 :], lines[: number + 1] + lines[number:]):
            edited.write_text("\n".join(changed) + "\n")
            read = read_log(edited)
            for fold in (Meters(read.geometry), TimelineFold(), RunState(read.geometry)):
                try:
                    feed(fold, replayed(read))
                except InputError as error:
                    refused += 1
                    assert "does not follow from those before it" in str(error)  # noqa: PT017
    assert refused


def test_swaps_and_beams_are_repeated_byte_for_byte_and_under_other_policies(
    tmp_path: Path,
) -> None:
    log = tmp_path / "a.jsonl"
    words = ["--samples", "3", "--beam", "--preempt", "swap", "--requests", "60"]
    assert pagesim("run", *words, "--log", str(log)).returncode == 0
    text = log.read_text(encoding="utf-8")
    assert '["swapped_in",' in text
    assert '["beams_chosen",' in text
    result = pagesim("rerun", str(log), "--json")
    assert json.loads(result.stdout)["same"] is True, result.stderr
    for changed in (["--preempt", "recompute"], ["--host-blocks", "0"], ["--watermark", "5%"]):
        result = pagesim("rerun", str(log), *changed, "--json")
        value = json.loads(result.stdout)
        assert value["rerun"]["output_tokens"] == value["logged"]["output_tokens"], changed
        assert value["rerun"]["num_finished"] == 60
        if changed[0] != "--watermark":
            assert value["rerun"]["num_swaps"] == 0 < value["logged"]["num_swaps"]


def test_the_policies_of_a_strangers_file_are_not_run_unasked(tmp_path: Path) -> None:
    mine, log = tmp_path / "mine.py", tmp_path / "a.jsonl"
    mine.write_text(
        f"print(open({str(tmp_path / 'ran')!r}, 'w'))\ndef rank(seq):\n    return -seq.order\n"
    )
    place = f"{mine}:rank"
    assert pagesim("run", "--requests", "20", "--order", place, "--log", str(log)).returncode == 0
    (tmp_path / "ran").unlink()
    result = pagesim("rerun", str(log))
    assert result.returncode == 2
    assert "is not run unasked" in result.stderr
    assert f"--order {place}" in result.stderr
    assert not (tmp_path / "ran").exists()
    result = pagesim("rerun", str(log), "--order", place, "--json")
    assert result.returncode == 0, result.stderr
