"""A folder of pages, one a run, and a page that lists them: ready for any web host, or to be opened as files.

Nothing is fetched from anywhere, and links are relative. Knows nothing about where runs come from.
"""

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from pathlib import Path

from pagesim.core.errors import InputError
from pagesim.views.figures import counted
from pagesim.web.bundle import Json
from pagesim.web.export_html import player_page

INDEX, RUNS = "index.html", "runs"
GENERATOR = '<meta name="generator" content="pagesim site">'
TITLE = "pagesim: runs to step through"
ABOUT = (
    "PagedAttention stores the KV cache of each sequence in blocks that a block table maps. Each of these runs can be "
    "stepped through, forward and back, and every event says why it happened."
)


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A run, or several side by side. ``name`` is the file's; ``picture`` an ``<svg>``; ``payload`` the player's."""

    name: str
    title: str
    about: str
    facts: str
    picture: str
    payload: Json


@dataclass(frozen=True, slots=True)
class Room:
    """Exhibits under one heading; ``note`` stands beside it."""

    title: str
    note: str
    exhibits: Sequence[Exhibit]


def gallery_files(rooms: Sequence[Room]) -> dict[str, str]:
    """Paths inside the gallery, and their texts. The same rooms are the same files."""
    shown = [exhibit for room in rooms for exhibit in room.exhibits]
    files = {INDEX: _index(rooms)}
    for number, exhibit in enumerate(shown):
        before = shown[number - 1] if number else None
        after = shown[number + 1] if number + 1 < len(shown) else None
        title = f"{exhibit.title} - pagesim"
        above = _navigation(before, after)
        page = player_page(exhibit.payload, title, head=GENERATOR, above=above)
        files[f"{RUNS}/{exhibit.name}.html"] = page
    return files


def check_folder(folder: Path, *, force: bool = False) -> None:
    """Raises InputError for what is no folder, or holds anything that is no gallery's page (``force``: it may)."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; name a folder")
    others = [path for path in _files_in(folder) if not _is_ours(path)]
    if others and not force:
        raise InputError(
            f"{folder} holds {others[0].relative_to(folder)}, which is no page of a gallery; name another folder, or "
            "add --force"
        )


def write_gallery(folder: Path, files: Mapping[str, str], *, force: bool = False) -> None:
    """Write the files; pages of an older gallery that are no longer made go, other files stay.

    Raises InputError as ``check_folder`` does, or where it cannot be written.
    """
    try:
        check_folder(folder, force=force)
        (folder / RUNS).mkdir(parents=True, exist_ok=True)
        for path in _files_in(folder):
            if path.relative_to(folder).as_posix() not in files and _is_ours(path):
                path.unlink()
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror}; name another") from None


def _files_in(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if not path.is_dir()]


def _is_ours(path: Path) -> bool:
    if path.suffix != ".html":
        return False
    with path.open("rb") as file:
        return GENERATOR.encode() in file.read(4096)


# -- pages -------------------------------------------------------------------------------------------------


def _navigation(before: Exhibit | None, after: Exhibit | None) -> str:
    """Links above a player."""
    links = ['<a href="../index.html">All runs</a>']
    for exhibit, rel, words in ((before, "prev", "← {}"), (after, "next", "{} →")):
        if exhibit is not None:
            title = escape(exhibit.title)
            shown = words.format(title)
            links.append(f'<a rel="{rel}" href="{exhibit.name}.html" title="{title}">{shown}</a>')
    return f'<nav aria-label="Gallery">{"".join(links)}</nav>'


INDEX_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
{generator}
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header><h1>{title}</h1>
<p>{about}</p></header>
<main>
{rooms}</main>
<footer><p>Made by <code>pagesim site</code>. Each sequence has a letter as well as a colour.</p></footer>
</body>
</html>
"""
INDEX_STYLE = """
:root { --bg: #f7f7f5; --panel: #fff; --ink: #1c2126; --dim: #58626c; --line: #d9dcdf; --accent: #1a6fb0; }
@media (prefers-color-scheme: dark) {
  :root { --bg: #131519; --panel: #1b1e24; --ink: #e7e9ec; --dim: #a3acb6; --line: #363c45; --accent: #63b3ec; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--bg); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
header, main, footer { max-width: 1200px; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 2rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 0.5rem; }
header p, footer p { max-width: 70ch; color: var(--dim); margin: 0; }
footer { padding-top: 2.5rem; padding-bottom: 2.5rem; font-size: 0.9rem; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 0.8rem; }
h2 small { font-weight: 400; font-size: 0.9rem; color: var(--dim); margin-left: 0.6rem; }
.room { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(270px, 100%), 1fr)); gap: 1rem; }
article { position: relative; display: flex; flex-direction: column; background: var(--panel);
  border: 1px solid var(--line); border-radius: 12px; padding: 1rem; }
article:hover { border-color: var(--dim); }
.picture { display: grid; place-items: center; height: 112px; margin-bottom: 0.8rem; color: var(--dim); }
.picture svg { max-width: 100%; max-height: 112px; }
h3 { font-size: 1rem; line-height: 1.3; margin: 0 0 0.35rem; }
h3 a { color: var(--ink); text-decoration: none; }
h3 a::after { content: ""; position: absolute; inset: 0; border-radius: 12px; }
h3 a:focus-visible { outline: none; }
article:focus-within { outline: 3px solid var(--accent); outline-offset: 2px; }
article:hover h3 a { text-decoration: underline; color: var(--accent); }
article p { margin: 0; font-size: 0.92rem; color: var(--dim); }
article .facts { margin-top: auto; padding-top: 0.7rem; font-size: 0.85rem; }
"""


def _index(rooms: Sequence[Room]) -> str:
    digest = b64encode(sha256(INDEX_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    return INDEX_PAGE.format(
        generator=GENERATOR,
        policy=policy,
        title=TITLE,
        about=ABOUT,
        style=INDEX_STYLE,
        rooms="".join(_rooms(rooms)),
    )


def _rooms(rooms: Sequence[Room]) -> Iterator[str]:
    for number, room in enumerate(rooms):
        note = f" <small>{escape(room.note)}</small>" if room.note else ""
        yield f'<section aria-labelledby="room-{number}">\n'
        yield f'<h2 id="room-{number}">{escape(room.title)}{note}</h2>\n<div class="room">\n'
        for exhibit in room.exhibits:
            yield (
                f'<article><div class="picture">{exhibit.picture}</div>\n'
                f'<h3><a href="{RUNS}/{exhibit.name}.html">{escape(exhibit.title)}</a></h3>\n'
                f"<p>{escape(exhibit.about)}</p>\n"
                f'<p class="facts">{escape(exhibit.facts)}</p></article>\n'
            )
        yield "</div>\n</section>\n"


def facts_of(num_runs: int, num_steps: int, num_events: int) -> str:
    """A card's last line."""
    runs = f"{counted(num_runs, 'run')} side by side, " if num_runs > 1 else ""
    return f"{runs}{counted(num_steps, 'step')}, {counted(num_events, 'event')}"
