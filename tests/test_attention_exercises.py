"""What the attention exercises judge by: cases that a learner can paste, the right result, and mistakes told apart."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings

from pagesim_lessons.exercises.paged_attention import checks as in_numpy
from pagesim_lessons.exercises.paged_attention.script import (
    Case,
    Mistake,
    arrays_of,
    attention,
    cases,
    lines_of,
    near,
)
from pagesim_lessons.exercises.triton_decode import checks as in_triton


@settings(max_examples=40)
@given(cases())
def test_pasted_lines_make_the_same_arrays(case: Case) -> None:
    pasted: dict[str, object] = {}
    exec("\n".join(lines_of(case)), pasted)
    for name, array in zip(("q", "k_cache", "v_cache"), arrays_of(case), strict=True):
        assert np.array_equal(pasted[name], array, equal_nan=True)


@settings(max_examples=40)
@given(cases())
def test_right_is_attention_over_contiguous_keys(case: Case) -> None:
    """Gathered first, all heads at once, a softmax by logarithms."""
    q, k_cache, v_cache = arrays_of(case)
    found = attention(case)
    for seq, (table, length) in enumerate(zip(case.tables, case.lengths, strict=True)):
        keys, values = (
            np.concatenate(cache[table])[:length].repeat(case.heads // case.kv_heads, axis=1)
            for cache in (k_cache, v_cache)
        )
        scores = np.einsum("hd,khd->hk", q[seq], keys) / np.sqrt(case.dim)
        weights = np.exp(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))
        assert np.allclose(found[seq], np.einsum("hk,khd->hd", weights, values))


@pytest.mark.parametrize("checks", [in_numpy, in_triton])
def test_no_two_mistakes_look_alike(checks) -> None:
    """On the cases by which they are told apart; and each is far from what is right."""
    found = {
        name: mistake for name, mistake in vars(checks).items() if isinstance(mistake, Mistake)
    }
    found |= {f"walk {n}": mistake for n, mistake in enumerate(getattr(checks, "WALK", []))}
    assert len(found) > 12
    right = [attention(case) for case in checks.CASES]
    given = {
        name: [attention(case, mistake.way) for case in checks.CASES]
        for name, mistake in found.items()
    }
    for (one, a), (other, b) in combinations({"right": right, **given}.items(), 2):
        assert not all(map(near, a, b)), f"{one} and {other} give the same"
        if one == "right":
            assert any(not np.allclose(x, y, atol=0.01) for x, y in zip(a, b, strict=True)), other
