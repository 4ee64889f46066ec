"""``pagesim compare``: one workload, served once with each allocator, on one screen.

Knows nothing about how a run works or how it is drawn.
"""

from pathlib import Path
from typing import Annotated

import typer

from pagesim.cli import options as opt


def compare(
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
    allocator: Annotated[
        list[str] | None,
        typer.Option(help="Only this one; may be repeated.  [default: max, pow2, oracle, paged]"),
    ] = None,
    placer: opt.Placer = "buddy",
    rules: opt.Rules = "paper",
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
    seed: opt.Seed = 0,
    html: Annotated[
        Path | None,
        typer.Option(help="Also write a page with all runs, two side by side, to step through."),
    ] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Serve one workload from contiguous slabs and from pages, and show where the memory went.

    The defaults are the PagedAttention paper's: ShareGPT lengths, OPT-13B, 12 GiB of KV cache on one A100 of
    40 GB, a queue that never empties.
    """
    from contextlib import ExitStack

    from pagesim.cli.compare_page import RunLogs, checked_page
    from pagesim.cli.progress import progress_bars
    from pagesim.sim.allocators import ALLOCATORS, CONTENDERS, TITLES
    from pagesim.sim.simulate import compare as run_all

    checked_page(html)
    options = opt.typed(context)
    opt.check_all_heeded(context, options)
    prepared = opt.prepare(options)
    names = tuple(dict.fromkeys(allocator or ALLOCATORS))
    contenders = opt.contenders(options, prepared, names)
    with ExitStack() as stack:
        told = {**prepared.facts, "saturated": prepared.workload.saturated}
        logs = None if html is None else stack.enter_context(RunLogs(told))
        with progress_bars(len(prepared.workload.arrivals)) as tell:
            listen = None if logs is None else logs.listen
            comparison = run_all(prepared.workload, contenders, tell, listen)
        if html is not None and logs is not None:
            logs.write_page(html, quietly=as_json)
    if as_json:
        from pagesim.cli.output import print_json

        runs = {result.allocator: result.report.as_dict() for result in comparison.results}
        print_json({**prepared.facts, "notes": prepared.notes, "runs": runs})
        return
    from pagesim.views.compare import CompareScreen
    from pagesim.views.console import make_console

    console = make_console()
    titles = TITLES if len(contenders) == len(names) else CONTENDERS
    title = "One workload, served from each kind of memory"
    header = opt.screen_header(title, prepared, titles)
    console.print(CompareScreen(comparison, header))
    opt.print_notes(console, prepared.notes)
