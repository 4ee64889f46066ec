"""The runs that the course is about, lesson by lesson: shipped stories, pairs that belong beside each other, and two
whole workloads. For galleries; knows nothing about how they are shown.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from pagesim.core.memory import KVCacheManager
from pagesim.core.types import Geometry
from pagesim.replay.keeper import Keeper
from pagesim.replay.kept_log import kept_log
from pagesim.replay.log import RunLog
from pagesim.sim import paper
from pagesim.sim.scenario import Scenario, load_scenario, scenario_names
from pagesim.sim.simulate import RunSettings, simulate
from pagesim.sim.story_log import story_facts, story_log
from pagesim.sim.workload import Workload
from pagesim.sim.workloads import build_workload
from pagesim_lessons.lessons import blocks_and_tables, continuous_batching, in_practice
from pagesim_lessons.static_batches import StaticBatches
from pagesim_lessons.walk import Walk

REQUESTS = 120
CROWDED_REQUESTS = 100


class Named(NamedTuple):
    """A run, and what it is called beside others."""

    name: str
    log: RunLog


@dataclass(frozen=True, slots=True)
class KeyRun:
    """One run, or several that are seen side by side. ``about`` says what to look for."""

    name: str
    title: str
    about: str
    play: Callable[[], list[Named]]


@dataclass(frozen=True, slots=True)
class Chapter:
    """``lessons`` are numbers."""

    title: str
    lessons: tuple[int, ...]
    runs: tuple[KeyRun, ...]


def chapters() -> list[Chapter]:
    """In the order of the lessons; every shipped story is in one of them."""
    found = [
        Chapter("Slabs", (1, 2), _stories("slabs-max", "fragmentation", "buddy")),
        Chapter("Blocks and tables", (3, 4), (*_stories("figure-6", "figure-7"), *_in_blocks())),
        Chapter(
            "Sharing: samples and beams",
            (5, 6),
            _stories("figure-8", "eight-samples", "figure-9", "beam-stops"),
        ),
        Chapter(
            "Reuse across requests",
            (7,),
            _stories(
                "prefix-cache",
                "eviction",
                "whole-prompt-cached",
                "same-step-sharing",
                "adapters",
            ),
        ),
        Chapter(
            "Out of memory",
            (8,),
            _stories("preemption", "watermark", "priority", "swap", "host-full"),
        ),
        Chapter("Continuous batching", (9,), (*_stories("chunked-prefill"), STATIC, SERVED)),
        Chapter("In practice", (11, 12), (CROWDED,)),
    ]
    told = {run.name for chapter in found for run in chapter.runs}
    rest = [name for name in scenario_names() if name not in told]
    return [*found, Chapter("More stories", (), _stories(*rest))] if rest else found


# -- stories -----------------------------------------------------------------------------------------------


def _stories(*names: str) -> tuple[KeyRun, ...]:
    return tuple(map(_story, names))


def _story(name: str) -> KeyRun:
    story = load_scenario(name)

    def play() -> list[Named]:
        return [Named(name, story_log(story, f"pagesim run {name}"))]

    return KeyRun(name, story.title, story.look_for, play)


def _in_blocks() -> tuple[KeyRun, ...]:
    return (
        KeyRun(
            "slabs-and-blocks",
            "One server, four requests: slabs beside blocks",
            "The same 48 slots. As slabs they hold three requests, and the fourth waits; as blocks they hold all four.",
            lambda: _both_ways("slabs-max"),
        ),
        KeyRun(
            "holes-and-blocks",
            "Two holes, and a request that fits neither: slabs beside blocks",
            "d needs 12 slots. In one piece there are none, so it waits; in blocks any three free ones will do.",
            lambda: _both_ways("fragmentation"),
        ),
    )


def _both_ways(name: str) -> list[Named]:
    blocks = blocks_and_tables.paged(name)
    slabs = story_log(load_scenario(name), f"pagesim run {name}")
    return [Named("slabs", slabs), Named("blocks", _walked(blocks))]


def _walked(walk: Walk) -> RunLog:
    """Of a run that no command makes."""
    facts = {**story_facts(walk.story, ""), "title": "", "look_for": ""}
    return kept_log(walk.story.name, walk.geometry, walk.events, **facts)


def _static_and_continuous() -> list[Named]:
    continuous = Walk.told("continuous", continuous_batching.STORY)
    size, seats = continuous.geometry, continuous.story.scheduler.max_num_seqs
    door: KVCacheManager = StaticBatches(size.num_blocks, size.block_size, seats)
    static = Walk(_named(continuous.story, "static"), door)
    return [Named("static", _walked(static)), Named("continuous", _walked(continuous))]


def _named(story: Scenario, name: str) -> Scenario:
    from dataclasses import replace

    return replace(story, name=name)


STATIC = KeyRun(
    "static-and-continuous",
    "A batch that waits for its slowest, beside one that does not",
    "Eight requests, four seats. Statically, the next batch starts when the longest answer of this one is over.",
    _static_and_continuous,
)

# -- workloads ---------------------------------------------------------------------------------------------


def _served() -> list[Named]:
    workload = paper.workload(REQUESTS, 0, None)
    return [
        _run(workload, name, paper.settings(), name) for name in ("max", "pow2", "oracle", "paged")
    ]


def _crowded() -> list[Named]:
    workload = build_workload(
        "azure-chat",
        requests=CROWDED_REQUESTS,
        rate=in_practice.CROWDED,
        seed=0,
        max_model_len=in_practice.LONGEST,
    )
    return [_run(workload, "paged", in_practice.ENGINE.settings(), "crowded")]


def _run(workload: Workload, allocator: str, settings: RunSettings, name: str) -> Named:
    keeper, sizes = Keeper(), list[Geometry]()

    def watch(geometry: Geometry) -> list[Keeper]:
        sizes.append(geometry)
        return [keeper]

    simulate(workload, allocator, settings, watch=watch)
    log = kept_log(name, sizes[0], keeper.events, allocator=allocator, title=workload.about)
    return Named(name, log)


SERVED = KeyRun(
    "sharegpt",
    f"{REQUESTS} requests of ShareGPT from four kinds of memory",
    "Reserving the maximum against paging, at the same simulated time; the other two can be chosen. Watch the queue, "
    "and how little of each slab is ever filled.",
    _served,
)
CROWDED = KeyRun(
    "crowded",
    "An engine that is out of memory",
    f"Llama-3.1-8B on one small GPU, {in_practice.CROWDED:g} chats a second: the pool fills, requests wait, and "
    "running ones are preempted.",
    _crowded,
)
