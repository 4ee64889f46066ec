"""The tokenizer in the metadata of a GGUF file, built from its tokens and merges.

GGUF names how text is cut into words before merging, but not the rule; the rules of the supported models are here, as
their ``tokenizer.json`` have them. Another name is refused: a wrong rule would give other tokens in silence.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from pagesim.core.errors import InputError
from pagesim.engine.chat import ChatTemplate
from pagesim.engine.config import LlamaConfig
from pagesim.engine.gguf_file import GgufFile
from pagesim.engine.tokenizer import (
    Alphabet,
    ByteLevelAlphabet,
    SentencePieceAlphabet,
    TextTokenizer,
    check_vocabulary,
)

if TYPE_CHECKING:
    import tokenizers
    from tokenizers.pre_tokenizers import PreTokenizer

CONTROL, USER_DEFINED = 3, 4
"""Token types: special ones, and others that are found before text is cut into words."""
WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,%d}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""Llama 3 puts up to three digits together (arXiv 2407.21783), Qwen2 one."""
DIGITS = {"llama-bpe": 3, "llama3": 3, "llama-v3": 3, "qwen2": 1}
BYTE_LEVEL = ("default", "gpt-2", "gpt2", "smollm", *DIGITS)


def tokenizer_from_gguf(file: GgufFile, config: LlamaConfig) -> TextTokenizer:
    """Answers end with the tokens that ``config`` names. InputError if the file has none, or an unknown kind."""
    kind = file.need("tokenizer.ggml.model", str)
    tokens = cast(list[str], file.need("tokenizer.ggml.tokens", list))
    check_vocabulary(len(tokens), config.vocab_size, str(file.path))
    alphabet: Alphabet
    if kind == "gpt2":
        engine, alphabet = _byte_level(file, tokens), ByteLevelAlphabet()
    elif kind == "llama":
        prefix = file.get("tokenizer.ggml.add_space_prefix", bool) is not False
        engine = _sentence_piece(file, tokens, prefix=prefix)
        alphabet = SentencePieceAlphabet(leading_space=prefix)
    else:
        raise InputError(
            f"{file.path}: a tokenizer of kind {kind!r} is not supported; gpt2 (byte-level BPE) and llama "
            "(SentencePiece) are"
        )
    _add_special_tokens(engine, file, tokens)
    with_bos = file.get("tokenizer.ggml.add_bos_token", bool)
    if with_bos is None:
        with_bos = kind == "llama" or DIGITS.get(file.get("tokenizer.ggml.pre", str) or "") == 3
    return TextTokenizer(
        engine,
        alphabet,
        eos_ids=config.eos_ids,
        bos_id=config.bos_id if with_bos else None,
        template=_template(file, tokens),
    )


def _byte_level(file: GgufFile, tokens: Sequence[str]) -> "tokenizers.Tokenizer":
    from tokenizers import Tokenizer, models, normalizers

    words = file.get("tokenizer.ggml.pre", str) or "default"
    if words not in BYTE_LEVEL:
        raise InputError(
            f"{file.path}: how {words!r} (tokenizer.ggml.pre) cuts text into words is not known here; "
            f"{', '.join(BYTE_LEVEL)} are"
        )
    merges = [
        merge.partition(" ") for merge in cast(list[str], file.need("tokenizer.ggml.merges", list))
    ]
    try:
        model = models.BPE(
            vocab={token: index for index, token in enumerate(tokens)},
            merges=[(left, right) for left, _, right in merges],
            ignore_merges=DIGITS.get(words) == 3,
        )
    except Exception as error:  # the library has no type of its own
        raise InputError(f"{file.path}: the tokenizer's merges are not valid ({error})") from error
    engine = Tokenizer(model)
    engine.pre_tokenizer = _words(words)
    if words == "qwen2":
        engine.normalizer = normalizers.NFC()
    return engine


def _words(name: str) -> "PreTokenizer":
    from tokenizers import Regex
    from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence, Split

    if name in DIGITS:
        cut = Split(Regex(WORDS % DIGITS[name]), behavior="isolated")
        return Sequence([cut, ByteLevel(add_prefix_space=False, use_regex=False)])
    gpt2 = ByteLevel(add_prefix_space=False, use_regex=True)
    return Sequence([Digits(individual_digits=True), gpt2]) if name == "smollm" else gpt2


def _sentence_piece(
    file: GgufFile, tokens: Sequence[str], *, prefix: bool
) -> "tokenizers.Tokenizer":
    """BPE whose merges are not listed: of two neighbours that make a token, those that make the best one go first."""
    from tokenizers import Tokenizer, models, normalizers

    scores = cast(list[float], file.need("tokenizer.ggml.scores", list))
    if len(scores) != len(tokens):
        raise InputError(
            f"{file.path}: {len(scores)} scores for {len(tokens)} tokens; there must be as many"
        )
    ids = {token: index for index, token in enumerate(tokens)}
    ranked = sorted(ids, key=lambda token: (-scores[ids[token]], ids[token]))
    merges = [
        (token[:cut], token[cut:])
        for token in ranked
        for cut in range(1, len(token))
        if token[:cut] in ids and token[cut:] in ids
    ]
    unknown = file.get("tokenizer.ggml.unknown_token_id", int)
    engine = Tokenizer(
        models.BPE(
            vocab=ids,
            merges=merges,
            unk_token=None if unknown is None or unknown >= len(tokens) else tokens[unknown],
            fuse_unk=True,
            byte_fallback=True,
        )
    )
    space = normalizers.Replace(" ", "\u2581")
    engine.normalizer = (
        normalizers.Sequence([normalizers.Prepend("\u2581"), space]) if prefix else space
    )
    return engine


def _add_special_tokens(
    engine: "tokenizers.Tokenizer", file: GgufFile, tokens: Sequence[str]
) -> None:
    from tokenizers import AddedToken

    kinds = file.get("tokenizer.ggml.token_type", list) or []
    special = [token for token, kind in zip(tokens, kinds, strict=False) if kind == CONTROL]
    others = [token for token, kind in zip(tokens, kinds, strict=False) if kind == USER_DEFINED]
    engine.add_special_tokens([AddedToken(t, normalized=False, special=True) for t in special])
    engine.add_tokens([AddedToken(t, normalized=False) for t in others])


def _template(file: GgufFile, tokens: Sequence[str]) -> ChatTemplate | None:
    source = file.get("tokenizer.chat_template", str)
    if source is None:
        return None
    known = {
        name: tokens[token]
        for name, field in (("bos_token", "bos"), ("eos_token", "eos"), ("pad_token", "padding"))
        if (token := file.get(f"tokenizer.ggml.{field}_token_id", int)) is not None
        and 0 <= token < len(tokens)
    }
    return ChatTemplate(source, known, str(file.path))
