"""Every law is worth its name: one-line mutants of the core, each caught by the law meant for it.

``pytest -k mutants -v`` reads as a table. Each example passes without the mutant, and with it breaks the law
named. ``oracle`` is the plainly written manager of the tests, for what no law forbids but the rules decide.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from checked_run import CheckedRun
from drivers import contiguous_driver, paged_driver
from mutation import Mutant, install
from run_scripts import Abort, Contiguous, Fail, Paged, Script, Submit

from pagesim.core import block_manager, content, groups, preemption, running, types, victim
from pagesim.core.beam import BeamSearch
from pagesim.core.block_manager import BlockManager
from pagesim.core.block_pool import BlockPool
from pagesim.core.buddy import Buddy
from pagesim.core.content import Content
from pagesim.core.errors import LawBrokenError
from pagesim.core.laws import LAWS, check_same_log
from pagesim.core.live import Live
from pagesim.core.order import PRIORITY, FcfsQueue, RankedQueue
from pagesim.core.placers import FirstFit
from pagesim.core.preempt_mode import SWAP
from pagesim.core.prefix_index import PrefixIndex
from pagesim.core.recorded import Recorded
from pagesim.core.request import Request
from pagesim.core.scheduler import Scheduler
from pagesim.core.scheduler_config import SchedulerConfig
from pagesim.core.victim import LARGEST
from pagesim.practice.driver import Driver
from pagesim.practice.operations import (
    Allocate,
    Extend,
    Fork,
    Free,
    Publish,
    SwapIn,
    SwapOut,
    Withdraw,
    Write,
)

HELPERS = Path(__file__).parent / "helpers"


# -- what provokes them ------------------------------------------------------------------------------------


def operations(num_blocks, block_size, *row):
    """Plays a row of operations on paged memory; only the laws look on."""

    def play():
        Driver(BlockManager(num_blocks, block_size, prefix_caching=True)).play(row)

    return play


def with_oracle(num_blocks, block_size, *row):
    return lambda: paged_driver(num_blocks, block_size).play(row)


def in_an_arena(num_slots, placer, *row):
    return lambda: contiguous_driver(num_slots, placer, "oracle").play(row)


def start(seq, prompt, **kwargs):
    """Allocate, compute and publish a whole prompt."""
    return Allocate(seq, prompt, **kwargs), Write(seq, len(prompt)), Publish(seq)


def serve(memory, *inputs, failures=(), **config):
    """Plays a script through the scheduler."""
    script = Script(memory, SchedulerConfig(**config), inputs, failures)
    return lambda: CheckedRun(script).run()


def arrive(step, name, prompt, max_tokens, **kwargs):
    return Submit(step, Request(name, prompt, max_tokens, **kwargs))


ones = (1,) * 16
three_in_a_small_pool = serve(
    Paged(4, 4),
    *[arrive(0, name, (number,) * 5, 8) for number, name in enumerate("abc")],
)
waiting_behind_a_victim = serve(
    Paged(6, 4, caching=False),
    arrive(0, "r1", (1,) * 8, 10),
    arrive(0, "r2", (2,) * 7, 10),
    arrive(0, "r3", (1,) * 7, 10),
    arrive(0, "r4", (2,) * 4, 2),
)


swapped_and_waiting = serve(
    Paged(6, 4, caching=False, num_host_blocks=8),
    arrive(0, "a", (1,) * 8, 10),
    arrive(0, "b", (2,) * 7, 10),
    arrive(1, "c", (1,) * 7, 10),
    arrive(6, "d", (2,) * 4, 2),
    preempt=SWAP,
)
two_that_push_each_other_out = serve(
    Paged(6, 1, caching=False),
    arrive(0, "a", (1,) * 4, 3),
    arrive(0, "b", (2,) * 6, 1),
    victim=LARGEST,
    admit_only_if_whole_prompt_fits=False,
    max_tokens_per_step=3,
    long_prefill_chunk=1,
)
beam_of_three = serve(Paged(16, 2), arrive(0, "a", (1,), 8, num_samples=3, beam=BeamSearch()))
beam_that_ends = serve(
    Paged(8, 2),
    arrive(0, "a", (1,), 8, num_samples=2, beam=BeamSearch(), stop_ids=frozenset({2})),
    max_model_len=8,
)


def on_a_host(num_blocks, block_size, *row):
    """The same as ``operations``, with a host pool."""

    def play():
        Driver(BlockManager(num_blocks, block_size, prefix_caching=True, num_host_blocks=8)).play(
            row
        )

    return play


def group_in_a_small_pool(mode):
    return serve(
        Paged(8, 2, num_host_blocks=8),
        *[arrive(0, name, (1,), 8) for name in "abcdefg"],
        arrive(0, "h", (1,), 8, num_samples=2),
        fork_samples=True,
        preempt=mode,
        max_model_len=8,
    )


# -- the table -----------------------------------------------------------------------------------------------

MUTANTS = [
    Mutant(
        "key-without-its-parent", "content",
        Content, "keys", "sha256(parent + block)", "sha256(block)",
        operations(8, 2, *start(0, (1, 1, 2, 2, 1)), *start(1, (2, 2))),
    ),
    Mutant(
        "salt-left-out-of-the-key", "content",
        content, "_seed", "(salt.encode(), adapter.encode())", "(adapter.encode(),)",
        operations(8, 2, *start(0, (1, 1), salt="s"), *start(1, (1, 1), salt="t")),
    ),
    Mutant(
        "evicted-block-not-forgotten", "content",
        BlockManager, "_take",
        "self.index.forget(taken)", "[b for b in taken if self.index.keys[b] is not None]",
        operations(2, 2, *start(0, (1, 1, 1)), Free(0), *start(1, (2, 2, 2, 2))),
    ),
    Mutant(
        "block-published-before-it-is-full", "content",
        BlockManager, "publish",
        "num_tokens // block_size", "-(-num_tokens // block_size)",
        operations(4, 2, Allocate(0, (1, 1, 1, 1)), Write(0, 3), Publish(0)),
    ),
    Mutant(
        "sampled-token-published-though-never-stored", "content",
        Live, "end",
        "self.vacate(seq)",
        "self.memory.publish(seq.seq, seq.content, seq.num_tokens); self.vacate(seq)",
        serve(Paged(8, 2), arrive(0, "a", (1, 1, 1), 1), arrive(3, "b", (1, 1, 1, 1, 2), 1)),
    ),
    Mutant(
        "failed-step-not-withdrawn", "content",
        Scheduler, "rollback",
        "self.memory.withdraw(seq.seq, seq.num_computed)", "pass",
        serve(
            Paged(8, 2), arrive(0, "a", ones[:5], 1), Abort(1, "a"), arrive(1, "b", ones[:5], 1),
            failures=(Fail(0, "nothing"),),
        ),
    ),
    Mutant(
        "copy-of-too-few-slots", "content",
        BlockManager, "extend",
        "table.writable % block_size)", "table.writable % block_size - 1)",
        operations(4, 4, *start(0, (1, 1)), Fork(0, 1), Extend(0, 1)),
    ),
    Mutant(
        "copies-between-runs-ordered-twice", "content",
        Scheduler, "_order_again",
        "lost = plan.copies", "lost = []; self._live.pending_copies = plan.copies",
        serve(
            Contiguous(12), arrive(0, "a", (2, 1, 1, 1), 2, num_samples=2, stop_ids=frozenset({2})),
            arrive(1, "b", (1,) * 3, 2), failures=(Fail(1, "writes"),), fork_samples=True,
        ),
    ),
    Mutant(
        "shared-block-written-in-place", "single-writer",
        BlockManager, "extend",
        "self._shared_tail(table, to) if writable % block_size else None", "None",
        operations(4, 4, *start(0, (1, 1)), Fork(0, 1), Extend(1, 1), Extend(0, 1)),
    ),
    Mutant(
        "first-fit-runs-overlap", "single-writer",
        FirstFit, "place",
        "self._starts[index] += num_slots", "self._starts[index] += num_slots - 1",
        in_an_arena(16, "first-fit", *start(0, (1, 1)), *start(1, (1, 1))),
    ),
    Mutant(
        "buddy-joins-neighbours-that-are-no-buddies", "single-writer",
        Buddy, "release",
        "start ^ (1 << order)", "start + (1 << order)",
        in_an_arena(
            8, "buddy", *[step for seq in range(4) for step in start(seq, (1,), more=1)],
            Free(2), Free(1), *start(4, (1,) * 4, more=0),
        ),
    ),
    Mutant(
        "fork-does-not-count", "refcount",
        BlockManager, "fork",
        "self.pool.share(shared)", "pass",
        operations(4, 4, *start(0, (1, 1)), Fork(0, 1)),
    ),
    Mutant(
        "freed-twice", "refcount",
        BlockManager, "free",
        "del self._tables[seq]", "pass",
        operations(4, 4, *start(0, (1, 1)), Free(0), Free(0)),
    ),
    Mutant(
        "taken-block-still-counted-free", "conservation",
        BlockPool, "take",
        "self.num_free -= count", "pass",
        operations(4, 4, *start(0, (1, 1))),
    ),
    Mutant(
        "hit-block-stays-in-the-free-queue", "conservation",
        BlockPool, "share",
        "self._next[before], self._prev[after] = after, before", "pass",
        operations(4, 2, *start(0, (1, 1, 1)), Free(0), *start(1, (1, 1, 1))),
    ),
    Mutant(
        "refused-allocate-took-a-block", "none-changes-nothing",
        BlockManager, "allocate",
        "return None", "self.pool.take(1); return None",
        operations(2, 2, *start(0, (1, 1)), *start(1, (2,) * 4)),
    ),
    Mutant(
        "refused-extend-took-a-block", "none-changes-nothing",
        BlockManager, "extend",
        "return None", "self.pool.take(1); return None",
        operations(2, 2, *start(0, (1, 1)), Extend(0, 4)),
    ),
    Mutant(
        "copy-on-write-told-twice", "fold",
        Recorded, "_granted",
        "taken = taken[1:]", "pass",
        serve(Paged(8, 4), arrive(0, "a", (1, 1), 4, num_samples=2), fork_samples=True),
    ),
    Mutant(
        "computed-tokens-kept-through-preemption", "fold",
        Live, "vacate",
        "seq.num_computed = seq.writable = seq.checkpoint = 0", "seq.writable = seq.checkpoint = 0",
        waiting_behind_a_victim,
    ),
    Mutant(
        "last-token-found-in-the-cache", "progress",
        BlockManager, "_hits",
        "(length - 1) // block_size", "length // block_size",
        serve(Paged(8, 2), arrive(0, "a", ones[:4], 1), arrive(3, "b", ones[:4], 1)),
    ),
    Mutant(
        "watermark-kept-from-running-sequences", "progress",
        BlockManager, "extend",
        "> self.pool.num_free", ">= self.pool.num_free",
        serve(Paged(2, 2), arrive(0, "a", (1, 1), 3)),
    ),
    Mutant(
        "oldest-gives-way-first", "progress",
        victim, "choose_victim",
        "return running[-1]", "return running[0]",
        three_in_a_small_pool, (preemption,),
    ),
    Mutant(
        "watermark-forgotten", "watermark",
        Live, "keep_free",
        "return self.config.watermark_blocks", "return 0",
        serve(
            Paged(4, 2), *[arrive(0, name, (1,), 1) for name in "abc"], watermark_blocks=2
        ),
    ),
    Mutant(
        "preempted-goes-to-the-back-of-the-queue", "order",
        FcfsQueue, "put_back",
        "self._queue.insert(position, seq)", "self._queue.append(seq)",
        waiting_behind_a_victim,
    ),
    Mutant(
        "budget-not-reduced", "budget",
        running, "advance",
        "return budget - count", "return budget",
        serve(
            Paged(8, 4), arrive(0, "a", ones[:8], 1), arrive(0, "b", (2,) * 8, 1), max_tokens_per_step=3
        ),
    ),
    Mutant(
        "impossible-request-taken", "rejects-the-impossible",
        types, "blocks_lacking",
        "<= geometry.num_blocks", "<= geometry.num_blocks + 1",
        serve(Paged(4, 4), arrive(0, "a", (1,) * 17, 1)),
        importers=(block_manager,),
    ),
    Mutant(
        "step-number-left-out", "clock",
        Scheduler, "plan",
        "self.num_steps += 1", "self.num_steps += 2",
        serve(Paged(4, 4), arrive(0, "a", (1, 1), 2)),
    ),
    Mutant(
        "swap-leaves-out-the-last-block", "content",
        BlockManager, "swap_out",
        "for block, num_slots in filled.items()", "for block, num_slots in list(filled.items())[:-1]",
        on_a_host(4, 2, *start(0, (1, 1, 1)), SwapOut((0,)), SwapIn((0,), 0)),
    ),
    Mutant(
        "swap-copies-too-few-slots", "content",
        BlockManager, "_filled",
        "min(num_tokens - position * block_size, block_size)", "1",
        on_a_host(4, 2, *start(0, (1, 1, 1)), SwapOut((0,)), SwapIn((0,), 0)),
    ),
    Mutant(
        "swapped-in-from-the-wrong-blocks", "content",
        BlockManager, "swap_in",
        "[moved[block] for block in table.blocks]", "[moved[block] for block in reversed(table.blocks)]",
        on_a_host(4, 2, *start(0, (1, 1, 1)), SwapOut((0,)), SwapIn((0,), 0)),
    ),
    Mutant(
        "swaps-ordered-twice", "content",
        Scheduler, "_order_again",
        "c.source >= num_blocks or c.target >= num_blocks", "False",
        serve(
            Paged(6, 2, num_host_blocks=3), *[arrive(0, name, (1,), 8) for name in "abcd"],
            failures=(Fail(0, "nothing"), Fail(3, "writes")), preempt=SWAP, max_model_len=8,
        ),
    ),
    Mutant(
        "swapped-in-and-published-though-the-step-failed", "content",
        Scheduler, "_compute_again",
        "self.memory.withdraw(seq.seq, 0)", "pass",
        serve(
            Paged(4, 2, num_host_blocks=12), arrive(0, "b", (1,), 8), arrive(0, "a", (1,) * 4, 8),
            failures=(Fail(7, "nothing"),), preempt=SWAP, max_model_len=8, admit_only_if_whole_prompt_fits=False,
        ),
    ),
    Mutant(
        "beams-mixed-up", "content",
        groups, "fork",
        "live.memory.fork(parent.seq, child.seq, tokens)",
        "live.memory.fork(live.running[0].seq, child.seq, tokens)",
        serve(Paged(16, 2), arrive(0, "b", (2,) * 4, 8), arrive(0, "a", (1,), 8, num_samples=3, beam=BeamSearch())),
    ),
    Mutant(
        "shared-block-swapped-counts-once", "refcount",
        BlockManager, "swap_out",
        "self.host_pool.share([block - first_host for block in kept if block in listed])", "pass",
        on_a_host(4, 2, *start(0, (1, 1)), Fork(0, 1), SwapOut((0, 1))),
    ),
    Mutant(
        "swapped-in-block-counts-once", "refcount",
        BlockManager, "swap_in",
        "self.pool.share([block for block in blocks if block in listed])", "pass",
        on_a_host(4, 2, *start(0, (1, 1)), Fork(0, 1), SwapOut((0, 1)), SwapIn((0, 1), 0)),
    ),
    Mutant(
        "host-blocks-never-given-back", "conservation",
        BlockManager, "_release_host",
        "self.host_pool.put_back(unheld)", "pass",
        on_a_host(4, 2, *start(0, (1, 1)), SwapOut((0,)), Free(0)),
    ),
    Mutant(
        "device-blocks-kept-while-swapped", "conservation",
        BlockManager, "swap_out",
        "self._release(table.blocks)", "pass",
        on_a_host(4, 2, *start(0, (1, 1)), SwapOut((0,))),
    ),
    Mutant(
        "swapped-in-where-it-cannot-grow", "contract",
        BlockManager, "swap_in",
        "len(filled) + self._blocks_to_extend(targets)", "len(filled)",
        on_a_host(2, 2, *start(0, (1, 1)), *start(1, (2, 2)), SwapOut((0,)), SwapIn((0,), 1)),
    ),
    Mutant(
        "dropped-beam-keeps-its-blocks", "conservation",
        groups, "_go_on",
        "live.vacate(seq)", "seq.num_computed = 0; live.memory.memory._tables.pop(seq.seq, None)",
        beam_of_three,
    ),
    Mutant(
        "part-of-a-group-swapped", "atomic",
        preemption, "_swap_out",
        "active = tuple(leader.active)", "active = tuple(leader.active)[:1]",
        group_in_a_small_pool(SWAP),
    ),
    Mutant(
        "part-of-a-group-grows", "atomic",
        running, "share_budget",
        "if decoding and len(unit) > budget:", "if False:",
        serve(
            Paged(16, 2), arrive(0, "a", (1,), 6), arrive(0, "b", (2,), 6, num_samples=3),
            max_tokens_per_step=3, fork_samples=True,
        ),
    ),
    Mutant(
        "admitted-while-somebody-is-swapped", "held-back",
        Scheduler, "plan",
        "and not len(live.swapped)", "",
        swapped_and_waiting,
    ),
    Mutant(
        "admitted-in-a-step-that-preempted", "held-back",
        Scheduler, "plan",
        "not plan.preempted and budget", "budget",
        serve(Paged(6, 2), *[arrive(0, name, (1,), 8) for name in "abcd"], max_model_len=8),
    ),
    Mutant(
        "preempted-goes-in-front-whatever-its-rank", "order",
        RankedQueue, "add",
        "(self._rank(seq), seq.order, seq)", "(-seq.num_preemptions, seq.order, seq)",
        serve(
            Paged(6, 4, caching=False), arrive(0, "r1", (1,) * 8, 10, priority=1),
            arrive(0, "r2", (2,) * 7, 10, priority=2), arrive(0, "r3", (1,) * 7, 10, priority=3),
            arrive(0, "r4", (2,) * 4, 2, priority=2), order=PRIORITY,
        ),
    ),
    Mutant(
        "first-of-the-batch-not-spared", "progress",
        victim, "choose_victim",
        "if victim.spares_first:", "if False:",
        two_that_push_each_other_out, (preemption,),
    ),
    Mutant(
        "beam-chooses-before-its-mates-are-back", "beam",
        running, "share_budget",
        "kept = 1 if len(unit) > 1 and unit[0].is_beam and not decoding else 0", "kept = 0",
        serve(
            Paged(12, 1), *[arrive(0, name, (1,), 8) for name in "abcd"], arrive(1, "e", (1,), 8),
            arrive(0, "f", (1, 1, 1), 8, num_samples=2, beam=BeamSearch()),
            max_model_len=8, long_prefill_chunk=1,
        ),
    ),
    Mutant(
        "ended-answers-forgotten", "beam",
        groups, "_put_aside",
        "answers = (*group.ended, answer)", "answers = (answer,)",
        beam_that_ends,
    ),
    Mutant(
        "head-of-a-sequence-freed-first", "oracle",
        BlockManager, "_release",
        "reversed(blocks)", "blocks",
        with_oracle(4, 2, *start(0, ones[:4]), Free(0)),
    ),
    Mutant(
        "parent-writes-on-in-place-after-a-fork", "oracle",
        BlockManager, "fork",
        "min(source.writable, num_tokens)", "source.writable",
        with_oracle(4, 4, *start(0, (1, 1)), Fork(0, 1)),
    ),
    Mutant(
        "twin-of-a-cached-block-lost", "oracle",
        PrefixIndex, "register",
        "self._twins.setdefault(key, {})[block] = None", "pass",
        with_oracle(
            8, 2, *start(0, (1, 1), reads_cache=False), *start(1, (1, 1), reads_cache=False),
            Withdraw(0, 2),
        ),
    ),
]  # fmt: skip
SAME_LOG = Mutant(
    "ends-in-hash-order", "same-log",
    Scheduler, "commit",
    "in finished:", "in sorted(finished, key=lambda pair: hash(pair[0].name)):",
    serve(Paged(64, 4), *[arrive(0, f"request-{number}", (1,), 1) for number in range(12)]),
)  # fmt: skip


@pytest.mark.parametrize(
    "mutant", MUTANTS, ids=[f"{mutant.name}--breaks--{mutant.law}" for mutant in MUTANTS]
)
def test_mutants(mutant, monkeypatch):
    mutant.provoke()
    install(mutant, monkeypatch.setattr)
    with pytest.raises((LawBrokenError, AssertionError)) as caught:
        mutant.provoke()
    assert str(caught.value).split(":")[0] == mutant.law, str(caught.value)


def log_in_a_process(hash_seed, *, with_mutant):
    change = "install(SAME_LOG, setattr)" if with_mutant else ""
    program = (
        "import importlib.util, sys\n"
        f"sys.path.insert(0, {str(HELPERS)!r})\n"
        f"spec = importlib.util.spec_from_file_location('test_mutants', {__file__!r})\n"
        "module = importlib.util.module_from_spec(spec)\n"
        "sys.modules['test_mutants'] = module\n"
        "spec.loader.exec_module(module)\n"
        "from test_mutants import SAME_LOG, install\n"
        f"{change}\n"
        "for event in SAME_LOG.provoke().events: print(event)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONHASHSEED": str(hash_seed)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_mutants_that_ask_for_the_hash_of_a_string_break_same_log():
    check_same_log(*[log_in_a_process(seed, with_mutant=False) for seed in (0, 12345)])
    with pytest.raises(LawBrokenError, match="same-log: event"):
        check_same_log(*[log_in_a_process(seed, with_mutant=True) for seed in (0, 12345)])


def test_every_law_has_a_mutant():
    assert {mutant.law for mutant in (*MUTANTS, SAME_LOG)} - {"oracle", "beam"} == set(LAWS)
