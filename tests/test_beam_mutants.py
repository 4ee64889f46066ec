"""One-line mutants of beam search, each caught by the law meant for it; ``pytest -k mutants -v`` lists them.

The laws are the ``check_`` functions of ``test_beam.py``, on one small example each.
"""

import importlib.util
from functools import partial
from pathlib import Path

import pytest
from mutation import Mutant, install

from pagesim.core import beam
from pagesim.core.beam import BeamSearch, EarlyStopping


def laws_of_beam():
    place = Path(__file__).with_name("test_beam.py")
    spec = importlib.util.spec_from_file_location("laws_of_beam", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


laws = laws_of_beam()
STOP = frozenset({0})


def exhaustive(seed, length_penalty):
    """Two tokens and a stop token, up to three outputs."""
    return partial(laws.check_exhaustive, seed, 3, 3, STOP, length_penalty)


def reference(seed, length_penalty, early_stopping, spread=laws.NO_TIES):
    """Two beams over six tokens, up to five outputs."""
    search = BeamSearch(length_penalty, early_stopping)
    return partial(laws.check_reference, seed, 6, 2, 5, STOP, search, spread)


def enough(seed, num_stop_ids):
    """One beam over six tokens, up to five outputs."""
    stop_ids = frozenset(range(num_stop_ids))
    search = BeamSearch(1.0, EarlyStopping.NEVER)
    return partial(laws.check_enough, seed, 6, 1, 5, stop_ids, search)


def greedy(seed, spread=laws.NO_TIES):
    """Four tokens, up to five outputs."""
    return partial(laws.check_greedy, seed, 4, 5, STOP, spread)


def members(*parents):
    return partial(laws.check_members, parents)


def done(name):
    return partial(laws.check_done, name)


MUTANTS = [
    Mutant(
        "stop-token-not-counted", "exhaustive",
        beam, "score",
        "num_outputs, length", "max(1, num_outputs - 1), length",
        exhaustive(1, 1.0),
    ),
    Mutant(
        "length-does-not-matter", "exhaustive",
        beam, "keep_best",
        "-score_of(hypothesis)", "-hypothesis.logprob",
        exhaustive(0, 1.0),
    ),
    Mutant(
        "low-ranked-stop-ends-an-answer", "reference",
        beam, "choose",
        "ranked[:width]", "ranked",
        reference(7, 1.0, EarlyStopping.NEVER),
    ),
    Mutant(
        "ended-beam-goes-on", "reference",
        beam, "choose",
        "(choice for choice in ranked if choice.token not in stop_ids)", "ranked",
        reference(0, 1.0, EarlyStopping.NEVER),
    ),
    Mutant(
        "too-many-answers-kept", "reference",
        beam, "keep_best",
        "[:width]", "",
        reference(0, 1.0, EarlyStopping.NEVER),
    ),
    Mutant(
        "of-equals-the-last", "reference",
        beam, "keep_best",
        "sorted(hypotheses,", "sorted(reversed(hypotheses),",
        reference(0, 1.0, EarlyStopping.NEVER, laws.MANY_TIES),
    ),
    Mutant(
        "never-takes-the-present-length", "reference",
        beam, "is_done",
        "early_stopping is EarlyStopping.NEVER and length_penalty > 0", "False",
        reference(37, 1.0, EarlyStopping.NEVER),
    ),
    Mutant(
        "worst-is-taken-for-the-best", "reference",
        beam, "is_done",
        "length_penalty)[-1]", "length_penalty)[0]",
        reference(5, 1.0, EarlyStopping.HEURISTIC),
    ),
    Mutant(
        "parents-logprob-forgotten", "greedy",
        beam, "choose",
        "logprobs[parent] + logprob", "logprob",
        greedy(1),
    ),
    Mutant(
        "ties-go-to-the-smaller-token", "greedy",
        beam, "choose",
        "-choice.logprob", "(-choice.logprob, -choice.token)",
        greedy(0, laws.MANY_TIES),
    ),
    Mutant(
        "stop-tokens-alone", "enough",
        beam, "num_candidates",
        "1 + num_stop_ids", "num_stop_ids",
        enough(4, 3),
    ),
    Mutant(
        "heuristic-takes-the-longest", "done",
        beam, "is_done",
        "early_stopping is EarlyStopping.NEVER and", "",
        done("level-at-the-present-length"),
    ),
    Mutant(
        "never-takes-the-longest-though-length-costs", "done",
        beam, "is_done",
        "EarlyStopping.NEVER and length_penalty > 0", "EarlyStopping.NEVER",
        done("better-now-worse-later"),
    ),
    Mutant(
        "half-full-is-full", "done",
        beam, "is_done",
        "len(hypotheses) < width", "not hypotheses",
        done("one-of-two-has-ended"),
    ),
    Mutant(
        "full-is-never-enough", "done",
        beam, "is_done",
        "early_stopping is EarlyStopping.WHEN_FULL", "False",
        done("full-is-enough"),
    ),
    Mutant(
        "draw-holds-up-the-end", "done",
        beam, "is_done",
        "attainable <=", "attainable <",
        done("level-at-the-longest"),
    ),
    Mutant(
        "all-answers-count-as-kept", "done",
        beam, "is_done",
        "keep_best(hypotheses, width,", "keep_best(hypotheses, len(hypotheses),",
        done("only-the-kept-count"),
    ),
    Mutant(
        "parent-goes-on-with-its-worst-choice", "members",
        beam, "reassign",
        "key=lambda choice: parents[choice]", "key=lambda choice: (parents[choice], -choice)",
        members(0, 0),
    ),
    Mutant(
        "forks-in-order-of-rank-alone", "members",
        beam, "reassign",
        "sorted(range(num_members), key=lambda choice: parents[choice])", "range(num_members)",
        members(3, 0, 3, 0),
    ),
    Mutant(
        "forks-fill-from-the-highest-down", "members",
        beam, "reassign",
        "iter(forked)", "reversed(forked)",
        members(0, 0, 0),
    ),
    Mutant(
        "parent-moves-to-the-lowest-member", "members",
        beam, "reassign",
        "if parents[choice] in kept", "if True",
        members(1, 1),
    ),
    Mutant(
        "too-few-beams-go-on", "refusal",
        beam, "choose",
        "len(live) < width", "not live",
        laws.check_refusal,
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    "mutant", MUTANTS, ids=[f"{mutant.name}--breaks--{mutant.law}" for mutant in MUTANTS]
)
def test_mutants_of_beam_search(mutant, monkeypatch):
    mutant.provoke()
    install(mutant, monkeypatch.setattr)
    with pytest.raises(AssertionError) as caught:
        mutant.provoke()
    assert str(caught.value).split(":")[0] == mutant.law, str(caught.value)


def test_every_law_of_beam_search_has_a_mutant():
    named = {name.removeprefix("check_") for name in vars(laws) if name.startswith("check_")}
    assert named == {mutant.law for mutant in MUTANTS}
