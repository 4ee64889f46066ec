"""The free queue told from events alone; the law that it equals the pool's is in checked_run."""

import subprocess
import sys
from pathlib import Path

from rich.console import Console

from pagesim.core.types import Geometry
from pagesim.replay.free_queue import FreeQueue
from pagesim.sim.scenario import load_scenario
from pagesim.views.free_queue import FreeQueueLines


def test_blocks_go_to_the_back_tail_first_and_shared_ones_with_their_last_owner() -> None:
    """10 blocks of 4: a prompt of 15 tokens takes 0 to 3; one of 14 that shares 10 hits 0 and 1, and takes 4, 5."""
    from pagesim.core.block_manager import BlockManager
    from pagesim.core.content import Content
    from pagesim.core.events import Event
    from pagesim.core.recorded import Recorded
    from pagesim.core.types import Room

    queue = FreeQueue(Geometry(10, 4), keep_unkeyed_first=False)

    def emit(event: Event) -> None:
        queue.apply(event)

    memory = Recorded(BlockManager(10, 4, prefix_caching=True, keep_unkeyed_first=False), emit)
    one, other = Content(range(15)), Content([*range(10), *range(100, 104)])
    for seq, content in enumerate((one, other)):
        memory.allocate(seq, content, Room(len(content), len(content), len(content) + 1))
        memory.publish(seq, content, len(content))
    memory.free(0)
    memory.free(1)
    assert queue.blocks == [6, 7, 8, 9, 3, 2, 5, 4, 1, 0]
    assert queue.eviction_order() == [2, 4, 1, 0]


def test_a_story_with_swaps_ends_with_every_block_free_once() -> None:
    queues: list[FreeQueue] = []

    def listeners(geometry: Geometry) -> list[FreeQueue]:
        queues.append(FreeQueue(geometry, keep_unkeyed_first=False))
        return queues

    load_scenario("swap").loop(listeners).run()
    assert sorted(queues[0].blocks) == list(range(8))


def shown(blocks: list[int], evicted: list[int], width: int) -> list[str]:
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(FreeQueueLines(blocks, evicted))
    return capture.get().splitlines()


def test_as_many_blocks_as_fit_are_named_and_the_rest_counted() -> None:
    lines = shown(list(range(1000)), [7], 40)
    assert [len(line) <= 40 for line in lines] == [True] * len(lines)
    named = lines[-2].removeprefix("taken next").split(" and ")[0].split()
    assert lines[-2].endswith(f" and {1000 - len(named):,} more")
    assert lines[-1].split() == ["evicted", "next", "7"]


def test_nothing_free_is_said() -> None:
    assert shown([], [], 80)[-1] == "taken next    none is free"


def test_show_tells_what_is_taken_and_evicted_next(tmp_path: Path) -> None:
    log = str(tmp_path / "a.jsonl")

    def pagesim(*words: str) -> str:
        command = [sys.executable, "-m", "pagesim", *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    pagesim("run", "eviction", "--log", log)
    text = pagesim("show", log)
    assert "taken next" in text
    assert "evicted next" in text
    pagesim("run", "slabs-max", "--log", log)
    assert "taken next" not in pagesim("show", log)
