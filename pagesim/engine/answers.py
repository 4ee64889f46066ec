"""Answers as text while they grow: tokens become characters, stop strings cut. Knows nothing about who shows them."""

from dataclasses import dataclass, field

from pagesim.core.request import Request
from pagesim.core.sequence import FinishReason
from pagesim.engine.detokenizer import Detokenizer, StopScanner
from pagesim.engine.sampling_params import SamplingParams
from pagesim.engine.session import Output
from pagesim.engine.tokenizer import Tokenizer


@dataclass(slots=True)
class Answer:
    """One sample's. ``finish`` is "stop", "length" or ``None`` while it grows."""

    sample: int
    text: str = ""
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    finish: str | None = None

    def as_dict(self) -> dict[str, object]:
        return {
            "sample": self.sample,
            "text": self.text,
            "tokens": self.tokens,
            "logprobs": self.logprobs,
            "finish": self.finish,
        }


class Answers:
    """All samples of one request. What comes after a stop string is not part of an answer."""

    def __init__(self, tokenizer: Tokenizer, request: Request, params: SamplingParams) -> None:
        self.all = [Answer(number) for number in range(request.num_samples)]
        self._stop_ids = request.stop_ids
        self._detokenizers = [Detokenizer(tokenizer) for _ in self.all]
        self._scanners = [StopScanner(params.stops) for _ in self.all]

    @property
    def stopped(self) -> bool:
        """Has every sample its end?"""
        return all(answer.finish is not None for answer in self.all)

    def add(self, output: Output) -> str:
        """Take in what a step gave; returns the text that can be shown of it."""
        answer = self.all[output.sample]
        if answer.finish is not None:
            return ""
        shown = ""
        for at, token in enumerate(output.tokens):
            answer.tokens.append(token)
            if at < len(output.logprobs):
                answer.logprobs.append(output.logprobs[at].logprob)
            if token in self._stop_ids:
                break
            scanned = self._scanners[output.sample].add(
                self._detokenizers[output.sample].add(token)
            )
            shown += scanned.text
            if scanned.stopped is not None:
                answer.finish = FinishReason.STOP.value
                break
        if answer.finish is None and output.finish is not None:
            rest = self._scanners[output.sample].add(self._detokenizers[output.sample].finish())
            shown += rest.text
            shown += self._scanners[output.sample].finish()
            answer.finish = output.finish.value
        answer.text += shown
        return shown
