"""A small story's run as a log: what its header tells, and the story played into memory.

Knows nothing about files.
"""

from pagesim.core.types import Geometry
from pagesim.replay.keeper import Keeper
from pagesim.replay.kept_log import kept_log
from pagesim.replay.log import RunLog
from pagesim.sim.rerun import how_to_repeat
from pagesim.sim.scenario import Scenario


def story_facts(story: Scenario, command: str) -> dict[str, object]:
    """What a log's header tells of a story's run, so that it can be read and served again."""
    about: dict[str, object] = {
        "scenario": story.name,
        "title": story.title,
        "look_for": story.look_for,
        "command": command,
    }
    if story.words:
        about["words"] = list(story.words)
    repeat = how_to_repeat(story.allocator, story.memory, story.scheduler, None, story.free_order)
    return {**about, **repeat}


def story_log(story: Scenario, command: str) -> RunLog:
    """The story, played to its end."""
    keeper = Keeper()
    found: list[Geometry] = []

    def listeners(geometry: Geometry) -> list[Keeper]:
        found.append(geometry)
        return [keeper]

    story.loop(listeners).run()
    return kept_log(story.name, found[0], keeper.events, **story_facts(story, command))
