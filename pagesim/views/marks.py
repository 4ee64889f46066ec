"""Marks that say where to look (here, changed, and so on), and texts cut to a number of cells.

Knows nothing about runs. Every mark is one cell wide, in Unicode and in ASCII.
"""

from dataclasses import astuple, dataclass

from rich.cells import cell_len, set_cell_size
from rich.console import ConsoleOptions
from rich.text import Text

from pagesim.views.glyphs import ASCII, clean, glyphs_of


@dataclass(frozen=True, slots=True)
class Marks:
    """``changed``: the last event touched it. ``here`` points down and ``pointer`` up at a place.
    ``bar`` is what bars that stand close above each other are made of; ``levels`` are eight heights, lowest
    first."""

    changed: str
    here: str
    pointer: str
    more: str
    bar: str
    levels: str


UNICODE_MARKS = Marks("▸", "▾", "▴", "…", "▆", "▁▂▃▄▅▆▇█")
ASCII_MARKS = Marks(">", "v", "^", "~", "#", "_.-:=+*#")
BROKEN_STYLE = "bold reverse"
FOCUS = "*"
"""Stands before a row that is in focus."""


def marks_of(options: ConsoleOptions) -> Marks:
    """The set for where a view is being drawn; it goes with the glyphs there."""
    if glyphs_of(options) is ASCII:
        return ASCII_MARKS
    try:
        "".join(astuple(UNICODE_MARKS)).encode(options.encoding)
    except (UnicodeEncodeError, LookupError):
        return ASCII_MARKS
    return UNICODE_MARKS


def broken_line(text: str, options: ConsoleOptions) -> Text:
    """What is wrong here, behind a cross."""
    cross = "x" if glyphs_of(options) is ASCII else "✗"
    shown = clean(text, options.encoding)
    return Text(f"{cross} {shown}", style=BROKEN_STYLE, overflow="fold")


def cut(text: str, width: int, more: str) -> str:
    """At most ``width`` cells of ``text``; what is left out shows as ``more``."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(width - 1, 0)).rstrip() + more if width > 0 else ""


def padded(text: str, width: int, more: str) -> str:
    """Exactly ``width`` cells of ``text``."""
    shown = cut(text, width, more)
    return shown + " " * (width - cell_len(shown))


def name_width(names: list[str], width: int) -> int:
    """Cells for a column of names on a screen of ``width``: what they need, up to a sixth of it."""
    return min(max(map(cell_len, names), default=0), max(width // 6, 6))


def safe_names(names: list[str], encoding: str) -> list[str]:
    """Names from outside as they can be shown; only the start of very long ones."""
    return [clean(name[:200], encoding) for name in names]


def window(count: int, room: int | None, focus: int | None = None) -> range:
    """Which of ``count`` rows to show where ``room`` fit (``None``: all): the first ones, or, if
    ``focus`` is not among them, those around it. One row, if there are two, is left for what ``hidden``
    says."""
    if room is None or count <= room:
        return range(count)
    fit = max(room - 1, 1)
    start = 0
    if focus is not None and focus >= fit:
        start = min(max(focus - fit // 2, 0), count - fit)
    return range(start, start + fit)


def hidden(count: int, shown: range, room: int | None) -> str:
    """What a cut list leaves out: "and 37 more", "3 before, 34 after"; nothing, where there is no room for it."""
    before, after = shown.start, count - shown.stop
    if room is not None and len(shown) >= room:
        return ""
    if before and after:
        return f"{before:,} before, {after:,} after"
    if before:
        return f"{before:,} before"
    return f"and {after:,} more" if after else ""
