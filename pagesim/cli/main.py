"""The ``pagesim`` program: its commands, and what happens when one fails.

Knows nothing about what the commands do. Heavy imports happen inside the commands.
"""

import os
import signal
import sys
import threading
from typing import Annotated, Any

import typer
import typer.core

from pagesim import __version__
from pagesim.cli import (
    check,
    compare,
    events,
    export,
    facts,
    generate,
    interview,
    kernel,
    learn,
    model,
    paper,
    plan,
    plot,
    practice,
    quiz,
    rerun,
    run,
    serve,
    show,
    site,
    sweep,
    view,
    workloads,
)
from pagesim.core.errors import PagesimError

TOUR = f"""pagesim {__version__}: see where LLM serving memory goes, block by block.

  pagesim learn                the course: twelve lessons, then quiz, practice and interview
  pagesim compare              contiguous slabs against pages, on real request lengths
  pagesim run figure-8 --view  step through a story, forward and back, with a reason for every event;
                               other stories: figure-9 (beam search), swap, preemption, prefix-cache
  pagesim sweep --block-size 8..64
                               one workload over a grid of settings, and what changes
  pagesim paper                the PagedAttention paper's figures, ours beside theirs
  pagesim run --log run.jsonl  one allocator, any workload or trace; then view, show, events, export,
                               plot and rerun the log
  pagesim plan llama-3.1-8b --gpu h100
                               how many requests fit
  pagesim check FILE:Class     your own block manager against every law
  pagesim workloads, models, gpus
                               what is built in

Every command has --help; most have --json.
"""


class CtrlCError(PagesimError):
    """Ctrl-C, before typer makes of it whatever its version does."""


class Commands(typer.core.TyperGroup):
    """All commands, with one meaning of Ctrl-C."""

    def invoke(self, ctx: Any) -> object:  # typer.Context, or its base in newer versions
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise CtrlCError("interrupted") from None


app = typer.Typer(
    cls=Commands,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="See where LLM serving memory goes, block by block.",
)
app.command("compare")(compare.compare)
app.command("sweep")(sweep.sweep)
app.command("run")(run.run)
app.command("rerun")(rerun.rerun)
app.command("show")(show.show)
app.command("events")(events.events)
app.command("view")(view.view)
app.command("export")(export.export)
app.command("plot")(plot.plot)
app.command("paper")(paper.paper)
app.command("generate")(generate.generate)
app.command("serve")(serve.serve)
app.command("plan")(plan.plan)
app.command("workloads")(workloads.workloads)
app.command("models")(facts.models)
app.command("gpus")(facts.gpus)
app.command("learn")(learn.learn)
app.command("quiz")(quiz.quiz)
app.command("interview")(interview.interview)
app.command("check")(check.check)
app.command("site")(site.site)
app.add_typer(practice.app, name="practice")
app.add_typer(kernel.app, name="kernel")
app.add_typer(model.app, name="model")


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
    """Run the program. What a person can mend is one sentence on standard error and exit code 2; no traceback."""
    if sys.stdout is None:  # closed by whoever started us
        sys.exit(_say("standard output is closed; there is nowhere to write to"))
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # what an encoding lacks becomes "?", never a crash
            stream.reconfigure(errors="replace")
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _end)
    sys.exit(_run())


def _run() -> int:
    try:
        code = typer.main.get_command(app).main(prog_name="pagesim", standalone_mode=False)
        sys.stdout.flush()
    except PagesimError as error:
        return _say(str(error), 130 if isinstance(error, CtrlCError) else 2)
    except (KeyboardInterrupt, typer.Abort):
        return _say("interrupted", 130)
    except BrokenPipeError:  # the reader of a pipe went away, `| head` say
        _drop_output()
        return 141
    except OSError as error:
        _drop_output()
        return _say(f"cannot write: {error.strerror or error}", 1)
    except Exception as error:
        if hasattr(
            error, "format_message"
        ):  # typer's own: an option or command that does not exist, say
            return _say(f"{error.format_message().rstrip('.')}; see `{_command(error)} --help`")
        if os.environ.get("PAGESIM_DEBUG") == "1":
            raise
        what = f"{type(error).__name__}: {' '.join(str(error).split())}"[:200]
        return _say(f"this should not happen ({what}); with PAGESIM_DEBUG=1 it says where", 1)
    return code if isinstance(code, int) else 0


def _say(sentence: str, code: int = 2) -> int:
    if sys.stderr is not None:
        print(f"pagesim: {sentence}", file=sys.stderr)
    return code


def _command(error: Exception) -> str:
    """The command that a usage error is about."""
    context = getattr(error, "ctx", None)
    if context is not None:
        path: str = context.command_path
        return path
    typed = sys.argv[1] if len(sys.argv) > 1 else ""  # some errors do not say whose they are
    return f"pagesim {typed}" if typed in _names() else "pagesim"


def _names() -> list[str]:
    return [command.name or "" for command in app.registered_commands]


def _drop_output() -> None:
    """What is still to be written can not be: let the interpreter not try again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _end(number: int, frame: object) -> None:
    sys.exit(128 + number)  # so that progress bars and files are closed on the way out
