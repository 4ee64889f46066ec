"""Colours: one for each kind of memory, and a colour and a letter for each sequence.

Knows nothing about runs. The colours are after Okabe and Ito's colour-blind-safe set, darkened or
lightened until each stands out from black (5:1 or more) and from white (2.9:1 or more), so one set
serves dark and light terminals. Nothing is told by colour alone: every kind has a glyph as well.
"""

from string import ascii_lowercase, ascii_uppercase
from typing import NamedTuple

from rich.style import Style

from pagesim.views.glyphs import Glyphs


class Kind(NamedTuple):
    """One kind of memory: its name, its colour, and what it means in a few words."""

    name: str
    color: str
    meaning: str

    def glyph(self, glyphs: Glyphs) -> str:
        drawn: str = getattr(glyphs, self.name)
        return drawn

    @property
    def style(self) -> Style:
        return Style(color=self.color)


KINDS = (
    Kind("used", "#00966b", "holds a token's K and V"),
    Kind("reserved", "#2f9bd8", "held by a request, filled later"),
    Kind("internal", "#d98200", "held by a request, never filled"),
    Kind("external", "#c4689a", "idle while a request waits; rounding"),
    Kind("free", "#7f7f7f", "idle, and nobody waits for it"),
)
"""The five kinds, in the order of ``WasteSplit``."""

FREE_STYLE = KINDS[4].style
CACHED_STYLE = Style(color="#00966b")
"""Free blocks whose content can still be found: the colour of what is used, in another glyph."""
CHANGED_STYLE = Style(bold=True, color="#d55e00")
"""What the last event touched; there is a mark before it as well."""
LETTERS = ascii_uppercase + ascii_lowercase
OWNER_COLORS = (
    "#2f9bd8",
    "#d98200",
    "#00966b",
    "#c4689a",
    "#9a8a00",
    "#8a7fd6",
    "#d55e00",
    "#0a9396",
    "#3f7fd0",
)


class Owner(NamedTuple):
    """How one sequence is drawn. Letters repeat after 52 sequences, then in another colour."""

    letter: str
    color: str

    @property
    def style(self) -> Style:
        return Style(color=self.color)

    @property
    def solid(self) -> Style:
        """The letter on a cell that is full."""
        return Style(color="#000000", bgcolor=self.color)


def owner(number: int) -> Owner:
    return Owner(LETTERS[number % len(LETTERS)], OWNER_COLORS[number % len(OWNER_COLORS)])
