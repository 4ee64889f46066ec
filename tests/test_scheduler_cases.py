"""The unified rules, exactly: every field of every step of 304 reference cases."""

import gzip
import json
from typing import Any

import pytest
from shared_data import shared_file

from pagesim.core.block_manager import BlockManager
from pagesim.core.order import ORDERS
from pagesim.core.request import Request
from pagesim.core.scheduler import Scheduler
from pagesim.core.scheduler_config import SchedulerConfig
from pagesim.core.sequence import SequenceState

Json = dict[str, Any]


def load_cases() -> list[Json]:
    with gzip.open(shared_file("scheduler_cases.jsonl.gz"), "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def request_from(row: Json) -> Request:
    return Request(
        id=row["id"],
        prompt=row["prompt"],
        max_tokens=row["max_tokens"],
        num_samples=row.get("n", 1),
        priority=row.get("priority", 0),
        salt=row.get("salt", ""),
        read_cache=not row.get("no_cache", False),
    )


class Player:
    """Plays one case and reports each step in the reference's own form."""

    def __init__(self, case: Json) -> None:
        config = case["config"]
        self.memory = BlockManager(
            config["num_blocks"], config["block_size"], prefix_caching=config["prefix_caching"]
        )
        self.scheduler = Scheduler(
            SchedulerConfig(
                max_num_seqs=config["max_num_seqs"],
                max_tokens_per_step=config["max_tokens_per_step"],
                max_model_len=config["max_model_len"],
                chunked_prefill=config["chunked_prefill"],
                long_prefill_chunk=config["long_prefill_chunk"],
                watermark_blocks=config["watermark_blocks"],
                admit_only_if_whole_prompt_fits=config["admit_only_if_whole_prompt_fits"],
                order=ORDERS[config["policy"]],
            ),
            self.memory,
        )
        self.inputs = case["input"]
        self.outputs = {k: v for row in self.inputs for k, v in row.get("outputs", {}).items()}

    def step(self, number: int) -> Json:
        row: Json = {"step": number}
        for entry in (entry for entry in self.inputs if entry["step"] == number):
            if "abort" in entry:
                self.scheduler.abort(entry["abort"])
            elif "reset_prefix_cache" in entry:
                row.setdefault("cache_reset_done", []).append(self.scheduler.reset_prefix_cache())
            else:
                refusal = self.scheduler.submit(request_from(entry))
                assert refusal is None, refusal
        plan = self.scheduler.plan()
        names = [seq.name for seq in plan.sequences]
        row |= {
            "scheduled": [list(pair) for pair in zip(names, plan.counts, strict=True)],
            "admitted": [s.name for s in plan.admitted if not s.num_preemptions],
            "resumed": [s.name for s in plan.admitted if s.num_preemptions],
            "preempted": in_order(plan.preempted),
            "cached_tokens": {s.name: n for s, n in plan.cached_tokens.items()},
            "running": [s.name for s in self.scheduler.running],
            "waiting": [s.name for s in self.scheduler.waiting],
            "tables": {s.name: list(self.memory.table(s.seq)) for s in self.scheduler.running},
            "num_free": self.memory.pool.num_free,
        }
        samples = [self.outputs[s.name][s.num_outputs] for s in plan.sampling]
        row["finished"] = in_order(self.scheduler.commit(plan, samples))
        row["num_free_after"] = self.memory.pool.num_free
        row["free_queue_after"] = list(self.memory.pool.free_queue())
        return row


def in_order(sequences: list[SequenceState]) -> list[str]:
    return [seq.name for seq in sorted(sequences, key=lambda seq: seq.order)]


def test_every_field_of_every_step_equals_the_reference() -> None:
    cases = load_cases()
    assert len(cases) == 304
    for case in cases:
        player = Player(case)
        for expected in case["steps"]:
            got = player.step(expected["step"])
            for field, value in expected.items():
                if got.get(field) != value:
                    pytest.fail(
                        f"case {case['case']} step {expected['step']} {field}: {got.get(field)} != {value}"
                    )
        assert not player.scheduler.has_work
