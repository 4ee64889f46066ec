"""The viewer's application: keys and clicks move cursors, and the panes draw what is there.

With two runs, keys move the active one, and the other is shown at the same simulated time. Moves that need a
look at much of a log are made bit by bit, with a note that says how far they are. Knows nothing about how
anything is drawn.
"""

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence

from rich.text import Text
from textual.app import App
from textual.binding import Binding
from textual.containers import Horizontal
from textual.events import Event, Key, Paste, Resize
from textual.timer import Timer

from pagesim.core.errors import InputError
from pagesim.replay.explain import KIND_GROUPS
from pagesim.tui import keys
from pagesim.tui.help import HelpScreen
from pagesim.tui.journey import Journey
from pagesim.tui.map_spots import map_spots
from pagesim.tui.pane import LOWER, RunPane
from pagesim.tui.panel import Panel, panel_console
from pagesim.tui.typed import block_typed, place_typed
from pagesim.tui.viewed import ViewedRun
from pagesim.views.glyphs import ASCII, clean, glyphs_for

LEAST_WIDTH, LEAST_HEIGHT = 60, 16
SPEEDS = (0.5, 1, 2, 5, 10, 20, 50, 100, 200)  # steps a second
MOST_TICKS = 20  # a second; faster than that, several steps at once
PAUSE_S = 0.03  # between two looks onward through the runs
BEHIND_HELP = {action.partition("(")[0] for _, action in keys.bindings()} - {"end"}
PROMPTS = {
    "goto": "go to step, or e and event: ",
    "filter": "follow request: ",
    "block": "inspect block: ",
}


class ViewerApp(App[None]):
    """One or two runs. ``failure`` is the error that ended it, if one did."""

    CSS_PATH = "viewer.tcss"
    TITLE = "pagesim view"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS = [  # noqa: RUF012  # Textual reads it as it is
        Binding(names, action, show=False, priority=True) for names, action in keys.bindings()
    ]

    def __init__(
        self,
        runs: Sequence[ViewedRun],
        *,
        encoding: str = "utf-8",
        start: str | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        """``start`` is typed at the go-to prompt at once; ``notes`` are sentences to show first."""
        super().__init__(ansi_color=True)
        self.theme = "ansi-dark"
        self.failure: Exception | None = None
        self.speed = SPEEDS.index(5)
        self.asking: str | None = None
        self.typed = ""
        self._encoding = encoding
        self._ascii = glyphs_for(encoding) is ASCII
        self._pen = panel_console(encoding)
        self._panes = [RunPane(run, self._pen) for run in runs]
        self._note_panel = Panel(self._note_line, self._pen, classes="note")
        self._hint_panel = Panel(self._hint_line, self._pen, classes="hint")
        self.journey = Journey(runs)
        self._start = start
        self.journey.note = "  ".join(notes)
        self._playing: Timer | None = None
        self._surveying: Timer | None = None
        self._ticks = 0
        self._own_loop: asyncio.AbstractEventLoop | None = None

    # -- life --------------------------------------------------------------------------------------------

    def compose(self) -> Iterator[Horizontal | Panel]:
        yield Panel(self._too_small, self._pen, classes="small")
        yield Horizontal(*self._panes, id="runs")
        yield self._note_panel
        yield self._hint_panel

    def on_mount(self) -> None:
        self._panes[0].is_active = True
        self._own_loop = asyncio.get_running_loop()
        if self._start is not None:
            self._go_typed(self._start)
        self._surveying = self.set_interval(PAUSE_S, self._survey)
        self.show()

    def stop(self, code: int) -> None:
        """End with an exit code; may be called from a signal's handler."""
        if self._own_loop is None:
            raise SystemExit(code)
        self._own_loop.call_soon_threadsafe(lambda: self.exit(return_code=code))

    def _handle_exception(self, error: Exception) -> None:
        """Any error inside ends the viewer; whoever runs it says so in a sentence."""
        self.failure = self.failure or error
        if os.environ.get("PAGESIM_DEBUG") == "1":
            super()._handle_exception(error)
            return
        self._return_code = 1
        if self._exception is None:
            self._exception = error
            self._exception_event.set()
        self.panic()

    @property
    def run_shown(self) -> ViewedRun:
        """The active run."""
        return self.journey.run

    # -- drawing -----------------------------------------------------------------------------------------

    def show(self, note: str | None = None) -> None:
        """Draw everything anew, with a note below."""
        if note is not None:
            self.journey.note = note
        for number, pane in enumerate(self._panes):
            pane.is_active = number == self.journey.active
            pane.note = self._play_words() if pane.is_active else "same time"
            pane.redraw()
        self._note_panel.redraw()
        self._hint_panel.redraw()

    def _play_words(self) -> str:
        pace = f"{SPEEDS[self.speed]:g} steps/s"
        return f"playing, {pace}" if self._playing is not None else f"paused, {pace}"

    def _note_line(self, *_: int) -> Text:
        faults = [run.survey.fault for run in self.journey.runs if run.survey.fault]
        text = self.journey.note or "  ".join(faults)
        return Text(clean(text, self._encoding), style="bold", no_wrap=True, overflow="ellipsis")

    def _hint_line(self, width: int, _: int) -> Text:
        if self.asking is None:
            hint = keys.ASCII_HINT if self._ascii else keys.HINT
            return Text(hint, style="dim", no_wrap=True, overflow="ellipsis")
        line = Text(PROMPTS[self.asking], style="bold", no_wrap=True, overflow="crop")
        typed = clean(self.typed, self._encoding)
        return line.append(typed[-(width - len(line) - 1) :], "not bold").append(" ", "reverse")

    def _too_small(self, *_: int) -> Text:
        size = self.size
        return Text(
            f"The viewer needs {LEAST_WIDTH} columns and {LEAST_HEIGHT} rows; this terminal has "
            f"{size.width} and {size.height}. Make it larger, or q quits.",
            overflow="fold",
        )

    def on_resize(self, event: Resize) -> None:
        small = event.size.width < LEAST_WIDTH or event.size.height < LEAST_HEIGHT
        self.set_class(small, "toosmall")
        self.call_after_refresh(self.show)

    # -- moving ------------------------------------------------------------------------------------------

    def go(self, place: int, note: str = "") -> None:
        self.journey.go(place, note)
        self.show()

    def _survey(self) -> None:
        """Called again and again: look on through the runs, and arrive where one was going."""
        waited = self.journey.waits
        if self.journey.work():
            self.show()
        done = self.journey.surveyed
        self._ticks += 1
        if waited or done or not self._ticks % 8:
            for pane in self._panes:
                pane.panel("occupancy").redraw()
            self._note_panel.redraw()
        if done and not self.journey.waits and self._surveying is not None:
            self._surveying.stop()
            self._surveying = None

    def action_events(self, direction: int) -> None:
        place = self.run_shown.event_place(direction)
        if place is None:
            whose = f" of {self.run_shown.request}" if self.run_shown.request is not None else ""
            where = "after" if direction > 0 else "before"
            self.show(f"no event{whose} {where} this one{self._so_far()}")
        else:
            self.go(place)

    def action_steps(self, count: int, direction: int) -> None:
        self.go(self.run_shown.step_place(count * direction))

    def action_ends(self, direction: int) -> None:
        self.go(self.run_shown.survey.end if direction > 0 else 0)

    def action_jump(self, group: str, direction: int) -> None:
        place = self.run_shown.jump_place(group, direction)
        if place is None:
            where = "after" if direction > 0 else "before"
            kinds = "/".join(KIND_GROUPS[group])
            self.show(f"no {group} {where} this place ({kinds}){self._so_far()}")
        else:
            self.go(place)

    def _so_far(self) -> str:
        run = self.run_shown
        if run.request is None or run.survey.done:
            return ""
        return f", as far as event {run.survey.place:,}"

    # -- playing -----------------------------------------------------------------------------------------

    def action_play(self) -> None:
        run = self.run_shown
        if self._playing is None and run.place >= run.survey.end:
            self.show("this is the end; g goes to the start")
        elif self._playing is None:
            pace = min(SPEEDS[self.speed], MOST_TICKS)
            self._playing = self.set_interval(1 / pace, self._tick)
            self.show("")
        else:
            self._pause("")

    def _pause(self, note: str) -> None:
        if self._playing is not None:
            self._playing.stop()
            self._playing = None
        self.show(note)

    def _tick(self) -> None:
        run = self.run_shown
        if self.journey.waits:
            return
        if run.place < run.survey.end:
            self.go(run.step_place(max(round(SPEEDS[self.speed] / MOST_TICKS), 1)))
        if run.place >= run.survey.end:
            self._pause("this is the end")

    def action_speed(self, direction: int) -> None:
        self.speed = min(max(self.speed + direction, 0), len(SPEEDS) - 1)
        if self._playing is not None:
            self._pause("")
            self.action_play()
        self.show("")

    # -- asking ------------------------------------------------------------------------------------------

    def action_ask(self, what: str) -> None:
        self._ask(what)
        self.show("")

    def _ask(self, what: str | None) -> None:
        self.asking, self.typed = what, ""

    async def on_event(self, event: Event) -> None:
        """While something is asked, keys are letters; all are dealt with in the order in which they come."""
        if self.asking is not None and isinstance(event, Key | Paste) and not event.is_forwarded:
            if isinstance(event, Paste):
                self.typed += " ".join(event.text.split())
            elif event.key == "ctrl+c":
                self.action_end()
            else:
                self._type(event)
            self._hint_panel.redraw()
            return
        await super().on_event(event)

    def _type(self, event: Key) -> None:
        if event.key == "enter":
            self._submit()
        elif event.key == "escape":
            self.action_undo()
        elif event.key == "backspace":
            self.typed = self.typed[:-1]
        elif event.key == "ctrl+u":
            self.typed = ""
        elif event.character is not None and event.is_printable:
            self.typed += event.character

    def _submit(self) -> None:
        """What was typed makes sense: it is done. Else a note says why not, and it stays to be mended."""
        asked: dict[str | None, Callable[[str], None]] = {
            "goto": self._go_typed,
            "filter": self._filter_typed,
            "block": self._block_typed,
        }
        if not self.typed.strip():
            self.action_undo()
        elif self._try(asked[self.asking], self.typed):
            self._ask(None)
            self.show()

    def _try(self, do: Callable[[str], None], text: str) -> bool:
        try:
            do(text)
        except InputError as error:
            self.show(str(error))
            return False
        return True

    def _go_typed(self, text: str) -> None:
        self.go(place_typed(self.run_shown, text))

    def _filter_typed(self, text: str) -> None:
        self.journey.follow_request(text)

    def _block_typed(self, text: str) -> None:
        self._inspect(block_typed(self.run_shown, text))

    def _inspect(self, block: int) -> None:
        self.run_shown.block = block
        self.show("")

    def action_blocks(self, direction: int) -> None:
        block, geometry = self.run_shown.block, self.run_shown.cursor.geometry
        self._inspect(0 if block is None else (block + direction) % geometry.num_blocks_in_all)

    def action_undo(self) -> None:
        """Undo the newest of: a prompt, a long move, a search, the inspected block, the filter."""
        run = self.run_shown
        if self.asking is not None:
            self._ask(None)
        elif self.journey.waits:
            self.journey.stop()
        elif run.block is not None:
            run.block = None
        elif run.request is not None:
            run.request = None
        self.show("")

    # -- the rest ----------------------------------------------------------------------------------------

    def action_lower(self, direction: int) -> None:
        self.run_shown.block = None
        for pane in self._panes:
            at = LOWER.index(pane.lower) + direction
            pane.lower = LOWER[at % len(LOWER)]
        self.show("")

    def action_other(self) -> None:
        count = len(self.journey.runs)
        self.journey.switch((self.journey.active + 1) % count)
        self.show("" if count > 1 else "there is one run; `pagesim view A B` shows two")

    def check_action(self, action: str, _: tuple[object, ...]) -> bool | None:
        """While the help is shown, keys only move about in it."""
        return not isinstance(self.screen, HelpScreen) or action not in BEHIND_HELP

    def action_help(self) -> None:
        self.push_screen(HelpScreen(ascii_only=self._ascii))

    def action_leave(self) -> None:
        self.exit(return_code=0)

    def action_end(self) -> None:
        self.exit(return_code=0)

    def on_panel_clicked(self, event: Panel.Clicked) -> None:
        """The map inspects a block, the event list goes to an event, the occupancy line to a step."""
        for number, pane in enumerate(self._panes):
            name = pane.name_of(event.panel)
            if name is None:
                continue
            self.journey.switch(number)
            self._clicked(name, event)
            return

    def _clicked(self, name: str, event: Panel.Clicked) -> None:
        run, room = self.run_shown, event.panel.room
        if name == "memory":
            spots = map_spots(run.cursor.geometry, room.width, max(room.height - 1, 1))
            block = spots.block_at(event.x, event.y)
            if block is not None:
                self._inspect(block)
                return
        elif name == "events":
            lines = run.event_lines(room.height)
            if event.y < len(lines):
                self.go(lines[event.y].place)
                return
        elif name == "occupancy" and run.cursor.num_steps:
            step = event.x * run.cursor.num_steps // max(room.width, 1)
            self.go(run.cursor.step_places[step])
            return
        self.show()
