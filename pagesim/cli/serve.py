"""``pagesim serve``: many requests, served by the real engine: a batch with a report, or over HTTP.

Knows nothing about models or memory.
"""

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pagesim.cli import engine_options as opt
from pagesim.cli.options import AsJson
from pagesim.core.errors import InputError

if TYPE_CHECKING:
    from pagesim.engine.models import OpenedModel
    from pagesim.sim.workload import Workload
    from pagesim.views.serve import Served


def serve(
    context: typer.Context,
    model: opt.ModelName,
    workload: Annotated[
        str, typer.Option(help="Lengths of a built-in workload; `pagesim workloads`.")
    ] = "uniform",
    trace: Annotated[Path | None, typer.Option(help="Or of a trace: CSV or JSONL.")] = None,
    requests: Annotated[int, typer.Option(help="How many requests.")] = 32,
    rate: Annotated[
        float | None, typer.Option(help="Arrivals per second.  [default: all wait from the start]")
    ] = None,
    prompt_tokens: Annotated[int, typer.Option(help="For uniform, fixed, samples.")] = 128,
    output_tokens: Annotated[int, typer.Option(help="For uniform, fixed, samples.")] = 64,
    samples: Annotated[int, typer.Option("-n", help="Answers to each prompt, that fork.")] = 1,
    allocator: Annotated[str, typer.Option(help="paged, or slabs: max, pow2 or oracle.")] = "paged",
    compare: Annotated[
        bool, typer.Option("--compare", help="The same requests from slabs and from pages.")
    ] = False,
    http: Annotated[
        bool, typer.Option("--http", help="Serve an OpenAI-compatible API instead.")
    ] = False,
    host: Annotated[str, typer.Option(help="With --http: the address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="With --http: the port.")] = 8000,
    dtype: opt.Dtype = "fp32",
    device: opt.Device = None,
    backend: opt.Backend = None,
    kv_memory: opt.KvMemory = "256MiB",
    host_memory: opt.HostMemory = None,
    block_size: opt.BlockSize = 16,
    max_model_len: opt.MaxModelLen = None,
    max_num_seqs: opt.MaxNumSeqs = 256,
    max_tokens_per_step: opt.MaxTokensPerStep = 8192,
    preempt: opt.Preempt = None,
    threads: opt.Threads = None,
    seed: Annotated[int, typer.Option(help="The same seed means the same requests.")] = 0,
    log: opt.Log = None,
    as_json: AsJson = False,
) -> None:
    """Serve a batch of requests, or HTTP, with the real engine: scheduler and block manager are the simulator's.

    Prompts are random tokens of the workload's lengths, and answers go on to its output lengths.
    """
    if compare and http:
        raise InputError("--compare and --http were given together; give one of them")
    if log is not None and compare:
        raise InputError("--log was given with --compare, which makes several runs; leave one out")
    options = opt.typed(context)
    opened = opt.open_for(options)
    if http:
        _serve_http(options, opened, host, port, log)
        return
    longest = options.max_model_len or opened.config.max_position
    made = _workload(workload, trace, requests, rate, seed, longest, prompt_tokens, output_tokens)
    if samples > 1:
        from pagesim.sim.workloads import with_samples

        made = with_samples(made, samples, beam=False)
    names = ("max", "oracle", "paged") if compare else (allocator,)
    served = [_run(options, opened, made, name, log) for name in names]
    if as_json:
        from pagesim.cli.output import print_json

        print_json(
            {
                "model": model,
                "workload": made.about,
                "bytes_per_slot": opt.bytes_per_slot(opened),
                "runs": {one.allocator: one.as_dict() for one in served},
            }
        )
        return
    from pagesim.views.console import make_console
    from pagesim.views.serve import ServeScreen

    make_console().print(ServeScreen(model, made.about, served))
    if log is not None:
        typer.echo(f"log: {log}")


def _workload(
    name: str,
    trace: Path | None,
    requests: int,
    rate: float | None,
    seed: int,
    longest: int,
    prompt_tokens: int,
    output_tokens: int,
) -> "Workload":
    from pagesim.sim.traces import read_trace
    from pagesim.sim.workloads import WorkloadOptions, build_workload

    if trace is not None:
        return read_trace(trace, limit=requests)
    return build_workload(
        name,
        requests=requests,
        rate=rate,
        seed=seed,
        max_model_len=longest,
        options=WorkloadOptions(prompt_tokens, output_tokens),
    )


def _run(
    options: opt.EngineOptions,
    opened: "OpenedModel",
    workload: "Workload",
    allocator: str,
    log: Path | None,
) -> "Served":
    """One batch run to its end."""
    from pagesim.cli.progress import progress_bars
    from pagesim.engine.session import Session
    from pagesim.replay.report import Meters
    from pagesim.sim.engine_requests import real_requests
    from pagesim.sim.simulate import drive, emit_to
    from pagesim.views.serve import Served

    if options.max_model_len is None:  # what slabs reserve is as long as the longest request
        needed = max(len(a.request.prompt) + a.request.max_tokens for a in workload.arrivals)
        options = replace(options, max_model_len=min(max(needed, 2), opened.config.max_position))
    settings = opt.settings_for(options, opened, allocator=allocator)
    memory = settings.build_memory()
    geometry = memory.geometry
    meters = Meters(geometry)
    with ExitStack() as stack:
        facts = {"model": options.model, "about": workload.about}
        writer = stack.enter_context(opt.log_of(log, geometry, settings, **facts))
        tell = stack.enter_context(progress_bars(len(workload.arrivals)))
        emit = emit_to([meters] if writer is None else [meters, writer])
        arrivals = real_requests(workload, opened.config.vocab_size)
        session = Session(opened, settings, emit, arrivals, memory)
        drive(session.loop, lambda done: tell(allocator, done), every=4)
        total_ns = session.executor.now_ns
    return Served(
        allocator,
        geometry,
        meters.report(saturated=workload.saturated),
        session.executor.model_ns / max(total_ns, 1),
    )


def _serve_http(
    options: opt.EngineOptions, opened: "OpenedModel", host: str, port: int, log: Path | None
) -> None:
    from pagesim.engine.http.metrics import EngineMetrics
    from pagesim.engine.http.server import serve_http
    from pagesim.engine.session import Session
    from pagesim.sim.simulate import emit_to

    settings = opt.settings_for(options, opened)
    memory = settings.build_memory()
    metrics = EngineMetrics()
    with opt.log_of(log, memory.geometry, settings, model=options.model) as writer:
        emit = emit_to([metrics] if writer is None else [metrics, writer])
        session = Session(opened, settings, emit, memory=memory)
        serve_http(session, opened, metrics, model_name=options.model, host=host, port=port)
        session.end()
