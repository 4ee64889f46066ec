"""The player as a widget: the very JavaScript of the exported page, in a cell of a notebook. Needs anywidget.

Knows nothing about where runs come from.
"""

from collections.abc import Sequence
from importlib.resources import files
from typing import NoReturn, cast

import anywidget  # type: ignore[import-not-found,import-untyped,unused-ignore]
import traitlets

from pagesim.core.errors import InputError
from pagesim.notebook.players import Track, payload_of, still_picture
from pagesim.notebook.shown import Bundle, chosen
from pagesim.web.script import player_script, player_style

STYLE = """
.pagesim-widget { box-sizing: border-box; overflow: auto; resize: vertical;
  border: 1px solid #8886; border-radius: 8px; margin: 4px 0; }
.pagesim-widget .progress { background: none; height: auto; margin: 0; border-radius: 0; box-shadow: none; }
.pagesim-widget .top { padding-top: 0.4rem; padding-bottom: 0.4rem; }
"""


def _script() -> str:
    text = files("pagesim.notebook").joinpath("widget.js").read_text(encoding="utf-8")
    return f"{player_script()}\n{text}"


class _Place(traitlets.Int):  # type: ignore[misc,type-arg,unused-ignore]
    """What is no number at all is refused in a sentence, as places are that are not there."""

    def error(
        self,
        obj: object,  # noqa: ARG002
        value: object,
        error: Exception | None = None,  # noqa: ARG002
        info: str | None = None,  # noqa: ARG002
    ) -> NoReturn:
        raise InputError(f"{self.name} {value!r} was given; it is a whole number, such as 3")


class PlayerWidget(anywidget.AnyWidget):  # type: ignore[misc,unused-ignore]
    """A player. ``event`` is the number of events behind the place, ``step`` the step planned last (``None``: the first
    is still to come); both can be read and set. Of two runs, ``run`` is the one that moves: the reader says which."""

    _esm = _script()
    _css = player_style() + STYLE
    payload = traitlets.Dict().tag(sync=True)
    height = traitlets.Int().tag(sync=True)
    theme = traitlets.Unicode(None, allow_none=True).tag(sync=True)
    run = traitlets.Int(0).tag(sync=True)
    event = _Place(0).tag(sync=True)
    step = _Place(None, allow_none=True).tag(sync=True)

    def __init__(
        self, tracks: Sequence[Track], place: int, *, height: int, theme: str | None
    ) -> None:
        self._tracks = tracks
        super().__init__(
            payload=payload_of(tracks),
            height=height,
            theme=theme,
            event=place,
            step=tracks[0].step_at(place),
        )

    @property
    def _track(self) -> Track:
        return self._tracks[self.run]

    @traitlets.validate("event")
    def _check_event(self, proposal: Bundle) -> int:
        return self._track.checked(cast(int, proposal["value"]))

    @traitlets.validate("step")
    def _check_step(self, proposal: Bundle) -> int | None:
        step = cast("int | None", proposal["value"])
        if step is not None and step != self._track.step_at(self.event):
            self._track.place_of(step)
        return step

    @traitlets.observe("event")
    def _event_moved(self, _change: object) -> None:
        self.step = self._track.step_at(self.event)

    @traitlets.observe("step")
    def _step_moved(self, _change: object) -> None:
        """Set by somebody: the place follows, unless it is in that step already."""
        if self.step != self._track.step_at(self.event):
            self.event = (
                self._track.window.first if self.step is None else self._track.place_of(self.step)
            )

    def _repr_mimebundle_(self, **kwargs: object) -> "tuple[Bundle, Bundle]":
        """The widget; and for viewers that run no scripts, a picture of the place."""
        asked = super()._repr_mimebundle_()
        if asked is None:
            return {}, {}
        bundle, metadata = asked
        others = [track for track in self._tracks if track is not self._track]
        picture = still_picture([self._track, *others], self.event)
        bundle |= picture._repr_mimebundle_() | {"image/svg+xml": picture.svg()}
        return chosen(bundle, kwargs.get("include"), kwargs.get("exclude")), metadata
