"""Small logs for tests of the viewer: a run with every kind of event one can jump to, and one that is damaged."""

from pathlib import Path

from pagesim.core import events as ev
from pagesim.core.memories import MemorySettings
from pagesim.core.request import Request
from pagesim.core.types import Geometry
from pagesim.planner.facts import gpu, model
from pagesim.replay.keeper import Keeper
from pagesim.replay.log import LogWriter, log_header
from pagesim.sim.cost import cost_model
from pagesim.sim.scenario import load_scenario
from pagesim.sim.simulate import RunSettings, build_loop
from pagesim.sim.workload import Arrival, Workload

HOSTILE = "[bold red]r[/] \x1b[2J\u202e 名前 {link}"
LENGTHS = ((10, 12, 2), (17, 9, 1), (21, 14, 1), (9, 30, 2), (400, 5, 1), (12, 20, 1), (22, 7, 1))


def events_of(allocator: str = "paged", slots: int = 72) -> tuple[Geometry, list[ev.Event]]:
    """Requests of ``LENGTHS`` (prompt, output, samples), 20 ms apart, by the paper's rules, in a small memory.

    Prompts begin alike, so that blocks are found in the cache; one request can never fit.
    """
    names = [f"r{i}" for i in range(len(LENGTHS))]
    names[2] = HOSTILE
    arrivals = tuple(
        Arrival(i * 20_000_000, Request(names[i], range(prompt), output, samples))
        for i, (prompt, output, samples) in enumerate(LENGTHS)
    )
    cost = cost_model(model("opt-13b"), gpu("a100-40gb"))
    caching = allocator == "paged"
    settings = RunSettings(
        MemorySettings(slots, 4, 40, prefix_caching=caching), cost, rules="paper"
    )
    keeper = Keeper()
    loop = build_loop(Workload("w", "", arrivals), allocator, settings, lambda _: [keeper])
    loop.run()
    return loop.scheduler.memory.geometry, keeper.events


def write(path: Path, geometry: Geometry, events: list[ev.Event], **facts: object) -> Path:
    with LogWriter(path, log_header(geometry, **facts)) as writer:
        for event in events:
            writer.apply(event)
    return path


def write_run(path: Path, allocator: str = "paged", slots: int = 72) -> Path:
    geometry, events = events_of(allocator, slots)
    return write(path, geometry, events, allocator=allocator)


def story_of(name: str) -> tuple[Geometry, list[ev.Event]]:
    """A shipped scenario's run."""
    keeper = Keeper()
    loop = load_scenario(name).loop(lambda _: [keeper])
    loop.run()
    return loop.scheduler.memory.geometry, keeper.events


def write_story(path: Path, name: str) -> Path:
    geometry, events = story_of(name)
    return write(path, geometry, events, words=list(load_scenario(name).words))


def write_contradiction(path: Path) -> Path:
    """A log from which one event in its middle was taken away: it goes on to free what nobody holds."""
    geometry, events = events_of()
    at = next(
        at
        for at, event in enumerate(events)
        if isinstance(event, ev.RequestSubmitted) and event.seq == 3
    )
    return write(path, geometry, events[:at] + events[at + 1 :])
