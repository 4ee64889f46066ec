"""A part of the screen that is drawn as whole lines, exactly as many and as wide as it has room.

Knows nothing about what is drawn. Its own console makes the lines, so that a picture looks as it does when
``pagesim`` prints it, in the characters the terminal's encoding has, and nothing in it is read as markup.
"""

import io
from collections.abc import Callable, Sequence

from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from pagesim.tui.pictures import heading

Draw = Callable[[int, int], RenderableType]


class Panel(Widget):
    """``draw`` makes the picture for a width and a height; with a name, a line with it stands above."""

    ALLOW_SELECT = False
    can_focus = False

    class Clicked(Message):
        """``x`` and ``y`` count from the picture's own corner; ``width`` and ``height`` are its size."""

        def __init__(self, panel: "Panel", x: int, y: int) -> None:
            super().__init__()
            self.panel = panel
            self.x = x
            self.y = y

        @property
        def control(self) -> "Panel":
            return self.panel

    def __init__(self, draw: Draw, console: Console, *, name: str = "", classes: str = "") -> None:
        super().__init__(classes=classes)
        self.heading = name
        self._draw = draw
        self._pen = console
        self._strips: list[Strip] | None = None
        self._drawn_at = Size(0, 0)

    def redraw(self) -> None:
        """The picture has changed: it is drawn anew when it is next looked at."""
        self._strips = None
        self.refresh()

    @property
    def room(self) -> Size:
        """The picture's size."""
        top = 1 if self.heading else 0
        return Size(self.size.width, max(self.size.height - top, 0))

    def render_line(self, y: int) -> Strip:
        if self._strips is None or self._drawn_at != self.size:
            self._strips = self._lines()
            self._drawn_at = self.size
        return self._strips[y] if y < len(self._strips) else Strip.blank(self.size.width)

    def _lines(self) -> list[Strip]:
        width, height = self.room
        if not width or not height:
            return []
        options = self._pen.options.update(width=width, max_width=width, height=None)
        lines = [heading(self.heading, width, options)] if self.heading else []
        strips = [strip for line in lines for strip in self._strips_of(line, options)]
        return [*strips, *self._strips_of(self._draw(width, height), options)[:height]]

    def _strips_of(self, picture: RenderableType, options: ConsoleOptions) -> list[Strip]:
        width = options.max_width
        return [
            Strip(line).adjust_cell_length(width)
            for line in self._pen.render_lines(picture, options, pad=True)
        ]

    def on_click(self, event: "object") -> None:
        x, y = getattr(event, "x", 0), getattr(event, "y", 0)
        top = 1 if self.heading else 0
        if y >= top:
            self.post_message(self.Clicked(self, x, y - top))


def panel_console(encoding: str) -> Console:
    """A console that prints nowhere; pictures ask it for colours and for the encoding."""
    return Console(
        file=io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="replace"),
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
        markup=False,
        emoji=False,
        highlight=False,
        _environ={},
    )


def plain(lines: Sequence[str]) -> Text:
    """Lines of text as they are."""
    return Text("\n".join(lines), no_wrap=True, overflow="ellipsis")
