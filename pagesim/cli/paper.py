"""``pagesim paper``: the PagedAttention paper's figures, ours beside the printed ones.

Knows nothing about how they are computed.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pagesim.cli.options import AsJson

if TYPE_CHECKING:
    from rich.table import Table

    from pagesim.sim.paper import Row


def paper(
    requests: Annotated[int, typer.Option(help="Requests served by each allocator.")] = 4000,
    lengths: Annotated[
        Path | None,
        typer.Option(help="A file of prompt and output lengths.  [default: the built-in ShareGPT]"),
    ] = None,
    seed: Annotated[int, typer.Option(help="Which requests, in which order.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Reproduce Figures 2 and 13a of the PagedAttention paper (SOSP 2023); exit code 1 if any row is out."""
    from pagesim.cli.progress import progress_bars
    from pagesim.core.errors import InputError
    from pagesim.sim.allocators import ALLOCATORS
    from pagesim.sim.paper import disagreeing, figures, identities, run_all, workload

    if not 100 <= requests <= 1_000_000:
        raise InputError(f"{requests} requests were asked for; give 100 to 1,000,000")
    about = workload(requests, seed, lengths).about  # bad input is found before any process starts
    with progress_bars(len(ALLOCATORS)) as tell:
        rows = identities() + list(figures(run_all(requests, seed, lengths, tell)))
    out = disagreeing(rows)
    if as_json:
        from pagesim.cli.output import print_json

        print_json(
            {
                "workload": about,
                "agrees": not out,
                "rows": [
                    {
                        "group": row.group,
                        "what": row.what,
                        "ours": round(row.ours, 4),
                        "paper": row.printed,
                        "tolerance": round(row.tolerance, 4),
                        "unit": row.unit,
                        "agrees": row.agrees,
                    }
                    for row in rows
                ],
            }
        )
    else:
        from pagesim.views.console import make_console

        console = make_console()
        console.print(f"Lengths: {about}", markup=False, highlight=False)
        console.print(_table(rows, ascii_only=not console.encoding.lower().startswith("utf")))
        verdict = "all rows agree" if not out else f"{len(out)} of {len(rows)} rows are out"
        console.print(f"{len(rows)} rows: {verdict}", markup=False, highlight=False)
    if out:
        raise typer.Exit(1)


def _table(rows: "list[Row]", *, ascii_only: bool) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for heading in ("", "ours", "due", "within", ""):
        table.add_column(heading, justify="left" if not heading else "right")
    group = None
    for row in rows:
        if row.group != group:
            group = row.group
            table.add_row(Text(group, style="bold"))
        agrees = Text("agrees", style="green") if row.agrees else Text("OUT", style="bold red")
        within = "exactly" if not row.tolerance else f"{row.tolerance:.2f}".rstrip("0").rstrip(".")
        table.add_row(
            f"  {row.what}",
            f"{row.ours:,.{row.decimals}f}",
            f"{row.printed:,.{row.decimals}f}",
            within if ascii_only or not row.tolerance else f"± {within}",
            agrees,
        )
    return table
