"""One run's part of the screen: panels that keep their places, whatever they show.

    title, status, occupancy, sentence     always the same rows from the top
    map        | tables or the block       wide: four panels
    queues     | events
    laws                                   always the last row

Narrow panes have one column; low ones show one panel below the map. Knows nothing about keys.
"""

from collections.abc import Iterator

from rich.console import Console, RenderableType
from textual.containers import Container
from textual.geometry import Size

from pagesim.replay.phrases import block_name
from pagesim.tui import pictures
from pagesim.tui.panel import Panel
from pagesim.tui.viewed import ViewedRun

LOWER = ("queues", "events", "tables", "block")
"""What can stand below the map on a low screen, in the order in which a key goes through them."""
WIDE, TALL, NARROW = 120, 40, 72


class RunPane(Container):
    """``lower`` is what stands below the map where only one panel fits."""

    def __init__(self, run: ViewedRun, console: Console) -> None:
        super().__init__(classes="run")
        self.run_shown = run
        self.lower = "queues"
        self.is_active = False
        self.note = ""
        self._panels = {
            "title": Panel(self._title, console, classes="title"),
            **{name: self._panel(name, console) for name in ("status", "occupancy", "sentence")},
            "memory": self._panel("memory", console, "Memory"),
            "tables": self._panel("tables", console, "Block tables"),
            "block": self._panel("block", console, "Block"),
            "queues": self._panel("queues", console, "Requests"),
            "events": self._panel("events", console, "Events"),
            "laws": self._panel("laws", console),
        }

    def _panel(self, name: str, console: Console, heading: str = "") -> Panel:
        picture: pictures.Picture = getattr(pictures, name)
        return Panel(
            lambda width, height: picture(self.run_shown, width, height),
            console,
            name=heading,
            classes=name,
        )

    def _title(self, *_: int) -> RenderableType:
        return pictures.title(self.run_shown, active=self.is_active, note=self.note)

    def compose(self) -> Iterator[Panel | Container]:
        parts = dict(self._panels)
        laws = parts.pop("laws")
        for name in ("title", "status", "occupancy", "sentence"):
            yield parts.pop(name)
        yield Container(*parts.values(), classes="middle")
        yield laws

    def panel(self, name: str) -> Panel:
        return self._panels[name]

    def name_of(self, panel: Panel) -> str | None:
        """Which part of this pane a panel is; ``None``: it is none of this pane's."""
        return next((name for name, own in self._panels.items() if own is panel), None)

    def redraw(self) -> None:
        """Everything may have changed."""
        block = self.run_shown.block
        geometry = self.run_shown.cursor.geometry
        name = "" if block is None else f" {block_name(block, geometry)}"
        self._panels["block"].heading = f"Block{name}"
        self.lay_out(self.size)
        for panel in self._panels.values():
            panel.redraw()

    def lay_out(self, size: Size) -> None:
        """Show the panels that a pane of this size has room for."""
        wide, tall = size.width >= WIDE, size.height >= TALL
        inspecting = self.run_shown.block is not None
        lower = "block" if inspecting else self.lower
        if wide:
            shown = {"memory", "queues", "events", "block" if inspecting else "tables"}
        elif tall:
            shown = {"memory", "events", lower if lower != "events" else "queues"}
        else:
            shown = {"memory", lower}
        self.set_class(wide, "wide")
        self.set_class(tall and not wide, "tall")
        self.set_class(size.width < NARROW, "narrow")
        for name in ("memory", *LOWER):
            self._panels[name].display = name in shown

    def on_resize(self, _: object) -> None:
        self.lay_out(self.size)
