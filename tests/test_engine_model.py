"""The decoder: equal to the same model written otherwise in float64, however its tokens are cut into batches."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from tiny_model import (
    BASE,
    VARIANTS,
    PlainCache,
    build_model,
    greedy,
    published_frequencies,
    random_tensors,
    random_tokens,
    reference_logits,
    step,
    torch,
    whole_logits,
)

from pagesim.core.errors import InputError
from pagesim.engine.config import ListedScaling, Llama3Scaling, parameter_shapes
from pagesim.engine.linear import Linear
from pagesim.engine.models import open_model
from pagesim.engine.rope import angles, inverse_frequencies, rotate

HELPERS = Path(__file__).parent / "helpers"


@pytest.mark.parametrize("name", VARIANTS)
def test_the_model_equals_the_one_in_float64(name):
    config = VARIANTS[name]
    tensors = random_tensors(config)
    tokens = random_tokens(config, 24)
    logits = whole_logits(build_model(config, tensors), tokens)
    expected = torch.from_numpy(reference_logits(config, tensors, tokens))
    assert logits.dtype == torch.float32
    torch.testing.assert_close(logits.double(), expected, rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize("name", ["scaled", "window", "q and k norms", "biases", "wide heads"])
def test_every_option_changes_the_result(name):
    """Else the test above would not notice if it were left out."""
    config = VARIANTS[name]
    tensors = random_tensors(config)
    tokens = random_tokens(config, 24)
    changed = reference_logits(config, tensors, tokens)
    plain = replace(
        config, rope_scaling=None, sliding_window=None, qk_norm=False, attention_bias=False
    )
    kept = {n: t for n, t in tensors.items() if n in parameter_shapes(plain)}
    if plain == config:
        plain = replace(plain, rope_theta=50.0)
    assert abs(reference_logits(plain, kept, tokens) - changed).max() > 0.01


@st.composite
def batches(draw):
    """Up to four sequences, and in which pieces their tokens come: a list of steps, each of (sequence, how many)."""
    lengths = draw(st.lists(st.integers(1, 20), min_size=1, max_size=4))
    left = dict(enumerate(lengths))
    steps = []
    while left:
        parts = {
            name: draw(st.integers(0 if len(left) > 1 else 1, rest)) for name, rest in left.items()
        }
        if any(parts.values()):
            steps.append([(name, count) for name, count in parts.items() if count])
        left = {name: rest - parts[name] for name, rest in left.items() if rest > parts[name]}
    return lengths, steps


@examples(25, 250)
@given(batches(), st.sampled_from(sorted(VARIANTS)))
def test_chunks_and_batches_change_nothing(batch, name):
    lengths, steps = batch
    model = build_model(VARIANTS[name], random_tensors(VARIANTS[name]))
    tokens = [random_tokens(model.config, length, seed) for seed, length in enumerate(lengths)]
    cache, done, got = PlainCache(model.config), [0] * len(lengths), [[] for _ in lengths]
    for parts in steps:
        spans = [(seq, tokens[seq][done[seq] : done[seq] + count]) for seq, count in parts]
        logits = step(model, cache, spans)
        for (seq, count), rows in zip(
            parts, logits.split([count for _, count in parts]), strict=True
        ):
            got[seq].append(rows)
            done[seq] += count
    for seq, sequence in enumerate(tokens):
        expected = whole_logits(model, sequence)
        torch.testing.assert_close(torch.cat(got[seq]), expected, rtol=1e-4, atol=2e-5)


def test_attend_is_called_once_a_layer_in_order_with_rotated_heads():
    model = build_model(BASE, random_tensors(BASE))
    seen = []

    def attend(layer, q, k, v):
        seen.append((layer, tuple(q.shape), tuple(k.shape), tuple(v.shape)))
        assert q.stride(-1) == k.stride(-1) == v.stride(-1) == 1
        return torch.zeros_like(q)

    model.forward(torch.tensor([1, 2, 3]), torch.tensor([7, 0, 100]), attend)
    shapes = ((3, 4, 8), (3, 2, 8), (3, 2, 8))
    assert seen == [(layer, *shapes) for layer in range(2)]


def test_no_tokens_and_no_rows_are_allowed():
    model = build_model(BASE, random_tensors(BASE))
    nothing = torch.empty(0, dtype=torch.int64)
    hidden = model.forward(nothing, nothing, lambda layer, q, k, v: q)
    assert hidden.shape == (0, BASE.hidden_size)
    assert model.logits(hidden).shape == (0, BASE.vocab_size)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.bfloat16, 0.15), (torch.float16, 0.02)])
@pytest.mark.parametrize("name", ["grouped", "everything"])
def test_half_precision_comes_near(name, dtype, tolerance):
    config = VARIANTS[name]
    tensors = random_tensors(config)
    tokens = random_tokens(config, 12)
    model = build_model(config, tensors, dtype)
    rounded = {n: tensor.to(dtype).float() for n, tensor in tensors.items()}
    logits = whole_logits(model, tokens)
    expected = torch.from_numpy(reference_logits(config, rounded, tokens))
    assert (model.dtype, logits.dtype) == (dtype, torch.float32)
    assert (logits - expected).abs().max() < tolerance


@pytest.mark.parametrize("name", ["grouped", "scaled", "listed scaling"])
def test_frequencies_follow_the_published_rule(name):
    config = VARIANTS[name]
    found = inverse_frequencies(config.head_dim, config.rope_theta, config.rope_scaling)
    expected = torch.tensor(published_frequencies(config), dtype=torch.float64)
    torch.testing.assert_close(found.double(), expected, rtol=1e-6, atol=0)


def test_llama_3_1_leaves_fast_frequencies_and_divides_slow_ones():
    scaling = Llama3Scaling(8.0, 1.0, 4.0, 8192)
    plain = inverse_frequencies(128, 500_000.0)
    scaled = inverse_frequencies(128, 500_000.0, scaling)
    config = replace(BASE, head_dim=128, rope_theta=500_000.0, rope_scaling=scaling)
    expected = torch.tensor(published_frequencies(config), dtype=torch.float64)
    torch.testing.assert_close(scaled.double(), expected, rtol=2e-6, atol=0)
    ratio = plain / scaled
    assert (ratio[:29] == 1).all()
    torch.testing.assert_close(ratio[-20:], torch.full((20,), 8.0))
    assert (ratio.diff() > -1e-5).all()
    listed = ListedScaling(tuple(ratio.tolist()))
    torch.testing.assert_close(inverse_frequencies(128, 500_000.0, listed), scaled)


@examples(20, 200)
@given(st.integers(0, 2**31), st.integers(0, 300), st.integers(0, 300), st.integers(0, 1000))
def test_scores_depend_on_distance_only(seed, a, b, shift):
    generator = torch.Generator().manual_seed(seed)
    q, k = torch.randn(2, 1, 1, 16, generator=generator, dtype=torch.float64)
    frequencies = inverse_frequencies(16, 10_000.0).double()

    def score(first, second):
        turned = [
            rotate(x, *angles(torch.tensor([at]), frequencies, torch.float64))
            for x, at in ((q, first), (k, second))
        ]
        return float((turned[0] * turned[1]).sum())

    assert score(a, b) == pytest.approx(score(a + shift, b + shift), abs=1e-9)
    assert float(rotate(q, *angles(torch.tensor([a]), frequencies, torch.float64)).norm()) == (
        pytest.approx(float(q.norm()))
    )


@pytest.mark.parametrize("num_tokens", [0, 1, 3, 64, 100])
@pytest.mark.parametrize("with_bias", [False, True])
def test_a_packed_matrix_multiplies_like_a_plain_one(num_tokens, with_bias):
    generator = torch.Generator().manual_seed(num_tokens)
    x = torch.randn(num_tokens, 48, generator=generator)
    weight = torch.randn(40, 48, generator=generator)
    bias = torch.randn(40, generator=generator) if with_bias else None
    expected = torch.nn.functional.linear(
        x.double(), weight.double(), bias if bias is None else bias.double()
    )
    torch.testing.assert_close(Linear(weight, bias)(x).double(), expected, rtol=1e-5, atol=1e-5)


def test_the_tiny_model_is_the_same_in_every_process():
    script = (
        f"import sys; sys.path.insert(0, {str(HELPERS)!r})\n"
        "from tiny_model import greedy\n"
        "from pagesim.engine.models import open_model\n"
        "print(greedy(open_model('tiny').model, list(b'Once upon'), 12))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout
    model = open_model("tiny").model
    tokens = greedy(model, list(b"Once upon"), 12)
    assert printed.strip() == str(tokens)
    assert len(set(tokens)) > 6, "it should not say the same over and over"
    assert greedy(model, list(b"Twice upon"), 12) != tokens, "it should look at all of its prompt"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"num_layers": 0}, "num_layers is 0; it must be at least 1"),
        ({"num_layers": 2**40}, "the model has 1,099,511,627,776 layers; 10,000 is the most"),
        ({"num_heads": 3}, "3 query heads on 2 KV heads; the query heads must be a multiple"),
        ({"head_dim": 7}, "head size is 7; rotary embedding turns pairs, so it must be even"),
        ({"rms_norm_eps": 0.0}, "rms_norm_eps is 0.0 and its rope_theta 100.0; both must be above"),
        ({"sliding_window": 0}, "sliding window is 0 tokens; it must be at least 1"),
        ({"eos_ids": (3, 67)}, "special token 67 is outside its vocabulary of 67 tokens"),
        ({"bos_id": 99}, "special token 99 is outside its vocabulary of 67 tokens"),
        ({"rope_scaling": Llama3Scaling(8.0, 4.0, 1.0, 32)}, "below high_freq_factor"),
        (
            {"rope_scaling": ListedScaling((1.0, 2.0))},
            "lists 2 rotary factors for a head size of 8",
        ),
    ],
)
def test_a_config_that_cannot_be_is_refused(change, sentence):
    with pytest.raises(InputError, match=sentence.replace("(", r"\(")):
        replace(BASE, **change)
