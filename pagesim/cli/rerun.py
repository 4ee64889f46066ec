"""``pagesim rerun``: a log's requests and tokens, served again: exactly, or under other settings.

Knows nothing about how a run is repeated.
"""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from pagesim.cli.options import AsJson


def rerun(
    log: Annotated[Path, typer.Argument(help="A log that `pagesim run --log` wrote.")],
    block_size: Annotated[
        int | None, typer.Option(help="What if blocks had this many tokens?")
    ] = None,
    allocator: Annotated[
        str | None,
        typer.Option(help="What if memory were handed out by max, pow2, oracle or paged?"),
    ] = None,
    manager: Annotated[
        str | None, typer.Option(help="What if it were your own FILE:Class? Its code is run.")
    ] = None,
    order: Annotated[
        str | None, typer.Option(help="What if others were served first? As in `pagesim run`.")
    ] = None,
    victim: Annotated[
        str | None, typer.Option(help="What if others gave way? As in `pagesim run`.")
    ] = None,
    preempt: Annotated[
        str | None,
        typer.Option(help="What if victims recomputed, or swapped? As in `pagesim run`."),
    ] = None,
    watermark: Annotated[
        str | None, typer.Option(help="What if so many blocks, or such a share, were kept free?")
    ] = None,
    host_blocks: Annotated[
        int | None, typer.Option(help="What if the host had a pool of so many blocks?")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--log", help="Write the new run's events to this file.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Serve a log's requests again. Without options: is it the same run, byte for byte? With: what if?"""
    from pagesim.cli.own_memory import drive_own
    from pagesim.cli.rerun_output import report_lines
    from pagesim.core.errors import InputError
    from pagesim.core.types import Geometry
    from pagesim.practice.own_manager import load_manager
    from pagesim.replay.feeding import feed
    from pagesim.replay.log import LogWriter, encode, log_header, read_log
    from pagesim.replay.report import Meters
    from pagesim.sim.policies import parse_watermark
    from pagesim.sim.rerun import Rerun
    from pagesim.sim.simulate import Listener, drive

    if block_size is not None and block_size < 1:
        raise InputError(f"block size {block_size} was given; it must be 1 or more")
    if manager is not None and any(
        option is not None for option in (block_size, allocator, host_blocks)
    ):
        raise InputError(
            "--manager was given with --block-size, --allocator or --host-blocks; it replaces all three"
        )
    if host_blocks is not None and host_blocks < 0:
        raise InputError(f"{host_blocks} host blocks were given; there must be 0 or more")
    if out is not None and out.exists() and out.samefile(log):
        raise InputError(f"--log {out} is the log that is read; name another file")
    read = read_log(log)
    for warning in read.warnings:
        typer.echo(f"note: {warning}", err=True)
    again = Rerun(read)
    made = None if manager is None else load_manager(manager)
    before, after, lines = Meters(read.geometry), [], []
    writers: list[LogWriter] = []
    feed(before, again.events)

    class Lines:
        """Keeps what a log of the new run would hold."""

        def apply(self, event: object) -> None:
            lines.append(encode(event))  # type: ignore[arg-type]

    policies = _policies(order, victim, preempt)
    kept = None if watermark is None else parse_watermark(watermark)
    memory_options = (block_size, allocator, manager, host_blocks, kept)
    changed = bool(policies) or any(option is not None for option in memory_options)
    pool = read.geometry.num_host_blocks if host_blocks is None else host_blocks
    if preempt not in (None, "recompute") and not pool:
        raise InputError(
            f"--preempt {preempt} was given and the log's run has no host pool; give --host-blocks, too"
        )
    with ExitStack() as stack:

        def listeners(geometry: Geometry) -> list[Listener]:
            after.append(Meters(geometry))
            wanted: list[Listener] = [after[0]] if changed else [after[0], Lines()]
            if out is not None:
                facts = {
                    k: v
                    for k, v in read.header.items()
                    if k not in ("pagesim_log", "memory", "kinds")
                }
                header = log_header(
                    geometry, **{**facts, "rerun_of": log.name} if changed else facts
                )
                writers.append(stack.enter_context(LogWriter(out, header)))
                wanted.append(writers[0])
            return wanted

        if changed:
            loop = again.changed(
                listeners,
                block_size=block_size,
                allocator=allocator,
                manager=None if made is None else made.make,
                policies=policies,
                host_blocks=host_blocks,
                watermark=kept,
            )
        else:
            loop = again.exactly(listeners)
        if manager is None:
            drive(loop)
        else:
            drive_own(loop, manager, None, next(iter(writers), None), out)
    same = None if changed else lines == [encode(event) for event in again.events]
    reports = [meters.report(saturated=False) for meters in (before, after[0])]
    if as_json:
        from pagesim.cli.output import print_json

        values = [report.as_dict() for report in reports]
        print_json({"log": log.name, "same": same, "logged": values[0], "rerun": values[1]})
    else:
        for line in report_lines(log.name, reports, same, len(lines)):
            typer.echo(line)
    if same is False:
        raise typer.Exit(1)


def _policies(order: str | None, victim: str | None, preempt: str | None) -> dict[str, object]:
    """Those that were asked for, by name of their field."""
    from pagesim.sim.policies import order_named, preempt_mode_named, victim_named

    named: dict[str, object] = {}
    if order is not None:
        named["order"] = order_named(order)
    if victim is not None:
        named["victim"] = victim_named(victim)
    if preempt is not None:
        named["preempt"] = preempt_mode_named(preempt)
    return named
