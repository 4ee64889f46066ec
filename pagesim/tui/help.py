"""The help screen, made from the table of keys.

Knows nothing about what keys do.
"""

from collections.abc import Iterator

from rich.text import Text
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.screen import Screen
from textual.widgets import Static

from pagesim.tui.keys import SECTIONS, shown

WIDTH = 12


def help_text(*, ascii_only: bool = False) -> Text:
    """All keys, a line each."""
    text = Text()
    for heading, keys in SECTIONS.items():
        text.append(f"{heading}\n" if heading else "", "bold")
        for key in keys:
            forward = shown(key.keys, ascii_only=ascii_only)
            back = shown(key.reverse, ascii_only=ascii_only) if key.reverse else ""
            text.append(f"  {forward:<{WIDTH}}{back:<{WIDTH}} ", "bold").append(f"{key.words}\n")
    text.append(MOUSE, "dim")
    return text


MOUSE = (
    "Click a cell of the map to inspect its block, an event to go there, the line of memory held to "
    "go to that step. A mark stands before what the last event touched. A cell is drawn as its "
    "sequence's letter and how full it is. Blocks h0, h1, ... are the host's: their cells stand below "
    "the device's. Laws are checked on what the log tells at this place."
)


class HelpScreen(Screen[None]):
    """Closed by Esc, q, ? or Enter."""

    BINDINGS = [  # noqa: RUF012  # Textual reads it as it is
        Binding("escape,q,question_mark,enter", "close", show=False),
        Binding("j", "scroll(1)", show=False),
        Binding("k", "scroll(-1)", show=False),
    ]
    CSS = "#help { width: 100%; height: 100%; padding: 0 1; }"

    def __init__(self, *, ascii_only: bool = False) -> None:
        super().__init__()
        self._ascii_only = ascii_only

    def compose(self) -> Iterator[VerticalScroll]:
        text = Static(help_text(ascii_only=self._ascii_only), markup=False)
        yield VerticalScroll(text, id="help")

    def action_close(self) -> None:
        self.dismiss()

    def action_scroll(self, direction: int) -> None:
        self.query_one("#help").scroll_relative(y=direction, animate=False)
