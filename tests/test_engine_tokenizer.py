"""Tokenizers from both kinds of files, text that streams as it is decoded whole, stop strings, chat templates."""

import json
from dataclasses import replace
from itertools import pairwise

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from tiny_model import BASE, random_tensors, write_gguf
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers import Tokenizer as Engine

from pagesim.core.errors import InputError
from pagesim.engine.chat import ChatTemplate
from pagesim.engine.detokenizer import Detokenizer, Scanned, StopScanner
from pagesim.engine.gguf_file import open_gguf
from pagesim.engine.gguf_tokenizer import WORDS, tokenizer_from_gguf
from pagesim.engine.hf_tokenizer import tokenizer_from_hf
from pagesim.engine.tokenizer import ByteTokenizer, byte_level_characters

CORPUS = [
    "The quick brown fox jumps over the lazy dog. It's 12345 o'clock, isn't it?",
    "Überall größere Häuser; naïve café, résumé. \n\n  def f(x):\n\treturn x ** 2",
    "日本語のテキスト。 Привет, мир! 🙂🙃 👩‍👩‍👧",
] * 3
TEXTS = [
    "",
    " ",
    "Hello, the quick fox!",
    "It's 2024, isn't it? WE'LL SEE 1234567",
    "  two spaces\n\n\nthree lines \t tab\r\n",
    "größer naïve e\u0301 日本語 🙂 👩‍👩‍👧 \u0000 \ufffd",
    "<|end|>a<|end|>",
    "no<|user|>such",
]
CONFIG = replace(BASE, vocab_size=600, bos_id=0, eos_ids=(1,))
texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=30) | st.sampled_from(TEXTS)


def words(kind):
    """The rules as the models' own ``tokenizer.json`` have them."""
    byte_level = pre_tokenizers.ByteLevel(
        add_prefix_space=False, use_regex=kind in ("gpt-2", "smollm")
    )
    if kind == "gpt-2":
        return byte_level
    if kind == "smollm":
        return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), byte_level])
    pattern = {
        "llama-bpe": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
        r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        "qwen2": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
        r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    }[kind]
    split = pre_tokenizers.Split(Regex(pattern), behavior="isolated", invert=False)
    return pre_tokenizers.Sequence([split, byte_level])


def trained(kind="smollm"):
    """The library's own tokenizer, with a small vocabulary learnt from a few lines."""
    engine = Engine(models.BPE())
    engine.pre_tokenizer = words(kind)
    if kind == "qwen2":
        engine.normalizer = normalizers.NFC()
    engine.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<|begin|>", "<|end|>"],
        initial_alphabet=sorted(byte_level_characters()),
        show_progress=False,
    )
    engine.train_from_iterator(CORPUS, trainer)
    engine.add_tokens([AddedToken("<|user|>", normalized=False)])
    return engine


ENGINES = {kind: trained(kind) for kind in ("gpt-2", "smollm", "llama-bpe", "qwen2")}
SMALL = replace(BASE, num_layers=1, vocab_size=600)
TENSORS = random_tensors(SMALL)


def gguf_fields(engine, kind):
    vocabulary = engine.get_vocab()
    tokens = sorted(vocabulary, key=vocabulary.__getitem__)
    merges = [" ".join(pair) for pair in json.loads(engine.to_str())["model"]["merges"]]
    kinds = [{"<|begin|>": 3, "<|end|>": 3, "<|user|>": 4}.get(token, 1) for token in tokens]

    def edit(writer):
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre(kind)
        writer.add_token_list(tokens)
        writer.add_token_merges(merges)
        writer.add_token_types(kinds)
        writer.add_add_bos_token(False)

    return edit


def from_gguf(folder, edit, config=CONFIG):
    file = open_gguf(write_gguf(folder / "model.gguf", SMALL, TENSORS, edit=edit))
    return tokenizer_from_gguf(file, config)


def from_hf(folder, engine, **settings):
    engine.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return tokenizer_from_hf(folder, CONFIG)


@pytest.fixture(name="tokenizer", scope="module")
def _tokenizer(tmp_path_factory):
    return from_hf(tmp_path_factory.mktemp("tokenizer"), ENGINES["smollm"])


@pytest.mark.parametrize("kind", ENGINES)
def test_both_kinds_of_files_give_the_librarys_tokens(tmp_path, kind):
    engine = ENGINES[kind]
    ours = from_hf(tmp_path, engine), from_gguf(tmp_path, gguf_fields(engine, kind))
    for text in (*TEXTS, *CORPUS[:3]):
        expected = engine.encode(text).ids
        for tokenizer in ours:
            assert tokenizer.encode(text) == expected, text
            assert tokenizer.decode(expected) == engine.decode(expected, skip_special_tokens=True)
            assert tokenizer.eos_ids == (1,)


def test_llama_3_takes_a_word_that_is_a_token_as_it_is(tmp_path):
    """Its ``tokenizer.json`` says ``ignore_merges``: merging alone would not lead there."""

    def edit(writer):
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre(kind)
        writer.add_token_list(["a", "b", "c", "ab", "bc", "abc"])
        writer.add_token_merges(["b c"])
        writer.add_add_bos_token(False)

    tokens = {}
    for kind in ("llama-bpe", "qwen2"):
        tokens[kind] = from_gguf(tmp_path, edit).encode("abc")
    assert tokens == {"llama-bpe": [5], "qwen2": [0, 4]}


def test_kinds_cut_numbers_differently():
    pieces = {
        kind: [piece for piece, _ in words(kind).pre_tokenize_str("12345")] for kind in ENGINES
    }
    assert pieces == {
        "gpt-2": ["12345"],
        "smollm": list("12345"),
        "llama-bpe": ["123", "45"],
        "qwen2": list("12345"),
    }
    assert "{1,3}" in WORDS % 3


@examples(200, 3000)
@given(text=texts)
def test_text_comes_back(tokenizer, text):
    plain = text.replace("<|end|>", "").replace("<|begin|>", "")
    ids = tokenizer.encode(plain)
    assert tokenizer.decode(ids) == plain
    assert b"".join(map(tokenizer.token_bytes, ids)) == plain.encode()
    assert ByteTokenizer().decode(ByteTokenizer().encode(text)) == text


@examples(300, 5000)
@given(ids=st.lists(st.integers(-2, 420), max_size=40))
def test_a_stream_is_the_whole_text_for_any_tokens(tokenizer, ids):
    for each in (tokenizer, ByteTokenizer()):
        stream = Detokenizer(each)
        parts = [stream.add(token) for token in ids]
        assert "".join([*parts, stream.finish()]) == each.decode(ids)


@examples(200, 3000)
@given(text=texts)
def test_a_stream_never_shows_half_a_character(text):
    stream, shown = Detokenizer(ByteTokenizer()), ""
    for token in ByteTokenizer().encode(text):
        shown += stream.add(token)
        assert text.startswith(shown)
    assert (shown, stream.finish()) == (text, "")


def test_a_character_that_never_ends_is_shown_as_one_replacement():
    stream = Detokenizer(ByteTokenizer())
    assert [stream.add(byte) for byte in b"a\xf0\x9f\x99"] == ["a", "", "", ""]
    assert stream.finish() == "\ufffd"
    assert stream.finish() == ""
    assert ByteTokenizer().decode([*b"\xf0\x9f", 256, *b"\x99\x82"]) == "🙂"


def test_the_librarys_decoder_agrees_on_broken_text(tokenizer):
    engine = ENGINES["smollm"]
    characters = byte_level_characters()
    ids = {byte: engine.token_to_id(character) for character, byte in characters.items()}
    for raw in (
        b"\xff",
        b"a\xc3",
        b"\xe2\x82a",
        b"\xf0\x9f\x99",
        b"\x80\x80",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80",
    ):
        broken = [ids[byte] for byte in raw]
        assert tokenizer.decode(broken) == engine.decode(broken), raw


def test_special_tokens_and_unknown_ids_are_no_text(tokenizer):
    assert tokenizer.decode([1, 0, 10**6, 2**40, -1]) == ""
    assert tokenizer.decode(tokenizer.encode("a<|user|>b")) == "a<|user|>b"
    assert tokenizer.encode("half a pair: \ud800") == tokenizer.encode("half a pair: ?")


# Stop strings


def scan(parts, stops):
    scanner, shown = StopScanner(stops), ""
    for part in parts:
        text, stopped = scanner.add(part)
        shown += text
        if stopped is not None:
            return Scanned(shown, stopped)
    return Scanned(shown + scanner.finish(), None)


def naive_scan(text, stops):
    """Character by character: the first end of a stop string, of several the longest."""
    for end in range(len(text) + 1):
        found = [stop for stop in stops if text[:end].endswith(stop)]
        if found:
            longest = max(found, key=len)
            return Scanned(text[: end - len(longest)], longest)
    return Scanned(text, None)


@examples(400, 5000)
@given(
    st.lists(st.text("ab", max_size=5), max_size=8),
    st.lists(st.text("ab", min_size=1, max_size=4), max_size=3),
)
def test_stops_are_found_however_the_text_is_cut(parts, stops):
    assert scan(parts, stops) == naive_scan("".join(parts), stops)


def test_what_cannot_become_a_stop_does_not_wait():
    scanner = StopScanner(["END", "\n\n"])
    assert [scanner.add(part) for part in ("one E", "N", "X\n", "two", " EN", "D rest")] == [
        ("one ", None),
        ("", None),
        ("ENX", None),
        ("\ntwo", None),
        (" ", None),
        ("", "END"),
    ]
    assert scan(["no stops", " at all"], []) == ("no stops at all", None)
    with pytest.raises(InputError, match="a stop string is empty"):
        StopScanner(["a", ""])


# SentencePiece


def sentence_piece_fields(*, prefix=True):
    bytes_of_their_own = [f"<0x{byte:02X}>" for byte in range(256)]
    pieces = ["▁t", "he", "▁the", "er", "in", "▁a", "re", "▁the" + "re", "an", "▁an", "▁▁", "it"]
    letters = sorted(set("▁abcdefghijklmnopqrstuvwxyz.,'"))
    tokens = ["<unk>", "<s>", "</s>", *bytes_of_their_own, *pieces, *letters]
    ranks = [7, 8, 0, 2, 1, 9, 11, 3, 4, 10, 5, 6]  # another order than the ids'
    scores = [0.0] * 259 + [-float(rank) for rank in (*ranks, *range(12, 12 + len(letters)))]
    kinds = [2, 3, 3, *[6] * 256, *[1] * (len(pieces) + len(letters))]

    def edit(writer):
        writer.add_tokenizer_model("llama")
        writer.add_token_list(tokens)
        writer.add_token_scores(scores)
        writer.add_token_types(kinds)
        writer.add_unk_token_id(0)
        if not prefix:
            writer.add_add_space_prefix(False)

    return edit, tokens, scores


def naive_sentence_piece(text, tokens, scores):
    """Of all neighbours that make a token, the best, over and over; what is no token then is bytes."""
    ids = {token: index for index, token in enumerate(tokens)}
    parts = list(text)
    while True:
        joined = [(ids.get(a + b), at) for at, (a, b) in enumerate(pairwise(parts))]
        known = [(-scores[token], at) for token, at in joined if token is not None]
        if not known:
            break
        at = min(known)[1]
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    found = []
    for part in parts:
        raw = [f"<0x{byte:02X}>" for byte in part.encode()]
        found += [ids[part]] if part in ids else [ids[byte] for byte in raw]
    return found


@pytest.mark.parametrize("prefix", [True, False])
def test_sentence_piece_from_scores(tmp_path, prefix):
    edit, tokens, scores = sentence_piece_fields(prefix=prefix)
    tokenizer = from_gguf(tmp_path, edit, replace(CONFIG, bos_id=1, eos_ids=(2,)))
    for text in ("there is an ant", "her where", "  the other, rather", "größe 🙂", "a</s>b", " x"):
        plain = text.replace("</s>", "")
        written = ("▁" if prefix else "") + plain.replace(" ", "▁")
        ids = tokenizer.encode(plain)
        assert ids == [1, *naive_sentence_piece(written, tokens, scores)], plain
        assert tokenizer.encode(plain, add_special=False) == ids[1:]
        assert tokenizer.decode(ids) == plain
        stream = Detokenizer(tokenizer)
        shown = "".join([stream.add(token) for token in ids]) + stream.finish()
        assert shown == (" " if prefix else "") + plain, "an answer keeps its first space"
    assert tokenizer.encode("a</s>")[-1] == 2


def test_a_sentence_piece_folder_reads_like_the_library(tmp_path):
    vocabulary = {"<unk>": 0, "<s>": 1, "</s>": 2, "▁": 3, "a": 4, "b": 5, "▁a": 6}
    vocabulary |= {f"<0x{byte:02X}>": 7 + byte for byte in range(256)}
    engine = Engine(
        models.BPE(vocabulary, [("▁", "a")], unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    )
    engine.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    engine.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    engine.add_special_tokens(["<s>", "</s>"])
    tokenizer = from_hf(tmp_path, engine)
    for text in ("a b", " a  a", "ab 🙂 é", ""):
        ids = engine.encode(text).ids
        assert tokenizer.encode(text) == ids
        assert tokenizer.decode(ids) == engine.decode(ids)


# Beginning of text, templates


def test_the_first_token_is_added_where_the_model_wants_it(tmp_path):
    edit = gguf_fields(ENGINES["llama-bpe"], "llama-bpe")

    def wants(value):
        def both(writer):
            edit(writer)
            writer.kv_data[-1].pop("tokenizer.ggml.add_bos_token")
            if value is not None:
                writer.add_add_bos_token(value)

        return from_gguf(tmp_path, both)

    assert wants(True).encode("a")[0] == 0
    assert wants(None).encode("a")[0] == 0, "Llama 3's do by default"
    assert wants(False).encode("a")[0] != 0
    assert wants(True).encode("a", add_special=False) == wants(False).encode("a")


TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}\n"
    "  {% if message.role == 'system' and loop.index0 %}\n"
    "    {{- raise_exception('system comes first') }}\n"
    "  {% endif %}\n"
    "{{ message['role'] }}: {{ message['content'] }}{{ eos_token }}\n"
    "{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}"
)
MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi <b>&</b>"}]
EXPECTED = "<|begin|>system: Be brief.<|end|>\nuser: Hi <b>&</b><|end|>\nassistant:"


def test_templates_come_from_all_places(tmp_path):
    names = {
        "bos_token": "<|begin|>",
        "eos_token": {"content": "<|end|>", "lstrip": False},
        "pad_token": None,
    }
    several = [{"name": "tools", "template": "no"}, {"name": "default", "template": TEMPLATE}]
    for template in (TEMPLATE, several):
        tokenizer = from_hf(tmp_path, ENGINES["smollm"], chat_template=template, **names)
        assert tokenizer.chat(MESSAGES) == EXPECTED
    (tmp_path / "chat_template.jinja").write_text(TEMPLATE.replace("assistant", "bot"))
    tokenizer = from_hf(tmp_path, ENGINES["smollm"], chat_template="no", **names)
    assert tokenizer.chat(MESSAGES) == EXPECTED.replace("assistant", "bot")
    (tmp_path / "chat_template.jinja").unlink()
    assert from_hf(tmp_path, ENGINES["smollm"]).chat(MESSAGES) is None
    assert ByteTokenizer().chat(MESSAGES) is None

    def edit(writer):
        gguf_fields(ENGINES["smollm"], "smollm")(writer)
        writer.add_chat_template(TEMPLATE)

    # The file names tokens 65 and 66 as the first and the last of a text.
    expected = EXPECTED.replace("<|begin|>", ENGINES["smollm"].id_to_token(65))
    expected = expected.replace("<|end|>", ENGINES["smollm"].id_to_token(66))
    assert from_gguf(tmp_path, edit).chat(MESSAGES) == expected


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("{% for", "the chat template in here is not valid ("),
        ("{{ raise_exception('roles must alternate') }}", "in here says: roles must alternate"),
        ("{{ messages.append(1) }}", "in here says: "),
        ("{{ ''.__class__.__mro__[1].__subclasses__() }}", "in here says: "),
        ("{{ messages[0].content + 1 }}", "in here fails (TypeError"),
        ("{{ 1 // 0 }}", "in here fails (ZeroDivisionError"),
        ("{% for i in range(10 ** 9) %}{% endfor %}", "in here fails (OverflowError"),
    ],
)
def test_templates_run_in_a_sandbox(source, sentence):
    with pytest.raises(InputError) as caught:
        ChatTemplate(source, {}, "here").render(MESSAGES)
    assert sentence in str(caught.value)


def test_what_templates_may_use():
    def render(source):
        return ChatTemplate(source, {}, "here").render(MESSAGES)

    assert render("{{ messages[1] | tojson }}") == '{"role": "user", "content": "Hi <b>&</b>"}'
    assert (
        render(
            "{% for m in messages %}{% if loop.first %}{% continue %}{% endif %}{{ m.role }}{% endfor %}"
        )
        == "user"
    )
    assert len(render("{{ strftime_now('%Y-%m-%d') }}")) == 10


# What is refused


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            lambda w: w.add_tokenizer_pre("tekken"),
            "how 'tekken' (tokenizer.ggml.pre) cuts text into words",
        ),
        (
            lambda w: w.add_tokenizer_model("bert"),
            "a tokenizer of kind 'bert' is not supported; gpt2",
        ),
        (lambda w: w.add_token_list([f"t{i}" for i in range(601)]), "601 tokens and the model 600"),
        (lambda w: w.add_token_merges(["a zzz"]), "the tokenizer's merges are not valid ("),
    ],
)
def test_gguf_tokenizers_that_are_refused(tmp_path, change, sentence):
    def edit(writer):
        change(writer)
        chosen = dict(writer.kv_data[-1])
        for name in chosen:
            if name.startswith("tokenizer.ggml.") and "token_id" not in name:
                del writer.kv_data[-1][name]
        gguf_fields(ENGINES["smollm"], "smollm")(writer)
        writer.kv_data[-1].update(chosen)

    with pytest.raises(InputError) as caught:
        from_gguf(tmp_path, edit)
    assert sentence in str(caught.value)


def test_a_file_without_a_tokenizer_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"has no tokenizer\.ggml\.model"):
        from_gguf(tmp_path, None)


def test_folders_whose_tokenizers_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"lacks tokenizer\.json"):
        tokenizer_from_hf(tmp_path, CONFIG)
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(InputError, match="was it downloaded whole"):
        tokenizer_from_hf(tmp_path, CONFIG)
    odd = Engine(models.WordLevel({"a": 0}, unk_token="a"))
    odd.decoder = decoders.WordPiece()
    with pytest.raises(InputError, match="a decoder of type WordPiece is not supported"):
        from_hf(tmp_path, odd)
    ENGINES["smollm"].save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(InputError, match="has 401 tokens and the model 300"):
        tokenizer_from_hf(tmp_path, replace(CONFIG, vocab_size=300))
