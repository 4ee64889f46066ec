"""Checkpoints: what was saved is what is loaded, bit for bit; and nothing is, unless everything is there (H31, H32)."""

import json
import re
import struct
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from examples import MORE, examples
from hypothesis import given
from hypothesis import strategies as st
from tiny_model import (
    BASE,
    VARIANTS,
    build_model,
    gguf_tensor_name,
    permuted_rows,
    random_tensors,
    random_tokens,
    torch,
    whole_logits,
    write_gguf,
    write_hf,
)

from pagesim.core.errors import InputError
from pagesim.engine.config import ListedScaling, parameter_shapes
from pagesim.engine.gguf_config import config_from_gguf, gguf_name
from pagesim.engine.gguf_file import open_gguf
from pagesim.engine.gguf_weights import halves_apart
from pagesim.engine.hf_config import config_from_hf
from pagesim.engine.weights import listed, load_weights

TOKENS = random_tokens(BASE, 20)
TENSORS = random_tensors(VARIANTS["scaled"])
FAMILY_OF = {"q and k norms": "qwen3", "window": "mistral", "biases": "qwen2"}
IN_FILES = [name for name in VARIANTS if name not in ("listed scaling", "everything", "all biases")]


def logits_of(config, tensors):
    return whole_logits(build_model(config, tensors), TOKENS)


def load(path, dtype=torch.float32):
    config = config_from_hf(path) if path.is_dir() else config_from_gguf(open_gguf(path))
    return load_weights(path, config, dtype)


def refused(call, *arguments):
    """The sentence, which is one: without line breaks, and without an end of its own."""
    with pytest.raises(InputError) as caught:
        call(*arguments)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert not sentence.endswith(".")
    return sentence


# Hugging Face folders


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("name", IN_FILES)
def test_a_folder_gives_back_what_was_saved(tmp_path, name, shards):
    config, tensors = VARIANTS[name], random_tensors(VARIANTS[name])
    folder = write_hf(tmp_path, config, tensors, family=FAMILY_OF.get(name, "llama"), shards=shards)
    model = load(folder)
    assert model.config == config
    assert torch.equal(whole_logits(model, TOKENS), logits_of(config, tensors))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_weights_are_converted_to_the_dtype_asked_for(tmp_path, dtype):
    tensors = random_tensors(BASE)
    model = load(write_hf(tmp_path, BASE, tensors), dtype)
    assert model.dtype == dtype
    expected = whole_logits(build_model(BASE, tensors, dtype), TOKENS)
    assert torch.equal(whole_logits(model, TOKENS), expected)
    half = {name: tensor.to(dtype) for name, tensor in tensors.items()}
    again = load(write_hf(tmp_path / "half", BASE, half), torch.float32)
    assert torch.equal(
        whole_logits(again, TOKENS), logits_of(BASE, {n: t.float() for n, t in half.items()})
    )


def test_a_loaded_model_does_not_change_with_its_file(tmp_path):
    tensors = random_tensors(BASE)
    folder = write_hf(tmp_path, BASE, tensors)
    model = load(folder)
    data = (folder / "model.safetensors").read_bytes()
    with (folder / "model.safetensors").open("r+b") as file:
        file.write(b"\0" * len(data))
    assert torch.equal(whole_logits(model, TOKENS), logits_of(BASE, tensors))


def test_h31_a_tied_output_layer_is_the_embedding(tmp_path):
    tied = replace(BASE, tie_embeddings=True)
    tensors = random_tensors(tied)
    copied = tensors | {"lm_head.weight": tensors["model.embed_tokens.weight"].clone()}
    expected = whole_logits(load(write_hf(tmp_path / "tied", tied, tensors)), TOKENS)
    for name, config in (("both", tied), ("untied", BASE)):
        assert torch.equal(
            whole_logits(load(write_hf(tmp_path / name, config, copied)), TOKENS), expected
        )
    sentence = refused(load, write_hf(tmp_path / "missing", BASE, tensors))
    assert "missing: lm_head.weight" in sentence
    other = tensors | {"lm_head.weight": tensors["model.embed_tokens.weight"] + 1}
    sentence = refused(load, write_hf(tmp_path / "other", tied, other))
    assert "lm_head.weight that differs from model.embed_tokens.weight" in sentence


def test_h32_every_fault_is_named_at_once(tmp_path):
    tensors = random_tensors(BASE)
    del tensors["model.norm.weight"], tensors["model.layers.1.mlp.up_proj.weight"]
    tensors["model.layers.2.mlp.up_proj.weight"] = torch.zeros(3)
    tensors["model.layers.0.self_attn.q_proj.weight"] = torch.zeros(32, 31)
    sentence = refused(load, write_hf(tmp_path, BASE, tensors))
    assert "missing: model.layers.1.mlp.up_proj.weight, model.norm.weight;" in sentence
    assert "not part of such a model: model.layers.2.mlp.up_proj.weight;" in sentence
    assert "model.layers.0.self_attn.q_proj.weight is (32, 31) instead of (32, 32)" in sentence


def test_h32_many_missing_names_are_told_by_their_layers(tmp_path):
    config = replace(BASE, num_layers=30)
    sentence = refused(load, write_hf(tmp_path, config, random_tensors(BASE)))
    assert "model.layers.{2-29}.mlp.up_proj.weight" in sentence
    assert len(sentence) < 1000
    names = [f"a.{n}.b" for n in (0, 1, 2, 5, 7, 8)] + [f"c{n}" for n in range(30)]
    assert listed(names).startswith("a.{0-2,5,7-8}.b, c0, c1")


def test_h32_missing_shards_are_named(tmp_path):
    folder = write_hf(tmp_path, BASE, random_tensors(BASE), shards=4)
    (folder / "model-00002-of-00004.safetensors").unlink()
    (folder / "model-00004-of-00004.safetensors").unlink()
    sentence = refused(load, folder)
    assert (
        "lack model-00002-of-00004.safetensors, model-00004-of-00004.safetensors, which" in sentence
    )


def test_h32_a_tensor_the_index_names_but_no_shard_holds(tmp_path):
    folder = write_hf(tmp_path, BASE, random_tensors(BASE), shards=2)
    from safetensors.torch import load_file, save_file

    shard = folder / "model-00001-of-00002.safetensors"
    tensors = load_file(shard)
    del tensors["model.embed_tokens.weight"]
    save_file(tensors, shard)
    assert "missing: model.embed_tokens.weight" in refused(load, folder)


def test_a_tensor_in_two_shards_is_refused(tmp_path):
    tensors = random_tensors(BASE)
    folder = write_hf(tmp_path, BASE, tensors, shards=2)
    from safetensors.torch import load_file, save_file

    shard = folder / "model-00002-of-00002.safetensors"
    save_file(
        load_file(shard) | {"model.embed_tokens.weight": tensors["model.embed_tokens.weight"]},
        shard,
    )
    assert "tensors in two files: model.embed_tokens.weight" in refused(load, folder)


@pytest.mark.parametrize(
    "shards",
    [
        {"a": "../model.safetensors"},
        {"a": "/etc/passwd"},
        {"a": 3},
        {},
        None,
        {"a": "C:\\x"},
        {"a": ""},
    ],
)
def test_an_index_may_only_name_files_beside_it(tmp_path, shards):
    folder = write_hf(tmp_path, BASE, random_tensors(BASE), shards=2)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": shards}))
    assert "has no weight_map from tensors to names of files beside it" in refused(load, folder)


def test_h32_an_empty_folder_and_other_formats(tmp_path):
    sentence = refused(load_weights, tmp_path, BASE, torch.float32)
    assert "lack model.safetensors (nor model.safetensors.index.json)" in sentence
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    sentence = refused(load_weights, tmp_path, BASE, torch.float32)
    assert "pytorch_model.bin cannot be read: convert to safetensors" in sentence


@pytest.mark.parametrize("length", [0, 5, 200, -1])
def test_a_truncated_safetensors_file_is_refused(tmp_path, length):
    folder = write_hf(tmp_path, BASE, random_tensors(BASE))
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:length])
    assert "cannot be read as safetensors" in refused(load, folder)


def test_quantised_tensors_are_refused(tmp_path):
    tensors = random_tensors(BASE)
    tensors["model.norm.weight"] = torch.zeros(32, dtype=torch.int8)
    sentence = refused(load, write_hf(tmp_path, BASE, tensors))
    assert "not fp32, bf16 or fp16: model.norm.weight (I8)" in sentence


def test_old_checkpoints_may_carry_frequencies(tmp_path):
    tensors = random_tensors(BASE)
    extra = {"model.layers.0.self_attn.rotary_emb.inv_freq": torch.zeros(4)}
    model = load(write_hf(tmp_path, BASE, tensors | extra))
    assert torch.equal(whole_logits(model, TOKENS), logits_of(BASE, tensors))


# config.json


def config_of(tmp_path, *, family="llama", **fields):
    return config_from_hf(
        write_hf(tmp_path, BASE, random_tensors(BASE), family=family, fields=fields)
    )


def test_defaults_are_those_of_transformers(tmp_path):
    names = ("num_key_value_heads", "head_dim", "rms_norm_eps", "rope_theta", "tie_word_embeddings")
    config = config_of(tmp_path, **dict.fromkeys(names))
    assert config == replace(
        BASE, num_kv_heads=4, rms_norm_eps=1e-6, rope_theta=10_000.0, tie_embeddings=False
    )


def test_the_newer_way_to_write_rotary_parameters(tmp_path):
    rope = {
        "rope_type": "llama3",
        "rope_theta": 5e5,
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 32,
    }
    config = config_of(tmp_path, rope_theta=None, rope_parameters=rope)
    assert config == replace(VARIANTS["scaled"], rope_theta=5e5)
    plain = config_of(
        tmp_path, rope_theta=None, rope_parameters={"rope_type": "default", "rope_theta": 9.0}
    )
    assert plain == replace(BASE, rope_theta=9.0)


def test_windows_are_taken_from_those_who_have_them(tmp_path):
    assert config_of(tmp_path, sliding_window=7).sliding_window is None
    assert config_of(tmp_path, family="mistral", sliding_window=7).sliding_window == 7
    for family in ("qwen2", "qwen3"):
        qwen = {"family": family, "sliding_window": 7}
        assert config_of(tmp_path, **qwen).sliding_window is None
        assert config_of(tmp_path, **qwen, use_sliding_window=False).sliding_window is None
        on = qwen | {"use_sliding_window": True}
        assert config_of(tmp_path, **on).sliding_window is None, "28 layers see everything"
        assert config_of(tmp_path, **on, max_window_layers=0).sliding_window == 7
        kinds = ["sliding_attention", "sliding_attention"]
        assert config_of(tmp_path, **on, layer_types=kinds).sliding_window == 7
        sentence = refused(lambda on=on: config_of(tmp_path, **on, max_window_layers=1))
        assert "some layers have a sliding window and others none" in sentence


def test_answers_end_with_all_ids_that_either_file_names(tmp_path):
    folder = write_hf(tmp_path, BASE, random_tensors(BASE), fields={"eos_token_id": 3})
    assert config_from_hf(folder).eos_ids == (3,)
    (folder / "generation_config.json").write_text('{"eos_token_id": [5, 3, 4]}')
    assert config_from_hf(folder).eos_ids == (3, 5, 4)
    (folder / "generation_config.json").write_text('{"eos_token_id": null}')
    assert config_from_hf(folder).eos_ids == (3,)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"model_type": "gpt2"}, "model_type 'gpt2' is not supported; these are: llama (Llama 2,"),
        ({"model_type": None}, "model_type None is not supported"),
        ({"hidden_act": "gelu"}, "hidden_act 'gelu' is not supported; silu is"),
        ({"mlp_bias": True}, "mlp_bias is not supported"),
        ({"quantization_config": {"bits": 4}}, "the weights are quantised (quantization_config)"),
        (
            {"rope_scaling": {"type": "linear", "factor": 2.0}},
            "rope_scaling of type 'linear' is not supp",
        ),
        ({"rope_scaling": {"rope_type": "yarn"}}, "rope_scaling of type 'yarn' is not supported"),
        ({"rope_scaling": {"rope_type": "llama3"}}, "rope_scaling has no factor"),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor 0.5 is not supported; 1.0 is"),
        ({"hidden_size": None}, "has no hidden_size; a Llama-like model needs it"),
        ({"hidden_size": "32"}, "hidden_size is '32'; it must be int"),
        ({"num_hidden_layers": True}, "num_hidden_layers is 'True'; it must be int"),
        ({"eos_token_id": ["a"]}, "it must be token ids"),
        ({"num_attention_heads": 0}, "num_heads is 0; it must be at least 1"),
    ],
)
def test_what_the_decoder_cannot_do_is_refused(tmp_path, fields, sentence):
    assert sentence in refused(lambda: config_of(tmp_path, **fields))


@pytest.mark.parametrize("text", ["", "{", "[1]", '"x"', "\x00", "[" * 100_000])
def test_a_config_that_is_no_json_object_is_refused(tmp_path, text):
    (tmp_path / "config.json").write_text(text)
    assert "was it downloaded whole?" in refused(config_from_hf, tmp_path)


def test_a_missing_config_is_named(tmp_path):
    assert "config.json: No such file" in refused(config_from_hf, tmp_path)


# GGUF


@pytest.mark.parametrize(
    "name", [name for name in VARIANTS if name not in ("q and k norms", "everything")]
)
def test_a_gguf_file_gives_back_what_was_written(tmp_path, name):
    config, tensors = VARIANTS[name], random_tensors(VARIANTS[name])
    model = load(write_gguf(tmp_path / "model.gguf", config, tensors))
    expected = replace(
        config, rope_scaling=model.config.rope_scaling, rms_norm_eps=model.config.rms_norm_eps
    )
    assert model.config == expected
    assert isinstance(model.config.rope_scaling, ListedScaling) == (config.rope_scaling is not None)
    torch.testing.assert_close(
        whole_logits(model, TOKENS), logits_of(config, tensors), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize(("kind", "name"), [("qwen2", "biases"), ("qwen3", "q and k norms")])
def test_rows_of_qwen_are_not_permuted(tmp_path, kind, name):
    config, tensors = VARIANTS[name], random_tensors(VARIANTS[name])
    model = load(write_gguf(tmp_path / "model.gguf", config, tensors, kind=kind))
    torch.testing.assert_close(
        whole_logits(model, TOKENS), logits_of(config, tensors), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("kind", ["Q8_0", "Q4_1", "F16", "BF16"])
def test_quantised_matrices_are_what_the_quantiser_made_of_them(tmp_path, kind):
    import gguf

    quantised = gguf.GGMLQuantizationType[kind]
    config = replace(BASE, hidden_size=64, intermediate_size=96, head_dim=16)
    tensors = random_tensors(config)

    def rounded(tensor):
        if tensor.dim() == 1:
            return tensor
        raw = gguf.quants.quantize(tensor.numpy(), quantised)
        return torch.from_numpy(gguf.quants.dequantize(raw, quantised).copy())

    model = load(write_gguf(tmp_path / "model.gguf", config, tensors, quantised=quantised))
    expected = logits_of(config, {name: rounded(tensor) for name, tensor in tensors.items()})
    torch.testing.assert_close(whole_logits(model, TOKENS), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("heads", [1, 2, 5])
def test_undoing_the_permutation(heads):
    rows = torch.arange(heads * 6 * 2).reshape(-1, 2)
    assert torch.equal(
        halves_apart(torch.from_numpy(permuted_rows(rows.numpy(), heads)), heads), rows
    )


def test_names_of_tensors():
    for name in parameter_shapes(VARIANTS["everything"]):
        assert gguf_name(name) == gguf_tensor_name(name)


def test_every_fault_of_a_gguf_file_is_named_at_once(tmp_path):
    tensors = random_tensors(BASE)
    del tensors["model.norm.weight"]
    tensors["extra"] = torch.zeros(3)
    tensors["model.layers.1.mlp.up_proj.weight"] = torch.zeros(48, 31)
    sentence = refused(load, write_gguf(tmp_path / "model.gguf", BASE, tensors))
    assert (
        "missing: model.norm.weight; not part of such a model: extra; of another shape" in sentence
    )
    assert "model.layers.1.mlp.up_proj.weight is (48, 31) instead of (48, 32)" in sentence


def test_a_gguf_file_may_be_cut_off_anywhere(tmp_path):
    path = write_gguf(tmp_path / "model.gguf", BASE, random_tensors(BASE))
    data = path.read_bytes()
    cuts = range(0, len(data), 11 if MORE else 97)
    for length in (*cuts, len(data) - 200):
        path.write_bytes(data[:length])
        sentence = refused(open_gguf, path)
        assert re.search("is cut off|is empty|no GGUF file", sentence), length
    path.write_bytes(data[:-200])
    assert "lm_head" not in refused(open_gguf, path)
    assert re.search(
        r"cut off: [0-9,]+ bytes are there, and output.weight would end at",
        refused(open_gguf, path),
    )


@pytest.mark.parametrize(
    ("position", "value", "sentence"),
    [
        (0, b"GGML", "does not begin with GGUF: it is no GGUF file"),
        (4, struct.pack("<I", 1), "of version 1 or of a big-endian machine"),
        (4, struct.pack(">I", 3), "or of a big-endian machine"),
        (8, struct.pack("<Q", 2**60), " dimensions; 4 is the most"),
        (16, struct.pack("<Q", 2**60), "is cut off"),
        (24, struct.pack("<Q", 2**62), "is cut off"),
    ],
)
def test_a_gguf_header_that_cannot_be_is_refused(tmp_path, position, value, sentence):
    path = write_gguf(tmp_path / "model.gguf", BASE, random_tensors(BASE))
    data = bytearray(path.read_bytes())
    data[position : position + len(value)] = value
    path.write_bytes(data)
    assert sentence in refused(open_gguf, path)


@examples(60, 2000)
@given(st.data())
def test_a_damaged_gguf_file_is_refused_or_read_but_never_a_crash(data):
    with TemporaryDirectory() as folder:
        path = write_gguf(Path(folder) / "model.gguf", VARIANTS["scaled"], TENSORS)
        damaged = bytearray(path.read_bytes())
        start = open_gguf(path).tensors["rope_freqs.weight"].offset + 16
        for _ in range(data.draw(st.integers(1, 3))):
            damaged[data.draw(st.integers(0, start - 1))] = data.draw(st.integers(0, 255))
        path.write_bytes(damaged)
        with suppress(InputError):
            load(path)


@pytest.mark.parametrize(
    ("kind", "edit", "sentence"),
    [
        (
            "gemma",
            None,
            "architecture 'gemma' is not supported; these are: llama (Llama 2, Llama 3",
        ),
        ("llama", lambda w: w.add_expert_count(8), "a mixture of experts is not supported"),
        (
            "llama",
            lambda w: w.add_rope_dimension_count(4),
            "of heads of 8 elements, rotary embedding turns 4",
        ),
        (
            "llama",
            lambda w: w.add_string("llama.rope.scaling.type", "yarn"),
            "scaling of type 'yarn' is not",
        ),
        (
            "llama",
            lambda w: w.add_uint16("split.count", 3),
            "is one of 3 parts, which is not supported",
        ),
        ("llama", lambda w: w.add_array("llama.attention.sliding_window", [3]), "it must be int"),
    ],
)
def test_what_a_gguf_model_cannot_do_is_refused(tmp_path, kind, edit, sentence):
    path = write_gguf(tmp_path / "model.gguf", BASE, random_tensors(BASE), kind=kind, edit=edit)
    assert sentence in refused(load, path)


def test_the_gguf_package_reads_the_same(tmp_path):
    import gguf

    path = write_gguf(tmp_path / "model.gguf", BASE, random_tensors(BASE))
    file, theirs = open_gguf(path), gguf.GGUFReader(path)
    assert {n: list(reversed(t.shape)) for n, t in file.tensors.items()} == {
        t.name: t.shape.tolist() for t in theirs.tensors
    }
    assert {n: t.offset for n, t in file.tensors.items()} == {
        t.name: t.data_offset for t in theirs.tensors
    }
    fields = {n: f.contents() for n, f in theirs.fields.items() if not n.startswith("GGUF.")}
    assert file.fields == fields
