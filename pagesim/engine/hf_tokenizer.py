"""The tokenizer of a Hugging Face folder: ``tokenizer.json``, and a chat template where there is one."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pagesim.core.errors import InputError
from pagesim.engine.chat import ChatTemplate
from pagesim.engine.config import LlamaConfig
from pagesim.engine.hf_config import read_json
from pagesim.engine.tokenizer import (
    Alphabet,
    ByteLevelAlphabet,
    SentencePieceAlphabet,
    TextTokenizer,
    check_vocabulary,
)

if TYPE_CHECKING:
    import tokenizers

VOCABULARY = "tokenizer.json"
SETTINGS = "tokenizer_config.json"
TEMPLATE = "chat_template.jinja"


def tokenizer_from_hf(folder: Path, config: LlamaConfig) -> TextTokenizer:
    """Answers end with the tokens that ``config`` names. InputError that names the file at fault."""
    import tokenizers

    path = folder / VOCABULARY
    if not path.is_file():
        raise InputError(f"the tokenizer in {folder} lacks {VOCABULARY}")
    try:
        engine = tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # the library has no type of its own
        raise InputError(f"{path} cannot be read ({error}); was it downloaded whole?") from error
    engine.no_truncation()
    engine.no_padding()
    check_vocabulary(engine.get_vocab_size(), config.vocab_size, str(folder))
    settings = read_json(folder / SETTINGS) if (folder / SETTINGS).is_file() else {}
    return TextTokenizer(
        engine,
        alphabet_of(engine, str(path)),
        eos_ids=config.eos_ids,
        template=_template(folder, settings),
    )


def alphabet_of(engine: "tokenizers.Tokenizer", place: str) -> Alphabet:
    """Found by the decoder that the tokenizer names. InputError for one that no Llama-like model has."""
    decoder = json.loads(engine.to_str())["decoder"] or {"type": "none"}
    parts = decoder.get("decoders", [decoder])
    kinds = [part["type"] for part in parts]
    if "ByteLevel" in kinds:
        return ByteLevelAlphabet()
    if "ByteFallback" in kinds or "Metaspace" in kinds:
        return SentencePieceAlphabet(leading_space="Strip" in kinds or "Metaspace" in kinds)
    raise InputError(
        f"{place}: a decoder of type {', '.join(kinds)} is not supported; ByteLevel and SentencePiece's are"
    )


def _template(folder: Path, settings: Mapping[str, object]) -> ChatTemplate | None:
    """A file of its own, else the one in the settings; of several, the one named "default"."""
    source = settings.get("chat_template")
    if isinstance(source, list):
        named = {
            entry.get("name"): entry.get("template") for entry in source if isinstance(entry, dict)
        }
        source = named.get("default")
    place = folder / SETTINGS
    if (folder / TEMPLATE).is_file():
        place = folder / TEMPLATE
        source = place.read_text(encoding="utf-8", errors="replace")
    if not isinstance(source, str):
        return None
    names = [name for name in settings if name.endswith("_token")]
    tokens = {name: text for name in names if (text := _token_text(settings[name])) is not None}
    return ChatTemplate(source, tokens, str(place))


def _token_text(token: object) -> str | None:
    """Written as a string, or as an object with its ``content``."""
    text = token.get("content") if isinstance(token, dict) else token
    return text if isinstance(text, str) else None
