"""Small pictures that only lessons need. Knows nothing about runs: it is given texts and numbers."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text


def figures(headings: Sequence[str], rows: Sequence[Sequence[str | Text]], left: int = 1) -> Table:
    """A plain table; the first ``left`` columns are texts, the others figures. A heading may have several lines."""
    table = Table.grid(padding=(0, 3, 0, 0))
    for number in range(len(headings)):
        table.add_column(
            justify="left" if number < left else "right", no_wrap=number >= left, vertical="bottom"
        )
    table.add_row(*(Text(heading, style="dim") for heading in headings))
    for row in rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return table
