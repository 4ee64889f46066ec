"""``pagesim run SCENARIO``: a small story, told event by event.

Knows nothing about how a story is read or run.
"""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pagesim.replay.cursor import Cursor
    from pagesim.sim.scenario import Scenario


def is_scenario(name: str) -> bool:
    """Does the name belong to a shipped story or a .toml file?"""
    if name.endswith(".toml"):
        return True
    from pagesim.sim.scenario import scenario_names

    return name in scenario_names()


def run_scenario(
    name: str, log: Path | None, manager: str | None = None, *, view: bool, as_json: bool
) -> None:
    """Play the story and tell it; or open the viewer; or print its events as one JSON object.

    With ``manager``, FILE:Class, that hands out the blocks.
    """
    from pagesim.cli.options import command_line
    from pagesim.cli.view import view as show_log
    from pagesim.cli.viewing import log_to_view
    from pagesim.core.types import Geometry
    from pagesim.replay.cursor import Cursor
    from pagesim.replay.keeper import Keeper
    from pagesim.replay.log import LogWriter, encode, log_header
    from pagesim.sim.scenario import load_scenario
    from pagesim.sim.simulate import Listener
    from pagesim.sim.story_log import story_facts

    story = load_scenario(name)
    own = None
    if manager is not None:
        from pagesim.cli.own_memory import OwnStory

        own = OwnStory(manager, story)
    keeper = Keeper()
    with log_to_view(log, name, view=view) as path:
        with ExitStack() as stack:

            def listeners(geometry: Geometry) -> list[Listener]:
                if path is None:
                    return [keeper]
                facts = story_facts(story, command_line())
                if own is not None:
                    facts |= {"manager": manager, "allocator": own.name}
                    facts["look_for"] = _look_for(story, manager)
                writer = stack.enter_context(LogWriter(path, log_header(geometry, **facts)))
                if own is not None:
                    own.log, own.path = writer, log
                return [keeper, writer]

            if own is None:
                loop = story.loop(listeners)
                loop.run()
            else:
                loop = story.loop(listeners, own.memory)
                own.drive(loop)
        if view:
            show_log([str(path)])
            return
    if as_json:
        import json

        from pagesim.cli.output import print_json

        events = [json.loads(encode(event)) for event in keeper.events]
        print_json({"scenario": story.name, "title": story.title, "events": events})
        return
    _tell(name, manager, story, Cursor(loop.scheduler.memory.geometry, keeper.events))
    if log is not None:
        print(f"log: {log}")


def _look_for(story: "Scenario", manager: str | None) -> str:
    """What to watch; with another manager blocks may have other numbers."""
    ours = "(with our manager) " if manager is not None and story.look_for else ""
    return f"{ours}{story.look_for}"


def _tell(typed: str, manager: str | None, story: "Scenario", cursor: "Cursor") -> None:
    from shlex import quote

    from rich.table import Table
    from rich.text import Text

    from pagesim.replay.explain import explain
    from pagesim.views.console import make_console

    lines = Table.grid(padding=(0, 2, 0, 0))
    lines.add_column(justify="right", style="dim")
    lines.add_column()
    for place, event in enumerate(cursor.events, start=1):
        lines.add_row(str(place), Text(explain(event, cursor.state, story.words)))
        cursor.seek(place)
    console = make_console()
    console.print(Text(story.title, style="bold"))
    if story.source:
        console.print(Text(story.source, style="dim"))
    if story.look_for:
        console.print(Text(f"Look for: {_look_for(story, manager)}"))
    if manager is not None:
        console.print(
            Text(f"Blocks are handed out by {manager}, in its own order; the laws were kept.")
        )
    console.print()
    console.print(lines)
    console.print()
    own = "" if manager is None else f" --manager {quote(manager)}"
    console.print(Text(f"Step through it: pagesim run {quote(typed)}{own} --view"))
