"""`pagesim kernel check|explain|report|bench`: what they print, in 80 columns and as JSON, and what they refuse."""

import io
import json

import kernel_setup  # noqa: F401
import pytest
from pagesim_kernels.check import check
from pagesim_kernels.walk import walk
from rich.console import Console
from typer.testing import CliRunner

from pagesim.cli.kernel import app, need_modules
from pagesim.core.errors import InputError
from pagesim.views.kernel_check import check_document, check_parts
from pagesim.views.kernel_report import report_parts
from pagesim.views.kernel_walk import KernelWalk


@pytest.fixture(name="invoke")
def _invoke(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")

    def invoke(*arguments):
        return CliRunner().invoke(app, arguments)

    return invoke


def drawn(*parts, width=80):
    console = Console(width=width, record=True, file=io.StringIO())
    for part in parts:
        console.print(part)
    return console.export_text()


def test_check_prints_a_table_and_a_closing_line(invoke):
    result = invoke("check", "--cases", "2", "--seed", "3")
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[0].startswith("2 random cases from seed 3, on Triton's interpreter")
    assert "worst error" in result.output
    assert lines[-1] == "2 passed, 0 failed"
    assert max(map(len, lines)) <= 80


def test_a_failed_case_is_shown_and_the_exit_code_is_1(invoke, monkeypatch):
    from pagesim_kernels import check as module

    monkeypatch.setattr(module, "reference_attention", lambda q, *_: q.double() + 1)
    result = invoke("check", "--cases", "1", "--json")
    document = json.loads(result.stdout)
    assert result.exit_code == 1
    assert len(document["failed"]) == 1
    results = list(check(range(1), device="cpu", small=True))
    text = drawn(*check_parts(results, "cpu", 0))
    assert "FAILED" in text
    assert "0 passed, 1 failed" in text


def test_a_launch_that_raises_is_a_failed_case(monkeypatch):
    from pagesim_kernels import check as module

    def broken(*_):
        raise RuntimeError("no such\nthing")

    monkeypatch.setattr(module, "run_paged", broken)
    (result,) = check(range(1), device="cpu", small=True)
    assert not result.passed
    assert result.failure == "RuntimeError: no such thing"
    assert check_document([result], "cpu", 0)["failed"][0]["failure"] == result.failure


def test_explain_tells_the_story_in_80_columns(invoke):
    result = invoke("explain")
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == "A new token at position 9 attends to 10 keys."
    assert any(line.startswith("tile 2 of 2: keys 8 to 15") for line in lines)
    assert "\x1b" not in result.output


@pytest.mark.parametrize(
    "options", [{}, {"window": 3}, {"block_size": 1, "keys": 5}, {"context_len": 64}]
)
def test_the_walk_arrives_where_float64_does(options):
    story = walk(**options)
    assert story.error < 1e-5
    seen = [lane.pos for tile in story.tiles for lane in tile.lanes if lane.live]
    assert seen == list(range(story.context_len))[-(options.get("window") or 64) :]
    for width in (80, 120):
        assert max(map(len, drawn(KernelWalk(story), width=width).splitlines())) <= width


def test_explain_for_machines_has_no_infinities(invoke):
    document = json.loads(invoke("explain", "--json").stdout)
    assert document["tiles"][0]["maximum_before"] is None
    assert document["tiles"][1]["lanes"][0]["pos"] == 8
    assert len(document["output"]) == 16


def test_report_draws_every_row(invoke):
    row = {
        "target": "sm90", "dtype": "fp16", "head_dim": 64, "block_size": None, "keys": 64, "warps": 4, "stages": 2,
        "registers": 99, "spills": 0, "shared": 2048, "instructions": 400, "integer": 200, "matrix": 32, "wide": 16,
        "asynchronous": 16, "narrow": 0, "wide_share": 1.0, "per_kib": 50.0, "over_twin": None, "failed": "",
    }  # fmt: skip
    paged = row | {"block_size": 16, "over_twin": 0.061}
    failed = row | {"block_size": 1, "failed": "CompilationError: too much"}
    text = drawn(*report_parts({"triton": "3.9.0", "rows": [row, paged, failed]}))
    assert max(map(len, text.splitlines())) <= 80
    for piece in (
        "64, twin",
        "64, block 16",
        "+6.1 %",
        "CompilationError: too much",
        "not measured on a GPU",
    ):
        assert piece in text


def test_report_compiles_in_a_process_of_its_own(invoke):
    """This process is an interpreter; the report is a compiler's all the same."""
    result = invoke(
        "report", "--target", "sm90", "--head-dim", "64", "--block-size", "16", "--json"
    )
    assert result.exit_code == 0, result.output
    twin, paged = json.loads(result.stdout)["rows"]
    assert twin["block_size"] is None
    assert paged["over_twin"] == pytest.approx(paged["per_kib"] / twin["per_kib"] - 1)


def test_bench_times_four_ways(invoke, tmp_path):
    sizes = ("--seqs", "2", "--context", "64", "--rounds", "2")
    plot = tmp_path / "bench.svg"
    result = invoke("bench", *sizes, "--plot", str(plot))
    assert result.exit_code == 0, result.output
    for way in ("paged", "contiguous twin", "SDPA, contiguous", "gather, then SDPA"):
        assert way in result.output
    assert "not measured on a GPU" in result.output
    assert plot.read_text(encoding="utf-8").startswith("<?xml")
    document = json.loads(invoke("bench", *sizes, "--json").stdout)
    assert document["kv_bytes"] == 2 * 2 * 64 * 3 * 64 * 4
    assert [way["failed"] for way in document["ways"]] == [None] * 4


def test_all_ways_compute_the_same():
    import torch
    from pagesim_kernels.bench import Setting, make_tensors, ways

    setting = Setting(seqs=3, context=48, heads=6, kv_heads=2, head_dim=16)
    first, *others = [work() for work in ways(setting, make_tensors(setting)).values()]
    for other in others:
        assert torch.allclose(first, other.view_as(first), atol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("check", "--cases", "0"), "0 cases from seed 0; give 1 to 100,000 cases"),
        (("explain", "--context", "100"), "the context length is 100; choose 1 to 64"),
        (("explain", "--window", "0"), "the window is 0; choose at least 1"),
        (("report", "--target", "sm99"), "--target 'sm99' is none; sm80,"),
        (("report", "--dtype", "int8"), "--dtype 'int8' is none; it is fp16, bf16, fp32"),
        (("report", "--head-dim", "0"), "--head-dim goes from 1 to 256"),
        (
            ("bench", "--context", "100"),
            "100 keys in blocks of 16; the keys must fill whole blocks",
        ),
        (("bench", "--heads", "4"), "4 query heads on 3 KV heads"),
        (("bench", "--rounds", "0"), "0 rounds were asked for"),
        (("bench", "--seqs", "100000"), "at most 4 GB are timed here"),
        (("bench", "--plot", "a.gif"), "a.gif was given; the file's name must end in"),
    ],
)
def test_what_can_not_be_is_one_sentence(invoke, arguments, sentence):
    result = invoke(*arguments)
    assert isinstance(result.exception, InputError)
    assert sentence in str(result.exception)


def test_without_torch_a_command_says_what_to_install(monkeypatch):
    monkeypatch.setattr("pagesim.engine.needs.find_spec", lambda name: None)
    with pytest.raises(
        InputError,
        match=r"needs torch and triton, not installed here: pip install 'pagesim\[engine\]'",
    ):
        need_modules("torch", "triton")
    with pytest.raises(InputError, match="needs triton, which is not installed; on Linux"):
        need_modules("triton")


def test_the_group_alone_prints_its_commands(invoke):
    result = invoke()
    assert result.exit_code == 0
    for command in ("check", "explain", "report", "bench"):
        assert command in result.output
