"""``pagesim site``: the shipped stories and the lessons' key runs as a gallery of pages.

Knows nothing about how a page is made, or which runs there are.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pagesim.replay.log import RunLog
    from pagesim.replay.memory_map import MemoryMap
    from pagesim.web.gallery import Exhibit, Room
    from pagesim_lessons.key_runs import Chapter, KeyRun


def site(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The folder; its index.html lists the runs.")
    ] = Path("site"),
    force: Annotated[
        bool, typer.Option("--force", help="Write into a folder that has other files; they stay.")
    ] = False,
) -> None:
    """Write a gallery of runs to step through in a browser, ready for any web host: no server, no network.

    The same version of pagesim writes the same files.
    """
    from pagesim.views.console import make_console
    from pagesim.views.figures import counted
    from pagesim.web.gallery import INDEX, check_folder, gallery_files, write_gallery
    from pagesim_lessons.key_runs import chapters

    check_folder(output, force=force)
    console = make_console(stderr=True)
    with console.status("playing the runs"):
        files = gallery_files([_room(chapter) for chapter in chapters()])
    write_gallery(output, files, force=force)
    size = sum(len(text.encode()) for text in files.values())
    typer.echo(
        f"{output}: {counted(len(files), 'page')}, {size / 1e6:.1f} MB; open {output / INDEX}"
    )


def _room(chapter: "Chapter") -> "Room":
    from pagesim.web.gallery import Room

    note = ""
    if chapter.lessons:
        noun = "lesson" if len(chapter.lessons) == 1 else "lessons"
        note = f"{noun} {' and '.join(map(str, chapter.lessons))}"
    return Room(chapter.title, note, [_exhibit(run) for run in chapter.runs])


def _exhibit(run: "KeyRun") -> "Exhibit":
    from pagesim.replay.cursor import Cursor
    from pagesim.web.bundle import page_payload, run_payload
    from pagesim.web.gallery import Exhibit, facts_of
    from pagesim.web.thumbnail import thumbnail

    named = run.play()
    payloads = [run_payload(log, name, title=_title(log, run)) for name, log in named]
    first = named[0].log
    steps, events = Cursor.of_log(first).num_steps, sum(len(log.events) for _, log in named)
    return Exhibit(
        run.name,
        run.title,
        run.about,
        facts_of(len(named), steps, events),
        thumbnail(fullest(named[-1].log)),
        page_payload(payloads),
    )


def _title(log: "RunLog", run: "KeyRun") -> str:
    title = log.header.get("title")
    return title if isinstance(title, str) and title else run.title


def fullest(log: "RunLog") -> "MemoryMap":
    """The memory in the first step in which most of it is held."""
    from pagesim.replay.cursor import Cursor
    from pagesim.replay.feeding import feed
    from pagesim.replay.log import replayed
    from pagesim.replay.memory_map import memory_map
    from pagesim.replay.waste import WasteMeter

    cursor, meter = Cursor.of_log(log), WasteMeter(log.geometry)
    feed(meter, replayed(log))
    held = list(meter.granted_series)
    cursor.seek_step(max(range(len(held)), key=held.__getitem__))
    return memory_map(cursor.state)
