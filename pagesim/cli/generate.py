"""``pagesim generate``: a prompt, answered by the real engine; the text as it comes.

Knows nothing about models or memory.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pagesim.cli import engine_options as opt
from pagesim.cli.options import AsJson
from pagesim.core.errors import InputError

if TYPE_CHECKING:
    from pagesim.core.request import Request
    from pagesim.engine.answers import Answer
    from pagesim.engine.sampling_params import SamplingParams


def generate(
    context: typer.Context,
    model: opt.ModelName,
    prompt: Annotated[str, typer.Argument(help="What to go on from; - reads standard input.")],
    max_tokens: Annotated[int, typer.Option(help="At most so many output tokens.")] = 128,
    temperature: Annotated[float, typer.Option(help="0 is greedy.")] = 0.0,
    top_k: Annotated[int | None, typer.Option(help="Only the so many likeliest.")] = None,
    top_p: Annotated[float, typer.Option(help="Only the likeliest, to this probability.")] = 1.0,
    min_p: Annotated[
        float, typer.Option(help="Only as likely as this share of the likeliest.")
    ] = 0.0,
    seed: Annotated[int, typer.Option(help="The same seed draws the same tokens.")] = 0,
    stop: Annotated[list[str] | None, typer.Option(help="End here; may be repeated.")] = None,
    samples: Annotated[int, typer.Option("-n", help="So many answers, that fork.")] = 1,
    beam: Annotated[int | None, typer.Option(help="Search with so many beams.")] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="The prompt as it is, without the chat template.")
    ] = False,
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
    log: opt.Log = None,
    view: Annotated[bool, typer.Option("--view", help="Step through the run afterwards.")] = False,
    as_json: AsJson = False,
) -> None:
    """Answer a prompt with the real engine: the simulator's scheduler and block manager, and tensors."""
    import sys

    from pagesim.cli.view import view as show_log
    from pagesim.cli.viewing import log_to_view

    if samples < 1 or (beam is not None and beam < 1):
        raise InputError("-n and --beam must be 1 or more")
    if beam is not None and (samples > 1 or temperature):
        raise InputError("--beam was given with -n or --temperature; beams are searched, not drawn")
    options = opt.typed(context)
    text = sys.stdin.read() if prompt == "-" else prompt
    from pagesim.engine.sampling_params import SamplingParams

    params = SamplingParams(
        temperature,
        top_k,
        top_p,
        min_p,
        seed,
        logprobs=0 if as_json else None,
        stops=tuple(stop or ()),
    )
    with log_to_view(log, "generate", view=view) as path:
        answers = _answer(
            options, text, max_tokens, params, samples, beam, path, raw=raw, quiet=as_json
        )
        if view:
            show_log([str(path)])
            return
    if as_json:
        from pagesim.cli.output import print_json

        print_json({"prompt": text, "answers": [answer.as_dict() for answer in answers]})
    elif log is not None:
        typer.echo(f"log: {log}", err=True)


def _answer(
    options: opt.EngineOptions,
    text: str,
    max_tokens: int,
    params: "SamplingParams",
    samples: int,
    beam: int | None,
    path: Path | None,
    *,
    raw: bool,
    quiet: bool,
) -> "list[Answer]":
    """Run the request to its end, the text shown as it comes."""
    from pagesim.core.beam import BeamSearch, num_candidates
    from pagesim.core.request import Request
    from pagesim.engine.answers import Answers
    from pagesim.engine.session import Session

    opened = opt.open_for(options)
    settings = opt.settings_for(options, opened)
    tokenizer = opened.tokenizer
    chat = None if raw else tokenizer.chat([{"role": "user", "content": text}])
    ids = tokenizer.encode(text if chat is None else chat, add_special=chat is None)
    if not ids:
        raise InputError("the prompt is empty; give at least one character")
    needed = 0 if beam is None else num_candidates(beam, len(tokenizer.eos_ids))
    if needed > opened.config.vocab_size:
        raise InputError(
            f"--beam {beam} was given; this model's {opened.config.vocab_size} tokens are too few for its "
            f"{needed} candidates, so search with fewer beams"
        )
    request = Request(
        "prompt",
        ids,
        max_tokens,
        beam or samples,
        stop_ids=frozenset(tokenizer.eos_ids),
        beam=None if beam is None else BeamSearch(),
    )
    memory = settings.build_memory()
    with opt.log_of(path, memory.geometry, settings, model=options.model) as writer:
        emit = None if writer is None else writer.apply
        session = Session(opened, settings, emit, memory=memory)
        refusal = session.submit(request, params)
        if refusal is not None:
            session.end()
            raise InputError(refusal.reason)
        answers = Answers(tokenizer, request, params)
        while session.has_work:
            for output in session.step():
                piece = answers.add(output)
                if not quiet and len(answers.all) == 1:
                    typer.echo(piece, nl=False)
            if answers.stopped:
                session.abort(request.id)
        session.end()
    if not quiet:
        _show(request, answers.all)
    return answers.all


def _show(request: "Request", answers: "list[Answer]") -> None:
    """One answer was shown as it came; several are shown now."""
    if len(answers) == 1:
        typer.echo("")
        return
    for answer in answers:
        what = "beam" if request.beam is not None else "sample"
        typer.echo(f"--- {what} {answer.sample} ({answer.finish}, {len(answer.tokens)} tokens)")
        typer.echo(answer.text)
