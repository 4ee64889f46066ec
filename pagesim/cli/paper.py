"""``pagesim paper``: the PagedAttention paper's figures, ours beside the printed ones.

Knows nothing about how they are computed.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pagesim.cli.options import AsJson

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from pagesim.sim.paper import Row

SHAPE_SHARE = 10  # the shapes are steady with a tenth of the requests
SHARING_SHARE = 20


def paper(
    requests: Annotated[int, typer.Option(help="Requests served by each allocator.")] = 4000,
    lengths: Annotated[
        Path | None,
        typer.Option(help="A file of prompt and output lengths.  [default: the built-in ShareGPT]"),
    ] = None,
    sharing: Annotated[
        bool,
        typer.Option("--sharing", help="What samples and beams save instead (section 6.3)."),
    ] = False,
    seed: Annotated[int, typer.Option(help="Which requests, in which order.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Reproduce the PagedAttention paper (SOSP 2023): Figures 2, 13a, 18b and 19; exit code 1 if a row is out.

    With --sharing: the memory that parallel samples and beams save, for n = 2, 4 and 6.
    """
    from pagesim.core.errors import InputError

    if not 100 <= requests <= 1_000_000:
        raise InputError(f"{requests} requests were asked for; give 100 to 1,000,000")
    if sharing:
        if lengths is not None:
            raise InputError(
                "--lengths was given with --sharing, which goes by the built-in ShareGPT and Alpaca; leave one out"
            )
        _sharing(requests, seed, as_json=as_json)
    else:
        _figures(requests, lengths, seed, as_json=as_json)


def _figures(requests: int, lengths: Path | None, seed: int, *, as_json: bool) -> None:
    from pagesim.cli.progress import progress_bars
    from pagesim.sim import paper_shapes
    from pagesim.sim.allocators import ALLOCATORS
    from pagesim.sim.paper import disagreeing, figures, identities, run_all, workload

    about = workload(requests, seed, lengths).about  # bad input is found before any process starts
    jobs = paper_shapes.all_jobs(max(requests // SHAPE_SHARE, 100), seed)
    with progress_bars(len(ALLOCATORS)) as tell:
        rows = identities() + list(figures(run_all(requests, seed, lengths, tell)))
    with progress_bars(len(jobs)) as tell:
        served = paper_shapes.run_all(jobs, tell)
    moved = paper_shapes.moved()
    claims = paper_shapes.claims(served, moved)
    if as_json:
        from dataclasses import asdict

        from pagesim.cli.output import print_json

        print_json(
            {
                "workload": about,
                "agrees": not disagreeing(rows) and all(holds for _, holds in claims),
                "rows": [_plain(row) for row in rows],
                "block_sizes": [asdict(row) for row in served],
                "preemption": [row._asdict() for row in moved],
                "shapes": _plain_claims(claims),
            }
        )
    else:
        from pagesim.views.console import make_console
        from pagesim.views.paper import row_table, shape_tables

        ascii_only = not make_console().encoding.lower().startswith("utf")
        _show(
            [
                f"Lengths: {about}",
                row_table(rows, ascii_only=ascii_only),
                "",
                shape_tables(served, moved),
                "",
            ],
            claims,
        )
    steadier = None if requests >= 4000 else "means over fewer than 4,000 requests are less steady"
    _conclude(len(rows), len(disagreeing(rows)), claims, as_json=as_json, steadier=steadier)


def _sharing(requests: int, seed: int, *, as_json: bool) -> None:
    from pagesim.cli.progress import progress_bars
    from pagesim.sim import paper_sharing

    count = max(requests // SHARING_SHARE, 100)
    with progress_bars(len(paper_sharing.PRINTED) * len(paper_sharing.WIDTHS)) as tell:
        savings = paper_sharing.run_all(count, seed, tell)
    claims = paper_sharing.claims(savings)
    if as_json:
        from dataclasses import asdict

        from pagesim.cli.output import print_json

        values = [asdict(saving) for saving in savings]
        print_json({"requests": count, "savings": values, "shapes": _plain_claims(claims)})
    else:
        from pagesim.views.paper import sharing_table

        note = (
            "* outside the paper's range. Samples depend on the lengths alone; beams part where drawn candidates make "
            "them part, not OPT-13B's: their figures are of the right kind, not measurements. What is checked is the "
            "order:"
        )
        about = f"{count:,} requests of each kind, seed {seed}, OPT-13B with 12 GiB, blocks of 16"
        _show([about, sharing_table(savings), note, ""], claims)
    _conclude(0, 0, claims, as_json=as_json)


def _show(parts: "Sequence[RenderableType]", claims: "Sequence[tuple[str, bool]]") -> None:
    from pagesim.views.console import make_console
    from pagesim.views.paper import claim_list

    console = make_console()
    for part in (*parts, claim_list(claims)):
        console.print(part, markup=False, highlight=False)


def _conclude(
    num_rows: int,
    num_out: int,
    claims: "Sequence[tuple[str, bool]]",
    *,
    as_json: bool,
    steadier: str | None = None,
) -> None:
    num_out += sum(not holds for _, holds in claims)
    total = num_rows + len(claims)
    if not as_json:
        verdict = "all rows agree" if not num_out else f"{num_out} of {total} rows are out"
        typer.echo(f"{total} rows: {verdict}")
        if num_out and steadier is not None:
            typer.echo(steadier)
    if num_out:
        raise typer.Exit(1)


def _plain(row: "Row") -> dict[str, object]:
    return {
        "group": row.group,
        "what": row.what,
        "ours": round(row.ours, 4),
        "paper": row.printed,
        "tolerance": round(row.tolerance, 4),
        "unit": row.unit,
        "agrees": row.agrees,
    }


def _plain_claims(claims: "Sequence[tuple[str, bool]]") -> list[dict[str, object]]:
    return [{"what": sentence, "agrees": holds} for sentence, holds in claims]
