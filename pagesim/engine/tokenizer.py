"""Text to token ids and back, and the text of a conversation. Knows nothing about models or sampling.

Every token stands for some bytes; text is those bytes as UTF-8, so a character may be spread over tokens. That is why
decoding here is joining bytes, for a whole answer as for a stream of tokens: both give the same text.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from pagesim.core.errors import InputError

if TYPE_CHECKING:
    import tokenizers

    from pagesim.engine.chat import ChatTemplate

Message = Mapping[str, str]
"""``role`` (system, user, assistant) and ``content``."""


class Tokenizer(Protocol):
    @property
    def eos_ids(self) -> tuple[int, ...]:
        """Tokens that end an answer."""
        ...

    def encode(self, text: str, *, add_special: bool = True) -> list[int]:
        """Token ids; ``add_special``: with the beginning-of-text token, if the model wants one. Chat text has it."""
        ...

    def decode(self, token_ids: Sequence[int]) -> str:
        """The whole text, special tokens left out; what is not UTF-8 becomes U+FFFD."""
        ...

    def token_bytes(self, token: int) -> bytes:
        """What a token adds to the text; b"" for special tokens and ids that stand for nothing."""
        ...

    def chat(self, messages: Sequence[Message]) -> str | None:
        """The prompt for the next answer of a conversation; None if the model has no template for it."""
        ...


class ByteTokenizer:
    """Meets ``Tokenizer``: tokens 0 to 255 are bytes, 256 ends an answer. For models that were never trained."""

    VOCAB_SIZE = 257
    eos_ids: tuple[int, ...] = (256,)

    def encode(self, text: str, *, add_special: bool = True) -> list[int]:  # noqa: ARG002
        return list(text.encode("utf-8", "replace"))

    def decode(self, token_ids: Sequence[int]) -> str:
        return b"".join(map(self.token_bytes, token_ids)).decode("utf-8", "replace")

    def token_bytes(self, token: int) -> bytes:
        return bytes((token,)) if 0 <= token < 256 else b""

    def chat(self, messages: Sequence[Message]) -> None:  # noqa: ARG002
        return None


class TextTokenizer:
    """Meets ``Tokenizer``, with the vocabulary of a model."""

    def __init__(
        self,
        engine: "tokenizers.Tokenizer",
        alphabet: "Alphabet",
        *,
        eos_ids: tuple[int, ...] = (),
        bos_id: int | None = None,
        template: "ChatTemplate | None" = None,
    ) -> None:
        """``bos_id`` is put in front of every prompt; None where ``engine`` does that, or nobody."""
        self.eos_ids = eos_ids
        self._engine = engine
        self._alphabet = alphabet
        self._bos = [] if bos_id is None else [bos_id]
        self._template = template
        self._special = {
            token for token, added in engine.get_added_tokens_decoder().items() if added.special
        }
        self._bytes: dict[int, bytes] = {}

    def encode(self, text: str, *, add_special: bool = True) -> list[int]:
        text = text.encode("utf-8", "replace").decode()  # half a surrogate pair is no text
        ids = self._engine.encode(text, add_special_tokens=add_special).ids
        return self._bos + ids if add_special else ids

    def decode(self, token_ids: Sequence[int]) -> str:
        joined = b"".join([self.token_bytes(token) for token in token_ids])
        text = joined.decode("utf-8", "replace")
        return text.removeprefix(" ") if self._alphabet.leading_space else text

    def token_bytes(self, token: int) -> bytes:
        known = self._bytes.get(token)
        if known is None:
            known = self._bytes[token] = self._bytes_of(token)
        return known

    def chat(self, messages: Sequence[Message]) -> str | None:
        return None if self._template is None else self._template.render(messages)

    def _bytes_of(self, token: int) -> bytes:
        piece = self._engine.id_to_token(token) if 0 <= token < 2**32 else None
        if piece is None or token in self._special:
            return b""
        return self._alphabet.bytes_of(piece)


class Alphabet(Protocol):
    """How a vocabulary writes bytes."""

    leading_space: bool
    """Whether encoding puts a space in front of a text, which decoding a whole text takes away."""

    def bytes_of(self, piece: str) -> bytes: ...


class ByteLevelAlphabet:
    """GPT-2's: each byte has a printable character of its own. Space is written as U+0120."""

    leading_space = False

    def __init__(self) -> None:
        self._byte_of = byte_level_characters()

    def bytes_of(self, piece: str) -> bytes:
        try:
            return bytes([self._byte_of[character] for character in piece])
        except KeyError:  # an added token, written as it is
            return piece.encode()


class SentencePieceAlphabet:
    """SentencePiece's: text as it is, U+2581 for a space, ``<0x0A>`` for a byte that no piece has."""

    def __init__(self, *, leading_space: bool) -> None:
        self.leading_space = leading_space

    def bytes_of(self, piece: str) -> bytes:
        if len(piece) == 6 and piece.startswith("<0x") and piece.endswith(">"):
            try:
                return bytes.fromhex(piece[3:5])
            except ValueError:
                pass
        return piece.replace("\u2581", " ").encode()


def byte_level_characters() -> dict[str, int]:
    """The byte that each character stands for: Latin-1's visible ones themselves, the others from U+0100 on."""
    visible = [
        *range(ord("!"), ord("~") + 1),
        *range(ord("¡"), ord("¬") + 1),
        *range(ord("®"), 256),
    ]
    hidden = [byte for byte in range(256) if byte not in visible]
    return {chr(byte): byte for byte in visible} | {chr(256 + i): b for i, b in enumerate(hidden)}


def check_vocabulary(num_tokens: int, vocab_size: int, place: str) -> None:
    """InputError if the tokenizer knows tokens that the model does not; the other way round is padding."""
    if num_tokens > vocab_size:
        raise InputError(
            f"the tokenizer in {place} has {num_tokens:,} tokens and the model {vocab_size:,}: they do not belong "
            "together"
        )
