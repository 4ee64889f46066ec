"""The text of one answer while its tokens come: whole characters, and an end where a stop string is complete.

Knows nothing about engines or HTTP.
"""

from collections.abc import Sequence
from typing import NamedTuple

from pagesim.engine.detokenizer import Detokenizer, StopScanner
from pagesim.engine.tokenizer import Tokenizer


class Said(NamedTuple):
    """``text`` is new and can be shown; ``num_tokens`` of the tokens were looked at, fewer than all after a stop."""

    text: str
    num_tokens: int
    stopped: bool


class AnswerText:
    """``add`` until it stopped or the tokens have ended."""

    def __init__(self, tokenizer: Tokenizer, stops: Sequence[str]) -> None:
        self._detokenizer = Detokenizer(tokenizer)
        self._scanner = StopScanner(stops)

    def add(self, tokens: Sequence[int], *, last: bool) -> Said:
        """``last``: no more will come, so what waited is shown."""
        parts: list[str] = []
        for number, token in enumerate(tokens, 1):
            scanned = self._scanner.add(self._detokenizer.add(token))
            parts.append(scanned.text)
            if scanned.stopped is not None:
                return Said("".join(parts), number, stopped=True)
        if last:
            scanned = self._scanner.add(self._detokenizer.finish())
            parts.append(scanned.text)
            if scanned.stopped is None:
                parts.append(self._scanner.finish())
            return Said("".join(parts), len(tokens), scanned.stopped is not None)
        return Said("".join(parts), len(tokens), stopped=False)
