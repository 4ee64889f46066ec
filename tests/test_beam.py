"""Beam search: laws against a search of everything, a plain reference and greedy; the rules by hand.

The ``check_`` functions say which law broke, for the mutants in ``test_beam_mutants.py``.
"""

from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagesim.core import beam
from pagesim.core.beam import BeamSearch, Candidate, Choice, Chosen, EarlyStopping, Hypothesis

WHEN_FULL, HEURISTIC, NEVER = EarlyStopping
NAT = 10**6
IMPOSSIBLE = -(10**12)
NO_TIES, MANY_TIES = 10**9, 3

SEEDS = st.integers(0, 2**32)
SPREADS = st.sampled_from([NO_TIES, MANY_TIES])
PENALTIES = st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0, 2.0])


# -- a language model, and a search with it ------------------------------------------------------------------


def scripted(seed, vocabulary, spread):
    """A model that answers a prefix with every token, best first: the smaller the spread, the more ties."""

    def named(prefix):
        rng = Random(f"{seed} {prefix}")
        row = [Candidate(token, -rng.randrange(spread)) for token in range(vocabulary)]
        return sorted(row, key=lambda candidate: -candidate.logprob)

    return named


def search(model, width, longest, stop_ids, asked, cut=None):
    """All of the module in a loop; ``cut`` is how many candidates each beam names, ``None`` for all."""
    live, kept = [((), 0)], ()
    for length in range(1, longest + 1):
        candidates = [model(prefix)[:cut] for prefix, _ in live]
        chosen = beam.choose([logprob for _, logprob in live], candidates, width, stop_ids)
        before = [prefix for prefix, _ in live]
        live = [((*before[parent], token), logprob) for parent, token, logprob in chosen.live]
        ended = [((*before[parent], token), logprob) for parent, token, logprob in chosen.ended]
        if length == longest:
            ended += live
        kept = (*kept, *(Hypothesis(*answer) for answer in ended))
        kept = beam.keep_best(kept, width, asked.length_penalty)
        if length < longest and beam.is_done(kept, width, live[0][1], length, longest, asked):
            break
    return kept


def nats_per_output(tokens, logprob, length_penalty):
    return logprob / NAT / len(tokens) ** length_penalty


# -- laws ----------------------------------------------------------------------------------------------------


def check_exhaustive(seed, vocabulary, longest, stop_ids, length_penalty, spread=NO_TIES):
    """As many beams as there are answers find all of them. Impossible tokens keep so wide a beam alive."""
    possible = scripted(seed, vocabulary, spread)
    everything = {
        tokens: sum(dict(possible(tokens[:i]))[tokens[i]] for i in range(len(tokens)))
        for length in range(1, longest + 1)
        for tokens in product(range(vocabulary), repeat=length)
        if not stop_ids.intersection(tokens[:-1])
        if length == longest or tokens[-1] in stop_ids
    }
    width = len(everything)

    def model(prefix):
        impossible = range(vocabulary, vocabulary + width)
        return [*possible(prefix), *(Candidate(token, IMPOSSIBLE) for token in impossible)]

    found = search(model, width, longest, stop_ids, BeamSearch(length_penalty, NEVER))
    assert dict(found) == everything, f"exhaustive: {found} is not {everything}"
    scores = [nats_per_output(*answer, length_penalty) for answer in found]
    assert scores == sorted(scores, reverse=True), f"exhaustive: {found} is not best first"


def reference(model, width, longest, stop_ids, asked):
    """Whole answers in dictionaries, everything sorted; under NEVER it really never stops."""

    def worth(answer):
        return nats_per_output(*answer, asked.length_penalty)

    live, kept = {(): 0}, {}
    for length in range(1, longest + 1):
        longer = {}
        for prefix in live:
            longer |= {(*prefix, token): live[prefix] + own for token, own in model(prefix)}
        live = {}
        for rank, tokens in enumerate(
            sorted(longer, key=lambda tokens: longer[tokens], reverse=True)
        ):
            if tokens[-1] in stop_ids:
                if rank < width:
                    kept[tokens] = longer[tokens]
            elif len(live) < width:
                live[tokens] = longer[tokens]
        if length == longest:
            kept |= live
        kept = dict(sorted(kept.items(), key=worth, reverse=True)[:width])
        if len(kept) == width and asked.early_stopping is not NEVER:
            beaten = max(map(worth, live.items())) <= min(map(worth, kept.items()))
            if beaten or asked.early_stopping is WHEN_FULL:
                break
    return tuple(Hypothesis(*answer) for answer in kept.items())


def check_reference(seed, vocabulary, width, longest, stop_ids, asked, spread=NO_TIES):
    model = scripted(seed, vocabulary, spread)
    found = search(model, width, longest, stop_ids, asked)
    expected = reference(model, width, longest, stop_ids, asked)
    assert found == expected, f"reference: {found} is not {expected}"


def check_enough(seed, vocabulary, width, longest, stop_ids, asked, spread=NO_TIES):
    """What lies beyond each beam's best ``num_candidates`` is never looked at."""
    model = scripted(seed, vocabulary, spread)
    cut = beam.num_candidates(width, len(stop_ids))
    try:
        found = search(model, width, longest, stop_ids, asked, cut)
    except ValueError as error:
        raise AssertionError(f"enough: {error}") from None
    expected = search(model, width, longest, stop_ids, asked)
    assert found == expected, f"enough: {found} is not {expected}"


def check_greedy(seed, vocabulary, longest, stop_ids, spread=NO_TIES):
    """One beam that stops at its first answer takes the best token each time; of equals, the first named."""
    model = scripted(seed, vocabulary, spread)
    tokens, logprob = (), 0
    while len(tokens) < longest and not stop_ids.intersection(tokens):
        best = max(model(tokens), key=lambda candidate: candidate.logprob)
        tokens, logprob = (*tokens, best.token), logprob + best.logprob
    found = search(model, 1, longest, stop_ids, BeamSearch(1.0, WHEN_FULL))
    assert found == (Hypothesis(tokens, logprob),), f"greedy: {found} is not {tokens}, {logprob}"


def check_members(parents):
    """Every choice has one member, parents keep their own, forks fill the dropped from the lowest up."""
    members = range(len(parents))
    given = beam.reassign(parents, len(parents))
    assert sorted(given) == [*members], f"members: {given} leaves a choice or a member out"
    own = {parent: parents.index(parent) for parent in parents}
    for parent, best in own.items():
        assert given[parent] == best, f"members: {parent} does not keep its best choice in {given}"
    forks = sorted((parents[choice], choice) for choice in members if choice not in own.values())
    dropped = [given[member] for member in members if member not in own]
    assert dropped == [choice for _, choice in forks], f"members: forks of {parents} lie as {given}"


@given(SEEDS, st.integers(1, 3), st.integers(1, 3), st.integers(0, 2), PENALTIES, SPREADS)
def test_a_wide_enough_beam_finds_every_answer(
    seed, vocabulary, longest, num_stop_ids, penalty, spread
):
    stop_ids = frozenset(range(min(num_stop_ids, vocabulary)))
    check_exhaustive(seed, vocabulary, longest, stop_ids, penalty, spread)


@st.composite
def searches(draw):
    """Seed, vocabulary, width, longest, stop ids and what is asked: the vocabulary is never too small."""
    width, num_stop_ids = draw(st.integers(1, 4)), draw(st.integers(0, 3))
    vocabulary = width + num_stop_ids + draw(st.integers(0, 8))
    asked = BeamSearch(draw(PENALTIES), draw(st.sampled_from(EarlyStopping)))
    stop_ids = frozenset(range(num_stop_ids))
    return draw(SEEDS), vocabulary, width, draw(st.integers(1, 6)), stop_ids, asked


@given(searches(), SPREADS)
def test_the_plain_reference_agrees(asked, spread):
    check_reference(*asked, spread)


@given(searches(), SPREADS)
def test_each_beams_best_candidates_are_enough(asked, spread):
    check_enough(*asked, spread)


@given(SEEDS, st.integers(2, 6), st.integers(1, 6), SPREADS)
def test_one_beam_is_greedy(seed, vocabulary, longest, spread):
    check_greedy(seed, vocabulary, longest, frozenset({0}), spread)


@given(st.integers(1, 7).flatmap(lambda n: st.lists(st.integers(0, n - 1), min_size=n, max_size=n)))
def test_members_are_reassigned(parents):
    check_members(parents)


@given(searches())
def test_members_that_fork_in_place_hold_the_live_beams(asked):
    """Beams numbered by member, not by rank, as memory sees them: the same live beams, step by step."""
    seed, vocabulary, width, longest, stop_ids, _ = asked
    model = scripted(seed, vocabulary, NO_TIES)
    ranked, members = [((), 0)], [((), 0)]
    for _ in range(longest):
        names = [model(prefix) for prefix, _ in ranked]
        live = beam.choose([logprob for _, logprob in ranked], names, width, stop_ids).live
        ranked = [((*ranked[i][0], token), logprob) for i, token, logprob in live]
        names = [model(prefix) for prefix, _ in members]
        live = beam.choose([logprob for _, logprob in members], names, width, stop_ids).live
        given = beam.reassign([choice.parent for choice in live], width)
        following = [live[choice] for choice in given]
        members = [((*members[i][0], token), logprob) for i, token, logprob in following]
        assert sorted(members) == sorted(ranked)


# -- the rules by hand ---------------------------------------------------------------------------------------


def test_a_step_by_hand():
    """Width 2, stop token 9. Of the six the second best ends; the fourth would, but ranks too low."""
    candidates = [
        [Candidate(1, -1), Candidate(9, -2), Candidate(2, -7)],  # on -10: -11, -12, -17
        [Candidate(3, -2), Candidate(9, -3), Candidate(4, -4)],  # on -11: -13, -14, -15
    ]
    chosen = beam.choose([-10, -11], candidates, 2, frozenset({9}))
    assert chosen == Chosen(live=(Choice(0, 1, -11), Choice(1, 3, -13)), ended=(Choice(0, 9, -12),))


def test_ties_go_to_the_lower_parent_then_to_what_was_named_first():
    candidates = [[Candidate(5, -1), Candidate(3, -1)], [Candidate(2, -1), Candidate(1, 0)]]
    chosen = beam.choose([0, 0], candidates, 2, frozenset())
    assert chosen.live == (Choice(1, 1, 0), Choice(0, 5, -1))
    equals = [Hypothesis((token,), -NAT) for token in (4, 2, 3)]
    assert beam.keep_best(equals, 2, 1.0) == (*equals[:2],)


def test_forks_by_hand():
    """Members 1 and 2 are dropped: 1 takes the second choice of 0, 2 the second of 3."""
    assert beam.reassign([3, 0, 3, 0], 4) == (1, 3, 2, 0)
    assert beam.reassign([0, 0, 0], 3) == (0, 1, 2)  # the first step: members 1 and 2 start


def test_how_many_candidates():
    assert [beam.num_candidates(3, num_stop_ids) for num_stop_ids in range(4)] == [6, 6, 9, 12]


# A: 2 outputs, -2 nats; B: 1 output, -3 nats; C: far behind both.
A, B, C = Hypothesis((1, 9), -2 * NAT), Hypothesis((9,), -3 * NAT), Hypothesis((9,), -50 * NAT)
DONE = {
    "one-of-two-has-ended": ([A], -9.0, 4, 1.0, WHEN_FULL, False),
    "full-is-enough": ([A, B], -0.1, 4, 1.0, WHEN_FULL, True),
    # the worst is B, -3 a token; three tokens of -9 draw level, a little more is better
    "level-at-the-present-length": ([A, B], -9.0, 4, 1.0, HEURISTIC, True),
    "better-at-the-present-length": ([A, B], -8.9, 4, 1.0, HEURISTIC, False),
    "one-of-two-has-ended-though-nothing-is-better": ([B], -99.0, 4, 1.0, HEURISTIC, False),
    "only-the-kept-count": ([A, C, B], -9.0, 4, 1.0, HEURISTIC, True),
    # four tokens of -9 would be better, were the fourth free
    "better-at-the-longest": ([A, B], -9.0, 4, 1.0, NEVER, False),
    "level-at-the-longest": ([A, B], -12.0, 4, 1.0, NEVER, True),
    # length costs: A is the worst, -2 * 2; three tokens of -1.3 make -3.9, four would make -5.2
    "better-now-worse-later": ([A, B], -1.3, 4, -1.0, NEVER, False),
    "worse-already": ([A, B], -1.4, 4, -1.0, NEVER, True),
    "length-costs-under-the-heuristic": ([A, B], -1.3, 4, -1.0, HEURISTIC, False),
    # length is no matter: B is the worst, -3
    "level-without-a-penalty": ([A, B], -3.0, 4, 0.0, NEVER, True),
    "better-without-a-penalty": ([A, B], -2.9, 4, 0.0, HEURISTIC, False),
}  # fmt: skip


def check_done(name):
    """Width 2, and live beams of 3 outputs."""
    kept, best_live, longest, penalty, early_stopping, expected = DONE[name]
    asked = BeamSearch(penalty, early_stopping)
    done = beam.is_done(kept, 2, round(best_live * NAT), 3, longest, asked)
    assert done is expected, f"done: {done} for {name}"


@pytest.mark.parametrize("name", DONE)
def test_done_by_hand(name):
    check_done(name)


# -- bad input -----------------------------------------------------------------------------------------------


def check_refusal():
    """Three tokens, one of them a stop token, cannot keep three beams alive."""
    row = [Candidate(token, -token) for token in range(3)]
    try:
        chosen = beam.choose([0], [row], 3, frozenset({0}))
    except ValueError as error:
        return str(error)
    raise AssertionError(f"refusal: {chosen} though only two can go on")


def test_too_few_can_go_on():
    assert check_refusal().startswith("2 of 3 beams can go on: name 6 candidates")


@pytest.mark.parametrize(
    ("logprobs", "num_lists", "width"), [([], 0, 2), ([0, 0, 0], 3, 2), ([0, 0], 1, 2), ([0], 1, 0)]
)
def test_beams_and_lists_must_agree(logprobs, num_lists, width):
    with pytest.raises(ValueError, match="live beams with"):
        beam.choose(logprobs, [[Candidate(1, 0)]] * num_lists, width, frozenset())


@pytest.mark.parametrize("parents", [[0], [0, 0, 0], [0, 2], [-1, 0]])
def test_members_and_choices_must_agree(parents):
    with pytest.raises(AssertionError):
        beam.reassign(parents, 2)
