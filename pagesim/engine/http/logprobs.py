"""Log-probabilities of an answer's tokens, in the two forms that OpenAI's API has. Pure.

There is an entry for every token made, the end token and those of a stop string among them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pagesim.engine.detokenizer import Detokenizer
from pagesim.engine.http.job import Piece
from pagesim.engine.tokenizer import Tokenizer

LEAST = -9999.0
"""What cannot happen; JSON has no infinity. As in vLLM."""
ChatLogprobs = dict[str, object]


@dataclass(slots=True)
class CompletionLogprobs:
    tokens: list[str] = field(default_factory=list)
    token_logprobs: list[float] = field(default_factory=list)
    top_logprobs: list[dict[str, float]] = field(default_factory=list)
    text_offset: list[int] = field(default_factory=list)

    @staticmethod
    def joined(parts: "Sequence[CompletionLogprobs]") -> "CompletionLogprobs":
        whole = CompletionLogprobs()
        for part in parts:
            whole.tokens += part.tokens
            whole.token_logprobs += part.token_logprobs
            whole.top_logprobs += part.top_logprobs
            whole.text_offset += part.text_offset
        return whole

    def as_dict(self) -> dict[str, object]:
        return {
            "tokens": self.tokens,
            "token_logprobs": self.token_logprobs,
            "top_logprobs": self.top_logprobs,
            "text_offset": self.text_offset,
        }


class TextOffsets:
    """Where in an answer's text each of its tokens begins, in characters. Half a character counts when it is whole."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._detokenizer = Detokenizer(tokenizer)
        self._at = 0

    def pass_by(self, token: int) -> int:
        """Where it begins; the next one is asked for next."""
        began = self._at
        self._at += len(self._detokenizer.add(token))
        return began


def completion_logprobs(
    piece: Piece, tokenizer: Tokenizer, offsets: TextOffsets
) -> CompletionLogprobs:
    """Each token is among the likeliest at its place, even if it is none of them."""
    found = CompletionLogprobs()
    for token, entry in zip(piece.tokens, piece.logprobs, strict=True):
        found.tokens.append(token_name(tokenizer, token))
        found.token_logprobs.append(_finite(entry.logprob))
        top = {token_name(tokenizer, other): _finite(value) for other, value in entry.top}
        top.setdefault(token_name(tokenizer, token), _finite(entry.logprob))
        found.top_logprobs.append(top)
        found.text_offset.append(offsets.pass_by(token))
    return found


def chat_logprobs(piece: Piece, tokenizer: Tokenizer) -> list[ChatLogprobs]:
    return [
        _entry(tokenizer, token, entry.logprob)
        | {"top_logprobs": [_entry(tokenizer, other, value) for other, value in entry.top]}
        for token, entry in zip(piece.tokens, piece.logprobs, strict=True)
    ]


def token_name(tokenizer: Tokenizer, token: int) -> str:
    """Its text; what is none, as OpenAI writes it (``bytes:\\xe2``), or its id where it stands for no text."""
    spelled = tokenizer.token_bytes(token)
    if not spelled:
        return f"token_id:{token}"
    try:
        return spelled.decode()
    except UnicodeDecodeError:
        return "bytes:" + "".join(f"\\x{byte:02x}" for byte in spelled)


def _entry(tokenizer: Tokenizer, token: int, logprob: float) -> ChatLogprobs:
    return {
        "token": token_name(tokenizer, token),
        "logprob": _finite(logprob),
        "bytes": list(tokenizer.token_bytes(token)),
    }


def _finite(logprob: float) -> float:
    return max(logprob, LEAST)
