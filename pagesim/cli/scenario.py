"""``pagesim run SCENARIO``: a small story, told event by event.

Knows nothing about how a story is read or run.
"""

from contextlib import ExitStack
from pathlib import Path


def is_scenario(name: str) -> bool:
    """Does the name belong to a shipped story or a .toml file?"""
    if name.endswith(".toml"):
        return True
    from pagesim.sim.scenario import scenario_names

    return name in scenario_names()


def run_scenario(name: str, log: Path | None, *, view: bool, as_json: bool) -> None:
    """Play the story and tell it; or open the viewer; or print its events as one JSON array."""
    from pagesim.cli.options import command_line
    from pagesim.core.types import Geometry
    from pagesim.replay.cursor import Cursor
    from pagesim.replay.keeper import Keeper
    from pagesim.replay.log import LogWriter, encode, log_header
    from pagesim.sim.rerun import how_to_repeat
    from pagesim.sim.scenario import load_scenario
    from pagesim.sim.simulate import Listener

    story = load_scenario(name)
    keeper = Keeper()
    with ExitStack() as stack:

        def listeners(geometry: Geometry) -> list[Listener]:
            if log is None:
                return [keeper]
            repeat = how_to_repeat(
                story.allocator, story.memory, story.scheduler, None, story.free_order
            )
            header = log_header(
                geometry, scenario=story.name, title=story.title, command=command_line(), **repeat
            )
            return [keeper, stack.enter_context(LogWriter(log, header))]

        loop = story.loop(listeners)
        loop.run()
    cursor = Cursor(loop.scheduler.memory.geometry, keeper.events)
    if view:
        from pagesim.cli.view import view_cursor

        view_cursor(cursor, story.title)
        return
    if as_json:
        import json

        from pagesim.cli.output import print_json

        events = [json.loads(encode(event)) for event in keeper.events]
        print_json({"scenario": story.name, "title": story.title, "events": events})
        return
    _tell(story, cursor, log)


def _tell(story: object, cursor: object, log: Path | None) -> None:
    from rich.text import Text

    from pagesim.replay.cursor import Cursor
    from pagesim.replay.explain import explain
    from pagesim.sim.scenario import Scenario
    from pagesim.views.console import make_console

    assert isinstance(story, Scenario)
    assert isinstance(cursor, Cursor)
    console = make_console()
    console.print(Text(story.title, style="bold"))
    if story.source:
        console.print(Text(story.source, style="dim"))
    console.print(Text(f"Look for: {story.look_for}"))
    console.print()
    state = cursor.state
    for place, event in enumerate(cursor.events, start=1):
        sentence = explain(event, state)
        console.print(Text(f"{place:4}  {sentence}"))
        cursor.seek(place)
        state = cursor.state
    console.print()
    console.print(Text(f"Step through it: pagesim run {story.name} --view"))
    if log is not None:
        console.print(Text(f"log: {log}"))
