"""Options of the commands that run a model, and the session they describe. Knows nothing about running or drawing."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pagesim.core.errors import InputError

if TYPE_CHECKING:
    from pagesim.core.types import Geometry
    from pagesim.engine.models import OpenedModel
    from pagesim.engine.session import SessionSettings
    from pagesim.replay.log import LogWriter

ModelName = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="tiny, smollm2 (`pagesim model get smollm2`), a Hugging Face folder or a .gguf file.",
    ),
]
Dtype = Annotated[str, typer.Option(help="fp32, bf16 or fp16.")]
Device = Annotated[
    str | None, typer.Option(help="cpu or cuda.  [default: cuda where there is one]")
]
Backend = Annotated[
    str | None,
    typer.Option(help="Paged attention by triton, numba or torch.  [default: the fastest here]"),
]
KvMemory = Annotated[str, typer.Option(help="Memory for K and V, such as 256MiB.")]
HostMemory = Annotated[
    str | None, typer.Option(help="Host memory to swap to, such as 1GiB.  [default: none]")
]
BlockSize = Annotated[int, typer.Option(help="Tokens of one block.")]
MaxModelLen = Annotated[
    int | None, typer.Option(help="Longest prompt + output.  [default: the model's]")
]
MaxNumSeqs = Annotated[int, typer.Option(help="Sequences at once.")]
MaxTokensPerStep = Annotated[int, typer.Option("--max-tokens-per-step", help="Tokens a step.")]
Preempt = Annotated[
    str | None,
    typer.Option(
        help="A victim's tokens: recompute, swap or by-group.  [default: recompute; with "
        "--host-memory, swap]"
    ),
]
Threads = Annotated[
    int | None, typer.Option(help="CPU threads of torch.  [default: torch's own choice]")
]
Log = Annotated[
    Path | None, typer.Option(help="Write every event to this file, .jsonl or .jsonl.gz.")
]


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """As typed."""

    model: str
    dtype: str
    device: str | None
    backend: str | None
    kv_memory: str
    host_memory: str | None
    block_size: int
    max_model_len: int | None
    max_num_seqs: int
    max_tokens_per_step: int
    preempt: str | None
    threads: int | None


def typed(context: typer.Context) -> EngineOptions:
    """Every command that uses this declares all of them."""
    return EngineOptions(
        **{field.name: context.params[field.name] for field in fields(EngineOptions)}
    )


def open_for(options: EngineOptions) -> "OpenedModel":
    """The model, opened. Raises InputError."""
    from pagesim.engine.needs import need_modules

    need_modules("torch")
    import torch

    from pagesim.engine.models import open_model

    if options.threads is not None:
        if options.threads < 1:
            raise InputError(f"{options.threads} threads were given; it must be 1 or more")
        torch.set_num_threads(options.threads)
    device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
    if device not in ("cpu", "cuda"):
        raise InputError(f"device {device!r} was given; it is cpu or cuda")
    if device == "cuda" and not torch.cuda.is_available():
        raise InputError("device cuda was given and torch sees no GPU here; take cpu")
    return open_model(options.model, options.dtype, device)


def settings_for(
    options: EngineOptions, opened: "OpenedModel", *, allocator: str = "paged"
) -> "SessionSettings":
    """The session's memory and rules. Raises InputError for what is impossible."""
    from pagesim.core.preempt_mode import RECOMPUTE, SWAP
    from pagesim.core.scheduler_config import SchedulerConfig
    from pagesim.engine.attention import PAGED_BACKENDS
    from pagesim.engine.session import SessionSettings
    from pagesim.planner.units import parse_bytes
    from pagesim.sim.policies import preempt_mode_named

    config = opened.config
    if options.block_size < 1:
        raise InputError(f"block size {options.block_size} was given; it must be 1 or more")
    if options.backend is not None and options.backend not in PAGED_BACKENDS:
        raise InputError(
            f"--backend {options.backend!r} was given; it is {', '.join(PAGED_BACKENDS)}"
        )
    longest = options.max_model_len or config.max_position
    if not 2 <= longest <= config.max_position:
        raise InputError(
            f"max model length {longest:,} was given; this model takes 2 to {config.max_position:,}"
        )
    per_slot = bytes_per_slot(opened)
    preempt = SWAP if options.host_memory is not None else RECOMPUTE
    if options.preempt is not None:
        preempt = preempt_mode_named(options.preempt)
    host_bytes = 0 if options.host_memory is None else parse_bytes(options.host_memory)
    return SessionSettings(
        num_slots=parse_bytes(options.kv_memory) // per_slot,
        scheduler=SchedulerConfig(
            max_num_seqs=options.max_num_seqs,
            max_tokens_per_step=options.max_tokens_per_step,
            max_model_len=longest,
            preempt=preempt,
            fork_samples=True,
        ),
        allocator=allocator,
        block_size=options.block_size,
        host_slots=host_bytes // per_slot,
        backend=options.backend,
    )


def bytes_per_slot(opened: "OpenedModel") -> int:
    """K and V of one token in every layer."""
    config = opened.config
    size = opened.model.dtype.itemsize
    return 2 * config.num_layers * config.num_kv_heads * config.head_dim * size


def log_of(
    path: Path | None, geometry: "Geometry", settings: "SessionSettings", **facts: object
) -> "AbstractContextManager[LogWriter | None]":
    """A log whose header says how the run can be repeated: by the simulator, from its tokens and times."""
    from pagesim.cli.options import command_line
    from pagesim.replay.log import LogWriter, log_header
    from pagesim.sim.rerun import how_to_repeat

    if path is None:
        return nullcontext(None)
    repeat = how_to_repeat(settings.allocator, settings.memory, settings.scheduler, None)
    return LogWriter(path, log_header(geometry, command=command_line(), **facts, **repeat))
