"""The executor that computes: copies, one forward pass over the batch, and tokens drawn from its logits.

Meets ``Executor`` with the wall's clock. It reads block tables from the memory it is given and knows nothing about how
a step was decided; scheduler, memory and recorder are those of the simulator.
"""

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch

from pagesim.core.beam import num_candidates
from pagesim.core.memory import KVCacheManager
from pagesim.core.plan import StepPlan, StepResult, samples_due
from pagesim.engine.attention import ContiguousAttention, PagedAttention
from pagesim.engine.kv_cache import KVCache
from pagesim.engine.llama import Attend, Llama
from pagesim.engine.sampler import (
    Draw,
    TokenLogprob,
    logprobs,
    sample,
    top_candidates,
    top_logprobs,
)
from pagesim.engine.sampling_params import SamplingParams
from pagesim.engine.step_batch import StepBatch, step_batch

GREEDY = SamplingParams()
MOST_WAIT_NS = 50_000_000


class OutputLogprob(NamedTuple):
    """One output token's log-probability, in nats, and the likeliest tokens at its place."""

    logprob: float
    top: tuple[TokenLogprob, ...]


class TorchExecutor:
    """``now_ns`` stands still between steps, so that a log says when things were decided on, and can be repeated.

    ``params`` say how each request's tokens are drawn, by its id; who is not named is greedy.

    ``logprobs`` has an entry an output token, by (request, sample), for requests whose params ask for them.
    ``model_ns`` is the time spent in here so far.
    """

    def __init__(
        self,
        model: Llama,
        memory: KVCacheManager,
        cache: KVCache,
        params: Mapping[str, SamplingParams],
        *,
        backend: str | None = None,
        clock: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        """``backend`` computes paged attention: triton, numba or torch; ``None`` picks."""
        self.logprobs: dict[tuple[str, int], list[OutputLogprob]] = {}
        self.model_ns = 0
        self._model = model
        self._memory = memory
        self._cache = cache
        self._params = params
        self._backend = backend
        self.now_ns = 0  # when the last step ended, or what was waited for came
        self._clock = clock
        self._began_ns = clock()

    def catch_up(self) -> None:
        """Nothing ran for a while: let the time that has passed count."""
        self.now_ns = max(self.now_ns, self._clock() - self._began_ns)

    def wait_until(self, time_ns: int) -> None:
        """Sleep in short pieces, so that Ctrl-C is heard."""
        while (left := time_ns - (self._clock() - self._began_ns)) > 0:
            time.sleep(min(left, MOST_WAIT_NS) / 1e9)
        self.now_ns = max(self.now_ns, time_ns)

    def execute(self, plan: StepPlan) -> StepResult:
        """Copies first, in order; K and V of the whole batch before anybody attends, layer by layer."""
        began = self._clock()
        if plan.copies:
            self._cache.copy(plan.copies)
        result = StepResult((), ())
        if plan.sequences:
            batch = step_batch(plan, self._memory).to(self._model.device)
            hidden = self._model.forward(
                batch.token_ids, batch.positions, self._attention(batch)
            )  # (tokens, hidden)
            result = self._draw(plan, batch, hidden)
        self.model_ns += self._clock() - began
        self.catch_up()
        return result

    def _attention(self, batch: StepBatch) -> Attend:
        window = self._model.config.sliding_window
        if self._memory.can_share:
            return PagedAttention(self._cache, batch, window, self._backend)
        return ContiguousAttention(self._cache, batch, window)

    def _draw(self, plan: StepPlan, batch: StepBatch, hidden: torch.Tensor) -> StepResult:
        """Only rows that end at a sequence's last token have logits made of them."""
        due = [row for row, seq in enumerate(plan.sequences) if seq.num_computed == seq.num_tokens]
        if not due:
            return StepResult((), ())
        logits = self._model.logits(hidden[batch.last_rows[due]])  # (due, vocab)
        row_of = {plan.sequences[row]: at for at, row in enumerate(due)}
        tokens = self._samples(plan, logits, [row_of[seq] for seq in plan.sampling])
        candidates = [
            top_candidates(
                logits[row_of[seq]][None],
                num_candidates(seq.request.num_samples, len(seq.request.stop_ids)),
            )[0]
            for seq in plan.beams
        ]
        return StepResult(tokens, candidates)

    def _samples(self, plan: StepPlan, logits: torch.Tensor, rows: list[int]) -> list[int]:
        if not rows:
            return []
        drawn_from = logits if rows == list(range(len(logits))) else logits[rows]
        places = list(samples_due(plan.sampling))
        draws = [
            Draw(self._params.get(seq.request.id, GREEDY), number, seq.num_outputs)
            for seq, number in places
        ]
        tokens = sample(drawn_from, draws)
        for at, ((seq, number), (params, _, _)) in enumerate(zip(places, draws, strict=True)):
            if params.logprobs is not None:
                row = drawn_from[at][None]
                (chosen,) = logprobs(row, [tokens[at]])
                (top,) = top_logprobs(row, params.logprobs)
                kept = self.logprobs.setdefault((seq.request.id, number), [])
                kept.append(OutputLogprob(chosen, top))
        return tokens
