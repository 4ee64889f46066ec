"""What a pagesim command line comes to, as values: so that a figure says which command shows it.

Runs what the command would run, once a process. Knows nothing about cards.
"""

import shlex
from functools import cache

from pagesim.core import events as ev
from pagesim.planner.report import PlanReport
from pagesim.replay.report import RunReport


@cache
def run_of(command: str) -> RunReport:
    """The report of one run, such as "pagesim run --requests 60"."""
    from typer.main import get_command

    from pagesim.cli import options as opt
    from pagesim.cli.main import app
    from pagesim.sim.simulate import simulate

    words = shlex.split(command)
    group = get_command(app)
    sub = group.commands["run"]  # type: ignore[attr-defined]
    context = sub.make_context("run", words[2:], parent=None)
    prepared = opt.prepare(opt.typed(context))
    return simulate(prepared.workload, context.params["allocator"], prepared.settings).report


@cache
def plan_of(
    model: str,
    gpu: str | None = None,
    *,
    length: int | None = None,
    tensor_parallel: int = 1,
    kv_dtype: str = "auto",
    utilisation: str = "0.9",
) -> PlanReport:
    """What `pagesim plan` computes; without ``gpu``, of 1 GiB of KV memory."""
    from pagesim.planner import facts
    from pagesim.planner.report import plan_report
    from pagesim.planner.units import GIB, parse_share

    return plan_report(
        facts.model(model),
        gpu=None if gpu is None else facts.gpu(gpu),
        kv_bytes=GIB if gpu is None else None,
        lengths=() if length is None else (length,),
        tensor_parallel=tensor_parallel,
        kv_dtype=kv_dtype,
        utilisation=parse_share(utilisation),
    )


@cache
def story(name: str) -> tuple[ev.Event, ...]:
    """The events of `pagesim run NAME`."""
    from pagesim.replay.keeper import Keeper
    from pagesim.sim.scenario import load_scenario

    keeper = Keeper()
    load_scenario(name).loop(lambda _: [keeper]).run()
    return tuple(keeper.events)
