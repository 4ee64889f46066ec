"""A stream of tokens as a stream of text: whole characters only, and an end where a stop string is complete.

Knows nothing about models. A token costs what its own bytes cost, however long the answer is.
"""

import codecs
from collections.abc import Sequence
from typing import NamedTuple

from pagesim.core.errors import InputError
from pagesim.engine.tokenizer import Tokenizer


class Detokenizer:
    """The text of one answer, as it grows. Half a character waits for its other half.

    All texts joined are ``tokenizer.decode`` of all tokens, except that the space in front of a first word stays
    (SentencePiece): an answer goes on where the prompt ended.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def add(self, token: int) -> str:
        """What can be shown since the last call; often "" or more than one character."""
        return self._decoder.decode(self._tokenizer.token_bytes(token))

    def finish(self) -> str:
        """What is left: "", or U+FFFD for a character that never became whole."""
        return self._decoder.decode(b"", final=True)


class Scanned(NamedTuple):
    """``text`` can be shown. ``stopped`` is the stop string that ended it, which is not part of it; else None."""

    text: str
    stopped: str | None


class StopScanner:
    """Looks for stop strings in a growing text; what may be the beginning of one waits.

    The one whose last character comes first ends the text; of two that end together, the longer. So the answer
    does not depend on how the text was cut into parts.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        if "" in stops:
            raise InputError("a stop string is empty; it must have at least one character")
        self._stops = sorted(stops, key=len, reverse=True)
        self._waiting = ""

    def add(self, text: str) -> Scanned:
        """After a stop nothing more may be added."""
        held = len(self._waiting)
        text = self._waiting + text
        found = self._first_stop(text, held)
        if found is not None:
            end, stop = found
            self._waiting = ""
            return Scanned(text[: end - len(stop)], stop)
        keep = self._beginning(text)
        self._waiting = text[len(text) - keep :]
        return Scanned(text[: len(text) - keep], None)

    def finish(self) -> str:
        """What waited, since no more text comes."""
        waiting, self._waiting = self._waiting, ""
        return waiting

    def _first_stop(self, text: str, held: int) -> tuple[int, str] | None:
        """Where the first stop ends, and which it is. None ends in the first ``held`` characters: it would be known."""
        best: tuple[int, str] | None = None
        for stop in self._stops:
            start = text.find(stop, max(0, held - len(stop) + 1))
            if start >= 0 and (best is None or start + len(stop) < best[0]):
                best = start + len(stop), stop
        return best

    def _beginning(self, text: str) -> int:
        """How long the longest end of ``text`` is that begins a stop string."""
        longest = min(len(text), max(map(len, self._stops), default=1) - 1)
        for length in range(longest, 0, -1):
            end = text[len(text) - length :]
            if any(stop.startswith(end) for stop in self._stops):
                return length
        return 0
