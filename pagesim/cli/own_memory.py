"""A person's own block manager in the place of pagesim's, for ``pagesim run``: what it lacks is said before it runs.

Knows nothing about how runs are drawn.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import typer

from pagesim.core.errors import InputError, LawBrokenError

if TYPE_CHECKING:
    from pagesim.core.loop import ServingLoop
    from pagesim.core.memory import KVCacheManager
    from pagesim.core.request import Request
    from pagesim.replay.log import LogWriter
    from pagesim.sim.scenario import Scenario
    from pagesim.sim.simulate import Progress, RunSettings
    from pagesim.sim.workload import Workload

DECIDED_BY_THE_CLASS = ("allocator", "placer", "host_memory", "freed_blocks_go", "prefix_caching")


def check_alone(context: typer.Context) -> None:
    """Raises InputError if an option was typed that a class of one's own does not heed."""
    for name in DECIDED_BY_THE_CLASS:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = name.replace("_", "-")
            raise InputError(
                f"--{option} was given with --manager, whose class decides that; leave it out"
            )


def drive_own(
    loop: "ServingLoop",
    place: str,
    progress: "Progress | None" = None,
    log: "LogWriter | None" = None,
    path: Path | None = None,
) -> None:
    """All steps, with the laws that can be asked of any memory. Of what its code prints the first lines go to standard
    error.

    Raises LawBrokenError, which says how to find out more; ``log`` then ends with it, and ``path`` is where others find
    the log.
    """
    from pagesim.replay.log import law_broken
    from pagesim.sim.plugin import OwnLawBrokenError, drive_checked
    from pagesim.sim.printed import first_lines_only

    try:
        with first_lines_only(place):
            drive_checked(loop, place, progress)
    except OwnLawBrokenError as error:
        if log is not None:
            log.apply(law_broken(error.law, error.sentence))
        raise _with_advice(str(error), place, path) from None


def _with_advice(told: str, place: str, path: Path | None) -> LawBrokenError:
    see = "" if path is None else f"; see it: pagesim view {quote(str(path))}"
    return LawBrokenError(f"{told}; find a short way there: pagesim check {quote(place)}{see}")


class _Own:
    """The class, and one memory of it. ``memory`` is for one run.

    ``log`` and ``path`` are set once it is known where the run is logged.
    """

    def __init__(self, place: str, num_blocks: int, block_size: int) -> None:
        from pagesim.practice.own_manager import load_manager

        own = load_manager(place)
        self.place, self.name = place, own.name
        self.log: LogWriter | None = None
        self.path: Path | None = None
        try:
            self.memory: KVCacheManager = own.make(num_blocks, block_size)
        except LawBrokenError as error:
            raise _with_advice(f"{place} broke a law: {error}", place, None) from None

    def drive(self, loop: "ServingLoop", progress: "Progress | None" = None) -> None:
        """All steps, as ``drive_own`` does them."""
        drive_own(loop, self.place, progress, self.log, self.path)

    def lacks(self, *needed: str) -> list[str]:
        from pagesim.practice.own_manager import lacking

        return lacking(self.memory, needed)


class OwnRun(_Own):
    """For a workload: what is lacking is served without, and ``notes`` say so. Raises InputError."""

    def __init__(self, place: str, settings: "RunSettings", workload: "Workload") -> None:
        from pagesim.core.preempt_mode import RECOMPUTE
        from pagesim.practice.own_manager import FORK, HOW, PREFIX_CACHE, SWAP

        block_size, num_slots = settings.memory.block_size, settings.memory.num_slots
        if num_slots < block_size:
            raise InputError(
                f"a KV memory of {num_slots} tokens is smaller than one block of {block_size}; give it more memory or "
                "a smaller block size"
            )
        super().__init__(place, num_slots // block_size, block_size)
        mode = settings.policies.preempt
        if mode not in (None, RECOMPUTE) and self.lacks(SWAP):
            raise InputError(f"--preempt was given and {self.name} has no swap; {HOW[SWAP]}")
        memory = replace(settings.memory, prefix_caching=self.memory.can_cache, host_slots=0)
        self.settings = replace(settings, memory=memory)
        self.notes: list[str] = []
        forks = [a.request for a in workload.arrivals if _forks(a.request, settings.fork_samples)]
        if forks and self.lacks(FORK):
            self.notes.append(
                f"{self.name} has no fork: every sample gets blocks of its own, and copies of the prompt"
            )
        if settings.memory.prefix_caching and self.lacks(PREFIX_CACHE):
            self.notes.append(f"{self.name} has no prefix cache: every prompt is computed whole")

    @property
    def titles(self) -> Mapping[str, str]:
        return {self.name: f"{self.place}, a manager of your own"}


class OwnStory(_Own):
    """For a scenario, which would not be told without what it is about. Raises InputError."""

    def __init__(self, place: str, story: "Scenario") -> None:
        from pagesim.core.request import Request
        from pagesim.practice.own_manager import ABOUT, FORK, HOW, PREFIX_CACHE, SWAP

        if story.allocator != "paged":
            raise InputError(
                f"{story.name} is a story of contiguous memory ({story.allocator}), and --manager replaces paged "
                "memory; play another one"
            )
        block_size = story.memory.block_size
        super().__init__(place, story.memory.num_slots // block_size, block_size)
        requests = [request for _, request in story.arrivals if isinstance(request, Request)]
        needed = {
            FORK: any(_forks(request, story.scheduler.fork_samples) for request in requests),
            PREFIX_CACHE: story.memory.prefix_caching,
            SWAP: story.memory.host_slots > 0,
        }
        missing = self.lacks(*[what for what, is_needed in needed.items() if is_needed])
        for what in missing:
            raise InputError(
                f"{story.name} is about {ABOUT[what]}, and {self.name} has no {what}: {HOW[what]}, or play another "
                "story"
            )


def _forks(request: "Request", fork_samples: bool | None) -> bool:
    return request.num_samples > 1 and (bool(fork_samples) or request.beam is not None)
