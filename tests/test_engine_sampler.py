"""Drawing tokens: the filters' laws, seeds that do not see the batch, log-probabilities of the model itself."""

import math
from dataclasses import replace

import pytest
from examples import examples
from hypothesis import assume, given
from hypothesis import strategies as st
from tiny_model import torch

from pagesim.core.beam import Candidate
from pagesim.core.errors import InputError
from pagesim.engine.sampler import (
    Draw,
    TokenLogprob,
    draw,
    kept,
    logprobs,
    relative_weights,
    sample,
    top_candidates,
    top_logprobs,
    uniform,
)
from pagesim.engine.sampling_params import GREEDY, SamplingParams

quarters = st.integers(-40, 40).map(lambda n: n / 4)  # so that ties are common
rows = st.lists(quarters, min_size=1, max_size=30).map(
    lambda values: torch.tensor(values, dtype=torch.float32)
)
params = st.builds(
    SamplingParams,
    temperature=st.sampled_from([0.25, 0.5, 1.0, 1.7]),
    top_k=st.none() | st.integers(1, 35),
    top_p=st.sampled_from([1.0, 0.95, 0.5, 0.123, 1e-6]),
    min_p=st.sampled_from([0.0, 0.013, 0.2, 0.77, 1.0]),
    seed=st.integers(0, 2**63 - 1),
)


def naive_kept(logits, wanted):
    """One token after the other, in double precision: those that may be drawn, with their probabilities."""
    scaled = [value / wanted.temperature for value in logits.tolist()]
    left = {token: math.exp(value - max(scaled)) for token, value in enumerate(scaled)}
    left = {token: weight for token, weight in left.items() if weight >= wanted.min_p}
    ranked = sorted(left, key=lambda token: (-scaled[token], token))
    ranked = ranked[: wanted.top_k] if wanted.top_k else ranked
    total, together, chosen = sum(left[token] for token in ranked), 0.0, []
    for token in ranked:
        short = wanted.top_p - together / total
        assume(abs(short) > 1e-9 or short == 0)  # else the order of a sum decides
        if wanted.top_p < 1 and chosen and short <= 0:
            break
        chosen.append(token)
        together += left[token]
    return {token: left[token] / together for token in sorted(chosen)}


def weights_of(logits, wanted):
    return relative_weights(logits, wanted.temperature)


@examples(300, 5000)
@given(rows, params)
def test_the_filters_keep_what_a_plain_loop_keeps(logits, wanted):
    assert kept(weights_of(logits, wanted), wanted).tolist() == list(naive_kept(logits, wanted))


@examples(12, 60)
@given(st.integers(0, 2**31), st.floats(0.1, 5), params)
def test_the_filters_on_a_large_vocabulary(seed, spread, wanted):
    logits = torch.randn(3000, generator=torch.Generator().manual_seed(seed)) * spread
    assert kept(weights_of(logits, wanted), wanted).tolist() == list(naive_kept(logits, wanted))


def test_each_filter_works_on_what_the_one_before_left():
    weights = torch.tensor([8.0, 8.0, 4.0, 4.0, 2.0, 2.0, 1.0, 1.0]).double().numpy() / 8
    alone = SamplingParams(temperature=1.0, top_p=0.5)
    assert kept(weights, alone).tolist() == [0, 1], "15 of 30"
    assert kept(weights, replace(alone, top_k=2)).tolist() == [0], "8 of 16"
    assert kept(weights, replace(alone, min_p=0.75)).tolist() == [0], "8 of 16"
    assert kept(weights, replace(alone, min_p=0.5, top_k=3)).tolist() == [0, 1], "10 of 20"


@examples(200, 3000)
@given(rows, params)
def test_laws_of_the_filters(logits, wanted):
    alone = SamplingParams(temperature=wanted.temperature)
    weights = weights_of(logits, wanted)
    whole = weights / weights.sum()
    assert whole == pytest.approx((logits / wanted.temperature).double().softmax(dim=0).numpy())

    def tokens_of(**only):
        return kept(weights, replace(alone, **only))

    nucleus = whole[tokens_of(top_p=wanted.top_p)]
    assert nucleus.sum() >= wanted.top_p - 1e-9, "they have the mass"
    assert nucleus.sum() - nucleus.min() < wanted.top_p + 1e-9, "and none could be left out"
    assert nucleus.min() >= sorted(whole, reverse=True)[len(nucleus) - 1] - 1e-12
    likely = tokens_of(min_p=wanted.min_p)
    assert likely.tolist() == [t for t, p in enumerate(whole) if p >= wanted.min_p * whole.max()]
    if wanted.top_k is not None:
        assert len(tokens_of(top_k=wanted.top_k)) == min(wanted.top_k, len(logits))
    tokens = kept(weights, wanted).tolist()
    assert int(logits.argmax()) in tokens, "the likeliest always stays"
    for one in ({"top_k": wanted.top_k}, {"min_p": wanted.min_p}):
        assert set(tokens) <= set(tokens_of(**one).tolist())


@examples(100, 1000)
@given(rows, params, st.floats(0, 1, exclude_max=True))
def test_what_is_drawn_was_kept_and_lies_at_its_chance(logits, wanted, chance):
    weights = weights_of(logits, wanted)
    probabilities = naive_kept(logits, wanted)
    token = draw(weights, wanted, chance)
    before = sum(p for other, p in probabilities.items() if other < token)
    assert before - 1e-9 <= chance <= before + probabilities[token] + 1e-9


def test_a_token_has_its_share_of_the_chances():
    logits = torch.tensor([0.0, -math.inf, 0.0, 0.0, 0.0])
    wanted = SamplingParams(temperature=1.0)
    chances = [0.0, 0.125, 0.25, 0.5, 0.625, 0.75, 1 - 2**-53]
    drawn = [draw(weights_of(logits, wanted), wanted, chance) for chance in chances]
    assert drawn == [0, 0, 2, 3, 3, 4, 4]


def test_what_cannot_happen_is_never_drawn():
    logits = torch.tensor([-math.inf, 0.0, -math.inf, 1.0, -math.inf])
    wanted = SamplingParams(temperature=1.0, top_p=0.999)
    for each in (wanted, replace(wanted, top_p=1.0), replace(wanted, top_k=5)):
        for chance in (0.0, 0.2, 0.5, 1 - 2**-53):
            assert draw(weights_of(logits, each), each, chance) in (1, 3)


@examples(60, 500)
@given(
    st.integers(0, 2**31),
    st.lists(st.tuples(params, st.integers(0, 3), st.integers(0, 40)), min_size=1, max_size=6),
    st.randoms(use_true_random=False),
)
def test_a_token_depends_on_its_own_draw_only(seed, wanted, order):
    logits = torch.randn(len(wanted), 50, generator=torch.Generator().manual_seed(seed)) * 3
    draws = [Draw(*each) for each in wanted]
    draws[::2] = [each._replace(params=GREEDY) for each in draws[::2]]
    together = sample(logits, draws)
    alone = [sample(logits[i : i + 1], [each])[0] for i, each in enumerate(draws)]
    assert together == alone
    shuffled = list(range(len(draws)))
    order.shuffle(shuffled)
    assert sample(logits[shuffled], [draws[i] for i in shuffled]) == [together[i] for i in shuffled]


def test_greedy_takes_the_likeliest_and_of_equals_the_lowest_id():
    logits = torch.tensor([[0.0, 2.0, 2.0, 1.0], [5.0, 5.0, 5.0, 5.0], [1.0, 0.0, 0.0, 9.0]])
    assert sample(logits, [Draw(GREEDY, 0, i) for i in range(3)]) == [1, 0, 3]
    assert sample(torch.empty(0, 4), []) == []


def test_frequencies_are_the_probabilities():
    logits = torch.tensor([0.0, 1.0, 2.0, -1.0])
    wanted = SamplingParams(temperature=1.0, seed=7)
    draws = [Draw(wanted, number, output) for number in range(20) for output in range(500)]
    tokens = torch.tensor(sample(logits.expand(len(draws), 4), draws))
    found = tokens.bincount(minlength=4) / len(tokens)
    expected = logits.softmax(dim=0)
    assert (found - expected).abs().max() < 4 * (0.25 / len(tokens)) ** 0.5


def test_chances_are_even_and_differ_by_each_of_the_three_numbers():
    chances = [
        uniform(seed, number, output)
        for seed in range(10)
        for number in range(10)
        for output in range(100)
    ]
    assert len(set(chances)) == len(chances)
    assert all(0 <= chance < 1 for chance in chances)
    tenths = [sum(int(chance * 10) == tenth for chance in chances) for tenth in range(10)]
    assert max(abs(tenth - 1000) for tenth in tenths) < 4 * 900**0.5
    assert uniform(1, 2, 3) == uniform(1, 2, 3) == 0.7069603535111167  # and in every process
    assert len({uniform(1, 2, 3), uniform(2, 1, 3), uniform(3, 2, 1), uniform(1, 3, 2)}) == 4
    assert uniform(2**63 - 1, 0, 0) < 1


def test_samples_of_one_request_differ():
    logits = torch.zeros(8, 1000)
    wanted = SamplingParams(temperature=1.0)
    assert len(set(sample(logits, [Draw(wanted, number, 0) for number in range(8)]))) == 8


@examples(100, 1000)
@given(
    st.lists(st.lists(quarters, min_size=5, max_size=5), min_size=1, max_size=4), st.integers(1, 7)
)
def test_logprobs_are_the_models_own(values, count):
    logits = torch.tensor(values, dtype=torch.float32)
    exact = logits.double().log_softmax(dim=-1)
    tokens = [row % 5 for row in range(len(values))]
    assert logprobs(logits, tokens) == pytest.approx(
        exact[range(len(values)), tokens].tolist(), abs=1e-5
    )
    for row, best, candidates in zip(
        exact.tolist(), top_logprobs(logits, count), top_candidates(logits, count), strict=True
    ):
        ranked = sorted(range(5), key=lambda token: (-row[token], token))[:count]
        assert [each.token for each in best] == ranked
        assert [each.logprob for each in best] == pytest.approx([row[t] for t in ranked], abs=1e-5)
        assert candidates == tuple(Candidate(t, round(row[t] * 1e6)) for t in ranked)


def test_candidates_compare_in_whole_micro_nats():
    logits = torch.tensor([[0.0, 1e-7, 2e-7, -50.0]])  # the first three are equal to a millionth
    assert [each.token for each in top_candidates(logits, 2)[0]] == [0, 1]
    assert [each.token for each in top_logprobs(logits, 2)[0]] == [2, 1]
    impossible = torch.tensor([[0.0, -math.inf]])
    assert top_candidates(impossible, 2) == [(Candidate(0, 0), Candidate(1, -(2**52)))]
    assert top_logprobs(torch.tensor([[1.0, 1.0]]), 0) == [()]
    assert isinstance(top_logprobs(logits, 1)[0][0], TokenLogprob)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"temperature": -1.0}, "temperature is -1.0; it must be 0 (greedy) or above"),
        ({"temperature": math.nan}, "temperature is nan; it must be 0 (greedy) or above"),
        ({"temperature": math.inf}, "temperature is inf; it must be 0 (greedy) or above"),
        ({"top_k": 0}, "top_k is 0; it must be at least 1, or left out for all tokens"),
        ({"top_p": 0.0}, "top_p is 0.0; it must be above 0 and at most 1"),
        ({"top_p": 1.5}, "top_p is 1.5; it must be above 0 and at most 1"),
        ({"min_p": -0.1}, "min_p is -0.1; it must be from 0 to 1"),
        ({"seed": -1}, "seed is -1; it must be from 0 to 2^63 - 1"),
        ({"seed": 2**63}, "it must be from 0 to 2^63 - 1"),
        ({"logprobs": 21}, "logprobs is 21; it must be from 0 to 20"),
        ({"stops": ("a", "")}, "a stop string is empty; it must have at least one character"),
    ],
)
def test_parameters_that_cannot_be_are_refused(given, sentence):
    with pytest.raises(InputError) as caught:
        SamplingParams(**given)
    assert sentence in str(caught.value)
