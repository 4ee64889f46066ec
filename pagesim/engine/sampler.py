"""Logits become tokens. Pure: what is drawn depends on the logits, the parameters, and where the token stands.

A draw's randomness is a hash of (seed, sample, output index), not the state of a generator. So a request gets the same
tokens alone or in any batch, preempted or not, and its samples differ from each other.

The filters come in vLLM V1's order: temperature, min-p, top-k, top-p, each on what the one before left, with
probabilities made to sum to 1 again. (transformers applies min-p last; llama.cpp the temperature.) Log-probabilities
are those of the model itself, before temperature and filters, as vLLM V1 and OpenAI give them by default.
"""

from collections.abc import Sequence
from hashlib import blake2b
from math import log
from struct import pack
from typing import NamedTuple

import torch

from pagesim.core.beam import MICRO_NATS_PER_NAT, Candidate
from pagesim.engine.sampling_params import SamplingParams

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
    tokens = logits.argmax(dim=-1)  # (n,); of equals the lowest id
    for row, (params, number, output) in enumerate(draws):
        if not params.is_greedy:
            tokens[row] = draw(logits[row], params, uniform(params.seed, number, output))
    return [int(token) for token in tokens.tolist()]


def uniform(seed: int, number: int, output: int) -> float:
    """From 0 to below 1, in steps of 2^-53: the same for the same three numbers, in every process."""
    digest = blake2b(pack("<3q", seed, number, output), digest_size=8).digest()
    return (int.from_bytes(digest, "little") >> 11) / 2**53


def draw(logits: torch.Tensor, params: SamplingParams, chance: float) -> torch.Tensor:
    """The token at ``chance`` (0 to below 1) of the probability, by id: ``logits`` (vocab,) -> () int64.

    By id and not by rank, since two tokens that are nearly equal may swap ranks when a batch is computed in
    another order; their ids stay.
    """
    tokens, probabilities = kept(logits, params)
    sums = probabilities.double().cumsum(dim=0)  # (kept,)
    at = torch.searchsorted(sums, chance * sums[-1:], right=True)  # (1,)
    return tokens[at.clamp(max=len(tokens) - 1)[0]]


def kept(logits: torch.Tensor, params: SamplingParams) -> tuple[torch.Tensor, torch.Tensor]:
    """The tokens that may be drawn, by id, and their probabilities, which sum to 1: 2 x (kept,)."""
    scaled = logits / params.temperature  # (vocab,)
    tokens = _not_hopeless(scaled, params)  # (few,) by id
    if len(tokens) == len(scaled) and params.top_k is None and params.top_p == 1:
        return tokens, scaled.softmax(dim=0)
    values, order = scaled[tokens].sort(
        descending=True, stable=True
    )  # best first, of equals the lowest id
    if params.top_k is not None:
        values = values[: params.top_k]
    if params.top_p < 1:
        probabilities = values.softmax(dim=0)
        before = probabilities.cumsum(dim=0) - probabilities  # what better tokens have together
        values = values[: max(1, int((before < params.top_p).sum()))]
    tokens, by_id = tokens[order[: len(values)]].sort()
    return tokens, values.softmax(dim=0)[by_id]


def _not_hopeless(scaled: torch.Tensor, params: SamplingParams) -> torch.Tensor:
    """Ids of all that min-p keeps and that can be among top-k or top-p, so that few need to be sorted."""
    least = -torch.inf
    if params.min_p > 0:
        least = float(scaled.max()) + log(params.min_p)
    if params.top_k is not None and params.top_k < len(scaled):
        least = max(least, float(scaled.topk(params.top_k).values[-1]))
    elif params.top_p < 1 and params.min_p == 0:
        # Tokens less likely than this have less than 1 - top_p together: the others reach top_p without them.
        least = float(scaled.logsumexp(dim=0)) + log((1 - params.top_p) / len(scaled)) - 1e-3
    return (scaled >= least).nonzero()[:, 0]


def logprobs(logits: torch.Tensor, tokens: Sequence[int]) -> list[float]:
    """Of one token in each row: ``logits`` (n, vocab) float32 -> n nats."""
    chosen = torch.tensor(tokens, dtype=torch.int64, device=logits.device)[:, None]  # (n, 1)
    found = logits.gather(1, chosen)[:, 0] - logits.logsumexp(dim=-1)  # (n,)
    return [float(value) for value in found.tolist()]


def top_logprobs(logits: torch.Tensor, count: int) -> list[tuple[TokenLogprob, ...]]:
    """The ``count`` likeliest tokens of each row, best first, of equals the lowest id; all of a smaller vocabulary."""
    nats = logits.log_softmax(dim=-1)  # (n, vocab)
    return [
        tuple([TokenLogprob(token, float(row[token])) for token in _best(row, count)])
        for row in nats
    ]


def top_candidates(logits: torch.Tensor, count: int) -> list[tuple[Candidate, ...]]:
    """What a beam search may go on with: as ``top_logprobs``, but compared in whole micro-nats."""
    nats = logits.double().log_softmax(dim=-1)  # (n, vocab)
    micro_nats = (nats * MICRO_NATS_PER_NAT).round().clamp(LEAST_LOGPROB, 0).long()
    return [
        tuple([Candidate(token, int(row[token])) for token in _best(row, count)])
        for row in micro_nats
    ]


def _best(values: torch.Tensor, count: int) -> list[int]:
    """Ids of the ``count`` greatest, greatest first, of equals the lowest id: ``values`` (vocab,)."""
    if count < 1:
        return []
    least = values.topk(min(count, len(values))).values[-1]
    ids = (values >= least).nonzero()[:, 0]  # perhaps more than count, where there are equals
    order = values[ids].sort(descending=True, stable=True).indices
    return [int(token) for token in ids[order][:count].tolist()]
