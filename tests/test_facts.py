"""The tables of facts: consistent with themselves and with the shared files they came from."""

import json
from decimal import Decimal

import pytest
from shared_data import shared_file

from pagesim.core.errors import InputError
from pagesim.planner import facts
from pagesim.planner.facts import Attention, Latent, Window

MODELS = facts.models()
GPUS = facts.gpus()


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.key)
def test_a_model_is_consistent(model):
    assert model.source
    assert (model.head_dim is None) == (model.latent is not None)
    assert (model.attention is Attention.MLA) == (model.latent is not None)
    assert model.num_heads % model.num_kv_heads == 0
    assert (model.attention is Attention.MHA) == (
        model.latent is None and model.num_heads == model.num_kv_heads
    )
    assert 0 < model.active_params <= model.params
    assert 0 <= model.num_window_layers <= model.num_layers
    if model.window is not None:
        assert all(0 <= layer < model.num_layers for layer in model.window.full_layers)
        assert len(set(model.window.full_layers)) == len(model.window.full_layers)


@pytest.mark.parametrize("gpu", GPUS, ids=lambda gpu: gpu.key)
def test_a_gpu_is_consistent(gpu):
    assert gpu.source
    assert gpu.host_link_bytes_s < gpu.bandwidth_bytes_s
    if gpu.visible_bytes is not None:  # between ECC's share off and GiB for GB
        assert 0.97 < gpu.visible_bytes / gpu.memory_bytes < 2**30 / 10**9
    if gpu.fp8_flops is not None:
        assert 1.9 < gpu.fp8_flops / gpu.dense_flops < 2.1


def test_names_are_unique():
    for table in (facts._model_table(), facts._gpu_table()):
        owners: dict[str, str] = {}
        for found, names in table:
            for name in names:
                assert owners.setdefault(name, found.key) == found.key
                assert name == facts._plain(name)


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ("opt-13b", "opt-13b"),
        ("facebook/OPT-13B", "opt-13b"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"),
        ("meta-llama/Llama-3.1-8B", "llama-3.1-8b"),
        ("Meta-Llama-3.1-8B-Instruct", "llama-3.1-8b"),
        ("HuggingFaceTB/SmolLM2-135M", "smollm2-135m"),
        ("SmolLM2-135M-Instruct", "smollm2-135m"),
        ("deepseek-ai/DeepSeek-R1", "deepseek-v3"),
        ("openai/gpt-oss-20b", "gpt-oss-20b"),
    ],
)
def test_models_answer_to_their_names(given, key):
    assert facts.model(given).key == key


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ("a100-40gb", "a100-sxm-40gb"),
        ("A100-80GB", "a100-sxm-80gb"),
        ("A100_80GB", "a100-sxm-80gb"),
        ("h100", "h100-sxm"),
        ("NVIDIA A100 SXM4 40 GB", "a100-sxm-40gb"),
        ("RTX 4090", "rtx-4090"),
    ],
)
def test_gpus_answer_to_their_names(given, key):
    assert facts.gpu(given).key == key


def test_every_key_and_id_is_found():
    for model in MODELS:
        assert facts.model(model.key) is model
        assert facts.model(model.hf_id) is model
    for gpu in GPUS:
        assert facts.gpu(gpu.key) is gpu
        assert facts.gpu(gpu.name.upper()) is gpu


def test_an_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(InputError) as refusal:
        facts.model("opt-13")
    assert str(refusal.value).startswith("no model is called 'opt-13': the nearest are opt-13b")
    assert "`pagesim models` lists them all" in str(refusal.value)
    begin_alike = "the nearest are a100-sxm-40gb, a100-pcie-80gb, a100-sxm-80gb, and"
    with pytest.raises(InputError, match=f"no GPU is called 'a100': {begin_alike} `pagesim gpus`"):
        facts.gpu("a100")
    with pytest.raises(InputError, match="no GPU is called '': `pagesim gpus` lists them all"):
        facts.gpu("")


def test_opt_parameters_follow_from_the_architecture():
    """12 h^2 + 13 h per layer, tied embeddings of 50,272 rows, 2,050 positions, one last norm."""
    for key in ("opt-125m", "opt-13b", "opt-66b", "opt-175b"):
        opt = facts.model(key)
        h = opt.hidden_size
        layer = 12 * h * h + 13 * h
        assert opt.params == opt.num_layers * layer + (50272 + 2050) * h + 2 * h
        assert opt.hidden_size == opt.num_heads * opt.head_dim


def test_models_agree_with_the_shared_file():
    rows = json.loads(shared_file("data/model_configs.json").read_text(encoding="utf-8"))["models"]
    assert [row["key"] for row in rows] == [model.key for model in MODELS]
    for row, model in zip(rows, MODELS, strict=True):
        shared = {
            "hf_id": row["hf_id"],
            "num_layers": row["num_hidden_layers"],
            "hidden_size": row["hidden_size"],
            "num_heads": row["num_attention_heads"],
            "num_kv_heads": row["num_key_value_heads"],
            "head_dim": row["head_dim"],
            "max_position": row["max_position_embeddings"],
            "attention": Attention(row["attention"]),
            "params": row["param_count"],
            "active_params": row["param_count_active"],
            "num_window_layers": row["layer_types"].get("sliding_attention", 0),
            "source": row["seen_in"],
        }
        assert shared == {field: getattr(model, field) for field in shared}, model.key
        window = row["sliding_window"]
        full_layers = tuple(row.get("full_attention_layers", ()))
        assert model.window == (None if window is None else Window(window, full_layers))
        mla = row.get("mla")
        assert model.latent == (
            None
            if mla is None
            else Latent(
                rank=mla["kv_lora_rank"],
                rope_dim=mla["qk_rope_head_dim"],
                query_dim=mla["qk_nope_head_dim"],
                value_dim=mla["v_head_dim"],
            )
        )


def test_gpus_agree_with_the_shared_file():
    text = shared_file("data/gpus.json").read_text(encoding="utf-8")
    rows = json.loads(text, parse_float=Decimal)["gpus"]
    assert [row["key"] for row in rows] == [gpu.key for gpu in GPUS]
    for row, gpu in zip(rows, GPUS, strict=True):
        fp8 = row["dense_fp8_tflops"]
        assert gpu.name == row["name"]
        assert gpu.memory_bytes == row["memory_gb"] * 10**9
        assert gpu.bandwidth_bytes_s == row["memory_bandwidth_gb_s"] * 10**9
        assert gpu.dense_flops == row["dense_fp16_bf16_tflops"] * 10**12
        assert gpu.fp8_flops == (None if fp8 is None else fp8 * 10**12)
        assert gpu.host_link_bytes_s == row["host_link_gb_s_one_way"] * 10**9
        assert all(source in gpu.source for source in row["source"])
        seen = row["total_gib_seen_in_engine_logs"]
        if seen is not None:
            assert gpu.visible_bytes == int(min(seen) * 2**30)
