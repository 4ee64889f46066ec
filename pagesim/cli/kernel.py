"""``pagesim kernel``: the attention kernels, checked, explained, compiled and timed.

Reads options, asks ``pagesim_kernels``, draws or prints JSON. Without torch, a command says what to install.
"""

import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pagesim.cli.export import check_output, write_file
from pagesim.cli.options import AsJson
from pagesim.core.errors import InputError
from pagesim.engine.needs import INSTALL, missing_modules

if TYPE_CHECKING:
    from rich.console import RenderableType

app = typer.Typer(
    help="Attention through block tables: check the kernels, explain, compile and time them.",
    rich_markup_mode=None,
)
PLOT_SUFFIXES = (".png", ".pdf", ".svg")
REPORT_DTYPES = ("fp16", "bf16", "fp32")


@app.callback(invoke_without_command=True)
def overview(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def need_modules(*names: str) -> None:
    """InputError that says what to install, if one of them is not there. Kernels also run without a model."""
    missing = missing_modules(*names)
    if missing == ["triton"]:
        raise InputError(f"this command needs triton, which is not installed; on Linux: {INSTALL}")
    if missing:
        raise InputError(
            f"this command needs {' and '.join(missing)}, not installed here: {INSTALL}"
        )


@app.command("check")
def check_command(
    cases: Annotated[int, typer.Option(help="Random cases.")] = 60,
    seed: Annotated[int, typer.Option(help="The first case; the others follow it.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Run random cases over every option and judge them by float64; exit code 1 if any fails."""
    if not 1 <= cases <= 100_000 or seed < 0:
        raise InputError(
            f"{cases} cases from seed {seed}; give 1 to 100,000 cases, seed 0 or above"
        )
    need_modules("torch")
    from pagesim_kernels.interpreter import use_interpreter

    from pagesim.cli.progress import progress_bars

    device = _device()
    if device == "cpu":
        use_interpreter()
    from pagesim_kernels.check import check

    results = []
    with progress_bars(cases) as tell:
        for result in check(range(seed, seed + cases), device=device, small=device == "cpu"):
            results.append(result)
            tell("checking", len(results))
    from pagesim.views.kernel_check import check_document, check_parts

    if as_json:
        _print_json(check_document(results, device, seed))
    else:
        _print(check_parts(results, device, seed))
    if not all(result.passed for result in results):
        raise typer.Exit(1)


@app.command("explain")
def explain(
    context: Annotated[int, typer.Option(help="Keys of the sequence, 1 to 64.")] = 10,
    block_size: Annotated[int, typer.Option(help="Tokens of a block, 1 to 16.")] = 4,
    keys: Annotated[int, typer.Option(help="Keys of a tile, 1 to 16.")] = 8,
    window: Annotated[int | None, typer.Option(help="Keys that a token sees, itself one.")] = None,
    seed: Annotated[
        int, typer.Option(help="Which numbers.")
    ] = 6,  # its second tile raises the maximum
    as_json: AsJson = False,
) -> None:
    """Follow one new token through its block table: slots, scores, maximum, sum, accumulator."""
    need_modules("torch")
    from dataclasses import asdict

    from pagesim_kernels.inputs import KernelInputError
    from pagesim_kernels.walk import walk

    try:
        story = walk(context, block_size, keys, window, seed)
    except KernelInputError as error:
        raise InputError(str(error)) from error
    if as_json:
        _print_json(_finite(asdict(story)))
        return
    from pagesim.views.kernel_walk import KernelWalk

    _print([KernelWalk(story)])


@app.command("report")
def report(
    target: Annotated[
        list[str] | None,
        typer.Option(
            help="sm80, sm90, sm100 or gfx942, say; may be repeated.  [default: these four]"
        ),
    ] = None,
    head_dim: Annotated[
        list[int] | None, typer.Option(help="Head sizes; may be repeated.  [default: 64 and 128]")
    ] = None,
    block_size: Annotated[
        list[int] | None,
        typer.Option(help="Block sizes; may be repeated.  [default: 128, 16 and 1]"),
    ] = None,
    dtype: Annotated[str, typer.Option(help="fp16, bf16 or fp32.")] = "fp16",
    as_json: AsJson = False,
) -> None:
    """Compile the kernel for GPUs that are not here, and count what paging adds in machine code."""
    from pagesim.views.kernel_report import report_parts

    arguments = _report_arguments(target, head_dim, block_size, dtype)
    need_modules("torch", "triton")
    document = _compiled_report(arguments)
    if as_json:
        _print_json(document)
    else:
        _print(report_parts(document))


@app.command("bench")
def bench_command(
    seqs: Annotated[int, typer.Option(help="Sequences that decode at once.")] = 32,
    context: Annotated[int, typer.Option(help="Keys of each.")] = 1024,
    heads: Annotated[int, typer.Option(help="Query heads.")] = 9,
    kv_heads: Annotated[int, typer.Option(help="KV heads.")] = 3,
    head_dim: Annotated[int, typer.Option(help="Elements of a head.")] = 64,
    block_size: Annotated[int, typer.Option(help="Tokens of a block.")] = 16,
    dtype: Annotated[
        str | None, typer.Option(help="float32, float16 or bfloat16.  [default: suits the machine]")
    ] = None,
    rounds: Annotated[int, typer.Option(help="Runs of each way; the median counts.")] = 20,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the figures, too: .png, .pdf or .svg.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Time decoding on this machine: paged, contiguous, SDPA, gather first; beside a plain copy."""
    if plot is not None:
        check_output(plot, PLOT_SUFFIXES)
        write_file(plot, b"")  # says at once if that cannot be
    if not 1 <= rounds <= 10_000:
        raise InputError(f"{rounds} rounds were asked for; give 1 to 10,000")
    need_modules("torch")
    from pagesim_kernels.bench import Setting, bench
    from pagesim_kernels.inputs import KernelInputError

    device = _device()
    dtype = dtype or ("float32" if device == "cpu" else "float16")
    try:
        setting = Setting(seqs, context, heads, kv_heads, head_dim, block_size, dtype, device)
    except KernelInputError as error:
        raise InputError(str(error)) from error
    copy, timings = bench(setting, rounds)
    from pagesim.views.kernel_bench import bench_document, bench_figure, bench_parts

    if as_json:
        _print_json(bench_document(setting, rounds, copy, timings))
    else:
        _print(bench_parts(setting, rounds, copy, timings))
    if plot is not None:
        from pagesim.views.plots import save

        save(bench_figure(setting, copy, timings), plot)
        typer.echo(f"{plot}: bandwidth of each way", err=as_json)


def _device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def _report_arguments(
    targets: list[str] | None,
    head_dims: list[int] | None,
    block_sizes: list[int] | None,
    dtype: str,
) -> list[str]:
    """The options as the report's own program takes them. InputError for what no compiler knows."""
    for target in targets or ():
        if not re.fullmatch(r"sm(80|86|89|90|100|103|120)|gfx(90a|942|950|1100)", target):
            raise InputError(
                f"--target {target!r} is none; sm80, sm86, sm89, sm90, sm100, sm103, sm120, gfx90a, gfx942, gfx950 "
                "and gfx1100 are"
            )
    if dtype not in REPORT_DTYPES:
        raise InputError(f"--dtype {dtype!r} is none; it is {', '.join(REPORT_DTYPES)}")
    arguments = ["--dtype", dtype]
    if targets:
        arguments += ["--targets", *targets]
    for option, values, most in (("head-dim", head_dims, 256), ("block-size", block_sizes, 4096)):
        if values and not all(1 <= value <= most for value in values):
            raise InputError(
                f"--{option} goes from 1 to {most}; {min(values)} to {max(values)} were given"
            )
        if values:
            arguments += [f"--{option}s", *map(str, values)]
    return arguments


def _compiled_report(arguments: list[str]) -> dict[str, Any]:
    """What ``python -m pagesim_kernels.report`` prints: a process of its own, never the interpreter."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    command = [sys.executable, "-m", "pagesim_kernels.report", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["it said nothing"]
        raise InputError(f"the compiler could not be run ({last[0]})")
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def _finite(value: Any) -> Any:
    """JSON has no infinities: they become None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):  # a NamedTuple
        return _finite(value._asdict())
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return value


def _print(parts: "Iterable[RenderableType]") -> None:
    from pagesim.views.console import make_console

    console = make_console()
    for part in parts:
        console.print(part)


def _print_json(document: object) -> None:
    from pagesim.cli.output import print_json

    print_json(document)
