"""How fast a recorded run is travelled. `make bench` runs this after core_speed.py.

Writes a log of about 30,000 and one of about 1,000,000 events into a temporary folder, then measures opening it up to
its first frame, seeking to random places and stepping back, and the memory held. The targets are the project's own;
see benchmarks/README.md.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

from pagesim.core.memories import MemorySettings
from pagesim.core.types import Geometry
from pagesim.planner.facts import gpu, model
from pagesim.planner.kv_cache import kv_bytes_per_token, kv_memory
from pagesim.replay.cursor import Cursor
from pagesim.replay.log import LogWriter, log_header, read_log
from pagesim.replay.memory_map import memory_map
from pagesim.sim.cost import cost_model
from pagesim.sim.simulate import Listener, RunSettings, build_loop, drive
from pagesim.sim.workloads import build_workload


def write_log(path: Path, requests: int) -> None:
    llama, card = model("llama-2-7b"), gpu("a100-sxm-80gb")
    slots = kv_memory(card, llama).kv_bytes // kv_bytes_per_token(llama)
    settings = RunSettings(MemorySettings(slots, 16, 16_384), cost_model(llama, card))
    workload = build_workload("azure-chat", requests=requests, rate=5.53, seed=0)
    writers: list[LogWriter] = []

    def listeners(geometry: Geometry) -> list[Listener]:
        writers.append(LogWriter(path, log_header(geometry)))
        return list(writers)

    drive(build_loop(workload, "paged", settings, listeners))
    writers[0].close()


def travel(path: Path, seeks: int) -> dict[str, float]:
    start = perf_counter()
    cursor = Cursor.of_log(read_log(path))
    cursor.seek_step(0)
    memory_map(cursor.state)
    opened = perf_counter() - start
    start = process_time()
    cursor.seek(cursor.num_events)
    to_end = process_time() - start
    rng = random.Random(0)
    places = [rng.randrange(cursor.num_events) for _ in range(seeks)]
    seek_ms, back_ms = [], []
    for place in places:
        start = process_time()
        cursor.seek(place)
        seek_ms.append(1e3 * (process_time() - start))
        start = process_time()
        cursor.move(-1)
        back_ms.append(1e3 * (process_time() - start))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "events": cursor.num_events,
        "steps": cursor.num_steps,
        "file MB": path.stat().st_size / 1e6,
        "open to the first frame, s": opened,
        "first walk to the end, s": to_end,
        "seek, median ms": median(seek_ms),
        "step back, median ms": median(back_ms),
        "peak memory, MB": peak / (1e6 if sys.platform == "darwin" else 1e3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--travel", type=Path, help="measure this log, in this process")
    parser.add_argument("--seeks", type=int, default=200)
    arguments = parser.parse_args()
    if arguments.travel is not None:
        print(json.dumps(travel(arguments.travel, arguments.seeks)))
        return
    with tempfile.TemporaryDirectory() as folder:
        for requests in (1_100, 38_000):
            path = Path(folder) / f"{requests}.jsonl"
            write_log(path, requests)
            command = [
                sys.executable,
                __file__,
                "--travel",
                os.fspath(path),
                "--seeks",
                str(arguments.seeks),
            ]
            measured = subprocess.run(command, capture_output=True, text=True, check=True)
            for name, value in json.loads(measured.stdout).items():
                print(f"{name:32} {value:14,.2f}")
            print()


if __name__ == "__main__":
    main()
