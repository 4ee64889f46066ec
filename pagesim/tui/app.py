"""The viewer's application: keys and clicks move cursors, and the panes draw what is there.

With two runs, keys move the active one, and the other is shown at the same simulated time. Moves that need a
look at much of a log are made bit by bit, with a note that says how far they are. Knows nothing about how
anything is drawn.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator, Sequence

from rich.text import Text
from textual.app import App
from textual.binding import Binding
from textual.containers import Horizontal
from textual.events import Resize
from textual.timer import Timer
from textual.widgets import Input

from pagesim.core.errors import InputError
from pagesim.replay.explain import KIND_GROUPS
from pagesim.tui import keys
from pagesim.tui.help import HelpScreen
from pagesim.tui.map_spots import map_spots
from pagesim.tui.pane import LOWER, RunPane
from pagesim.tui.panel import Panel, panel_console
from pagesim.tui.typed import block_typed, place_typed, request_typed
from pagesim.tui.viewed import ViewedRun
from pagesim.views.glyphs import ASCII, clean, glyphs_for

LEAST_WIDTH, LEAST_HEIGHT = 60, 16
SPEEDS = (0.5, 1, 2, 5, 10, 20, 50, 100, 200)  # steps a second
MOST_TICKS = 20  # a second; faster than that, several steps at once
SLICE_S, PAUSE_S = 0.012, 0.03  # of the survey, which goes on behind everything else
PROMPTS = {
    "goto": "go to step, or e and event: ",
    "filter": "follow request: ",
    "block": "inspect block: ",
}


class ViewerApp(App[None]):
    """One or two runs. ``failure`` is the error that ended it, if one did."""

    CSS_PATH = "viewer.tcss"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS = [  # noqa: RUF012  # Textual reads it as it is
        Binding(names, action, show=False, priority=any(key in names for key in ("tab", "ctrl+c")))
        for names, action in (
            (part, action)
            for together, action in keys.bindings()
            for part in ([together] if "ctrl+c" not in together else together.split(","))
        )
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
        self.runs = list(runs)
        self.failure: Exception | None = None
        self.speed = SPEEDS.index(5)
        self.note = "  ".join(notes)
        self.asking: str | None = None
        self._encoding = encoding
        self._ascii = glyphs_for(encoding) is ASCII
        self._pen = panel_console(encoding)
        self._panes = [RunPane(run, self._pen) for run in self.runs]
        self._active = 0
        self._start = start
        self._playing: Timer | None = None
        self._surveying: Timer | None = None
        self._target: int | None = None  # where the active run is on its way to
        self._sought: str | None = None  # a request that the survey has yet to find
        self._ticks = 0

    # -- life --------------------------------------------------------------------------------------------

    def compose(self) -> Iterator[Horizontal | Panel | Input]:
        yield Panel(self._too_small, self._pen, classes="small")
        yield Horizontal(*self._panes, id="runs")
        yield Panel(self._note_line, self._pen, classes="note")
        yield Panel(self._hint_line, self._pen, classes="hint")
        yield Input(id="prompt", compact=True, select_on_focus=False)

    def on_mount(self) -> None:
        self._ask(None)
        self._panes[0].is_active = True
        if not self.is_headless:
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                loop.add_signal_handler(number, self._stop_for, number)
        if self._start is not None:
            self._go_typed(self._start)
        self._surveying = self.set_interval(PAUSE_S, self._survey)
        self.show()

    def _stop_for(self, number: int) -> None:
        self.exit(return_code=128 + number)

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
        return self.runs[self._active]

    @property
    def pane(self) -> RunPane:
        return self._panes[self._active]

    # -- drawing -----------------------------------------------------------------------------------------

    def show(self, note: str | None = None) -> None:
        """Draw everything anew, with a note below."""
        if note is not None:
            self.note = note
        for number, pane in enumerate(self._panes):
            pane.is_active = number == self._active
            pane.note = self._play_words() if pane.is_active else "same time"
            pane.redraw()
        for name in ("note", "hint"):
            self.query_one(f".{name}", Panel).redraw()

    def _play_words(self) -> str:
        pace = f"{SPEEDS[self.speed]:g} steps/s"
        return f"playing, {pace}" if self._playing is not None else f"paused, {pace}"

    def _note_line(self, width: int, height: int) -> Text:
        faults = [run.survey.fault for run in self.runs if run.survey.fault]
        text = self.note or "  ".join(faults)
        return Text(clean(text, self._encoding), style="bold", no_wrap=True, overflow="ellipsis")

    def _hint_line(self, width: int, height: int) -> Text:
        hint = keys.ASCII_HINT if self._ascii else keys.HINT
        text = PROMPTS[self.asking] if self.asking is not None else hint
        return Text(text, style="dim" if self.asking is None else "bold", no_wrap=True)

    def _too_small(self, width: int, height: int) -> Text:
        size = self.size
        return Text(
            f"The viewer needs {LEAST_WIDTH} columns and {LEAST_HEIGHT} rows; this terminal has "
            f"{size.width} and {size.height}. Make it larger, or q quits.",
            overflow="fold",
        )

    def on_resize(self, event: Resize) -> None:
        small = event.size.width < LEAST_WIDTH or event.size.height < LEAST_HEIGHT
        self.screen.set_class(small, "toosmall")
        self.call_after_refresh(self.show)

    # -- moving ------------------------------------------------------------------------------------------

    def go(self, place: int, note: str = "") -> None:
        """Move the active run to a place, at once or, where that takes long, bit by bit."""
        self._target = None
        self.note = note
        if not self.run_shown.go(place):
            self._target = min(place, self.run_shown.survey.end)
            self._on_the_way()
        self._follow()
        self.show()

    def _follow(self) -> None:
        """Take the other run to the same simulated time."""
        time_ns = self.run_shown.cursor.state.time_ns
        for run in self.runs:
            if run is not self.run_shown:
                place = run.survey.place_at_time(time_ns)
                while place is None and not self._is_late(run):
                    place = run.survey.place_at_time(time_ns)
                if place is None:
                    self.note = f"{run.name}: on its way to the same time"
                else:
                    run.cursor.seek(place)

    def _is_late(self, run: ViewedRun) -> bool:
        """Let its survey go on for a moment; is it still not done?"""
        before = run.survey.place
        run.survey.advance_for(SLICE_S)
        return run.survey.place > before and not run.survey.done and self._target is None

    def _on_the_way(self) -> None:
        survey = self.run_shown.survey
        share = 100 * survey.place / max(self._target or 1, 1)
        self.note = f"going to event {self._target:,}: {share:.0f} % of the way; Esc stops"

    def _survey(self) -> None:
        """Called again and again: look on through the runs, and arrive where one was going."""
        waits = self._target is not None or self._sought is not None
        for run in self.runs:
            run.survey.advance_for(SLICE_S * (2 if waits else 1))
        self._ticks += 1
        if self._target is not None:
            if self.run_shown.survey.place >= min(self._target, self.run_shown.survey.end):
                self.go(self._target)
            elif not self._ticks % 4:
                self._on_the_way()
                self.show()
        elif self._sought is not None:
            self._filter_typed(self._sought)
        done = all(run.survey.done for run in self.runs)
        if len(self.runs) > 1 and self._target is None:
            self._catch_up()
        if done and self._surveying is not None:
            self._surveying.stop()
            self._surveying = None
        if done or not self._ticks % 8:
            for pane in self._panes:
                pane.panel("occupancy").redraw()
            self.query_one(".note", Panel).redraw()

    def _catch_up(self) -> None:
        if self.note.endswith("on its way to the same time"):
            self.note = ""
            self._follow()
            self.show()

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
        if self._playing is None:
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
        if self._target is not None:
            return
        if run.place >= run.survey.end:
            self._pause("this is the end")
            return
        self.go(run.step_place(max(round(SPEEDS[self.speed] / MOST_TICKS), 1)))

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
        self.asking = what
        prompt = self.query_one("#prompt", Input)
        prompt.display = what is not None
        prompt.disabled = what is None
        hint = self.query_one(".hint", Panel)
        hint.styles.width = "1fr" if what is None else len(PROMPTS[what])
        if what is None:
            self.set_focus(None)
        else:
            prompt.value = ""
            prompt.styles.offset = (len(PROMPTS[what]), 0)
            prompt.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """What was typed makes sense: it is done. Else a note says why not, and it stays to be mended."""
        asked: dict[str, Callable[[str], None]] = {
            "goto": self._go_typed,
            "filter": self._filter_typed,
            "block": self._block_typed,
        }
        what = self.asking
        if what is None:
            return
        if not event.value.strip():
            self.action_back()
            return
        if self._try(asked[what], event.value):
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
        try:
            found = request_typed(self.run_shown, text)
        except InputError as error:
            if self._sought is None:
                raise
            self._sought = None
            self.show(str(error))
            return
        if found is None:
            self._sought = text
            share = 100 * self.run_shown.survey.place / max(self.run_shown.survey.end, 1)
            self.show(f"looking for a request that begins with {text!r}: {share:.0f} %; Esc stops")
            return
        self._sought = None
        self.run_shown.request = found
        self.show(f"following {found}; Esc follows all again")

    def _block_typed(self, text: str) -> None:
        self._inspect(block_typed(self.run_shown, text))

    def _inspect(self, block: int) -> None:
        self.run_shown.block = block
        self.show("")

    def action_blocks(self, direction: int) -> None:
        block, num_blocks = self.run_shown.block, self.run_shown.cursor.geometry.num_blocks
        self._inspect(0 if block is None else (block + direction) % num_blocks)

    def action_back(self) -> None:
        """Undo the newest of: a prompt, a long move, a search, the inspected block, the filter."""
        run = self.run_shown
        if self.asking is not None:
            self._ask(None)
        elif self._target is not None or self._sought is not None:
            self._target = self._sought = None
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
        self._active = (self._active + 1) % len(self.runs)
        self._target = self._sought = None
        self.show("" if len(self.runs) > 1 else "there is one run; pagesim view A B shows two")

    def action_help(self) -> None:
        self.push_screen(HelpScreen(ascii_only=self._ascii))

    def action_leave(self) -> None:
        self.exit(return_code=0)

    def on_panel_clicked(self, event: Panel.Clicked) -> None:
        """The map inspects a block, the event list goes to an event, the occupancy line to a step."""
        for number, pane in enumerate(self._panes):
            name = pane.name_of(event.panel)
            if name is None:
                continue
            if number != self._active:
                self._active = number
                self._target = self._sought = None
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
