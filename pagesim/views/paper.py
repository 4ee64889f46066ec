"""The PagedAttention paper's figures beside ours, as tables. Knows nothing about how they are computed."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pagesim.sim.paper import Row
from pagesim.sim.paper_shapes import DATASETS, MOVED_TOKENS, Moved, Served, rows_of, shares_of_best
from pagesim.sim.paper_sharing import PRINTED, WIDTHS, Saving

Claims = Sequence[tuple[str, bool]]
NAMES = {"sharegpt": "ShareGPT", "alpaca": "Alpaca"}


def verdict(*, holds: bool) -> Text:
    return Text("agrees", style="green") if holds else Text("OUT", style="bold red")


def row_table(rows: Sequence[Row], *, ascii_only: bool) -> Table:
    """One line a figure: ours, what is due, within what."""
    table = _table("", "ours", "due", "within", "")
    group = None
    for row in rows:
        if row.group != group:
            group = row.group
            table.add_row(Text(group, style="bold"))
        within = "exactly" if not row.tolerance else f"{row.tolerance:.2f}".rstrip("0").rstrip(".")
        table.add_row(
            f"  {row.what}",
            f"{row.ours:,.{row.decimals}f}",
            f"{row.printed:,.{row.decimals}f}",
            within if ascii_only or not row.tolerance else f"± {within}",
            verdict(holds=row.agrees),
        )
    return table


def shape_tables(served: Sequence[Served], moved: Sequence[Moved]) -> RenderableType:
    """Figures 18b and 19, by block size."""
    return Group(
        Text(
            "Figure 18b, block sizes: requests a second, of the best; memory held and not filled",
            "bold",
        ),
        _block_sizes(served),
        Text(),
        Text(f"Figure 19, a victim of {MOVED_TOKENS} tokens, and whole runs of ShareGPT", "bold"),
        _ways(served, moved),
    )


def _block_sizes(served: Sequence[Served]) -> Table:
    headings = ["block"]
    for name in DATASETS:
        headings += [f"{NAMES[name]} /s", "best", "at once", "unfilled"]
    table = _table(*headings)
    columns = [(rows_of(served, name), shares_of_best(rows_of(served, name))) for name in DATASETS]
    for at, first in enumerate(columns[0][0]):
        cells = [f"{first.block_size}"]
        for rows, shares in columns:
            row = rows[at]
            cells += [
                f"{row.requests_per_s:.2f}",
                f"{100 * shares[row.block_size]:.0f} %",
                f"{row.mean_requests:.1f}",
                f"{row.unfilled:.1f} %",
            ]
        table.add_row(*cells)
    return table


def _ways(served: Sequence[Served], moved: Sequence[Moved]) -> Table:
    table = _table("block", "recompute ms", "swap ms", "cheaper", "recompute /s", "swap /s")
    runs = zip(rows_of(served, "sharegpt"), rows_of(served, "sharegpt", "swap"), strict=True)
    for (size, recompute_ms, swap_ms), (recomputed, swapped) in zip(moved, runs, strict=True):
        table.add_row(
            f"{size}",
            f"{recompute_ms:.1f}",
            f"{swap_ms:.1f}",
            "swap" if swap_ms < recompute_ms else "recompute",
            f"{recomputed.requests_per_s:.3f}",
            f"{swapped.requests_per_s:.3f}",
        )
    return table


def sharing_table(savings: Sequence[Saving]) -> RenderableType:
    """Section 6.3: blocks saved, for each number of samples or beams."""
    table = _table("", *[f"n = {width}" for width in WIDTHS], "paper, 2 to 6")
    for (dataset, is_beam), (low, high) in PRINTED.items():
        row = [s for s in savings if (s.dataset, s.is_beam) == (dataset, is_beam)]
        table.add_row(
            f"{NAMES[dataset]}, {'beams' if is_beam else 'parallel samples'}",
            *[_marked(100 * saving.saved, low, high) for saving in row],
            f"{low:g} to {high:g} %",
        )
    title = "Section 6.3: blocks saved by sharing, of the blocks without it"
    return Group(Text(title, "bold"), table)


def _marked(percent: float, low: float, high: float) -> str:
    """With a star where it is outside the printed range."""
    return f"{percent:.1f} %{' ' if low <= round(percent, 1) <= high else '*'}"


def claim_list(claims: Claims) -> Table:
    """What is said, and whether ours agree."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(width=6)
    table.add_column(overflow="fold")
    for sentence, holds in claims:
        table.add_row(verdict(holds=holds), sentence)
    return table


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for at, heading in enumerate(headings):
        left = not heading or (not at and heading != "block")
        table.add_column(heading, justify="left" if left else "right")
    return table
