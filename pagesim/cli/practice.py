"""``pagesim practice``: not built yet."""

import typer

from pagesim.core.errors import InputError

app = typer.Typer(
    rich_markup_mode=None, help="Exercises: write the parts of a block manager yourself."
)


@app.command("list")
def list_() -> None:
    raise InputError("pagesim practice is not built yet")
