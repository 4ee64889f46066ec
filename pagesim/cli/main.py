"""The ``pagesim`` program: its commands, and what happens when one fails.

Knows nothing about what the commands do. Heavy imports happen inside the commands.
"""

import sys
from typing import Annotated

import typer

from pagesim import __version__
from pagesim.cli import compare, facts, paper, plan, run, workloads
from pagesim.core.errors import PagesimError

TOUR = f"""pagesim {__version__}: see where LLM serving memory goes, block by block.

  pagesim compare              contiguous slabs against pages, on real request lengths
  pagesim run --help           one allocator, any workload or trace; --log writes every event
  pagesim paper                the PagedAttention paper's figures, ours beside theirs
  pagesim plan llama-3.1-8b --gpu h100
                               how many requests fit
  pagesim workloads, models, gpus
                               what is built in

Every command has --help; most have --json.
"""

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="See where LLM serving memory goes, block by block.",
)
app.command("compare")(compare.compare)
app.command("run")(run.run)
app.command("paper")(paper.paper)
app.command("plan")(plan.plan)
app.command("workloads")(workloads.workloads)
app.command("models")(facts.models)
app.command("gpus")(facts.gpus)


def _show_version(value: bool) -> None:
    if value:
        typer.echo(f"pagesim {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def tour(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(TOUR, nl=False)


def main() -> None:
    """Run the program. Bad input is one sentence on standard error and exit code 2; no traceback."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # what an encoding lacks becomes "?", never a crash
            stream.reconfigure(errors="replace")
    try:
        app(prog_name="pagesim")
    except PagesimError as error:
        print(f"pagesim: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("pagesim: interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # the reader of a pipe went away, `| head` say
        sys.stderr.close()
        sys.exit(141)
