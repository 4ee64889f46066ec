"""`pagesim plan`, `models` and `gpus`: what they print, and that every figure agrees with the
others."""

import json
from fractions import Fraction

import pytest
import typer
from typer.testing import CliRunner

from pagesim.cli.facts import gpus, models
from pagesim.cli.plan import plan
from pagesim.core.errors import InputError
from pagesim.planner import facts
from pagesim.planner.report import plan_report
from pagesim.planner.units import GIB


@pytest.fixture(name="invoke")
def _invoke():
    app = typer.Typer()
    for command in (plan, models, gpus):
        app.command()(command)

    def invoke(*arguments):
        return CliRunner().invoke(app, arguments)

    return invoke


def test_the_paper_s_memory(invoke):
    """Truths 1: 12 GiB for OPT-13B are 15,728 slots and 7 requests of 2,048 tokens."""
    result = invoke("plan", "opt-13b", "--kv-memory", "12GiB")
    assert result.exit_code == 0
    for figure in ("800.00 KiB", "12.00 GiB", "12.88 GB", "12.50 MiB", "983", "15,728", "7.68"):
        assert figure in result.stdout
    assert "2 x 40 KV heads x 128 x 2 B x 40 layers" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "\x1b" not in result.stdout


def test_json_is_one_object_and_nothing_else(invoke):
    """H19: all figures of one report follow from the same number of blocks."""
    result = invoke(
        *("plan", "meta-llama/Llama-3.1-8B", "--gpu", "A100-80GB", "--json"),
        *("--length", "1000", "--length", "4096", "--block-size", "32", "--utilisation", "95%"),
    )
    report = json.loads(result.stdout)
    assert report["model"] == "llama-3.1-8b"
    assert report["gpu"] == "a100-sxm-80gb"
    assert report["budget_bytes"] == report["gpu_bytes"] * 95 // 100
    left = report["budget_bytes"] - report["weight_bytes"] - report["workspace_bytes"]
    assert report["kv_bytes"] == left
    assert report["block_bytes"] == 32 * report["kv_bytes_per_token"] == 32 * 131072
    assert report["num_blocks"] == left // report["block_bytes"]
    assert report["num_slots"] == 32 * report["num_blocks"]
    assert [row["blocks_each"] for row in report["requests"]] == [32, 128]
    for row in report["requests"]:
        assert row["whole"] == report["num_blocks"] // row["blocks_each"]
        assert row["ratio"] == round(report["num_blocks"] / row["blocks_each"], 6)


def test_the_table_and_json_show_the_same(invoke):
    arguments = ("plan", "gemma-3-27b", "--gpu", "h200", "--length", "4096")
    report = json.loads(invoke(*arguments, "--json").stdout)
    table = invoke(*arguments).stdout
    assert f"{report['num_blocks']:,}" in table
    assert f"{report['num_slots']:,}" in table
    assert f"{report['kv_bytes'] / GIB:.2f} GiB" in table
    assert f"{report['requests'][0]['ratio']:,.2f}" in table
    assert "1 full + 6" in table


def test_ranks_and_an_fp8_cache(invoke):
    arguments = ("plan", "deepseek-v3", "--gpu", "h200", "--tensor-parallel", "8", "--json")
    whole = json.loads(invoke(*arguments).stdout)
    half = json.loads(invoke(*arguments, "--kv-dtype", "FP8").stdout)
    assert whole["kv_bytes_per_token"] == 2 * half["kv_bytes_per_token"] == 70272
    assert whole["kv_bytes"] == half["kv_bytes"]
    assert half["num_blocks"] in (2 * whole["num_blocks"], 2 * whole["num_blocks"] + 1)


def test_box_characters_give_way_to_ascii(invoke, monkeypatch):
    """H28: the same figures in an encoding without box characters."""
    app = typer.Typer()
    app.command()(plan)
    runner = CliRunner(charset="ascii")
    result = runner.invoke(app, ["opt-13b", "--kv-memory", "12GiB"])
    assert result.exit_code == 0
    assert result.stdout.isascii()
    assert "15,728" in result.stdout


def test_a_length_beyond_the_model_s_is_planned_and_said(invoke):
    result = invoke("plan", "opt-13b", "--kv-memory", "12GiB", "--length", "4096")
    assert "the model's longest is 2,048 tokens" in result.stdout
    assert "256" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "neither a GPU nor a KV memory was given: name a GPU or the memory, not both"),
        (("--gpu", "l4", "--kv-memory", "1GB"), "both a GPU and a KV memory were given: name"),
        (("--gpu", "l4"), "opt-13b leaves no KV memory on l4: of 20.12 GiB the weights take 23.94"),
        (("--gpu", "l5"), "no GPU is called 'l5': "),
        (("--kv-memory", "12G"), "memory size '12G' could mean two units: "),
        (("--kv-memory", "nan"), "memory size 'nan' is not an amount: "),
        (("--kv-memory", "12MiB"), "12.00 MiB of KV memory is less than one block of 16 tokens"),
        (("--kv-memory", "1GB", "--length", "0"), "length 0 is not allowed: give 1 or more"),
        (("--kv-memory", "1GB", "--block-size", "-1"), "block size -1 is not allowed: give 1"),
        (("--kv-memory", "1GB", "--tensor-parallel", "3"), "3 tensor-parallel ranks cannot share"),
        (("--kv-memory", "1GB", "--tensor-parallel", "0"), "tensor-parallel size 0 is not allowed"),
        (("--kv-memory", "1GB", "--kv-dtype", "int3"), "KV dtype 'int3' is unknown: give auto, "),
        (("--gpu", "h100", "--utilisation", "1.5"), "share of memory '1.5' is not above 0"),
        (("--gpu", "h100", "--utilisation", "nan"), "share of memory 'nan' is not above 0"),
    ],
)
def test_bad_input_is_one_sentence(invoke, arguments, sentence):
    result = invoke("plan", "opt-13b", *arguments)
    assert isinstance(result.exception, InputError)
    assert str(result.exception).startswith(sentence)
    assert "\n" not in str(result.exception)
    assert result.stdout == ""


def test_a_report_of_the_paper_s_card():
    """The artifact's settings (0.95, 1 GiB) on the paper's card leave about the 12 GiB it
    prints."""
    report = plan_report(
        facts.model("opt-13b"), gpu=facts.gpu("a100-40gb"), utilisation=Fraction(95, 100)
    )
    assert 12 * GIB < report.pool.memory_bytes < 13 * GIB


def test_models_and_gpus_are_listed(invoke):
    shown = invoke("models")
    assert shown.exit_code == 0
    assert all(model.key in shown.stdout for model in facts.models())
    assert max(map(len, shown.stdout.splitlines())) <= 80
    assert "…" not in shown.stdout
    shown = invoke("gpus")
    assert all(gpu.key in shown.stdout for gpu in facts.gpus())
    assert max(map(len, shown.stdout.splitlines())) <= 80


def test_models_and_gpus_as_json(invoke):
    rows = json.loads(invoke("models", "--json").stdout)
    assert [row["key"] for row in rows] == [model.key for model in facts.models()]
    assert all(row["source"] for row in rows)
    assert {row["attention"] for row in rows} == {"mha", "gqa", "mqa", "mla"}
    rows = json.loads(invoke("gpus", "--json").stdout)
    assert [row["key"] for row in rows] == [gpu.key for gpu in facts.gpus()]
