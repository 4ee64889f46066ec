"""Logits become tokens. Pure: what is drawn depends on the logits, the parameters, and where the token stands.

A draw's randomness is a hash of (seed, sample, output index), not the state of a generator. So a request gets the same
tokens alone or in any batch, preempted or not, and its samples differ from each other.

The filters come in vLLM V1's order: temperature, min-p, top-k, top-p, each on what the one before left, with
probabilities made to sum to 1 again. (transformers applies min-p last; llama.cpp the temperature.) Log-probabilities
are those of the model itself, before temperature and filters, as vLLM V1 and OpenAI give them by default.
"""

from collections.abc import Sequence
from hashlib import blake2b
from struct import pack
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from pagesim.core.beam import MICRO_NATS_PER_NAT, Candidate
from pagesim.engine.sampling_params import SamplingParams

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
LEAST_LOGPROB = -(2**52)
"""Micro-nats of what cannot happen."""


class Draw(NamedTuple):
    """One token to be drawn: number ``output`` (from 0) of the outputs of sample ``sample`` of a request."""

    params: SamplingParams
    sample: int
    output: int


class TokenLogprob(NamedTuple):
    token: int
    logprob: float
    """Nats."""


def sample(logits: torch.Tensor, draws: Sequence[Draw]) -> list[int]:
    """One token for each row: ``logits`` (n, vocab) float32, ``draws`` n."""
    assert len(logits) == len(draws), f"{len(draws)} draws from {len(logits)} rows of logits"
    if not draws:
        return []
    tokens: list[int] = logits.argmax(dim=-1).tolist()  # of equals the lowest id
    for row, (params, number, output) in enumerate(draws):
        if not params.is_greedy:
            weights = relative_weights(logits[row], params.temperature)
            tokens[row] = draw(weights, params, uniform(params.seed, number, output))
    return tokens


def uniform(seed: int, number: int, output: int) -> float:
    """From 0 to below 1, in steps of 2^-53: the same for the same three numbers, in every process."""
    digest = blake2b(pack("<3q", seed, number, output), digest_size=8).digest()
    return (int.from_bytes(digest, "little") >> 11) / 2**53


def draw(weights: Floats, params: SamplingParams, chance: float) -> int:
    """The token at ``chance`` (0 to below 1) of the probability that is kept, by id: ``weights`` (vocab,).

    By id and not by rank, since two tokens that are nearly equal may swap ranks when a batch is computed in
    another order; their ids stay.
    """
    tokens = kept(weights, params)
    sums = weights[tokens].cumsum()  # (kept,)
    return int(tokens[np.searchsorted(sums, chance * sums[-1], side="right")])


def relative_weights(logits: torch.Tensor, temperature: float) -> Floats:
    """Probabilities times some factor, so that the likeliest token has 1: (vocab,) -> (vocab,)."""
    row = logits.cpu().numpy().astype(np.float64)
    weights: Floats = np.exp((row - row.max()) / temperature)
    return weights


def kept(weights: Floats, params: SamplingParams) -> Ids:
    """The tokens that may be drawn, by id: ``weights`` (vocab,) with 1 for the likeliest -> (kept,)."""
    tokens: Ids = np.flatnonzero(weights >= params.min_p)
    if params.top_k is None and params.top_p == 1:
        return tokens
    total = weights[tokens].sum()
    tokens = _best_among(tokens, weights, params, total)
    order = np.argsort(-weights[tokens], kind="stable")  # best first, of equals the lowest id
    ranked = tokens[order]
    if params.top_k is not None:
        ranked = ranked[: params.top_k]
        total = weights[ranked].sum()
    if params.top_p < 1:
        sums = weights[ranked].cumsum()
        ranked = ranked[: int(np.searchsorted(sums, params.top_p * total)) + 1]
    return np.sort(ranked)


def _best_among(tokens: Ids, weights: Floats, params: SamplingParams, total: float) -> Ids:
    """Fewer tokens, if top-k or top-p will keep none but these: sorting a whole vocabulary takes milliseconds."""
    for least in (1e-3, 1e-6):
        few = tokens[weights[tokens] >= least]
        if params.top_k is not None:
            enough = len(few) >= params.top_k
        else:
            enough = bool(weights[few].sum() >= params.top_p * total)
        if enough:
            return few
    return tokens


def logprobs(logits: torch.Tensor, tokens: Sequence[int]) -> list[float]:
    """Of one token in each row: ``logits`` (n, vocab) float32 -> n nats."""
    chosen = torch.tensor(tokens, dtype=torch.int64, device=logits.device)[:, None]  # (n, 1)
    found = logits.gather(1, chosen)[:, 0] - logits.logsumexp(dim=-1)  # (n,)
    return [float(value) for value in found.tolist()]


def top_logprobs(logits: torch.Tensor, count: int) -> list[tuple[TokenLogprob, ...]]:
    """The ``count`` likeliest tokens of each row, best first, of equals the lowest id; all of a smaller vocabulary."""
    nats = logits.log_softmax(dim=-1)  # (n, vocab)
    return [
        tuple([TokenLogprob(token, float(row[token])) for token in best])
        for row, best in _best(nats, count)
    ]


def top_candidates(logits: torch.Tensor, count: int) -> list[tuple[Candidate, ...]]:
    """What a beam search may go on with: as ``top_logprobs``, but compared in whole micro-nats."""
    nats = logits.double().log_softmax(dim=-1)  # (n, vocab)
    micro_nats = (nats * MICRO_NATS_PER_NAT).round().clamp(LEAST_LOGPROB, 0).long()
    return [
        tuple([Candidate(token, int(row[token])) for token in best])
        for row, best in _best(micro_nats, count)
    ]


def _best(values: torch.Tensor, count: int) -> list[tuple[npt.NDArray[np.generic], list[int]]]:
    """Each row of ``values`` (n, vocab), and the ids of its ``count`` greatest, of equals the lowest id."""
    count = min(count, values.shape[1])
    if count < 1:
        return [(row, []) for row in values.cpu().numpy()]
    least = values.topk(count).values[:, -1].tolist()
    found = []
    for row, enough in zip(values.cpu().numpy(), least, strict=True):
        ids = np.flatnonzero(row >= enough)  # perhaps more than count, where there are equals
        order = np.argsort(-row[ids], kind="stable")
        found.append((row, ids[order][:count].tolist()))
    return found
