"""Small pictures that only lessons need. Knows nothing about runs: it is given texts and numbers."""

from collections.abc import Sequence
from typing import NamedTuple

from rich.console import Console, ConsoleOptions, RenderResult
from rich.jupyter import JupyterMixin
from rich.table import Table
from rich.text import Text

from pagesim.views.palette import owner


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


LEFT = "-"
"""Budget that nobody uses. A dot would be a sequence that waits, in the same lesson."""


class Share(NamedTuple):
    """What a step computes of one sequence: so many tokens of its prompt, so many outputs. ``number`` is its colour."""

    number: int
    prompt: int
    outputs: int


class StepTokens(JupyterMixin):
    """The tokens of some steps, a letter each: small for a prompt's, capital for an output's, a dash for budget left.

    ``steps`` are pairs of a step's number and what it computes.
    """

    def __init__(self, steps: Sequence[tuple[int, Sequence[Share]]], budget: int) -> None:
        self.steps = steps
        self.budget = budget

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for step, shares in self.steps:
            line = Text(f"step {step:>2}  ", style="", no_wrap=True, overflow="crop")
            used = sum(share.prompt + share.outputs for share in shares)
            for number, prompt, outputs in shares:
                drawn = owner(number)
                line.append(drawn.letter.lower() * prompt + drawn.letter * outputs, drawn.style)
            line.append(LEFT * (self.budget - used), "dim")
            yield line.append(f"  {used} of {self.budget}")
        letters = {
            share.number: owner(share.number).letter for _, part in self.steps for share in part
        }
        small = ", ".join(letter.lower() for letter in letters.values())
        large = ", ".join(letters.values())
        yield Text(
            f"{small}: a token of a prompt   {large}: a token of an answer   {LEFT}: budget left",
            style="dim",
        )
