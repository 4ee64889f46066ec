"""Answers as OpenAI's clients read them, whole or in chunks. Pure: from pieces to what becomes JSON.

Two styles behind one protocol, for completions and for chat. Knows nothing about sockets or the engine's thread.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pagesim.engine.http.call import Call
from pagesim.engine.http.job import Piece
from pagesim.engine.http.logprobs import (
    ChatLogprobs,
    CompletionLogprobs,
    TextOffsets,
    chat_logprobs,
    completion_logprobs,
)
from pagesim.engine.tokenizer import Tokenizer

Json = dict[str, object]


@dataclass(slots=True)
class Heading:
    """What every object of an answer carries."""

    id: str
    created: int
    model: str


@dataclass(slots=True)
class Choice:
    """One answer as far as it is known."""

    offsets: TextOffsets
    text: list[str] = field(default_factory=list)
    num_tokens: int = 0
    logprobs: list[CompletionLogprobs] = field(default_factory=list)
    chat_logprobs: list[ChatLogprobs] = field(default_factory=list)
    finish: str | None = None


class Style(Protocol):
    """``chunk`` is what is sent of a piece at once; ``whole`` are all choices together. Both count tokens."""

    def opening(self) -> list[Json]:
        """Chunks that come before any text."""
        ...

    def add(self, piece: Piece) -> Json | None:
        """Take a piece in; its chunk, or None where there is nothing to show."""
        ...

    def usage_chunk(self) -> Json: ...

    def whole(self) -> Json: ...


class _Answers:
    """What both styles share: the choices, and how many tokens they have."""

    def __init__(self, heading: Heading, call: Call, tokenizer: Tokenizer) -> None:
        self.heading = heading
        self.call = call
        self.tokenizer = tokenizer
        self.choices = [Choice(TextOffsets(tokenizer)) for _ in range(call.num_choices)]

    def count(self, piece: Piece) -> Choice:
        choice = self.choices[piece.choice]
        choice.text.append(piece.text)
        choice.num_tokens += len(piece.tokens)
        choice.finish = piece.finish
        return choice

    def says_something(self, piece: Piece) -> bool:
        return bool(piece.text or piece.finish or (piece.logprobs and piece.tokens))

    def usage(self) -> Json:
        made = sum(choice.num_tokens for choice in self.choices)
        prompt = self.call.num_prompt_tokens
        return {
            "prompt_tokens": prompt,
            "completion_tokens": made,
            "total_tokens": prompt + made,
        }

    def wrapped(self, kind: str, choices: Sequence[Json]) -> Json:
        heading = self.heading
        return {
            "id": heading.id,
            "object": kind,
            "created": heading.created,
            "model": heading.model,
            "choices": list(choices),
        }

    def chunk(self, kind: str, choice: Json) -> Json:
        """With usage asked for, every chunk has it, empty until the last."""
        body = self.wrapped(kind, [choice])
        return body | {"usage": None} if self.call.streams_usage else body

    def usage_chunk(self, kind: str) -> Json:
        return self.wrapped(kind, []) | {"usage": self.usage()}


class CompletionStyle:
    """Meets ``Style``."""

    kind = "text_completion"

    def __init__(self, heading: Heading, call: Call, tokenizer: Tokenizer) -> None:
        self._answers = _Answers(heading, call, tokenizer)

    def opening(self) -> list[Json]:
        return []

    def add(self, piece: Piece) -> Json | None:
        answers = self._answers
        choice = answers.count(piece)
        logprobs = None
        if answers.call.params.logprobs is not None:
            logprobs = completion_logprobs(piece, answers.tokenizer, choice.offsets)
            choice.logprobs.append(logprobs)
        if not answers.says_something(piece):
            return None
        return answers.chunk(
            self.kind,
            {
                "index": piece.choice,
                "text": piece.text,
                "logprobs": None if logprobs is None else logprobs.as_dict(),
                "finish_reason": piece.finish,
            },
        )

    def usage_chunk(self) -> Json:
        return self._answers.usage_chunk(self.kind)

    def whole(self) -> Json:
        answers = self._answers
        wanted = answers.call.params.logprobs is not None
        choices: list[Json] = [
            {
                "index": number,
                "text": "".join(choice.text),
                "logprobs": CompletionLogprobs.joined(choice.logprobs).as_dict()
                if wanted
                else None,
                "finish_reason": choice.finish,
            }
            for number, choice in enumerate(answers.choices)
        ]
        return answers.wrapped(self.kind, choices) | {"usage": answers.usage()}


class ChatStyle:
    """Meets ``Style``."""

    kind = "chat.completion"
    chunk_kind = "chat.completion.chunk"

    def __init__(self, heading: Heading, call: Call, tokenizer: Tokenizer) -> None:
        self._answers = _Answers(heading, call, tokenizer)

    def opening(self) -> list[Json]:
        """Who speaks."""
        return [
            self._chunk(number, {"role": "assistant", "content": ""}, None, None)
            for number in range(self._answers.call.num_choices)
        ]

    def add(self, piece: Piece) -> Json | None:
        answers = self._answers
        choice = answers.count(piece)
        logprobs = None
        if answers.call.params.logprobs is not None:
            logprobs = chat_logprobs(piece, answers.tokenizer)
            choice.chat_logprobs += logprobs
        if not answers.says_something(piece):
            return None
        delta: Json = {"content": piece.text} if piece.text else {}
        return self._chunk(piece.choice, delta, logprobs, piece.finish)

    def usage_chunk(self) -> Json:
        return self._answers.usage_chunk(self.chunk_kind)

    def whole(self) -> Json:
        answers = self._answers
        wanted = answers.call.params.logprobs is not None
        choices: list[Json] = [
            {
                "index": number,
                "message": {"role": "assistant", "content": "".join(choice.text), "refusal": None},
                "logprobs": _content(choice.chat_logprobs) if wanted else None,
                "finish_reason": choice.finish,
            }
            for number, choice in enumerate(answers.choices)
        ]
        return answers.wrapped(self.kind, choices) | {"usage": answers.usage()}

    def _chunk(
        self, number: int, delta: Json, logprobs: list[ChatLogprobs] | None, finish: str | None
    ) -> Json:
        return self._answers.chunk(
            self.chunk_kind,
            {
                "index": number,
                "delta": delta,
                "logprobs": None if logprobs is None else _content(logprobs),
                "finish_reason": finish,
            },
        )


def _content(logprobs: Sequence[ChatLogprobs]) -> Json:
    return {"content": list(logprobs), "refusal": None}


def style_of(heading: Heading, call: Call, tokenizer: Tokenizer) -> Style:
    made = ChatStyle if call.is_chat else CompletionStyle
    return made(heading, call, tokenizer)
