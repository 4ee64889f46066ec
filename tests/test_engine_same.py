"""The engine and the simulator make the same decisions, and the engine's answers do not depend on them.

One scheduler and one block manager, two executors: for the same requests and tokens their logs are equal in
everything but times. And greedy tokens are those of a plain loop without any cache (H30).
"""

from dataclasses import replace
from functools import cache

import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from examples import examples  # noqa: E402
from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from torch.nn.functional import scaled_dot_product_attention  # noqa: E402

from pagesim.core import events as ev  # noqa: E402
from pagesim.core.beam import BeamSearch  # noqa: E402
from pagesim.core.block_manager import BlockManager  # noqa: E402
from pagesim.core.contiguous import ContiguousManager  # noqa: E402
from pagesim.core.loop import ServingLoop  # noqa: E402
from pagesim.core.placers import FirstFit  # noqa: E402
from pagesim.core.preempt_mode import RECOMPUTE, SWAP  # noqa: E402
from pagesim.core.recorded import Recorded  # noqa: E402
from pagesim.core.request import Request  # noqa: E402
from pagesim.core.reservations import ReserveExact  # noqa: E402
from pagesim.core.scheduler import Scheduler  # noqa: E402
from pagesim.core.scheduler_config import SchedulerConfig  # noqa: E402
from pagesim.engine.kv_cache import KVCache  # noqa: E402
from pagesim.engine.models import open_model  # noqa: E402
from pagesim.engine.sampling_params import SamplingParams  # noqa: E402
from pagesim.engine.torch_executor import TorchExecutor  # noqa: E402
from pagesim.planner.facts import gpu, model  # noqa: E402
from pagesim.sim.cost import cost_model  # noqa: E402
from pagesim.sim.executor import SimExecutor  # noqa: E402
from pagesim.sim.rerun import LoggedTokens  # noqa: E402

TINY = cache(lambda: open_model("tiny"))
COST = cost_model(model("opt-13b"), gpu("a100-40gb"))


def engine_run(memory, config, requests, *, params=None, backend="torch"):
    """Serve with tensors; the events, and every sequence's outputs."""
    config_of_model, llama, _ = TINY()
    cache_of_kv = KVCache(
        memory.geometry,
        config_of_model.num_layers,
        config_of_model.num_kv_heads,
        config_of_model.head_dim,
    )
    executor = TorchExecutor(llama, memory, cache_of_kv, params or {}, backend=backend)
    return played(memory, config, requests, executor)


def played(memory, config, requests, executor):
    events = []
    scheduler = Scheduler(config, Recorded(memory, events.append), events.append)
    loop = ServingLoop(scheduler, executor, [(0, request) for request in requests], events.append)
    sequences = {}
    while (plan := loop.step()) is not None:
        for seq in plan.sequences:
            sequences[seq.name] = seq
    assert not memory.usage().granted
    return events, {name: list(seq.outputs) for name, seq in sequences.items()}


def without_times(events):
    return [event._replace(time_ns=0) if hasattr(event, "time_ns") else event for event in events]


# -- the same as the simulator -----------------------------------------------------------------------------


@st.composite
def batches(draw):
    requests = []
    for number in range(draw(st.integers(2, 5))):
        prompt = draw(st.lists(st.integers(0, 3), min_size=1, max_size=9))
        requests.append(
            Request(
                f"r{number}",
                prompt,
                draw(st.integers(1, 6)),
                draw(st.sampled_from([1, 1, 2, 3])),
                beam=draw(st.sampled_from([None, None, BeamSearch()])),
            )
        )
    return requests


@examples(30, 600)
@given(
    requests=batches(),
    size=st.tuples(st.integers(10, 24), st.sampled_from([2, 4, 3])),
    caching=st.booleans(),
    host=st.sampled_from([0, 12]),
    budget=st.sampled_from([64, 8, 5]),
    forks=st.booleans(),
)
def test_simulator_and_engine_give_the_same_log_in_everything_but_times(
    requests, size, caching, host, budget, forks
):
    slots, block_size = size

    def memory():
        return BlockManager(
            slots // block_size + 1, block_size, prefix_caching=caching, num_host_blocks=host
        )

    config = SchedulerConfig(
        max_tokens_per_step=budget,
        max_model_len=20,
        preempt=SWAP if host else RECOMPUTE,
        fork_samples=forks,
    )
    real, _ = engine_run(memory(), config, requests)
    built = memory()
    executor = SimExecutor(COST, LoggedTokens(real), built.geometry.num_blocks)
    simulated, _ = played(built, config, requests, executor)
    assert without_times(simulated) == without_times(real)


# -- the same as a plain loop ------------------------------------------------------------------------------

LENGTHS = (1, 3, 4, 5, 8, 16, 17, 33)
PROMPTS = {f"r{n}": [(7 * i + n) % 250 for i in range(n)] for n in LENGTHS}
REQUESTS = [Request(name, prompt, 16) for name, prompt in PROMPTS.items()]


@cache
def plain_answer(name):
    """No cache: everything is computed again for every token."""
    llama, tokens = TINY().model, list(PROMPTS[name])

    def attend(_layer, q, k, v):
        q, k, v = (part.transpose(0, 1)[None] for part in (q, k, v))
        seen = scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return seen[0].transpose(0, 1)

    for _ in range(16):
        hidden = llama.forward(torch.tensor(tokens), torch.arange(len(tokens)), attend)
        tokens.append(int(llama.logits(hidden[-1:]).argmax()))
    return tokens[len(PROMPTS[name]) :]


def expected(requests=REQUESTS):
    return {request.id: plain_answer(request.id) for request in requests}


@pytest.mark.parametrize("backend", ["torch", "numba"])
@pytest.mark.parametrize("budget", [1, 5, 64])
def test_greedy_tokens_are_those_of_a_plain_loop_at_any_budget(budget, backend):
    """H30."""
    config = SchedulerConfig(max_tokens_per_step=budget, max_model_len=200)
    _, answers = engine_run(BlockManager(200, 4), config, REQUESTS, backend=backend)
    assert answers == expected()


@pytest.mark.parametrize("preempt", [RECOMPUTE, SWAP], ids=["recompute", "swap"])
@pytest.mark.parametrize("caching", [True, False], ids=["caching", "plain"])
def test_greedy_tokens_do_not_depend_on_preemption(caching, preempt):
    memory = BlockManager(16, 4, prefix_caching=caching, num_host_blocks=40)
    config = SchedulerConfig(max_model_len=200, preempt=preempt)
    events, answers = engine_run(memory, config, REQUESTS)
    assert answers == expected()
    ways = {event.way for event in events if isinstance(event, ev.SequencePreempted)}
    assert ways == {preempt.name}


def test_greedy_tokens_do_not_depend_on_who_else_is_there_or_on_a_warm_cache():
    memory = BlockManager(200, 4, prefix_caching=True)
    config = SchedulerConfig(max_model_len=200, max_num_seqs=1)
    cold_and_warm = [replace(r, id=f"{r.id}x") for r in REQUESTS] + REQUESTS
    events, answers = engine_run(memory, config, cold_and_warm)
    assert {name: answers[name] for name in PROMPTS} == expected()
    admitted = [event for event in events if isinstance(event, ev.SequenceAdmitted)]
    assert sum(event.cached_tokens for event in admitted[len(REQUESTS) :]) > 60


def test_slabs_give_the_same_tokens_as_pages():
    memory = ContiguousManager(FirstFit(150), ReserveExact(200), "oracle")
    _, answers = engine_run(memory, SchedulerConfig(max_model_len=200), REQUESTS)
    assert answers == expected()


@pytest.mark.parametrize("slabs", [False, True], ids=["pages", "slabs"])
def test_samples_that_fork_are_those_that_are_drawn_alone(slabs):
    """The same seed and sample number: forked with copy-on-write, or each a request of its own."""
    params = SamplingParams(temperature=1.0, seed=5)

    def memory():
        if slabs:
            return ContiguousManager(FirstFit(400), ReserveExact(200), "oracle")
        return BlockManager(60, 4)

    request = Request("r", PROMPTS["r17"], 12, num_samples=3)
    answers = []
    for forks in (True, False):
        config = SchedulerConfig(max_model_len=200, fork_samples=forks)
        answers.append(engine_run(memory(), config, [request], params={"r": params})[1])
    assert answers[0] == answers[1]
    assert len({tuple(tokens) for tokens in answers[0].values()}) == 3


def test_beams_are_the_same_from_pages_slabs_and_after_swaps():
    request = Request("r", PROMPTS["r17"], 8, num_samples=3, beam=BeamSearch())
    other = Request("s", PROMPTS["r33"], 16)
    found = []
    for memory in (
        BlockManager(200, 4),
        ContiguousManager(FirstFit(400), ReserveExact(200), "oracle"),
        BlockManager(22, 4, num_host_blocks=60),
    ):
        config = SchedulerConfig(max_model_len=200, preempt=SWAP)
        found.append(engine_run(memory, config, [other, request])[1])
    assert found[0] == found[1] == found[2]
