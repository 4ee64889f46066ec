"""``pagesim sweep``: one workload over a grid of settings, and what changes.

Knows nothing about how a run works, how lists are read or how figures are drawn.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pagesim.cli import options as opt
from pagesim.cli.sweep_grid import Grid, check_fixed, read_grid
from pagesim.cli.sweep_output import draw, print_sweep_json, print_table
from pagesim.core.errors import InputError
from pagesim.replay.metrics import METRICS

if TYPE_CHECKING:
    from pagesim.sim.sweep import Outcome

SUFFIXES = (".png", ".svg", ".pdf")
MOST_JOBS = 1_000


def sweep(
    context: typer.Context,
    workload: opt.WorkloadName = "sharegpt",
    trace: opt.Trace = None,
    requests: opt.Requests = None,
    rate: Annotated[
        str | None,
        typer.Option(
            metavar="LIST", help="Arrivals per second.  [default: all wait from the start]"
        ),
    ] = None,
    cv: Annotated[
        str,
        typer.Option(
            "--cv",
            metavar="LIST",
            help="Variation of the gaps between arrivals; 1 is Poisson.",
        ),
    ] = "1",
    model: Annotated[
        str, typer.Option(metavar="LIST", help="Models; `pagesim models`.")
    ] = opt.PAPER_MODEL,
    gpu: Annotated[str, typer.Option(metavar="LIST", help="GPUs; `pagesim gpus`.")] = opt.PAPER_GPU,
    kv_memory: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Memory for K and V on each GPU, such as 6GiB..24GiB.  "
            "[default: what the weights leave; of the paper's model and GPU, its 12 GiB]",
        ),
    ] = None,
    tensor_parallel: Annotated[
        str, typer.Option(metavar="LIST", help="GPUs that share every layer.")
    ] = "1",
    block_size: Annotated[str, typer.Option(metavar="LIST", help="Tokens of one block.")] = "16",
    max_model_len: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Longest prompt + output.  [default: the model's; of a trace, its longest]",
        ),
    ] = None,
    allocator: Annotated[
        str, typer.Option(metavar="LIST", help="max, pow2, oracle, paged.")
    ] = "paged",
    placer: Annotated[
        str,
        typer.Option(metavar="LIST", help="Where contiguous runs go: buddy, first-fit, best-fit."),
    ] = "buddy",
    rules: Annotated[str, typer.Option(metavar="LIST", help="paper, engine.")] = "engine",
    max_num_seqs: Annotated[
        str, typer.Option(metavar="LIST", help="Engine rules: sequences at once.")
    ] = "256",
    max_tokens_per_step: Annotated[
        str, typer.Option("--max-tokens-per-step", metavar="LIST", help="Engine rules: budget.")
    ] = "8192",
    prompt_tokens: Annotated[
        str, typer.Option(metavar="LIST", help="For fixed, uniform, samples, shared-prefix.")
    ] = "512",
    output_tokens: Annotated[
        str, typer.Option(metavar="LIST", help="For fixed, uniform, samples, shared-prefix.")
    ] = "128",
    prefix_tokens: Annotated[
        str, typer.Option(metavar="LIST", help="For shared-prefix: the common start.")
    ] = "1024",
    samples: Annotated[
        str | None,
        typer.Option(
            metavar="LIST", help="Answers to each prompt.  [default: 1; of the workload samples, 4]"
        ),
    ] = None,
    samples_as: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Several samples: fork, requests.  [default: as the rules have it]",
        ),
    ] = None,
    beam: opt.Beam = False,
    order: Annotated[
        str,
        typer.Option(
            metavar="LIST",
            help="Who is served first: fcfs, shortest-prompt, priority, aged-priority, FILE:name.",
        ),
    ] = "fcfs",
    victim: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Who gives way: latest, least-progress, lowest-priority, largest, FILE:name.  "
            "[default: as for run]",
        ),
    ] = None,
    preempt: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="A victim's tokens: recompute, swap, by-group, cheaper, FILE:name.  "
            "[default: as for run]",
        ),
    ] = None,
    watermark: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Blocks that an admission leaves free: numbers, or shares such as 1%..8%.  "
            "[default: 0; of the paper's rules, 1%]",
        ),
    ] = None,
    host_memory: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Memory on each GPU's host to swap to.  [default: none]"),
    ] = None,
    freed_blocks_go: Annotated[
        str | None,
        typer.Option(
            metavar="LIST", help="unkeyed-first, to-the-back.  [default: as the rules have it]"
        ),
    ] = None,
    prefix_caching: opt.PrefixCaching = None,
    seed: Annotated[
        str, typer.Option(metavar="LIST", help="The same seed means the same requests.")
    ] = "0",
    plot: Annotated[
        Path | None, typer.Option(help="Draw a figure, too: a .png, .svg or .pdf file.")
    ] = None,
    metric: Annotated[
        str, typer.Option(help=f"What is drawn and looked for: {', '.join(METRICS)}.")
    ] = "throughput",
    jobs: Annotated[
        int | None, typer.Option(help="Processes at work.  [default: one a core]")
    ] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Serve one workload under every combination of settings, and show what changes.

    A LIST is one value, or several with a comma between; of numbers, 8..256 stands for 8, 16, 32 and so on up to
    256. The last list typed changes fastest. With --plot, the first list is the x axis, and each combination of the
    others is a line.
    """
    _check_output(metric, plot, jobs)
    grid = read_grid(context)
    check_fixed(grid.base)
    if plot is not None:
        _check_plot(plot, grid)
    outcomes: dict[int, Outcome] = {}
    try:
        _run_all(grid, jobs, outcomes)
    except KeyboardInterrupt:
        done = f"{len(outcomes):,} of {len(grid.values):,} points were done"
        if not as_json and outcomes:
            print_table(grid, outcomes, metric)
            done += ", and are shown"
        typer.echo(f"pagesim: interrupted; {done}", err=True)
        raise typer.Exit(130) from None
    if as_json:
        print_sweep_json(grid, outcomes)
    else:
        print_table(grid, outcomes, metric)
    if plot is not None:
        draw(plot, grid, outcomes, metric)
        if not as_json:
            typer.echo(f"{plot}: {METRICS[metric].title}")
    if all(outcome.report is None for outcome in outcomes.values()):
        raise typer.Exit(1)


def _check_output(metric: str, plot: Path | None, jobs: int | None) -> None:
    from pagesim.cli.export import check_output

    if metric not in METRICS:
        raise InputError(f"--metric {metric!r} is none; they are {', '.join(METRICS)}")
    if jobs is not None and not 1 <= jobs <= MOST_JOBS:
        raise InputError(f"--jobs {jobs} was given; it must be from 1 to {MOST_JOBS:,}")
    if plot is not None:
        check_output(plot, SUFFIXES)


def _check_plot(plot: Path, grid: Grid) -> None:
    """Raises InputError for a figure that could not be drawn or kept; leaves a file that is there as it is."""
    from pagesim.views.sweep_plot import check_drawable

    if not grid.varying:
        raise InputError("--plot was given and nothing varies; give an option two or more values")
    check_drawable(len(grid.values) // len(grid.varying[0].values))
    is_new = not plot.exists()
    try:
        with plot.open("ab"):
            pass
    except OSError as error:
        raise InputError(f"{plot} cannot be written: {error.strerror}; name another file") from None
    if is_new:
        plot.unlink()


def _run_all(grid: Grid, jobs: int | None, outcomes: "dict[int, Outcome]") -> None:
    """Fill ``outcomes``, by the number of the point."""
    from pagesim.cli.sweep_progress import sweep_bar
    from pagesim.sim.sweep import sweep as run_points
    from pagesim.sim.workers import num_cores

    with sweep_bar(len(grid.values)) as bar:

        def finished(number: int, outcome: "Outcome") -> None:
            outcomes[number] = outcome
            bar.finished(number)

        points = [grid.point(number) for number in range(len(grid.values))]
        run_points(points, jobs or num_cores(), told=bar.told, finished=finished)
