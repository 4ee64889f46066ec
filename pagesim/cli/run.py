"""``pagesim run``: one workload, one allocator; its report, and on request its log.

Knows nothing about how a run works or how it is drawn.
"""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from pagesim.cli import options as opt


def run(
    context: typer.Context,
    workload: opt.WorkloadName = "sharegpt",
    trace: opt.Trace = None,
    requests: opt.Requests = None,
    rate: opt.Rate = None,
    cv: opt.Burstiness = 1.0,
    model: opt.Model = opt.PAPER_MODEL,
    gpu: opt.Gpu = opt.PAPER_GPU,
    kv_memory: opt.KvMemory = None,
    tensor_parallel: opt.TensorParallel = 1,
    block_size: opt.BlockSize = 16,
    max_model_len: opt.MaxModelLen = None,
    allocator: Annotated[str, typer.Option(help="max, pow2, oracle or paged.")] = "paged",
    manager: Annotated[
        str | None,
        typer.Option(help="Your own block manager, FILE:Class, instead. Its code is run."),
    ] = None,
    placer: opt.Placer = "buddy",
    rules: opt.Rules = "engine",
    max_num_seqs: opt.MaxNumSeqs = 256,
    max_tokens_per_step: opt.MaxTokens = 8192,
    prompt_tokens: opt.PromptTokens = 512,
    output_tokens: opt.OutputTokens = 128,
    prefix_tokens: opt.PrefixTokens = 1024,
    samples: opt.Samples = None,
    samples_as: opt.SamplesAs = None,
    beam: opt.Beam = False,
    order: opt.OrderName = "fcfs",
    victim: opt.VictimName = None,
    preempt: opt.PreemptName = None,
    watermark: opt.WatermarkText = None,
    host_memory: opt.HostMemory = None,
    freed_blocks_go: opt.FreedBlocksGo = None,
    prefix_caching: opt.PrefixCaching = None,
    log: Annotated[
        Path | None, typer.Option(help="Write every event to this file, .jsonl or .jsonl.gz.")
    ] = None,
    view: Annotated[bool, typer.Option("--view", help="Step through the run afterwards.")] = False,
    seed: opt.Seed = 0,
    as_json: opt.AsJson = False,
) -> None:
    """Serve one workload with one allocator, by the rules of today's engines; or play a scenario.

    Instead of a workload, name a scenario (`pagesim workloads` lists them) or a .toml file with one of your own.
    With --manager it is your own class that hands out the blocks (`pagesim check --template simple` writes a start),
    and laws are checked on the way.
    """
    from pagesim.cli.scenario import is_scenario, run_scenario

    if trace is None and is_scenario(workload):
        opt.only_for_workloads(context)
        run_scenario(workload, log, manager, view=view, as_json=as_json)
        return
    from dataclasses import replace

    from pagesim.cli.own_memory import OwnRun, check_alone
    from pagesim.cli.progress import progress_bars
    from pagesim.cli.view import view as show_log
    from pagesim.cli.viewing import log_to_view
    from pagesim.core.types import Geometry
    from pagesim.replay.log import LogWriter, log_header
    from pagesim.replay.memory_map import MomentCollector
    from pagesim.sim.rerun import how_to_repeat
    from pagesim.sim.simulate import Listener, drive, simulate

    if trace is None:
        opt.check_name(workload)
    options = opt.typed(context)
    opt.check_all_heeded(context, options, allocator)
    if manager is not None:
        check_alone(context)
    prepared = opt.prepare(options)
    own = None if manager is None else OwnRun(manager, prepared.settings, prepared.workload)
    settings = prepared.settings if own is None else own.settings
    titles = None if own is None else own.titles
    name = allocator if own is None else own.name
    moments: list[MomentCollector] = []
    with log_to_view(log, f"{name}-{prepared.workload.name}", view=view) as path:
        with ExitStack() as stack:

            def watch(geometry: Geometry) -> list[Listener]:
                moments.append(MomentCollector(geometry))
                if path is None:
                    return [moments[0]]
                config = settings.scheduler_config(allocator, geometry)
                repeat = how_to_repeat(name, settings.memory, config, settings.cost)
                mine = {} if own is None else {"manager": manager}
                facts = {**prepared.facts, "saturated": prepared.workload.saturated}
                header = log_header(geometry, **{**facts, **repeat, **mine})
                writer = stack.enter_context(LogWriter(path, header))
                if own is not None:
                    own.log, own.path = writer, log
                return [moments[0], writer]

            tell = stack.enter_context(progress_bars(len(prepared.workload.arrivals)))
            result = simulate(
                prepared.workload,
                allocator,
                settings,
                watch=watch,
                progress=lambda done: tell(name, done),
                memory=None if own is None else own.memory,
                run=drive if own is None else own.drive,
            )
            result = replace(result, allocator=name)
        if view:
            show_log([str(path)])
            return
    notes = [*prepared.notes, *(() if own is None else own.notes)]
    if as_json:
        from pagesim.cli.output import print_json

        runs = {name: result.report.as_dict()}
        print_json({**prepared.facts, "notes": notes, "runs": runs})
        return
    from pagesim.views.compare import RunScreen
    from pagesim.views.console import make_console

    moment = moments[0].nearest(int(result.report.duration_s * 1e9) // 2)
    console = make_console()
    console.print(RunScreen(result, opt.screen_header("One run", prepared, titles), moment))
    opt.print_notes(console, notes)
    if log is not None:
        console.print(f"log: {log}", markup=False, highlight=False)
