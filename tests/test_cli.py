"""The program as a person meets it: in a terminal, in a pipe, under odd encodings, and with bad input."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from shared_data import shared_file

from pagesim import __version__

SMALL = ["--requests", "40", "--seed", "3"]


def run(
    *words: str, stdin: str | None = None, **environ: str
) -> subprocess.CompletedProcess[bytes]:
    """The program in a pipe, with just these environment variables added."""
    kept = {
        k: v
        for k, v in os.environ.items()
        if k not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LC_ALL")
    }
    return subprocess.run(
        [sys.executable, "-m", "pagesim", *words],
        capture_output=True,
        env={**kept, **environ},
        input=None if stdin is None else stdin.encode(),
        timeout=120,
        check=False,
    )


def in_terminal(*words: str, **environ: str) -> str:
    """What the program writes to a terminal of its own."""
    kept = {
        k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "CI")
    }
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "pagesim", *words],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={**kept, "TERM": "xterm-256color", "COLUMNS": "100", **environ},
    )
    os.close(terminal)
    chunks = []
    while True:
        try:
            chunk = os.read(controller, 65536)
        except OSError:  # the other end closed
            break
        if not chunk:
            break
        chunks.append(chunk)
    assert process.wait(timeout=120) == 0
    os.close(controller)
    return b"".join(chunks).decode()


def test_version_and_module_and_tour() -> None:
    assert run("--version").stdout.decode().strip() == f"pagesim {__version__}"
    tour = run().stdout.decode()
    assert "pagesim compare" in tour
    assert run("--help").returncode == 0


def test_help_needs_no_heavy_import() -> None:
    """What makes --help quick: neither numpy, rich nor the simulator is imported for it."""
    script = (
        "import sys\nsys.argv = ['pagesim', '--help']\nfrom pagesim.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = [n for n in ('numpy', 'rich', 'matplotlib', 'torch', 'pagesim.sim') if n in sys.modules]\n"
        "assert not heavy, heavy\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert result.returncode == 0, result.stderr.decode()


@pytest.mark.parametrize("command", ["compare", "run"])
def test_json_is_one_object_and_nothing_else(command: str) -> None:
    """H27: Machine-readable output never contains escape bytes, whatever colour is forced."""
    result = run(command, *SMALL, "--json", FORCE_COLOR="1")
    assert result.returncode == 0
    assert b"\x1b" not in result.stdout
    assert result.stderr == b""
    value = json.loads(result.stdout)
    names = ["max", "pow2", "oracle", "paged"] if command == "compare" else ["paged"]
    assert list(value["runs"]) == names
    assert value["seed"] == 3
    assert value["runs"]["paged"]["num_finished"] == 40
    waste = value["runs"]["paged"]["waste"]
    parts = sum(waste[kind] for kind in ("used", "reserved", "internal", "external", "free"))
    assert parts == pytest.approx(waste["num_slots"])


@pytest.mark.parametrize(
    "command", [["compare", *SMALL], ["run", *SMALL], ["plan", "opt-13b", "--kv-memory", "12GiB"]]
)
def test_a_pipe_gets_no_escape_byte(command: list[str]) -> None:
    """H27: Output to a pipe or file contains no escape byte at all."""
    result = run(*command)
    assert result.returncode == 0
    assert b"\x1b" not in result.stdout + result.stderr


def test_no_color_beats_force_color_in_a_terminal() -> None:
    """H27: With NO_COLOR=1 in a terminal there are no colour codes, also when FORCE_COLOR=1 is set."""
    colour = re.compile(r"\x1b\[[0-9;]*m")
    command = ["compare", *SMALL]
    assert colour.search(in_terminal(*command))
    assert colour.search(in_terminal(*command, NO_COLOR=""))
    assert not colour.search(in_terminal(*command, NO_COLOR="1", FORCE_COLOR="1"))


ENCODINGS = [
    {"PYTHONIOENCODING": "ascii"},
    {"PYTHONIOENCODING": "cp1252"},
    {"PYTHONIOENCODING": "cp949"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
]
COMMANDS = [
    ["compare", *SMALL],
    ["run", *SMALL],
    ["run", "swap"],
    ["run", "figure-9"],
    ["sweep", "--block-size", "8,16", "--jobs", "1", *SMALL],
    ["plan", "llama-3.1-8b", "--gpu", "h100"],
    ["workloads"],
    ["models"],
    ["gpus"],
    [],
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: "-".join(words[:2]) or "tour")
def test_encodings_without_box_characters(command: list[str]) -> None:
    """H28: Every command exits as it would under UTF-8 and shows the same numbers, drawn in ASCII."""
    expected = run(*command, PYTHONIOENCODING="utf-8")
    assert expected.returncode == 0
    numbers = re.findall(r"\d[\d,.]*", expected.stdout.decode("utf-8"))
    for environ in ENCODINGS:
        result = run(*command, **environ)
        assert result.returncode == 0, (environ, result.stderr)
        text = result.stdout.decode("cp949" if "cp949" in environ.values() else "latin-1")
        assert "\\u" not in text
        assert "Traceback" not in text
        assert re.findall(r"\d[\d,.]*", text) == numbers, environ


BAD = [
    (["compare", "sharegtp"], "sharegtp"),
    (["run", "--order", "lifo"], "'lifo' is no order"),
    (["run", "--victim", "oldest"], "'oldest' is no victim policy"),
    (["run", "--preempt", "hope"], "'hope' is no preempt mode"),
    (["run", "--watermark", "100%"], "watermark '100%'"),
    (["run", "--watermark", "983"], "983 blocks was given and 983 are present"),
    (["run", "--host-memory", "4G"], "4G"),
    (["run", "--host-memory", "9999999TiB", "--block-size", "1"], "host memory"),
    (["run", "--samples", "0"], "samples 0"),
    (["run", "--samples-as", "clones"], "clones"),
    (["run", "--samples-as", "requests", "--beam"], "beams always fork"),
    (["run", "--freed-blocks-go", "away"], "away"),
    (["run", "--order", "nowhere.py:mine"], "nowhere.py is not a file"),
    (["paper", "--sharing", "--lengths", "x.csv"], "--lengths was given with --sharing"),
    (["compare", "--model", "opt-13"], "opt-13"),
    (["compare", "--gpu", "a100"], "a100"),
    (["compare", "--kv-memory", "12G"], "12G"),
    (["compare", "--kv-memory", "1KiB"], "1,024"),
    (["compare", "--requests", "0"], "requests 0"),
    (["compare", "--requests", "1000000000"], "1000000000"),
    (["compare", "--rate", "nan"], "nan"),
    (["compare", "--rate", "-1"], "-1"),
    (["compare", "--block-size", "0"], "block size 0"),
    (["compare", "--max-model-len", "1"], "max model length 1"),
    (["compare", "--rules", "vllm"], "vllm"),
    (["compare", "--placer", "worst-fit"], "worst-fit"),
    (["compare", "--allocator", "slab"], "slab"),
    (["compare", "--seed", "-1"], "seed -1"),
    (["compare", "--trace", "/nowhere/trace.csv"], "trace.csv"),
    (["compare", "--model", "llama-3.1-70b", "--gpu", "t4"], "llama-3.1-70b"),
    (["run", "--allocator", "slab"], "slab"),
    (["run", "--log", "/nowhere/log.jsonl"], "log.jsonl"),
    (["run", "--max-num-seqs", "0", "--requests", "1"], "max_num_seqs is 0"),
    (["paper", "--requests", "1"], "1 requests"),
    (["paper", "--lengths", "/nowhere/lengths.csv"], "lengths.csv"),
]


@pytest.mark.parametrize(
    ("words", "named"),
    BAD,
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)
def test_bad_input_is_one_sentence_and_no_traceback(words: list[str], named: str) -> None:
    result = run(*words)
    assert result.returncode == 2
    assert result.stdout == b""
    message = result.stderr.decode()
    assert message.startswith("pagesim: ")
    assert message.count("\n") == 1
    assert named in message
    assert "Traceback" not in message


@pytest.mark.parametrize("value", ["nan", "-3", "1e400", "", "12.5", "0x10"])
def test_a_trace_with_a_bad_number_stops_with_line_column_and_value(
    tmp_path: Path, value: str
) -> None:
    """H25: The message names line, column and value; exit code not 0, no traceback, nothing runs."""
    trace = tmp_path / "trace.csv"
    trace.write_text(f"prompt_tokens,output_tokens\n10,5\n{value},5\n")
    result = run("compare", "--trace", str(trace))
    assert result.returncode == 2
    message = result.stderr.decode()
    assert "line 3" in message
    assert "prompt_tokens" in message
    assert value in message
    assert "Traceback" not in message
    assert result.stdout == b""


def test_unknown_options_and_commands_are_refused() -> None:
    for words in (["compare", "--bogus"], ["frobnicate"]):
        result = run(*words)
        assert result.returncode == 2
        assert b"Traceback" not in result.stderr


def test_the_same_run_is_the_same_log_in_every_process(tmp_path: Path) -> None:
    """H04: The same settings under two PYTHONHASHSEEDs write byte-identical logs and the same summary."""
    outputs, logs = [], []
    for seed in ("0", "12345"):
        path = tmp_path / f"{seed}.jsonl.gz"
        words = ["run", "shared-prefix", *SMALL, "--log", str(path), "--json"]
        result = run(*words, PYTHONHASHSEED=seed)
        assert result.returncode == 0, result.stderr
        outputs.append(result.stdout)
        logs.append(path.read_bytes())
    assert outputs[0] == outputs[1]
    assert logs[0] == logs[1]


def test_a_refused_request_is_shown_and_the_others_are_served(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("prompt_tokens,output_tokens,id\n10,5,small\n5000,5,huge\n")
    result = run("run", "--trace", str(trace), "--max-model-len", "2048")
    text = " ".join(result.stdout.decode().split())
    assert result.returncode == 0
    assert "huge" in text
    assert "5,000 prompt tokens" in text


def test_interrupting_leaves_no_traceback() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "pagesim", "compare", "--requests", "200000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(
            signal.SIGINT, signal.SIG_DFL
        ),  # a job in the background ignores it
    )
    time.sleep(2.5)  # not a timed test: wherever it is by then, the same must hold
    process.send_signal(2)
    try:
        output, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert b"Traceback" not in errors
    assert output == b""


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = f"{sys.executable} -m pagesim compare --requests 40 | head -n 1"
    result = subprocess.run(["bash", "-c", command], capture_output=True, check=False, timeout=60)
    assert result.stderr == b""


@pytest.mark.parametrize(
    ("name", "requests"),
    [
        pytest.param("azure2023_conv.csv.gz", 19_366, marks=pytest.mark.slow),
        ("azure2023_code.csv.gz", 8_819),
    ],
)
def test_a_whole_azure_hour_is_served_by_all_four(name: str, requests: int) -> None:
    words = ["--model", "llama-2-7b", "--gpu", "a100-80gb", "--json"]
    result = run("compare", "--trace", str(shared_file(f"data/{name}")), *words)
    assert result.returncode == 0, result.stderr
    runs = json.loads(result.stdout)["runs"]
    assert list(runs) == ["max", "pow2", "oracle", "paged"]
    for report in runs.values():
        assert report["num_finished"] == requests
        assert report["num_refused"] == 0


@pytest.mark.slow
def test_the_mooncake_hour_finds_prefixes() -> None:
    path = shared_file("data/mooncake_conversation.jsonl.gz")
    words = ["--model", "llama-3.1-8b", "--gpu", "h100", "--tensor-parallel", "4", "--json"]
    result = run("run", "--trace", str(path), *words)
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)["runs"]["paged"]
    assert report["num_finished"] == 12_031
    assert 0.05 < report["hit_rate"] < 0.5
