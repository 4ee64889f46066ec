"""Right behaviour of memory and scheduler, as stories: small inputs and the values they must give.

H12 and H13 for traces are in test_traces.py. Swapping is not offered yet, so H11 tells of a preempted request
and not of a swapped one.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pagesim.core import events as ev
from pagesim.core.block_manager import BlockManager
from pagesim.core.content import Content
from pagesim.core.errors import UnknownSequenceError
from pagesim.core.loop import ServingLoop, arrived
from pagesim.core.recorded import Recorded
from pagesim.core.request import Request
from pagesim.core.scheduler import Scheduler
from pagesim.core.scheduler_config import SchedulerConfig
from pagesim.core.types import Copy, Room
from pagesim.planner import facts
from pagesim.replay.report import Meters
from pagesim.sim.cost import cost_model
from pagesim.sim.executor import FreshTokens, SimExecutor


class Server:
    """A scheduler on blocks of 4, stepped by hand; every output token is new. Keeps plans and events."""

    def __init__(self, num_blocks, *, caching=False, **config):
        self.memory = BlockManager(num_blocks, 4, prefix_caching=caching)
        self.meters = Meters(self.memory.geometry)
        self.events = []
        recorded = Recorded(self.memory, self.emit)
        self.scheduler = Scheduler(SchedulerConfig(**config), recorded, self.emit)
        self.plans = []
        self.counts = []
        self.waiting = []
        self.outputs = {}
        self.states = {}

    def emit(self, event):
        self.events.append(event)
        self.meters.apply(event)

    def submit(self, name, prompt, max_tokens=1, **kwargs):
        """``prompt``: tokens, or how many."""
        if isinstance(prompt, int):
            first = 1000 * len(self.events) + 1000
            prompt = range(first, first + prompt)
        request = Request(name, prompt, max_tokens, **kwargs)
        self.emit(arrived(request, len(self.plans)))
        return self.scheduler.submit(request)

    def step(self):
        plan = self.scheduler.plan()
        self.plans.append(plan)
        self.counts.append(
            {seq.name: n for seq, n in zip(plan.sequences, plan.counts, strict=True)}
        )
        self.waiting.append([seq.name for seq in self.scheduler.waiting])
        self.emit(ev.StepDone(plan.step, len(self.plans)))
        first = 10**6 + 100 * len(self.plans)
        samples = range(first, first + len(plan.sampling))
        self.scheduler.commit(plan, samples)
        for seq in plan.sampling:
            self.outputs[seq.name] = seq.outputs
        return plan

    def run(self, most=100):
        while self.scheduler.has_work:
            assert len(self.plans) < most
            self.step()
        return self

    def run_one(self, prompt, **kwargs):
        """Serve one request to its end; how many of its tokens were found cached."""
        self.submit(f"r{len(self.events)}", prompt, **kwargs)
        plan = self.step()
        self.run()
        (cached,) = plan.cached_tokens.values()
        return cached

    @property
    def num_outputs(self):
        return {name: len(tokens) for name, tokens in self.outputs.items()}

    @property
    def preempted(self):
        return [seq.name for plan in self.plans for seq in plan.preempted]

    @property
    def in_use(self):
        return self.memory.usage().granted


def start(memory, seq, length):
    return memory.allocate(seq, Content(range(length)), Room(length, length, length + 1))


# -- block manager -----------------------------------------------------------------------------------------


def test_shared_blocks_counts_and_copy_on_write():
    """H01: a write to a shared block copies first; freeing twice is refused and changes nothing."""
    memory = BlockManager(8, 4)
    a, b = 0, 1

    def in_use():
        return memory.usage().granted

    start(memory, a, 10)
    assert in_use() == 3
    memory.fork(a, b, 10)
    assert in_use() == 3
    assert memory.pool.ref_counts == [2, 2, 2, 0, 0, 0, 0, 0]

    grant = memory.extend(a, 11)
    assert list(grant.copies) == [Copy(2, 3, 2)]
    assert in_use() == 4
    grant = memory.extend(b, 11)
    assert not grant.copies
    assert in_use() == 4

    memory.free(a)
    assert in_use() == 3
    memory.free(b)
    assert memory.usage().free == 8
    with pytest.raises(UnknownSequenceError):
        memory.free(a)
    assert memory.usage().free == 8
    assert memory.pool.ref_counts == [0] * 8


@pytest.mark.parametrize(("length", "cached"), [(15, 12), (16, 12), (17, 16)])
def test_a_whole_prompt_already_cached_still_computes_its_last_token(length, cached):
    """H02: the second run of 15, 16 and 17 tokens finds 12, 12 and 16 cached."""
    server = Server(16, caching=True)
    prompt = list(range(1, length + 1))
    assert server.run_one(prompt) == 0
    assert server.run_one(prompt) == cached
    assert list(server.num_outputs.values()) == [1, 1]
    assert all(plan.num_tokens >= 1 for plan in server.plans)


def test_a_reused_block_forgets_its_old_content():
    """H03: in a pool of 4, X then 16 other tokens then X finds nothing; with 8 other tokens it finds 8."""
    x = list(range(1, 17))
    for other, cached in ((range(101, 117), 0), (range(101, 109), 8)):
        server = Server(4, caching=True)
        assert server.run_one(x) == 0
        assert server.run_one(list(other)) == 0
        assert server.run_one(x) == cached


PROGRAM = """
from test_behaviours_core import dump
print(dump())
"""


def dump():
    """A run with sharing, preemption, forks and a refusal: its events and its summary, as text."""
    memory = BlockManager(12, 4, prefix_caching=True)
    meters = Meters(memory.geometry)
    events = []

    def emit(event):
        events.append(event)
        meters.apply(event)

    requests = [
        Request(f"r{n}", [n % 2] * (3 + 5 * n % 13), 3 + n % 7, 1 + n % 3, salt="s" * (n % 4 == 3))
        for n in range(24)
    ]
    requests.append(Request("too long", range(100), 3))
    scheduler = Scheduler(SchedulerConfig(fork_samples=True), Recorded(memory, emit), emit)
    cost = cost_model(facts.model("opt-13b"), facts.gpu("a100-40gb"))
    arrivals = [(n * 10**7, request) for n, request in enumerate(requests)]
    ServingLoop(
        scheduler, SimExecutor(cost, FreshTokens(), memory.geometry.num_blocks), arrivals, emit
    ).run()
    summary = json.dumps(meters.report(saturated=False).as_dict())
    return "\n".join([*map(repr, events), summary])


def test_the_same_input_gives_the_same_log_in_every_process():
    """H04: under PYTHONHASHSEED 0 and 12345 the event logs are byte-identical, and so is the summary."""
    here = str(Path(__file__).parent)
    logs = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": here},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "12345")
    ]
    assert logs[0] == logs[1]
    text = logs[0].decode()
    for kind in (
        "BlocksShared",
        "SequencePreempted",
        "BlockReplaced",
        "RequestRefused",
        "BlockEvicted",
    ):
        assert kind in text, f"the run should show {kind}"


def test_adapters_and_salts_never_share_cache():
    """H05: with no adapter, a, b, a, salt s, salt s and none again, 0, 0, 0, 8, 0, 8, 8 tokens are cached."""
    server = Server(64, caching=True)
    tokens = list(range(1, 10))
    labels = [
        {},
        {"adapter": "a"},
        {"adapter": "b"},
        {"adapter": "a"},
        {"salt": "s"},
        {"salt": "s"},
        {},
    ]
    assert [server.run_one(tokens, **label) for label in labels] == [0, 0, 0, 8, 0, 8, 8]


def test_a_failed_allocation_changes_nothing():
    """H06: pool of 4 blocks; A holds 12 tokens, B is refused 8, A is refused 20; then A is freed: 4 free."""
    memory = BlockManager(4, 4)
    a, b = 0, 1
    start(memory, a, 12)
    assert start(memory, b, 8) is None
    assert memory.usage().free == 1
    with pytest.raises(UnknownSequenceError):
        memory.table(b)
    assert memory.extend(a, 20) is None
    assert len(memory.table(a)) == 3
    assert memory.usage().free == 1
    memory.free(a)
    assert memory.usage().free == 4


def test_a_request_that_can_never_fit_is_refused_at_submit():
    """H07: r1 with 17 prompt tokens is refused, naming 5 blocks needed and 4 present; r2 gives its 2 tokens."""
    server = Server(4)
    refusal = server.submit("r1", 17)
    assert refusal.request == "r1"
    assert "needs 5 blocks of 4 tokens, and 4 are present" in refusal.reason
    assert server.submit("r2", 4, 2) is None
    server.run()
    assert server.num_outputs == {"r2": 2}
    assert server.in_use == 0


# -- scheduler ---------------------------------------------------------------------------------------------


def three_requests_in_a_small_pool():
    server = Server(4)
    for name in ("r1", "r2", "r3"):
        server.submit(name, 5, 8)
    return server.run()


def test_a_small_pool_with_many_requests_always_ends():
    """H08: 24 tokens within 60 steps; the oldest is never preempted; nothing is in use at the end."""
    server = three_requests_in_a_small_pool()
    assert server.num_outputs == {"r1": 8, "r2": 8, "r3": 8}
    assert len(server.plans) <= 60
    assert server.preempted
    assert "r1" not in server.preempted
    assert server.in_use == 0


def test_queue_order_after_several_preemptions():
    """H09: the waiting queue is always in arrival order; after r3 and then r2 gave way it is r2, r3, r4."""
    server = Server(6)
    for name, prompt, max_tokens in (("r1", 8, 10), ("r2", 7, 10), ("r3", 7, 10), ("r4", 4, 2)):
        server.submit(name, prompt, max_tokens)
    server.run()
    assert all(queue == sorted(queue) for queue in server.waiting)
    both = server.preempted.index("r2")
    assert server.preempted[:both].count("r3")
    step = next(
        i for i, plan in enumerate(server.plans) if "r2" in [s.name for s in plan.preempted]
    )
    assert server.waiting[step] == ["r2", "r3", "r4"]
    assert "r1" not in server.preempted
    assert server.num_outputs == {"r1": 10, "r2": 10, "r3": 10, "r4": 2}


def test_the_token_budget_per_step():
    """H10: budget 8; steps of 8, 8, 8, 3, 2, 1, 1, 1, 1, 1 tokens, and r2 prefills 4, 7, 7, 2."""
    server = Server(64, max_tokens_per_step=8)
    server.submit("r1", 4, 10)
    server.submit("r2", 20, 2)
    server.run()
    assert [plan.num_tokens for plan in server.plans] == [8, 8, 8, 3, 2, 1, 1, 1, 1, 1]
    assert [counts["r2"] for counts in server.counts if "r2" in counts][:4] == [4, 7, 7, 2]
    assert all(count >= 1 for counts in server.counts for count in counts.values())


def test_abort_in_any_state():
    """H11: half prefilled, waiting, again and unknown; r3 gives 2 tokens, and 8 blocks are free at the end."""
    server = Server(8, max_tokens_per_step=4)
    for name, prompt, max_tokens in (("r1", 12, 4), ("r2", 4, 2), ("r3", 4, 2)):
        server.submit(name, prompt, max_tokens)
    server.step()
    assert server.counts == [{"r1": 4}]  # half prefilled
    assert server.scheduler.abort("r1")
    assert server.scheduler.abort("r2")  # it waits
    assert not server.scheduler.abort("r1")
    assert not server.scheduler.abort("nobody")
    server.run()
    assert server.num_outputs == {"r3": 2}
    assert server.memory.usage().free == 8


def test_abort_while_decoding_and_while_preempted():
    """H11: the same for a preempted request; and for one that decodes."""
    server = Server(4)
    for name in ("r1", "r2", "r3"):
        server.submit(name, 5, 8)
    while not server.preempted:
        server.step()
    victim = server.preempted[0]
    assert victim in [seq.name for seq in server.scheduler.waiting]
    assert server.scheduler.abort(victim)
    assert not server.scheduler.abort(victim)
    decoding = server.scheduler.running[0]
    assert decoding.num_outputs
    assert server.scheduler.abort(decoding.name)
    server.run()
    (left,) = {"r1", "r2", "r3"} - {victim, decoding.name}
    assert server.num_outputs[left] == 8
    assert server.memory.usage().free == 4


@pytest.mark.parametrize("fails", [False, True], ids=["the step is done", "the step fails"])
def test_abort_while_a_step_is_in_flight(fails):
    """H11: the request ends with the step that computes for it, done or failed, and its blocks return."""
    server = Server(8)
    server.submit("r1", 5, 8)
    server.submit("r2", 5, 3)
    server.step()
    plan = server.scheduler.plan()
    held = server.in_use
    assert server.scheduler.abort("r1")
    assert server.in_use == held  # its blocks are being written
    if fails:
        server.scheduler.rollback(plan)
    else:
        server.scheduler.commit(plan, [7, 7])
    assert [seq.name for seq in server.scheduler.running] == ["r2"]
    assert not server.scheduler.abort("r1")
    server.run()
    assert server.num_outputs["r2"] == 3
    assert server.memory.usage().free == 8


def test_an_empty_prompt_is_refused_by_name():
    """H12: r1 has no prompt and is refused; r2, submitted after it, gives its 2 tokens."""
    server = Server(8)
    refusal = server.submit("r1", [], 2)
    assert refusal.request == "r1"
    assert "request r1 has an empty prompt" in refusal.reason
    server.submit("r2", 4, 2)
    assert server.run().num_outputs == {"r2": 2}


def test_the_same_id_twice_is_refused_while_the_first_lives():
    """H13: a second r1 is refused by name after one step; the first gives its 5 tokens."""
    server = Server(8)
    server.submit("r1", 4, 5)
    server.step()
    refusal = server.submit("r1", 8, 2)
    assert refusal.request == "r1"
    assert "request r1 is still being served" in refusal.reason
    assert server.run().num_outputs == {"r1": 5}
    assert server.in_use == 0
    assert server.submit("r1", 8, 2) is None  # the first is over


def test_nothing_is_lost_or_doubled_by_preemption():
    """H14: outputs 0 to 7 of each, once and in order; on return prompt + emitted tokens are computed."""
    server = three_requests_in_a_small_pool()
    got = {0: [], 1: [], 2: []}
    returns = 0
    for event in server.events:
        if isinstance(event, ev.TokensSampled):
            for seq, token in zip(event.seqs, event.tokens, strict=True):
                got[seq].append(token)
        elif isinstance(event, ev.SequenceAdmitted) and event.resumed:
            returns += 1
            assert event.tokens == 5 + len(got[event.seq])
            assert event.cached_tokens == 0
    assert returns >= 1
    assert got == {number: server.outputs[f"r{number + 1}"] for number in range(3)}
    assert [len(tokens) for tokens in got.values()] == [8, 8, 8]
    assert all(tokens == sorted(set(tokens)) for tokens in got.values())  # each step's are larger


def test_the_hit_rate_counts_each_request_once():
    """H21: r2 finds 16 of its 24 tokens after waiting for blocks: 16 of 44 prompt tokens, 36.4 %."""
    server = Server(7, caching=True)
    server.submit("r1", list(range(1, 21)), 8)
    server.step()
    server.submit("r2", [*range(1, 17), *range(80, 88)], 1)
    server.step()
    assert server.waiting[-1] == ["r2"]
    server.run()
    latency = server.meters.latency
    assert (latency.cached_tokens, latency.prompt_tokens) == (16, 44)
    assert f"{server.meters.report(saturated=False).hit_rate:.1%}" == "36.4%"
