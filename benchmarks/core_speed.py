"""How fast the simulator is. `make bench` runs this; `python benchmarks/core_speed.py --json` for machines.

Each figure is the median of several repetitions in one process, on one core, by process time, so that a
neighbour's load shows less. The targets are those the project set itself; see benchmarks/README.md.
"""

import argparse
import gc
import json
import os
import platform
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import process_time

from pagesim.core.block_manager import BlockManager
from pagesim.core.content import Content
from pagesim.core.loop import ServingLoop
from pagesim.core.memories import MemorySettings
from pagesim.core.types import Geometry, Room
from pagesim.planner.facts import gpu, model
from pagesim.planner.kv_cache import kv_bytes_per_token, kv_memory
from pagesim.replay.keeper import Keeper
from pagesim.sim.cost import cost_model
from pagesim.sim.simulate import Listener, RunSettings, build_loop
from pagesim.sim.traces import read_trace
from pagesim.sim.workload import Workload
from pagesim.sim.workloads import build_workload

CHAT_RATE = 5.53  # requests a second of the Azure chat hour
TRACE = "azure2023_conv.csv.gz"


def chat_hour() -> Workload:
    """The Azure chat hour if its trace is there, else as many requests of the built-in model."""
    shared = os.environ.get("PAGESIM_SHARED")
    folder = Path(shared) if shared else Path(__file__).resolve().parents[2] / "shared"
    path = folder / "data" / TRACE
    if path.is_file():
        return read_trace(path)
    return build_workload("azure-chat", requests=19_366, rate=CHAT_RATE, seed=0)


def settings(longest: int, *, prefix_caching: bool = False) -> RunSettings:
    llama, card = model("llama-2-7b"), gpu("a100-sxm-80gb")
    slots = kv_memory(card, llama).kv_bytes // kv_bytes_per_token(llama)
    memory = MemorySettings(slots, 16, longest, prefix_caching=prefix_caching)
    return RunSettings(memory, cost_model(llama, card))


def serve(loop: ServingLoop) -> tuple[int, float]:
    """Run to the end; returns sequence-steps (the sum over steps of running sequences) and seconds."""
    sequence_steps = 0
    gc.collect()
    start = process_time()
    while (plan := loop.step()) is not None:
        sequence_steps += len(plan.sequences)
    return sequence_steps, process_time() - start


def simulation(
    workload: Workload, repeat: int, *, record: bool = False, caching: bool = False
) -> dict[str, float]:
    longest = max(len(a.request.prompt) + a.request.max_tokens for a in workload.arrivals)
    seconds, steps = [], 0

    def listeners(_: Geometry) -> list[Listener]:
        return [Keeper()]

    for _ in range(repeat):
        loop = build_loop(
            workload,
            "paged",
            settings(longest, prefix_caching=caching),
            listeners if record else None,
        )
        steps, elapsed = serve(loop)
        seconds.append(elapsed)
    middle = median(seconds)
    return {
        "seconds": middle,
        "sequence_steps_per_s": steps / middle,
        "requests_per_s": len(workload.arrivals) / middle,
    }


def per_second(count: int, work: Callable[[], object], repeat: int) -> float:
    seconds = []
    for _ in range(repeat):
        start = process_time()
        work()
        seconds.append(process_time() - start)
    return count / median(seconds)


def pool_pairs(repeat: int) -> dict[str, float]:
    """Blocks taken and freed again, one by one and 64 at a time."""
    pool = BlockManager(8192, 16).pool

    def singly() -> None:
        take, drop, put_front = pool.take, pool.drop, pool.put_front
        for _ in range(100_000):
            put_front(drop(take(1)))

    def in_bulk() -> None:
        take, drop, put_front = pool.take, pool.drop, pool.put_front
        for _ in range(10_000):
            put_front(drop(take(64)))

    return {
        "one by one": per_second(100_000, singly, repeat),
        "in bulk": per_second(640_000, in_bulk, repeat),
    }


def keys(repeat: int) -> float:
    """Blocks that are hashed, registered and, by the next prompt's taking them, evicted, a second."""
    memory = BlockManager(1024, 16, prefix_caching=True)
    tokens = 16 * 1000
    prompts = iter(range(0, 1 << 60, tokens))

    def once() -> None:
        for number in range(20):
            first = next(prompts)
            content = Content(range(first, first + tokens))
            memory.allocate(number, content, Room(tokens, tokens, tokens + 1))
            memory.publish(number, content, tokens)
            memory.free(number)

    once()
    return per_second(20_000, once, repeat)


def scaling(repeat: int) -> Iterator[tuple[int, float, float]]:
    """Requests, seconds, and microseconds a request: linear time means the last stays the same."""
    for requests in (1_000, 10_000, 100_000):
        workload = build_workload("azure-chat", requests=requests, rate=CHAT_RATE, seed=0)
        seconds = simulation(workload, max(repeat if requests < 100_000 else 1, 1))["seconds"]
        yield requests, seconds, 1e6 * seconds / requests


def bytes_per_waiting_request() -> float:
    """Memory of a request known by its lengths, from reading it to waiting in the queue."""
    requests = 20_000
    tracemalloc.start()
    workload = build_workload("azure-chat", requests=requests, rate=None, seed=0)
    loop = build_loop(workload, "paged", settings(16_384))
    loop.step()
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(loop.scheduler.waiting) > requests * 0.95
    return used / requests


def measure(repeat: int) -> dict[str, object]:
    hour = chat_hour()
    plain = simulation(hour, repeat)
    recorded = simulation(hour, repeat, record=True)
    cached = simulation(hour, 1, caching=True)
    pool = pool_pairs(repeat)
    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "workload": hour.about,
        "simulate": plain,
        "simulate, recorded": recorded,
        "recorded over plain": recorded["sequence_steps_per_s"] / plain["sequence_steps_per_s"],
        "simulate, prefix caching": cached,
        "pool pairs per s, one by one": pool["one by one"],
        "pool pairs per s, in bulk": pool["in bulk"],
        "keys registered and evicted per s": keys(repeat),
        "scaling": list(scaling(repeat)),
        "bytes per waiting request": bytes_per_waiting_request(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    result = measure(arguments.repeat)
    if arguments.json:
        json.dump(result, sys.stdout, indent=2)
        return
    for name, value in result.items():
        if isinstance(value, float):
            print(f"{name:36} {value:14,.2f}")
        elif isinstance(value, dict):
            print(f"{name:36} " + "  ".join(f"{k} {v:,.2f}" for k, v in value.items()))
        elif isinstance(value, list):
            for row in value:
                print(
                    f"{name:36} {row[0]:>8,} requests  {row[1]:8.2f} s  {row[2]:8.1f} us a request"
                )
        else:
            print(f"{name:36} {value}")


if __name__ == "__main__":
    main()
