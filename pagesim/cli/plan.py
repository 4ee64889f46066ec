"""``pagesim plan``: how many requests fit. Reads options, asks the planner, draws or prints JSON.

Knows nothing about how a figure comes about. Bad input is an ``InputError``; the program's main
shows it.
"""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pagesim.planner.report import PlanReport


def plan(
    model: Annotated[
        str, typer.Argument(help="Model key, alias or Hugging Face id; `pagesim models`.")
    ],
    gpu: Annotated[str | None, typer.Option(help="GPU key or alias; `pagesim gpus`.")] = None,
    kv_memory: Annotated[
        str | None, typer.Option(help="Memory for K and V on one GPU instead, such as 12GiB.")
    ] = None,
    length: Annotated[
        list[int] | None,
        typer.Option(
            help="Tokens of a whole request; may be repeated.  [default: the model's longest]"
        ),
    ] = None,
    block_size: Annotated[int, typer.Option(help="Tokens of one block.")] = 16,
    tensor_parallel: Annotated[int, typer.Option(help="GPUs that share every layer.")] = 1,
    kv_dtype: Annotated[str, typer.Option(help="auto, fp16, bf16, fp8 or fp32.")] = "auto",
    utilisation: Annotated[str, typer.Option(help="Share of the GPU's memory to use.")] = "0.9",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show what a model's KV cache takes, and how many requests fit at once."""
    from pagesim.planner import facts
    from pagesim.planner.report import plan_report
    from pagesim.planner.units import parse_bytes, parse_share

    report = plan_report(
        facts.model(model),
        gpu=None if gpu is None else facts.gpu(gpu),
        kv_bytes=None if kv_memory is None else parse_bytes(kv_memory),
        lengths=tuple(length or ()),
        block_size=block_size,
        tensor_parallel=tensor_parallel,
        kv_dtype=kv_dtype,
        utilisation=parse_share(utilisation),
    )
    if as_json:
        import json

        typer.echo(json.dumps(report.as_dict(), indent=2))
        return
    from pagesim.views.console import make_console

    console = make_console()
    for part in plan_tables(report):
        console.print(part)


def plan_tables(report: "PlanReport") -> list["RenderableType"]:
    """The report as two tables: where the memory goes, and how many requests of each length fit."""
    from rich.table import Table
    from rich.text import Text

    from pagesim.planner.units import format_count

    memory = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for line in report.lines():
        memory.add_row(
            Text(line.label), Text(line.value, style="bold"), Text(line.note, style="dim")
        )
    requests = Table(title="requests at once", title_justify="left")
    for heading in ("length", "blocks each", "whole requests", "ratio"):
        requests.add_column(heading, justify="right")
    for fit in report.fits:
        requests.add_row(
            format_count(fit.length),
            format_count(fit.blocks_each),
            format_count(fit.whole),
            f"{fit.ratio:,.2f}",
        )
    return [memory, Text(), requests]
