"""Options that several commands share, and the run they describe.

Reads what was typed, fills in what was not, and says so; knows nothing about running or drawing.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pagesim.core.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from pagesim.planner.facts import ModelFacts
    from pagesim.sim.policies import Policies
    from pagesim.sim.simulate import Contender, RunSettings
    from pagesim.sim.workload import Workload
    from pagesim.views.compare import Header

PAPER_MODEL, PAPER_GPU, PAPER_KV_BYTES = "opt-13b", "a100-sxm-40gb", 12 * 2**30
DEFAULT_REQUESTS = 1000
RULES = {  # {0}: what happens to a victim's tokens, {1}: the watermark
    "paper": "the paper's: whole prompts, no batch limit, {0} on preemption, {1} watermark if paged",
    "engine": "today's engines': chunked prefill, a token budget, {0} on preemption",
}

SAMPLES_AS = ("fork", "requests")

WorkloadName = Annotated[str, typer.Argument(help="A built-in workload; `pagesim workloads`.")]
Trace = Annotated[
    Path | None, typer.Option(help="Serve this trace instead: CSV or JSONL, also .gz.")
]
Requests = Annotated[
    int | None,
    typer.Option(help=f"How many requests.  [default: {DEFAULT_REQUESTS}; of a trace, all]"),
]
Rate = Annotated[
    float | None,
    typer.Option(help="Arrivals per second.  [default: all wait from the start]"),
]
Burstiness = Annotated[
    float, typer.Option("--cv", help="Variation of the gaps between arrivals; 1 is Poisson.")
]
Model = Annotated[str, typer.Option(help="Model; `pagesim models`.")]
Gpu = Annotated[str, typer.Option(help="GPU; `pagesim gpus`.")]
KvMemory = Annotated[
    str | None,
    typer.Option(
        help="Memory for K and V on each GPU, such as 12GiB.  "
        "[default: what the weights leave; of the paper's model and GPU, its 12 GiB]"
    ),
]
TensorParallel = Annotated[int, typer.Option(help="GPUs that share every layer.")]
BlockSize = Annotated[int, typer.Option(help="Tokens of one block.")]
MaxModelLen = Annotated[
    int | None,
    typer.Option(help="Longest prompt + output.  [default: the model's; of a trace, its longest]"),
]
Placer = Annotated[
    str, typer.Option(help="Where contiguous runs go: buddy, first-fit or best-fit.")
]
Rules = Annotated[
    str,
    typer.Option(help="paper: whole prompts, no batch limit, forks; engine: chunked prefill."),
]
MaxNumSeqs = Annotated[int, typer.Option(help="Engine rules: sequences at once.")]
MaxTokens = Annotated[int, typer.Option("--max-tokens-per-step", help="Engine rules: budget.")]
OrderName = Annotated[
    str,
    typer.Option(
        "--order",
        help="Who is served first: fcfs, shortest-prompt, priority, aged-priority, or FILE:name.",
    ),
]
VictimName = Annotated[
    str | None,
    typer.Option(
        "--victim",
        help="Who gives way: latest, least-progress, lowest-priority, largest, or FILE:name.  "
        "[default: latest; where priorities count, lowest-priority]",
    ),
]
PreemptName = Annotated[
    str | None,
    typer.Option(
        "--preempt",
        help="A victim's tokens: recompute, swap, by-group, cheaper, or FILE:name.  [default: "
        "recompute; with --host-memory, swap, of the paper's rules by-group]",
    ),
]
WatermarkText = Annotated[
    str | None,
    typer.Option(
        "--watermark",
        help="Blocks that an admission leaves free: a number, or a share such as 1%.  "
        "[default: 0; of the paper's rules, 1%]",
    ),
]
HostMemory = Annotated[
    str | None,
    typer.Option(
        help="Memory on each GPU's host to swap to, such as 4GiB.  [default: none; 4GiB where "
        "--preempt may swap]"
    ),
]
FreedBlocksGo = Annotated[
    str | None,
    typer.Option(
        "--freed-blocks-go",
        help="unkeyed-first (cached content is kept longest) or to-the-back.  [default: engine "
        "rules unkeyed-first, paper rules to-the-back]",
    ),
]
SamplesAs = Annotated[
    str | None,
    typer.Option(
        "--samples-as",
        help="Several samples: fork (copy-on-write), or requests (each its own, by prefix cache).  "
        "[default: paper rules fork, engine rules make requests]",
    ),
]
Beam = Annotated[bool, typer.Option("--beam", help="For samples: search them together as beams.")]
PromptTokens = Annotated[int, typer.Option(help="For fixed, uniform, samples, shared-prefix.")]
OutputTokens = Annotated[int, typer.Option(help="For fixed, uniform, samples, shared-prefix.")]
PrefixTokens = Annotated[int, typer.Option(help="For shared-prefix: the common start.")]
Samples = Annotated[
    int | None,
    typer.Option(help="Answers to each prompt.  [default: 1; of the workload samples, 4]"),
]
PrefixCaching = Annotated[
    bool | None,
    typer.Option(
        "--prefix-caching/--no-prefix-caching",
        help="Reuse blocks across requests.  [default: where prompts have tokens in common]",
    ),
]
Seed = Annotated[int, typer.Option(help="The same seed means the same requests.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


@dataclass(frozen=True, slots=True)
class Options:
    """All that describes a run, as typed."""

    workload: str
    trace: Path | None
    requests: int | None
    rate: float | None
    cv: float
    model: str
    gpu: str
    kv_memory: str | None
    tensor_parallel: int
    block_size: int
    max_model_len: int | None
    placer: str
    rules: str
    max_num_seqs: int
    max_tokens_per_step: int
    prompt_tokens: int
    output_tokens: int
    prefix_tokens: int
    samples: int | None
    samples_as: str | None
    beam: bool
    order: str
    victim: str | None
    preempt: str | None
    watermark: str | None
    host_memory: str | None
    freed_blocks_go: str | None
    prefix_caching: bool | None
    seed: int


def typed(context: typer.Context) -> Options:
    """The command's options; every command that uses this declares all of them."""
    values = {field.name: context.params[field.name] for field in fields(Options)}
    if values["trace"] is not None:
        values["trace"] = Path(values["trace"])
    return Options(**values)


DEFAULT_SAMPLES = 4
DEFAULT_HOST_MEMORY = "4GiB"  # as early engines had it
PARAMETRIC = {
    "prompt_tokens": ("fixed", "uniform", "samples", "shared-prefix"),
    "output_tokens": ("fixed", "uniform", "samples", "shared-prefix"),
    "prefix_tokens": ("shared-prefix",),
}


def check_all_heeded(context: typer.Context, options: Options, allocator: str = "paged") -> None:
    """Raises InputError if an option was typed that would change nothing."""

    def typed_in(name: str) -> bool:
        source = context.get_parameter_source(name)
        return source is not None and source.name == "COMMANDLINE"

    def refuse(name: str, because: str) -> InputError:
        return InputError(f"--{name.replace('_', '-')} was given, but {because}; leave it out")

    for name in ("max_num_seqs", "max_tokens_per_step"):
        if options.rules == "paper" and typed_in(name):
            raise refuse(name, "the paper's rules have no such limit (--rules engine has)")
    for name in ("preempt", "host_memory", "watermark", "freed_blocks_go"):
        if allocator != "paged" and typed_in(name):
            raise refuse(
                name, f"slabs (--allocator {allocator}) have no blocks to give back one by one"
            )
    if options.beam and options.samples_as == "requests":
        raise InputError(
            "--samples-as requests was given with --beam, and beams always fork; leave one out"
        )
    if options.rate is None and typed_in("cv"):
        raise refuse("cv", "without --rate all requests wait from the start")
    if options.trace is not None and typed_in("workload"):
        raise InputError(
            f"both the workload {options.workload} and --trace were given; leave one out"
        )
    for name, workloads in PARAMETRIC.items():
        if typed_in(name) and (options.trace is not None or options.workload not in workloads):
            raise refuse(name, f"it is for {', '.join(workloads)}")


def check_name(name: str) -> None:
    """Raises InputError, with what it may have meant, if this is neither a workload nor a scenario."""
    from difflib import get_close_matches

    from pagesim.sim.scenario import scenario_names
    from pagesim.sim.workloads import WORKLOADS

    known = [*WORKLOADS, *scenario_names()]
    if name not in known:
        close = get_close_matches(name, known, 3)
        meant = f"did you mean {' or '.join(close)}? " if close else ""
        raise InputError(
            f"{name!r} is neither a workload nor a scenario; {meant}`pagesim workloads` lists them"
        )


def only_for_workloads(context: typer.Context) -> None:
    """A scenario says everything itself. Raises InputError if an option was given that it would not heed."""
    for name in (*(field.name for field in fields(Options)), "allocator"):
        source = context.get_parameter_source(name)
        if name != "workload" and source is not None and source.name == "COMMANDLINE":
            option = name.replace("_", "-")
            if name == "prefix_caching" and context.params[name] is False:
                option = "no-prefix-caching"
            raise InputError(
                f"--{option} was given with a scenario, which says that itself; change its file"
            )


@dataclass(frozen=True, slots=True)
class Prepared:
    """What the options come to. ``lines`` (label and text) and ``notes`` are for people, ``facts`` for JSON."""

    workload: "Workload"
    settings: "RunSettings"
    lines: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    facts: dict[str, object]
    bytes_per_slot: int


def prepare(options: Options) -> Prepared:
    """Look everything up. Raises InputError for what is unknown, impossible or contradictory."""
    from pagesim.core.memories import MemorySettings
    from pagesim.planner import facts as tables
    from pagesim.planner.kv_cache import kv_bytes_per_token
    from pagesim.planner.units import format_count, format_gib
    from pagesim.sim.cost import cost_model
    from pagesim.sim.simulate import RunSettings

    if options.rules not in RULES:
        raise InputError(f"{options.rules!r} are no rules; they are {' or '.join(RULES)}")
    if options.block_size < 1:
        raise InputError(f"block size {options.block_size} was given; it must be 1 or more")
    if options.samples_as not in (None, *SAMPLES_AS):
        raise InputError(
            f"--samples-as {options.samples_as!r} was given; it is {' or '.join(SAMPLES_AS)}"
        )
    policies = _policies(options)
    model, gpu = tables.model(options.model), tables.gpu(options.gpu)
    ranks = options.tensor_parallel
    per_rank = kv_bytes_per_token(model, tensor_parallel=ranks, dtype_bytes=model.dtype_bytes)
    kv_bytes = _kv_bytes(options, model.key, gpu.key)
    num_slots = kv_bytes // per_rank
    if num_slots < 1:
        raise InputError(
            f"{model.key} takes {per_rank:,} bytes of K and V a token and {max(kv_bytes, 0):,} bytes are there on "
            f"{ranks} x {gpu.key}; take a larger GPU, more of them (--tensor-parallel) or --kv-memory"
        )
    workload, max_model_len, notes = _workload(options, model)
    forks = options.samples_as == "fork" or (
        options.samples_as is None and options.rules == "paper"
    )
    several = any(a.request.num_samples > 1 for a in workload.arrivals)
    alike = workload.token_ids_known or (several and not forks and not options.beam)
    host_bytes = _host_bytes(options)
    if 0 < host_bytes < per_rank * options.block_size:
        raise InputError(
            f"--host-memory {options.host_memory} holds {host_bytes // per_rank:,} tokens, less than one block of "
            f"{options.block_size}: one takes {per_rank * options.block_size:,} bytes; give it more"
        )
    if host_bytes and options.host_memory is None:
        notes.append(f"swapping needs memory on the host: {DEFAULT_HOST_MEMORY} (--host-memory)")
    if not alike and options.prefix_caching:
        notes.append("only lengths are known of these prompts: a prefix cache has nothing to find")
    caching = alike if options.prefix_caching is None else options.prefix_caching
    urgent = {arrival.request.priority for arrival in workload.arrivals}
    by_priority = {options.order, options.victim} & {"priority", "aged-priority", "lowest-priority"}
    if by_priority and len(urgent) == 1:
        notes.append("all requests have one priority, so going by priority changes nothing here")
    settings = RunSettings(
        memory=MemorySettings(
            num_slots=num_slots,
            block_size=options.block_size,
            max_model_len=max_model_len,
            placer=options.placer,
            prefix_caching=caching,
            keep_unkeyed_first=_keep_unkeyed_first(options),
            host_slots=host_bytes // per_rank,
        ),
        cost=cost_model(model, gpu, tensor_parallel=ranks, dtype_bytes=model.dtype_bytes),
        rules=options.rules,
        max_num_seqs=options.max_num_seqs,
        max_tokens_per_step=options.max_tokens_per_step,
        policies=policies,
        fork_samples=forks,
    )
    gpus = gpu.name if ranks == 1 else f"{ranks} x {gpu.name}"
    size = f"{format_gib(kv_bytes)}{'' if ranks == 1 else ' on each GPU'}"
    room = f"{format_count(num_slots)} tokens of {format_count(per_rank)} bytes"
    shape = f"blocks of {options.block_size}; longest request {format_count(max_model_len)}"
    lines = (
        ("workload", workload.about),
        ("model", f"{model.name} on {gpus}"),
        ("KV memory", f"{size} = {room}; {shape}"),
        ("rules", _rules_line(options, policies, host_bytes)),
        *_policy_lines(options, host_bytes),
        ("again", command_line()),
    )
    described: dict[str, object] = {
        "workload": workload.name,
        "about": workload.about,
        "seed": options.seed,
        "model": model.key,
        "gpu": gpu.key,
        "tensor_parallel": ranks,
        "kv_bytes": kv_bytes,
        "bytes_per_slot": per_rank,
        "num_slots": num_slots,
        "block_size": options.block_size,
        "max_model_len": max_model_len,
        "placer": options.placer,
        "rules": options.rules,
        "prefix_caching": caching,
        "fork_samples": forks or options.beam,
        "order": policies.order.name,
        "victim": None if policies.victim is None else policies.victim.name,
        "preempt": None if policies.preempt is None else policies.preempt.name,
        "watermark": options.watermark,
        "host_bytes": host_bytes,
        "command": command_line(),
    }
    return Prepared(workload, settings, lines, tuple(notes), described, per_rank)


def _policies(options: Options) -> "Policies":
    from pagesim.sim import policies as named

    preempt = options.preempt
    if preempt is None and options.host_memory is not None and options.rules == "engine":
        preempt = "swap"
    return named.Policies(
        order=named.order_named(options.order),
        victim=None if options.victim is None else named.victim_named(options.victim),
        preempt=None if preempt is None else named.preempt_mode_named(preempt),
        watermark=None if options.watermark is None else named.parse_watermark(options.watermark),
    )


def _keep_unkeyed_first(options: Options) -> bool:
    from pagesim.sim.allocators import FREED_BLOCKS_GO, UNKEYED_FIRST

    chosen = options.freed_blocks_go
    if chosen is None:
        return options.rules == "engine"
    if chosen not in FREED_BLOCKS_GO:
        raise InputError(
            f"--freed-blocks-go {chosen!r} was given; it is {' or '.join(FREED_BLOCKS_GO)}"
        )
    return chosen == UNKEYED_FIRST


def _host_bytes(options: Options) -> int:
    from pagesim.planner.units import parse_bytes

    if options.host_memory is not None:
        return parse_bytes(options.host_memory)
    swaps = options.preempt not in (None, "recompute")
    return parse_bytes(DEFAULT_HOST_MEMORY) if swaps else 0


def _rules_line(options: Options, policies: "Policies", host_bytes: int) -> str:
    preempt = "by-group" if host_bytes and options.rules == "paper" else "recompute"
    if policies.preempt is not None:
        preempt = policies.preempt.name
    said = {
        "by-group": "swap groups, recompute single ones",
        "cheaper": "swap or recompute, whichever is cheaper,",
    }
    text = said.get(preempt, preempt)
    return RULES[options.rules].format(text, options.watermark or "1 %")


def _policy_lines(options: Options, host_bytes: int) -> "Iterator[tuple[str, str]]":
    """What was chosen besides the rules."""
    from pagesim.planner.units import format_gib

    chosen = [] if options.order == "fcfs" else [f"order {options.order}"]
    if options.victim is not None:
        chosen.append(f"victim {options.victim}")
    if options.watermark is not None and options.rules == "engine":
        chosen.append(f"watermark {options.watermark}")
    if options.freed_blocks_go is not None:
        chosen.append(f"freed blocks {options.freed_blocks_go}")
    if host_bytes:
        chosen.append(f"{format_gib(host_bytes)} on the host to swap to")
    if chosen:
        yield "policies", ", ".join(chosen)


def _kv_bytes(options: Options, model: str, gpu: str) -> int:
    from pagesim.planner import facts as tables
    from pagesim.planner.kv_cache import kv_memory
    from pagesim.planner.units import parse_bytes

    if options.kv_memory is not None:
        return parse_bytes(options.kv_memory)
    if (model, gpu, options.tensor_parallel) == (PAPER_MODEL, PAPER_GPU, 1):
        return PAPER_KV_BYTES
    budget = kv_memory(
        tables.gpu(gpu), tables.model(model), tensor_parallel=options.tensor_parallel
    )
    return budget.kv_bytes


def _workload(options: Options, model: "ModelFacts") -> tuple["Workload", int, list[str]]:
    """The workload, the longest request allowed, and what to tell about them."""
    from pagesim.sim.traces import read_trace
    from pagesim.sim.workloads import WorkloadOptions, build_workload, with_arrivals, with_samples

    samples = DEFAULT_SAMPLES if options.beam and options.samples is None else options.samples
    if options.max_model_len is not None and options.max_model_len < 2:
        raise InputError(
            f"max model length {options.max_model_len} was given; it must be 2 or more"
        )
    if options.trace is None:
        longest = options.max_model_len or model.max_position
        built = build_workload(
            options.workload,
            requests=DEFAULT_REQUESTS if options.requests is None else options.requests,
            rate=options.rate,
            seed=options.seed,
            max_model_len=longest,
            cv=options.cv,
            options=WorkloadOptions(
                options.prompt_tokens, options.output_tokens, options.prefix_tokens
            ),
        )
        if samples is not None:
            built = with_samples(built, samples, beam=options.beam)
        return built, longest, list(built.notes)
    if options.requests is not None and options.requests < 1:
        raise InputError(f"{options.requests} requests were asked for; it must be 1 or more")
    workload = read_trace(options.trace, limit=options.requests)
    if samples is not None:
        workload = with_samples(workload, samples, beam=options.beam)
    notes = list(workload.notes)
    if options.rate is not None:
        if not workload.saturated:
            raise InputError("--rate was given with a trace that has its own times; leave it out")
        workload = with_arrivals(workload, options.rate, options.cv, options.seed)
        notes = [f"arrivals are drawn: {options.rate:g} a second, variation {options.cv:g}"]
    if options.max_model_len is not None:
        return workload, options.max_model_len, notes
    needed = max(len(a.request.prompt) + a.request.max_tokens for a in workload.arrivals)
    if needed > model.max_position:
        notes.append(
            f"the longest request has {needed:,} tokens and {model.key} takes {model.max_position:,}: allowed here; "
            f"--max-model-len {model.max_position} refuses what is longer"
        )
    return workload, max(needed, 2), notes


def print_notes(console: "Console", notes: Sequence[str]) -> None:
    for note in notes:
        console.print(f"note: {note}", markup=False, highlight=False)


def contenders(
    options: Options, prepared: Prepared, allocators: Sequence[str]
) -> "list[Contender]":
    """What is compared. Paged memory serves several samples of a prompt both ways, unless one was asked for."""
    from dataclasses import replace

    from pagesim.sim.allocators import AS_REQUESTS
    from pagesim.sim.simulate import Contender

    settings = prepared.settings
    several = any(a.request.num_samples > 1 for a in prepared.workload.arrivals)
    found = []
    for allocator in allocators:
        if allocator == "paged" and several and not options.beam and options.samples_as is None:
            forks = replace(settings, fork_samples=True)
            found.append(Contender(allocator, allocator, forks))
            caching = options.prefix_caching is not False
            memory = replace(settings.memory, prefix_caching=caching)
            requests = replace(settings, memory=memory, fork_samples=False)
            found.append(Contender(AS_REQUESTS, allocator, requests))
        else:
            found.append(Contender(allocator, allocator, settings))
    return found


def screen_header(
    title: str, prepared: Prepared, titles: "Mapping[str, str] | None" = None
) -> "Header":
    from pagesim.sim.allocators import TITLES
    from pagesim.views.compare import Header

    return Header(title, prepared.lines, prepared.bytes_per_slot, titles or TITLES)


def command_line() -> str:
    """What was typed, quoted for a shell, less the options that only say where the result goes."""
    import shlex

    words: list[str] = []
    arguments = iter(sys.argv[1:])
    for word in arguments:
        if word == "--log":
            next(arguments, None)
        elif word != "--json" and not word.startswith("--log="):
            words.append(word)
    return shlex.join(["pagesim", *words])
